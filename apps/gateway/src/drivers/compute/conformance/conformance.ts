import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { PATIENCE_MS } from '../../../../../../scripts/test/patience-ms.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { Engine } from '../port/engine.ts'
import type { ImageRecipe } from '../port/images.ts'
import { lackOf, offered } from '../port/part.ts'
import { describeCommandEnd } from './command-end.ts'
import { describeExec } from './exec.ts'
import { describeImages } from './images.ts'
import { describeNetwork } from './network.ts'
import { describeObservation } from './observation.ts'
import { describePrograms } from './programs.ts'
import { describeRespec } from './respec.ts'
import { describeSerial } from './serial.ts'
import { describeSessions } from './sessions.ts'
import { smallMachine } from './small-machine.ts'
import { describeTerminal } from './terminal.ts'
import { eventually, expectCode, never, type Subject, text } from './tools.ts'
import { describeVolumes } from './volumes.ts'
import { describeWalls } from './walls.ts'

export interface ConformanceOptions {
  /** Opens one and the same engine for one cloud; the second time stands for a restarted gateway. */
  makeEngine(): Promise<Engine>
  image: ImageRecipe
  /** An image that this driver can never make; null where it makes all. */
  missingImage: ImageRecipe | null
  /** Why no program runs in its machines, for an engine of which that is true; left out where they run. */
  noPrograms?: string
  /** Why no shell opens in its machines, likewise. */
  noShells?: string
  /** So many lines are more than what is under way from a program to the gateway; left out where that is one connection. */
  heldLines?: number
  /** Says that another suite looks at the same driver in full: then only what its images are part of is looked at. */
  imagesOnly?: true
  /** Whether `shutdown` ends machines, as the port says of drivers whose machines live on this computer. */
  shutdownStops: boolean
}

/**
 * What every driver must do, whatever is behind it. Each test makes machines of its own, which go with it: what runs in
 * them would take the computer's time from all other tests. Nothing is shared but the engine.
 */
export function describeConformance(name: string, options: ConformanceOptions): void {
  describe(`${name} keeps the compute port`, () => {
    let engine: Engine
    const made = new Set<string>()
    let left: string[] = []
    const removeLeft = async () => {
      const ids = left
      left = []
      await Promise.all(ids.map(id => engine.machines.remove(id, never)))
    }

    const subject: Subject = {
      engine: () => engine,
      inside: (name, run) => {
        const why = options.noPrograms
        test(name, why === undefined ? run : context => context.skip(why))
      },
      spec: (part = {}) => {
        const id = `t-${randomBytes(5).toString('hex')}`
        made.add(id)
        left.push(id)
        return smallMachine(id, options.image, { hostname: `host-${id}`, ...part })
      },
      running: async (part = {}) => {
        const spec = subject.spec(part)
        await engine.machines.create(spec, never)
        await engine.machines.start(spec.id, never)
        await engine.machines.begin(spec.id, never)
        return spec
      },
    }

    beforeAll(async () => {
      engine = await options.makeEngine()
    })
    afterEach(removeLeft)
    afterAll(async () => {
      await engine?.shutdown()
      expect((await engine.machines.list()).filter(machine => made.has(machine.id))).toEqual([])
    })

    if (options.imagesOnly) {
      describeWalls(subject)
      describeImages(subject, options)
      describeRespec(subject)
      return
    }
    describeEngine(subject, options)
    describeLife(subject)
    describeRespec(subject)
    describeCommandEnd(subject)
    describeWalls(subject)
    describeImages(subject, options)
    describeVolumes(subject)
    describeNetwork(subject)
    describeExec(subject)
    describePrograms(subject)
    describeTerminal(subject, options)
    describeSerial(subject)
    describeObservation(subject)
    describeSessions(subject, options)
    describeEnds(subject, options)
  })
}

