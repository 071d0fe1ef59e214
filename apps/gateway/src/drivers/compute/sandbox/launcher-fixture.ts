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

/**
 * Holds the sandbox, with one of its launchers, to the suite of all drivers.
 * @param launcher The program that makes its machines; where it does not work, all is skipped, with the reason.
 */
export async function describeLauncher(launcher: 'bwrap' | 'unshare'): Promise<void> {
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
