// From the deploy call to `running`, beside the same sandbox started by hand.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sandboxArgv } from '../apps/gateway/src/drivers/compute/sandbox/plan-machine.ts'
import { median, printFigure, quantile } from './lib/figures.ts'
import { startGatewayProcess } from './lib/gateway-process.ts'

const ROUNDS = 15
const AIM_MS = 300

const gateway = await startGatewayProcess()
const byHandDir = mkdtempSync(join(tmpdir(), 'berth-by-hand-'))
const ours: number[] = []
const byHand: number[] = []
try {
  // The first round of each warms it up and is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    const startedAt = performance.now()
    const id = await gateway.deploy()
    await gateway.until(id, 'running')
    const took = performance.now() - startedAt
    await gateway.terminate(id)
    const bare = await startByHand(`by-hand-${round}`)
    if (round === 0) continue
    ours.push(took)
    byHand.push(bare)
    console.log(`round ${round}: deploy to running ${took.toFixed(0)} ms, by hand ${bare.toFixed(0)} ms`)
  }
} finally {
  await gateway.stop()
  rmSync(byHandDir, { recursive: true, force: true })
}
const overhead = median(ours) - median(byHand)
printFigure({
  what: 'deploy to running, median',
  ours: `${median(ours).toFixed(0)} ms (p90 ${quantile(ours, 0.9).toFixed(0)})`,
  bare: `${median(byHand).toFixed(0)} ms`,
  compared: `overhead ${overhead.toFixed(0)} ms, ratio ${(median(ours) / median(byHand)).toFixed(1)}`,
  aim: { says: `overhead under ${AIM_MS} ms`, met: overhead < AIM_MS },
})

/** The same folders, namespaces and mounts; a line of shell in the agent's place says when it runs. */
async function startByHand(id: string): Promise<number> {
  const startedAt = performance.now()
  const [file = '', ...args] = await sandboxArgv(byHandDir, { id, hostname: 'bench', memory_mb: 16_384 }, [
    '/bin/sh',
    '-c',
    'echo runs',
  ])
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exit = once(child, 'exit')
  const [chunk] = (await Promise.race([once(child.stdout, 'data'), exit])) as [unknown]
  if (!String(chunk).includes('runs')) throw new Error(`the sandbox by hand ended with ${String(chunk)}`)
  const took = performance.now() - startedAt
  await exit
  return took
}