function describeEngine(subject: Subject, options: ConformanceOptions): void {
  test('an engine has an id that stays, and says what its computer has', async () => {
    const engine = subject.engine()
    expect(engine.id).toMatch(new RegExp(`^${engine.driver}:[^/\\s]+$`))
    expect((await options.makeEngine()).id).toBe(engine.id)
    expect(engine.kinds.length).toBeGreaterThan(0)
    const { cpu_count, memory_mb, disk_gb } = await engine.size()
    expect(cpu_count).toBeGreaterThanOrEqual(1)
    expect(memory_mb).toBeGreaterThan(100)
    if (disk_gb !== null) expect(disk_gb).toBeGreaterThan(0)
  })

  test('a facet that an engine lacks says why, in a sentence', () => {
    const { console, images, network, observation, volumes } = subject.engine()
    const parts = [console.serial, console.programs, images.own, network.udp, volumes]
    for (const part of [...parts, observation.guest]) {
      const why = lackOf(part)
      if (why === null) continue
      expect(why).toMatch(/^[A-Z].+\.$/)
      expect(() => offered(part)).toThrowError(new ComputeError('unsupported', why))
    }
  })
}

function describeLife(subject: Subject): void {
  test('[B1] a machine goes from absent to created, running, stopped, running and absent', async () => {
    const engine = subject.engine()
    const { id } = subject.spec()
    expect(await engine.observation.status(id)).toEqual({ state: 'absent' })
    await engine.machines.create({ ...subject.spec(), id }, never)
    expect(await engine.observation.status(id)).toEqual({ state: 'created' })
    await engine.machines.start(id, never)
    const running = await engine.observation.status(id)
    expect(running.state).toBe('running')
    expect(running.state === 'running' && Math.abs(Date.now() - running.started_at.getTime())).toBeLessThan(
      60_000,
    )
    await engine.machines.stop(id, never)
    expect((await engine.observation.status(id)).state).toBe('stopped')
    await engine.machines.start(id, never)
    expect((await engine.observation.status(id)).state).toBe('running')
    await engine.machines.remove(id, never)
    expect(await engine.observation.status(id)).toEqual({ state: 'absent' })
  })

  subject.inside('every step may be repeated, also at the same time', async () => {
    const engine = subject.engine()
    const spec = subject.spec()
    await Promise.all([engine.machines.create(spec, never), engine.machines.create(spec, never)])
    await engine.machines.create(spec, never)
    await Promise.all([engine.machines.start(spec.id, never), engine.machines.start(spec.id, never)])
    const first = await pidOneStart(engine, spec.id)
    await engine.machines.start(spec.id, never)
    await engine.machines.create(spec, never)
    expect(await pidOneStart(engine, spec.id)).toBe(first)
    await Promise.all([engine.machines.stop(spec.id, never), engine.machines.stop(spec.id, never)])
    await engine.machines.stop(spec.id, never)
    await Promise.all([engine.machines.remove(spec.id, never), engine.machines.remove(spec.id, never)])
    await engine.machines.remove(spec.id, never)
    await engine.machines.stop(spec.id, never)
    expect(await engine.observation.status(spec.id)).toEqual({ state: 'absent' })
  })

  subject.inside(
    'what waits runs nothing of its customer’s before it is let begin, and then once',
    async ctx => {
      const engine = subject.engine()
      if (!engine.machines.wait_to_begin) return ctx.skip('here what is in a machine runs from its start on')
      const spec = subject.spec({ command: ['sh', '-c', 'echo begun >> ~/told'] })
      await engine.machines.create(spec, never)
      await engine.machines.start(spec.id, never)
      await engine.machines.probe(spec.id, never)
      expect(await engine.observation.status(spec.id)).toMatchObject({ state: 'running', waits: true })
      // Another gateway, which finds it so, and a start that is repeated let nothing run either.
      expect(await engine.observation.logs(spec.id, { lines_max: 9 })).toBe('')
      await engine.machines.start(spec.id, never)
      expect(await text(engine, spec.id, 'ls ~/told 2>&1; true')).toContain('No such file')
      await Promise.all([engine.machines.begin(spec.id, never), engine.machines.begin(spec.id, never)])
      await eventually(async () => expect(await text(engine, spec.id, 'cat ~/told')).toBe('begun\n'))
      expect(await engine.observation.status(spec.id)).not.toHaveProperty('waits')
      await engine.machines.begin(spec.id, never)
      expect(await text(engine, spec.id, 'cat ~/told')).toBe('begun\n')
    },
  )

  subject.inside('a machine whose customer put other programs first answers all the same', async () => {
    const engine = subject.engine()
    const lay =
      'mkdir -p ~/bin && printf "#!/bin/sh\nsleep 3600" > ~/bin/true && chmod +x ~/bin/true && touch ~/laid'
    const { id } = await subject.running({
      env: { PATH: '/root/bin:/usr/local/bin:/usr/bin:/bin' },
      command: ['sh', '-c', `${lay}; sleep 3600`],
    })
    await eventually(() => text(engine, id, '[ -e ~/laid ]'))
    await expectCode(engine.console.exec(id, ['true'], { timeout_ms: 300 }), 'failed')
    await engine.machines.probe(id, never)
    await engine.machines.stop(id, never, { at_once: true })
    await expectCode(engine.machines.probe(id, never), 'not_running')
    await expectCode(engine.machines.begin(id, never), 'not_running')
  })

  test('a machine that is not there is told apart from one that does not run', async () => {
    const engine = subject.engine()
    const missing = subject.spec().id
    await expectCode(engine.machines.start(missing, never), 'not_found')
    await expectCode(engine.machines.probe(missing, never), 'not_found')
    await expectCode(engine.machines.begin(missing, never), 'not_found')
    await expectCode(engine.console.exec(missing, ['true']), 'not_found')
    await expectCode(engine.console.attach(missing, 'web', { cols: 80, rows: 24 }), 'not_found')
    await expectCode(engine.observation.sample(missing), 'not_found')
    await expectCode(engine.observation.logs(missing, { lines_max: 1 }), 'not_found')

    const spec = subject.spec()
    await engine.machines.create(spec, never)
    for (const state of ['created', 'stopped']) {
      expect((await engine.observation.status(spec.id)).state).toBe(state)
      await expectCode(engine.console.attach(spec.id, 'web', { cols: 80, rows: 24 }), 'not_running')
      await expectCode(engine.console.exec(spec.id, ['true']), 'not_running')
      await expectCode(engine.network.connect(spec.id, 80), 'not_running')
      if (state === 'stopped') break
      await engine.machines.start(spec.id, never)
      await engine.machines.stop(spec.id, never)
    }
  })

  test('ids that could name something else are refused', async () => {
    const engine = subject.engine()
    for (const id of ['../up', 'a/b', '', 'A', '.', 'x'.repeat(41)]) {
      await expectCode(engine.machines.create({ ...subject.spec(), id }, never), 'unsupported')
      expect(await engine.observation.status(id)).toEqual({ state: 'absent' })
    }
  })

  subject.inside('the home outlives a stop and dies with the machine', async () => {
    const engine = subject.engine()
    const spec = await subject.running()
    const { id } = spec
    await text(
      engine,
      id,
      'mkdir ~/kept && echo alive > ~/kept/file && chmod 0 ~/kept && echo gone > /tmp/lost',
    )
    await engine.machines.stop(id, never)
    await engine.machines.start(id, never)
    expect(await text(engine, id, 'chmod 700 ~/kept; cat ~/kept/file')).toBe('alive\n')
    await text(engine, id, 'chmod 0 ~/kept')
    await engine.machines.remove(id, never)
    await engine.machines.create(spec, never)
    await engine.machines.start(id, never)
    expect(await text(engine, id, 'ls -A ~ | grep -c kept; true')).toBe('0\n')
  })

  test('a call that was given up before it began does nothing', async () => {
    const engine = subject.engine()
    const given_up = AbortSignal.abort(new Error('given up'))
    const spec = subject.spec()
    await expectCode(engine.machines.create(spec, given_up), 'failed')
    expect(await engine.observation.status(spec.id)).toEqual({ state: 'absent' })
    await engine.machines.create(spec, never)
    await expectCode(engine.machines.start(spec.id, given_up), 'failed')
    expect(await engine.observation.status(spec.id)).toEqual({ state: 'created' })
    await engine.machines.start(spec.id, never)
    await expectCode(engine.machines.stop(spec.id, given_up), 'failed')
    await expectCode(engine.machines.remove(spec.id, given_up), 'failed')
    expect((await engine.observation.status(spec.id)).state).toBe('running')
  })

  subject.inside(
    'a start that is given up half way leaves nothing running, or a machine that runs',
    async () => {
      const engine = subject.engine()
      const spec = subject.spec()
      await engine.machines.create(spec, never)
      const giveUp = new AbortController()
      const starting = engine.machines.start(spec.id, giveUp.signal).catch((error: unknown) => error)
      setImmediate(() => giveUp.abort())
      await starting
      await engine.machines.start(spec.id, never)
      expect(await text(engine, spec.id, 'echo up')).toBe('up\n')
    },
  )

  test('the list names every machine with its state, for the orphan sweep', async () => {
    const engine = subject.engine()
    const created = subject.spec()
    await engine.machines.create(created, never)
    const running = await subject.running()
    const stopped = await subject.running()
    await engine.machines.stop(stopped.id, never)
    const listed = new Map((await engine.machines.list()).map(machine => [machine.id, machine.state]))
    expect(listed.get(created.id)).toBe('created')
    expect(listed.get(running.id)).toBe('running')
    expect(listed.get(stopped.id)).toBe('stopped')
  })
}

