import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll } from 'vitest'
import { describeConformance } from '../conformance/conformance.ts'
import { describeWhere } from '../conformance/tools.ts'
import { findLauncher } from './probe-sandbox.ts'
import { createSandboxEngine } from './sandbox-engine.ts'

const log = pino({ level: 'silent' })

for (const launcher of ['bwrap', 'unshare'] as const) {
  const found = await findLauncher(launcher)
  describeWhere(`sandbox by ${launcher}`, found.launcher ? { ok: true } : { ok: false, ...found }, () => {
    // A long path with a space: socket addresses are short, and mount tables write spaces in octal.
    const folder = mkdtempSync(join(tmpdir(), 'berth-sandbox-'))
    const dataDir = join(folder, `a long folder ${'x'.repeat(80)}`)
    afterAll(() => rmSync(folder, { recursive: true, force: true }))
    describeConformance(`sandbox by ${launcher}`, {
      makeEngine: () => createSandboxEngine({ dataDir, log, launcher }),
      image: { id: 'host', parts: { sandbox: 'host' } },
      missingImage: { id: 'docker-only', parts: { docker: 'debian:12' } },
      shutdownStops: true,
    })
  })
}
