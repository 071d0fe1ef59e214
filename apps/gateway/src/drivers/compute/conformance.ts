import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeRespec } from './conformance-respec.ts'
import { describeTalk } from './conformance-talk.ts'
import { describeTerminal } from './conformance-terminal.ts'
import { eventually, expectCode, never, type Subject, text } from './conformance-tools.ts'
import { describeWalls } from './conformance-walls.ts'
import type { ComputeDriver, ImageRecipe } from './port.ts'

export interface ConformanceOptions {
  /** Makes a driver of one and the same installation; the second one made stands for a restarted gateway. */
  makeDriver(): Promise<ComputeDriver>
  image: ImageRecipe
  /** An image that this driver can never make. */
  missingImage: ImageRecipe
  /** Whether `shutdown` ends machines, as the port says of drivers whose machines live on this computer. */
  shutdownStops: boolean
}

/**
 * What every driver must do, whatever is behind it. Each test makes machines of its own; nothing is shared
 * but the driver.
 */
export function describeConformance(name: string, options: ConformanceOptions): void {
  describe(`${name} keeps the compute port`, () => {
    let driver: ComputeDriver
    const made = new Set<string>()

    const subject: Subject = {
      driver: () => driver,
      spec: (part = {}) => {
        const id = `t-${randomBytes(5).toString('hex')}`
        made.add(id)
        return {
          id,
          hostname: `host-${id}`,
          image: options.image,
          cpu_count: 1,
          memory_mb: 256,
          disk_gb: 1,
          gpu_uuids: [],
          env: {},
          command: null,
          ports: [],
          ...part,
        }
      },
      running: async (part = {}) => {
        const spec = subject.spec(part)
        await driver.create(spec, never)
        await driver.start(spec.id, never)
        return spec
      },
    }

    beforeAll(async () => {
      driver = await options.makeDriver()
    })
    afterAll(async () => {
      for (const id of made) await driver?.remove(id, never)
      await driver?.shutdown()
      expect((await driver.list()).filter(machine => made.has(machine.id))).toEqual([])
    })

    describeLife(subject, options)
    describeRespec(subject)
    describeWalls(subject)
    describeTalk(subject)
    describeTerminal(subject)
    describeEnds(subject, options)
  })
}

function describeLife(subject: Subject, options: ConformanceOptions): void {
  test('[B1] a machine goes from absent to created, running, stopped, running and absent', async () => {
    const driver = subject.driver()
    const { id } = subject.spec()
    expect(await driver.status(id)).toEqual({ state: 'absent' })
    await driver.create({ ...subject.spec(), id }, never)
    expect(await driver.status(id)).toEqual({ state: 'created' })
    await driver.start(id, never)
    const running = await driver.status(id)
    expect(running.state).toBe('running')
    expect(running.state === 'running' && Math.abs(Date.now() - running.started_at.getTime())).toBeLessThan(
      60_000,
    )
    await driver.stop(id, never)
    expect((await driver.status(id)).state).toBe('stopped')
    await driver.start(id, never)
    expect((await driver.status(id)).state).toBe('running')
    await driver.remove(id, never)
    expect(await driver.status(id)).toEqual({ state: 'absent' })
  })

  test('every step may be repeated, also at the same time', async () => {
    const driver = subject.driver()
    const spec = subject.spec()
    await Promise.all([driver.create(spec, never), driver.create(spec, never)])
    await driver.create(spec, never)
    await Promise.all([driver.start(spec.id, never), driver.start(spec.id, never)])
    const first = await pidOneStart(driver, spec.id)
    await driver.start(spec.id, never)
    await driver.create(spec, never)
    expect(await pidOneStart(driver, spec.id)).toBe(first)
    await Promise.all([driver.stop(spec.id, never), driver.stop(spec.id, never)])
    await driver.stop(spec.id, never)
    await Promise.all([driver.remove(spec.id, never), driver.remove(spec.id, never)])
    await driver.remove(spec.id, never)
    await driver.stop(spec.id, never)
    expect(await driver.status(spec.id)).toEqual({ state: 'absent' })
  })

  test('a machine that is not there is told apart from one that does not run', async () => {
    const driver = subject.driver()
    const missing = subject.spec().id
    await expectCode(driver.start(missing, never), 'not_found')
    await expectCode(driver.exec(missing, ['true']), 'not_found')
    await expectCode(driver.stats(missing), 'not_found')
    await expectCode(driver.logs(missing, { lines_max: 1 }), 'not_found')

    const spec = subject.spec()
    await driver.create(spec, never)
    for (const state of ['created', 'stopped']) {
      expect((await driver.status(spec.id)).state).toBe(state)
      await expectCode(driver.openPty(spec.id, { cols: 80, rows: 24 }), 'not_running')
      await expectCode(driver.exec(spec.id, ['true']), 'not_running')
      await expectCode(driver.connect(spec.id, 80), 'not_running')
      if (state === 'stopped') break
      await driver.start(spec.id, never)
      await driver.stop(spec.id, never)
    }
  })

  test('ids that could name something else are refused', async () => {
    const driver = subject.driver()
    for (const id of ['../up', 'a/b', '', 'A', '.', 'x'.repeat(41)]) {
      await expectCode(driver.create({ ...subject.spec(), id }, never), 'unsupported')
      expect(await driver.status(id)).toEqual({ state: 'absent' })
    }
  })

  test('the home outlives a stop and dies with the machine', async () => {
    const driver = subject.driver()
    const spec = await subject.running()
    const { id } = spec
    await text(
      driver,
      id,
      'mkdir ~/kept && echo alive > ~/kept/file && chmod 0 ~/kept && echo gone > /tmp/lost',
    )
    await driver.stop(id, never)
    await driver.start(id, never)
    expect(await text(driver, id, 'chmod 700 ~/kept; cat ~/kept/file')).toBe('alive\n')
    await text(driver, id, 'chmod 0 ~/kept')
    await driver.remove(id, never)
    await driver.create(spec, never)
    await driver.start(id, never)
    expect(await text(driver, id, 'ls -A ~ | grep -c kept; true')).toBe('0\n')
  })

  test('pull is quick where the image is there, and says so where it is not', async () => {
    const driver = subject.driver()
    await driver.pull(options.image, () => undefined, never)
    expect(await driver.hasImage(options.image)).toBe(true)
    expect(await driver.hasImage(options.missingImage)).toBe(false)
    await expectCode(
      driver.pull(options.missingImage, () => undefined, never),
      'image_unavailable',
    )
    await expectCode(
      driver.create({ ...subject.spec(), image: options.missingImage }, never),
      'image_unavailable',
    )
  })

  test('a call that was given up before it began does nothing', async () => {
    const driver = subject.driver()
    const given_up = AbortSignal.abort(new Error('given up'))
    const spec = subject.spec()
    await expectCode(driver.create(spec, given_up), 'failed')
    expect(await driver.status(spec.id)).toEqual({ state: 'absent' })
    await driver.create(spec, never)
    await expectCode(driver.start(spec.id, given_up), 'failed')
    expect(await driver.status(spec.id)).toEqual({ state: 'created' })
    await driver.start(spec.id, never)
    await expectCode(driver.stop(spec.id, given_up), 'failed')
    await expectCode(driver.remove(spec.id, given_up), 'failed')
    expect((await driver.status(spec.id)).state).toBe('running')
  })

  test('a start that is given up half way leaves nothing running, or a machine that runs', async () => {
    const driver = subject.driver()
    const spec = subject.spec()
    await driver.create(spec, never)
    const giveUp = new AbortController()
    const starting = driver.start(spec.id, giveUp.signal).catch((error: unknown) => error)
    setImmediate(() => giveUp.abort())
    await starting
    await driver.start(spec.id, never)
    expect(await text(driver, spec.id, 'echo up')).toBe('up\n')
  })

  test('the list names every machine with its state, for the orphan sweep', async () => {
    const driver = subject.driver()
    const created = subject.spec()
    await driver.create(created, never)
    const running = await subject.running()
    const stopped = await subject.running()
    await driver.stop(stopped.id, never)
    const listed = new Map((await driver.list()).map(machine => [machine.id, machine.state]))
    expect(listed.get(created.id)).toBe('created')
    expect(listed.get(running.id)).toBe('running')
    expect(listed.get(stopped.id)).toBe('stopped')
  })
}

