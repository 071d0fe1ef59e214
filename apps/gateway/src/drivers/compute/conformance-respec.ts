import { expect, test } from 'vitest'
import { eventually, never, type Subject, text } from './conformance-tools.ts'
import type { MachineSpec } from './port.ts'

/** What `create` does with a machine that is there already. */
export function describeRespec(subject: Subject): void {
  /** Stops a machine, gives it another spec and starts it again. */
  async function respec(spec: MachineSpec, part: Partial<MachineSpec>): Promise<MachineSpec> {
    const driver = subject.driver()
    const next = { ...spec, ...part }
    await driver.stop(spec.id, never)
    await driver.create(next, never)
    expect(['created', 'stopped']).toContain((await driver.status(spec.id)).state)
    await driver.start(spec.id, never)
    return next
  }

  test('[B1] a stopped machine takes on another memory limit and keeps its home', async ctx => {
    const driver = subject.driver()
    const limit = driver.capabilities.memory_limit
    if (!limit.enforced) return ctx.skip(`memory is not limited here: ${limit.why}`)
    const spec = await subject.running({ memory_mb: 256 })
    await text(driver, spec.id, 'echo kept > ~/file')
    const hog = ['perl', '-e', '$x = "a" x (300 << 20); print "grew"']
    expect((await driver.exec(spec.id, hog)).exit_code).not.toBe(0)

    await respec(spec, { memory_mb: 768, cpu_count: 0.5 })
    expect((await driver.stats(spec.id)).memory_limit_mb).toBe(768)
    expect((await driver.exec(spec.id, hog)).stdout).toBe('grew')
    await respec(spec, { memory_mb: 128 })
    expect((await driver.stats(spec.id)).memory_limit_mb).toBe(128)
    expect((await driver.exec(spec.id, hog)).exit_code).not.toBe(0)
    expect(await text(driver, spec.id, 'cat ~/file')).toBe('kept\n')
  })

  test('a stopped machine takes on another name, environment and command, and keeps its home', async () => {
    const driver = subject.driver()
    const told = async (id: string, word: string) =>
      eventually(async () => expect(await text(driver, id, 'cat ~/told; true')).toContain(word))
    const before = await subject.running({
      env: { STAYS: 'one', GOES: 'one', EMPTIED: 'one' },
      command: ['sh', '-c', 'echo first >> ~/told'],
      ports: [8080],
    })
    const { id } = before
    await told(id, 'first')
    await text(driver, id, 'mkdir ~/deep && echo kept > ~/deep/file')

    const next = await respec(before, {
      hostname: 'renamed',
      env: { STAYS: 'two', EMPTIED: '', COMES: 'with spaces and "quotes"' },
      command: ['sh', '-c', 'echo second >> ~/told'],
      ports: [8080, 9090],
    })
    await told(id, 'second')
    const show = 'hostname; env | grep -E "^(STAYS|GOES|EMPTIED|COMES)=" | sort; cat ~/deep/file'
    expect(await text(driver, id, show)).toBe(
      'renamed\nCOMES=with spaces and "quotes"\nEMPTIED=\nSTAYS=two\nkept\n',
    )

    await respec(next, { env: { GOES: 'three' }, command: null })
    expect(await text(driver, id, show)).toBe('renamed\nGOES=three\nkept\n')
    expect((await text(driver, id, 'cat ~/told')).split('\n')).toEqual(['first', 'second', ''])
    expect((await driver.list()).filter(machine => machine.id === id)).toEqual([{ id, state: 'running' }])
  })

  test('the environment that the image itself gives comes back when a customer’s own is taken away', async () => {
    const driver = subject.driver()
    const plain = await subject.running()
    const path = await text(driver, plain.id, 'echo $PATH')
    const own = await subject.running({ env: { PATH: '/usr/bin:/bin:/own' } })
    expect(await text(driver, own.id, 'echo $PATH')).toBe('/usr/bin:/bin:/own\n')
    await respec(own, { env: {} })
    expect(await text(driver, own.id, 'echo $PATH')).toBe(path)
  })

  test('a machine that runs is left as it is', async () => {
    const driver = subject.driver()
    const spec = await subject.running({ env: { WHICH: 'first' } })
    await driver.create({ ...spec, env: { WHICH: 'second' }, memory_mb: 128, hostname: 'other' }, never)
    expect(await text(driver, spec.id, 'echo $WHICH; hostname')).toBe(`first\n${spec.hostname}\n`)
    await driver.stop(spec.id, never)
    await driver.start(spec.id, never)
    expect(await text(driver, spec.id, 'echo $WHICH')).toBe('first\n')
  })

  test('a machine that was never started takes on another spec', async () => {
    const driver = subject.driver()
    const spec = subject.spec({ env: { WHICH: 'first' } })
    await driver.create(spec, never)
    await driver.create({ ...spec, env: { WHICH: 'second' } }, never)
    expect(await driver.status(spec.id)).toEqual({ state: 'created' })
    await driver.start(spec.id, never)
    expect(await text(driver, spec.id, 'echo $WHICH')).toBe('second\n')
  })

  test('specs that follow one another at once leave the last one', async () => {
    const driver = subject.driver()
    const spec = subject.spec()
    const numbers = ['1', '2', '3']
    await Promise.all(numbers.map(number => driver.create({ ...spec, env: { NUMBER: number } }, never)))
    await driver.start(spec.id, never)
    expect(await text(driver, spec.id, 'echo $NUMBER')).toBe('3\n')
  })
}
