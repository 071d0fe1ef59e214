// From the deploy call to `running`, beside the same sandbox started by hand.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startBareSandbox } from './lib/bare-process.ts'
import { startGatewayProcess } from './lib/gateway-process.ts'
import { inTurns, printOverhead, timeDeploy } from './lib/rounds.ts'

const ROUNDS = 15
const AIM_MS = 300
const MEMORY_MB = 16_384

const gateway = await startGatewayProcess()
const byHandDir = mkdtempSync(join(tmpdir(), 'berth-by-hand-'))
try {
  const rounds = await inTurns(ROUNDS, {
    ours: () => timeDeploy(gateway),
    bare: round => startBareSandbox(byHandDir, `by-hand-${round}`, MEMORY_MB),
    words: { ours: 'deploy to running', bare: 'by hand' },
  })
  printOverhead({ what: 'deploy to running', rounds, aimMs: AIM_MS })
} finally {
  await gateway.stop()
  rmSync(byHandDir, { recursive: true, force: true })
}