function describeEnds(subject: Subject, options: ConformanceOptions): void {
  test('stop asks first, and what obeys may end in good order', async () => {
    const driver = subject.driver()
    const command = [
      'sh',
      '-c',
      'trap "echo ended > ~/ended; exit 0" TERM; echo ready; while :; do sleep 0.05; done',
    ]
    const { id } = await subject.running({ command })
    await eventually(async () => expect(await driver.logs(id, { lines_max: 9 })).toContain('ready'))
    await driver.stop(id, never)
    await driver.start(id, never)
    expect(await text(driver, id, 'cat ~/ended')).toBe('ended\n')
  })

  test('stop ends also what does not obey, within seconds', async () => {
    const driver = subject.driver()
    const command = ['sh', '-c', 'trap "" TERM HUP INT; while :; do sleep 0.05; done']
    const { id } = await subject.running({ command })
    const began = Date.now()
    await driver.stop(id, never)
    expect(Date.now() - began).toBeLessThan(15_000)
    expect((await driver.status(id)).state).toBe('stopped')
  })

  test('a machine whose processes died is stopped, whoever watches hears of it, and it starts again', async () => {
    const driver = subject.driver()
    const heard: string[] = []
    const unwatch = driver.watch(id => heard.push(id))
    const { id } = await subject.running()
    await driver.exec(id, ['sh', '-c', 'kill -9 -1']).catch(() => undefined)
    await eventually(async () => {
      expect((await driver.status(id)).state).toBe('stopped')
      expect(heard).toContain(id)
    })
    unwatch()
    await driver.start(id, never)
    expect(await text(driver, id, 'echo back')).toBe('back\n')
  })

  test('a restarted gateway finds its machines as they are and can use and end them', async () => {
    const { id } = await subject.running()
    const before = await pidOneStart(subject.driver(), id)
    const again = await options.makeDriver()
    expect((await again.status(id)).state).toBe('running')
    expect((await again.list()).find(machine => machine.id === id)?.state).toBe('running')
    expect(await pidOneStart(again, id)).toBe(before)
    const heard: string[] = []
    const unwatch = again.watch(changed => heard.push(changed))
    await again.exec(id, ['sh', '-c', 'kill -9 -1']).catch(() => undefined)
    await eventually(async () => expect(heard).toContain(id))
    unwatch()
    await again.remove(id, never)
    expect(await subject.driver().status(id)).toEqual({ state: 'absent' })
  })

  test('shutdown ends the machines that live on this computer and leaves the others', async () => {
    const driver = subject.driver()
    const { id } = await subject.running()
    const ended = await driver.shutdown()
    expect(ended.includes(id)).toBe(options.shutdownStops)
    expect((await driver.status(id)).state).toBe(options.shutdownStops ? 'stopped' : 'running')
  })
}

/** When the machine's first process started, in ticks since boot: another number after any restart. */
async function pidOneStart(driver: ComputeDriver, id: string): Promise<string> {
  return text(driver, id, 'cut -d" " -f22 /proc/1/stat')
}