function describeEnds(subject: Subject, options: ConformanceOptions): void {
  subject.inside('stop asks first, and what obeys may end in good order', async () => {
    const engine = subject.engine()
    const command = [
      'sh',
      '-c',
      'trap "echo ended > ~/ended; exit 0" TERM; echo ready; while :; do sleep 0.05; done',
    ]
    const { id } = await subject.running({ command })
    // A line of its own: the command itself may stand in the log too.
    await eventually(async () =>
      expect(await engine.observation.logs(id, { lines_max: 9 })).toMatch(/^ready$/m),
    )
    await engine.machines.stop(id, never)
    await engine.machines.start(id, never)
    expect(await text(engine, id, 'cat ~/ended')).toBe('ended\n')
  })

  subject.inside('stop ends also what does not obey, within seconds', async () => {
    const engine = subject.engine()
    const command = ['sh', '-c', 'trap "" TERM HUP INT; while :; do sleep 0.05; done']
    const { id } = await subject.running({ command })
    const began = Date.now()
    await engine.machines.stop(id, never)
    expect(Date.now() - began).toBeLessThan(PATIENCE_MS)
    expect((await engine.observation.status(id)).state).toBe('stopped')
  })

  subject.inside(
    'a machine whose processes died is stopped, whoever watches hears of it, and it starts again',
    async () => {
      const engine = subject.engine()
      const heard: string[] = []
      const unwatch = engine.observation.watch(id => heard.push(id))
      const { id } = await subject.running()
      await engine.console.exec(id, ['sh', '-c', 'kill -9 -1']).catch(() => undefined)
      await eventually(async () => {
        expect((await engine.observation.status(id)).state).toBe('stopped')
        expect(heard).toContain(id)
      })
      unwatch()
      await engine.machines.start(id, never)
      expect(await text(engine, id, 'echo back')).toBe('back\n')
    },
  )

  subject.inside('a restarted gateway finds its machines as they are and can use and end them', async () => {
    const { id } = await subject.running()
    const before = await pidOneStart(subject.engine(), id)
    const again = await options.makeEngine()
    expect((await again.observation.status(id)).state).toBe('running')
    expect((await again.machines.list()).find(machine => machine.id === id)?.state).toBe('running')
    expect(await pidOneStart(again, id)).toBe(before)
    const heard: string[] = []
    const unwatch = again.observation.watch(changed => heard.push(changed))
    await again.console.exec(id, ['sh', '-c', 'kill -9 -1']).catch(() => undefined)
    await eventually(async () => expect(heard).toContain(id))
    unwatch()
    await again.machines.remove(id, never)
    expect(await subject.engine().observation.status(id)).toEqual({ state: 'absent' })
  })

  test('shutdown ends the machines that live on this computer, unless they are to stay, and leaves the others', async () => {
    const engine = subject.engine()
    const { id } = await subject.running()
    expect(await engine.shutdown({ machines_stay: true })).toEqual([])
    expect((await engine.observation.status(id)).state).toBe('running')
    const ended = await engine.shutdown()
    expect(ended.includes(id)).toBe(options.shutdownStops)
    expect((await engine.observation.status(id)).state).toBe(options.shutdownStops ? 'stopped' : 'running')
  })
}

/** When the machine's first process started, in ticks since boot: another number after any restart. */
async function pidOneStart(engine: Engine, id: string): Promise<string> {
  return text(engine, id, 'cut -d" " -f22 /proc/1/stat')
}
