import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeWhere, eventually } from '../../../drivers/compute/conformance/tools.ts'
import type { Engine } from '../../../drivers/compute/port/engine.ts'
import { probeSandbox } from '../../../drivers/compute/sandbox/probe-sandbox.ts'
import { createSandboxEngine } from '../../../drivers/compute/sandbox/sandbox-engine.ts'
import { createInstancesFixture, type InstancesFixture } from '../instances-fixture.ts'

/** Puts a `true` of its own first, which would hold up whoever asks with it, ignores TERM, and writes down when it works. */
const HOSTILE = [
  'mkdir -p ~/bin',
  'printf "#!/bin/sh\\nsleep 60\\n" > ~/bin/true',
  'chmod +x ~/bin/true',
  'trap "" TERM HUP INT',
  'echo begun',
  'while :; do date +%s%3N; sleep 0.02; done',
].join('; ')

/** More than it writes in the seconds that it has. */
const LINES_MAX = 10_000

describeWhere('the sandbox', await probeSandbox(), () => {
  let dataDir: string
  let engine: Engine
  let fixture: InstancesFixture
  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'berth-hostile-'))
    engine = await createSandboxEngine({ dataDir, log: pino({ level: 'silent' }) })
    fixture = await createInstancesFixture({
      sources: [
        {
          description: 'a real sandbox',
          regionCodes: ['us-west'],
          formerId: () => null,
          open: async () => engine,
        },
      ],
    })
    // What a real machine does takes real time.
    fixture.clock.now = () => new Date()
    await fixture.instances.reconciler.start()
  })
  afterAll(async () => {
    await fixture?.close()
    await engine?.shutdown()
    rmSync(dataDir, { recursive: true, force: true })
  })

  test('[B2] a machine that holds up its probe, ignores TERM and is restarted as soon as it runs pays for its work', async () => {
    const userId = await fixture.payer()
    const env = { PATH: '/root/bin:/usr/local/bin:/usr/bin:/bin' }
    const id = await fixture.running(userId, { env, start_command: HOSTILE })
    const target = { userId, instanceId: id }
    const lives = async () => livesOf(await engine.observation.logs(id, { lines_max: LINES_MAX }))
    const hasBegun = (times: number) => eventually(async () => expect(await lives()).toHaveLength(times))
    await hasBegun(1)
    await fixture.instances.restart(target)
    await fixture.until(id, 'running')
    await hasBegun(2)
    await fixture.instances.stop(target)
    await fixture.until(id, 'stopped')
    await fixture.expectSound(id)
    const worked = await lives()
    // It was given the time to end in good order each time, and went on working.
    expect(Math.min(...worked)).toBeGreaterThan(2_000)
    const stretches = await fixture.intervals(id)
    const charged = stretches.reduce(
      (sum, { startedAt, endedAt }) => sum + Number(endedAt) - Number(startedAt),
      0,
    )
    expect(charged).toBeGreaterThanOrEqual(worked.reduce((sum, ms) => sum + ms, 0))
    expect(stretches).toHaveLength(2)
    const chargedMicro = stretches.reduce((sum, { postedMicro }) => sum + postedMicro, 0n)
    // To the second: 0.08 an hour.
    expect(Number(chargedMicro)).toBeGreaterThan(((charged - 1_000) * 80_000) / 3_600_000 - 1)
  })
})

/** How long each of its lives worked, in milliseconds, by what it wrote. */
function livesOf(log: string): number[] {
  const [, ...lives] = log.split(/^begun$/m)
  return lives.map(life => {
    const moments = life.match(/^\d{13}$/gm)?.map(Number) ?? []
    return (moments.at(-1) ?? 0) - (moments[0] ?? 0)
  })
}
