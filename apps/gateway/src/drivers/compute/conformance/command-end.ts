import { expect } from 'vitest'
import { eventually, never, type Subject, text } from './tools.ts'

/** What every driver tells of the end of a machine's command, and does then. */
export function describeCommandEnd(subject: Subject): void {
  const endOf = async (id: string) => {
    const status = await subject.engine().observation.status(id)
    return status.state === 'running' ? status.command_end : undefined
  }

  subject.inside(
    'a command that ended is told with its code and its time, and the machine goes on; a new start forgets it',
    async () => {
      const engine = subject.engine()
      const { id } = await subject.running({
        command: ['sh', '-c', '[ -e ~/again ] && sleep 3600; touch ~/again; sleep 3600 & exit 3'],
      })
      const end = await eventually(async () => {
        const found = await endOf(id)
        expect(found).toMatchObject({ exit_code: 3, count: 1, again_at: null })
        return found
      })
      expect(Math.abs(Date.now() - Number(end?.ended_at))).toBeLessThan(60_000)
      expect(await engine.observation.logs(id, { lines_max: 3 })).toContain('ended with code 3')
      expect(await text(engine, id, 'echo on')).toBe('on\n')
      await engine.machines.stop(id, never)
      expect(await engine.observation.status(id)).toMatchObject({ state: 'stopped' })
      expect(await engine.observation.status(id)).not.toHaveProperty('cause')
      await engine.machines.start(id, never)
      await engine.machines.begin(id, never)
      expect(await text(engine, id, 'echo back')).toBe('back\n')
      expect(await endOf(id)).toBeUndefined()
    },
  )

  subject.inside('a program that is not there is told as shells do', async () => {
    const { id } = await subject.running({ command: ['sh', '-c', '/no/such/program'] })
    await eventually(async () => expect(await endOf(id)).toMatchObject({ exit_code: 127 }))
  })

  subject.inside('a command that is to be run again is, after a pause that grows', async () => {
    const { id } = await subject.running({
      command: ['sh', '-c', 'echo ran >> ~/told; exit 4'],
      on_command_end: 'restart',
    })
    const end = await eventually(async () => {
      const found = await endOf(id)
      expect(found).toMatchObject({ exit_code: 4, count: 2 })
      return found
    })
    expect(Number(end?.again_at) - Number(end?.ended_at)).toBe(2_000)
    expect(await text(subject.engine(), id, 'cat ~/told')).toMatch(/^(ran\n){2,}$/)
  })

  subject.inside('a machine that is to end with its command does, and says so with the code', async () => {
    const engine = subject.engine()
    const spec = subject.spec({ command: ['sh', '-c', 'exit 5'], on_command_end: 'stop' })
    await engine.machines.create(spec, never)
    await engine.machines.start(spec.id, never)
    // Where nothing waits to begin, it may have ended by then.
    await engine.machines
      .begin(spec.id, never)
      .catch(error => expect(error).toMatchObject({ code: 'not_running' }))
    const stopped = { state: 'stopped', exit_code: 5, cause: 'command_ended' }
    await eventually(async () => expect(await engine.observation.status(spec.id)).toEqual(stopped))
    await engine.machines.create({ ...spec, on_command_end: 'keep' }, never)
    await engine.machines.start(spec.id, never)
    await engine.machines.begin(spec.id, never)
    await eventually(async () => expect(await endOf(spec.id)).toMatchObject({ exit_code: 5, count: 1 }))
  })

  subject.inside(
    'whoever lays something else where the report is read is told as nothing, or as before',
    async () => {
      const engine = subject.engine()
      const { id } = await subject.running({ command: ['sh', '-c', 'exit 3'] })
      const before = await eventually(async () => {
        const found = await endOf(id)
        expect(found).toMatchObject({ exit_code: 3 })
        return found
      })
      for (const lay of [
        'cp ~/nines "$f"',
        'rm -f "$f" && mkfifo "$f"',
        'rm -f "$f" && ln -s /dev/zero "$f"',
      ]) {
        const places = '/proc/[0-9]*/fd/6 /tmp/.berth-command-end'
        const line = `head -c 1000000 /dev/zero | tr "\\0" 9 > ~/nines; for f in ${places}; do ${lay}; done; true`
        await engine.console.exec(id, ['sh', '-c', line])
        expect([undefined, before]).toContainEqual(await endOf(id))
      }
    },
  )
}
