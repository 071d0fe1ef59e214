import { expect, test } from 'vitest'
import { heldBytes } from '../../../../test/held-bytes.ts'
import { lackOf, offered } from '../port/part.ts'
import { eventually, expectCode, never, type Subject, text } from './tools.ts'

/** How much may be under way while nobody reads a log. */
const UNDER_WAY_BYTES_MAX = 4 * 1024 * 1024

/** How every driver measures machines and keeps what they write. */
export function describeObservation(subject: Subject): void {
  subject.inside('stats say what the machine uses', async () => {
    const engine = subject.engine()
    const { id } = await subject.running()
    await engine.observation.sample(id)
    await text(engine, id, 'head -c 5000000 /dev/zero > ~/five; (perl -e "1 while 1" > /dev/null 2>&1 &)')
    await eventually(async () => {
      const stats = await engine.observation.sample(id)
      expect(stats.cpu_percent).toBeGreaterThan(5)
      expect(stats.cpu_percent).toBeLessThan(400)
      expect(stats.memory_used_mb).toBeGreaterThan(0)
      expect(stats.sampled_at).toBeInstanceOf(Date)
      expect(stats.gpus).toEqual([])
      if (stats.network_received_bytes !== null) expect(stats.network_sent_bytes).not.toBeNull()
    })
  })

  subject.inside(
    'the start command runs, its output is kept, and its end does not end the machine',
    async () => {
      const engine = subject.engine()
      const spec = await subject.running({ command: ['sh', '-c', 'seq 1 50; echo to-err >&2; sleep 3600'] })
      await eventually(async () => {
        const lines = (await engine.observation.logs(spec.id, { lines_max: 1000 })).split('\n')
        expect(lines).toContain('50')
        expect(lines).toContain('to-err')
      })
      const last = (await engine.observation.logs(spec.id, { lines_max: 3 })).trimEnd().split('\n')
      expect(last).toHaveLength(3)
      const kept = await (await engine.observation.keptLog(spec.id)).toArray()
      const all = Buffer.concat(kept).toString().split('\n')
      expect(all).toEqual(expect.arrayContaining([...lines(1, 50).trimEnd().split('\n'), 'to-err']))
    },
  )

  subject.inside(
    '[B9] a program that takes more memory than there is is told of as such, and one that is killed is not',
    async ctx => {
      const { observation } = subject.engine()
      const why = lackOf(observation.oom_kills)
      if (why !== null) return ctx.skip(why)
      const engine = subject.engine()
      const { id } = await subject.running({ memory_mb: 256 })
      const count = () => offered(observation.oom_kills).count(id)
      const before = await count()
      if (before === null) return ctx.skip('nothing limits the memory of machines here')
      expect(before).toBe(0)
      const killed = await engine.console.exec(id, ['sh', '-c', 'sh -c "kill -9 \\$\\$"; echo $?'])
      expect(killed.stdout).toBe('137\n')
      expect(await count()).toBe(0)
      const greedy = 'perl -e \'$a = "x" x 600_000_000; print length $a\'; echo $?'
      const { stdout } = await engine.console.exec(id, ['sh', '-c', greedy])
      expect(stdout).toBe('137\n')
      await eventually(async () => expect(await count()).toBe(1))
      await engine.console.exec(id, ['sh', '-c', greedy])
      await eventually(async () => expect(await count()).toBeGreaterThan(1))
      // What it was measured by is another one's from then on.
      await engine.machines.stop(id, never)
      await expectCode(count(), 'not_running')
      await engine.machines.start(id, never)
      await eventually(async () => expect(await count()).toBe(0))
      await expectCode(offered(observation.oom_kills).count(subject.spec().id), 'not_found')
    },
  )

  test('of a machine that is not there nothing is said', async () => {
    const { observation } = subject.engine()
    const missing = subject.spec().id
    await expectCode(observation.sample(missing), 'not_found')
    await expectCode(observation.logs(missing, { lines_max: 1 }), 'not_found')
    await expectCode(observation.followLogs(missing, { lines_max: 1 }), 'not_found')
    await expectCode(observation.keptLog(missing), 'not_found')
    if (lackOf(observation.guest) === null) {
      await expectCode(offered(observation.guest).facts(missing), 'not_found')
    }
  })

  test('of a guest without an agent nothing is said of its system', async ctx => {
    const { guest } = subject.engine().observation
    const why = lackOf(guest)
    if (why !== null) return ctx.skip(why)
    const { id } = await subject.running()
    expect(await offered(guest).facts(id)).toBeNull()
  })

  subject.inside(
    'a log is followed from its last lines on, as it is written, and ends with the machine',
    async () => {
      const engine = subject.engine()
      const command = [
        'sh',
        '-c',
        'seq 1 20; echo begun; while [ ! -e ~/go ]; do sleep 0.05; done; seq 21 30; sleep 3600',
      ]
      const { id } = await subject.running({ command })
      await eventually(async () =>
        // The log's first line names the command, and with it the word.
        expect(await engine.observation.logs(id, { lines_max: 1 })).toMatch(/^begun$/m),
      )
      const log = await engine.observation.followLogs(id, { lines_max: 3 })
      let heard = ''
      log.on('data', chunk => {
        heard += String(chunk)
      })
      const ended = new Promise(resolve => log.once('close', resolve))
      await eventually(() => expect(heard).toBe('19\n20\nbegun\n'))
      await text(engine, id, 'touch ~/go')
      await eventually(() => expect(heard).toBe(`19\n20\nbegun\n${lines(21, 30)}`))
      await engine.machines.stop(id, never)
      await ended
    },
  )

  subject.inside(
    'whoever follows a log and does not read fills no memory, and leaves it when it likes',
    async () => {
      const engine = subject.engine()
      const { id } = await subject.running({
        command: ['sh', '-c', 'yes 0123456789012345678901234567890123456789'],
      })
      const log = await engine.observation.followLogs(id, { lines_max: 1 })
      const before = heldBytes()
      for (let turn = 0; turn < 10; turn++) await text(engine, id, 'sleep 0.05')
      expect(heldBytes() - before).toBeLessThan(UNDER_WAY_BYTES_MAX)
      log.destroy()
    },
  )
}

function lines(from: number, to: number): string {
  return Array.from({ length: to - from + 1 }, (_, at) => `${from + at}\n`).join('')
}
