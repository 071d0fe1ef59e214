import { expect } from 'vitest'
import type { MachineSpec } from '../port/machines.ts'
import { eventually, never, type Subject, text } from './tools.ts'

/** What `create` does with a machine that is there already. */
export function describeRespec(subject: Subject): void {
  /** Stops a machine, gives it another spec and starts it again. */
  async function respec(spec: MachineSpec, part: Partial<MachineSpec>): Promise<MachineSpec> {
    const engine = subject.engine()
    const next = { ...spec, ...part }
    await engine.machines.stop(spec.id, never)
    await engine.machines.create(next, never)
    expect(['created', 'stopped']).toContain((await engine.observation.status(spec.id)).state)
    await engine.machines.start(spec.id, never)
    await engine.machines.begin(spec.id, never)
    return next
  }

  subject.inside('[B1] a stopped machine takes on another memory limit and keeps its home', async ctx => {
    const engine = subject.engine()
    const limit = engine.capabilities.memory_limit
    if (!limit.enforced) return ctx.skip(`memory is not limited here: ${limit.why}`)
    const spec = await subject.running({ memory_mb: 256 })
    await text(engine, spec.id, 'echo kept > ~/file')
    const hog = ['perl', '-e', '$x = "a" x (300 << 20); print "grew"']
    expect((await engine.console.exec(spec.id, hog)).exit_code).not.toBe(0)

    await respec(spec, { memory_mb: 768, cpu_count: 0.5 })
    expect((await engine.observation.sample(spec.id)).memory_limit_mb).toBe(768)
    expect((await engine.console.exec(spec.id, hog)).stdout).toBe('grew')
    await respec(spec, { memory_mb: 128 })
    expect((await engine.observation.sample(spec.id)).memory_limit_mb).toBe(128)
    expect((await engine.console.exec(spec.id, hog)).exit_code).not.toBe(0)
    expect(await text(engine, spec.id, 'cat ~/file')).toBe('kept\n')
  })

  subject.inside(
    'a stopped machine takes on another name, environment and command, and keeps its home',
    async () => {
      const engine = subject.engine()
      const told = async (id: string, word: string) =>
        eventually(async () => expect(await text(engine, id, 'cat ~/told; true')).toContain(word))
      const before = await subject.running({
        env: { STAYS: 'one', GOES: 'one', EMPTIED: 'one' },
        command: ['sh', '-c', 'echo first >> ~/told'],
        ports: [8080],
      })
      const { id } = before
      await told(id, 'first')
      await text(engine, id, 'mkdir ~/deep && echo kept > ~/deep/file')

      const next = await respec(before, {
        hostname: 'renamed',
        env: { STAYS: 'two', EMPTIED: '', COMES: 'with spaces and "quotes"' },
        command: ['sh', '-c', 'echo second >> ~/told'],
        ports: [8080, 9090],
      })
      await told(id, 'second')
      const show = 'hostname; env | grep -E "^(STAYS|GOES|EMPTIED|COMES)=" | sort; cat ~/deep/file'
      expect(await text(engine, id, show)).toBe(
        'renamed\nCOMES=with spaces and "quotes"\nEMPTIED=\nSTAYS=two\nkept\n',
      )

      await respec(next, { env: { GOES: 'three' }, command: null })
      expect(await text(engine, id, show)).toBe('renamed\nGOES=three\nkept\n')
      expect((await text(engine, id, 'cat ~/told')).split('\n')).toEqual(['first', 'second', ''])
      expect((await engine.machines.list()).filter(machine => machine.id === id)).toEqual([
        { id, state: 'running' },
      ])
    },
  )

  subject.inside(
    'the environment that the image itself gives comes back when a customer’s own is taken away',
    async () => {
      const engine = subject.engine()
      const plain = await subject.running()
      const path = await text(engine, plain.id, 'echo $PATH')
      const own = await subject.running({ env: { PATH: '/usr/bin:/bin:/own' } })
      expect(await text(engine, own.id, 'echo $PATH')).toBe('/usr/bin:/bin:/own\n')
      await respec(own, { env: {} })
      expect(await text(engine, own.id, 'echo $PATH')).toBe(path)
    },
  )

  subject.inside('a machine that runs is left as it is', async () => {
    const engine = subject.engine()
    const spec = await subject.running({ env: { WHICH: 'first' } })
    await engine.machines.create(
      { ...spec, env: { WHICH: 'second' }, memory_mb: 128, hostname: 'other' },
      never,
    )
    expect(await text(engine, spec.id, 'echo $WHICH; hostname')).toBe(`first\n${spec.hostname}\n`)
    await engine.machines.stop(spec.id, never)
    await engine.machines.start(spec.id, never)
    expect(await text(engine, spec.id, 'echo $WHICH')).toBe('first\n')
  })

  subject.inside('a machine that was never started takes on another spec', async () => {
    const engine = subject.engine()
    const spec = subject.spec({ env: { WHICH: 'first' } })
    await engine.machines.create(spec, never)
    await engine.machines.create({ ...spec, env: { WHICH: 'second' } }, never)
    expect(await engine.observation.status(spec.id)).toEqual({ state: 'created' })
    await engine.machines.start(spec.id, never)
    expect(await text(engine, spec.id, 'echo $WHICH')).toBe('second\n')
  })

  subject.inside('specs that follow one another at once leave the last one', async () => {
    const engine = subject.engine()
    const spec = subject.spec()
    const numbers = ['1', '2', '3']
    await Promise.all(
      numbers.map(number => engine.machines.create({ ...spec, env: { NUMBER: number } }, never)),
    )
    await engine.machines.start(spec.id, never)
    expect(await text(engine, spec.id, 'echo $NUMBER')).toBe('3\n')
  })
}
