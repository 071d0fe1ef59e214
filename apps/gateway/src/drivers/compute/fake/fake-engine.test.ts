import { expect, test } from 'vitest'
import { systemClock } from '../../../platform/clock.ts'
import { describeConformance } from '../conformance/conformance.ts'
import { smallMachine } from '../conformance/small-machine.ts'
import { computeFailure, createFakeEngine, type FakeEngine } from './fake-engine.ts'

let first: FakeEngine | null = null
describeConformance('fake', {
  // The first one's machines are what a restarted gateway finds.
  makeEngine: async () => {
    const engine = createFakeEngine({ clock: systemClock, ...(first ? { held: first.held } : {}) })
    first ??= engine
    return engine
  },
  image: { id: 'berth-base', parts: {} },
  missingImage: null,
  noPrograms: 'nothing runs in a machine of the fake engine',
  shutdownStops: true,
})

// And what tests of reconcilers rely on beyond that.

const never = new AbortController().signal
const spec = smallMachine('i-abc', { id: 'berth-base', parts: { sandbox: 'host' } }, { hostname: 'abc' })

test('a machine goes from absent to created, running, stopped, running and absent', async () => {
  const engine = createFakeEngine({ clock: systemClock })
  const states: string[] = []
  const look = async () => states.push((await engine.observation.status(spec.id)).state)
  await look()
  await engine.machines.create(spec, never)
  await look()
  await engine.machines.start(spec.id, never)
  await look()
  await engine.machines.stop(spec.id, never)
  await look()
  await engine.machines.start(spec.id, never)
  await look()
  expect(await engine.machines.list()).toEqual([{ id: spec.id, state: 'running' }])
  await engine.machines.remove(spec.id, never)
  await look()
  expect(states).toEqual(['absent', 'created', 'running', 'stopped', 'running', 'absent'])
})

test('every step may be repeated, and the home outlives a stop', async () => {
  const engine = createFakeEngine({ clock: systemClock })
  await Promise.all([engine.machines.create(spec, never), engine.machines.create(spec, never)])
  await Promise.all([engine.machines.start(spec.id, never), engine.machines.start(spec.id, never)])
  engine.held.get(spec.id)?.home.set('notes', 'kept')
  await Promise.all([engine.machines.stop(spec.id, never), engine.machines.stop(spec.id, never)])
  await engine.machines.create(spec, never)
  expect(engine.held.get(spec.id)?.home.get('notes')).toBe('kept')
  await Promise.all([engine.machines.remove(spec.id, never), engine.machines.remove(spec.id, never)])
  await engine.machines.stop(spec.id, never)
  expect(await engine.observation.status(spec.id)).toEqual({ state: 'absent' })
})

test('a stopped machine takes on another spec and keeps its home; one that runs is left as it is', async () => {
  const engine = createFakeEngine({ clock: systemClock })
  await engine.machines.create(spec, never)
  engine.held.get(spec.id)?.home.set('notes', 'kept')
  const next = { ...spec, memory_mb: 512, env: { GIVEN: 'yes' }, command: ['serve'] }
  await engine.machines.create(next, never)
  await engine.machines.start(spec.id, never)
  await engine.machines.create(spec, never)
  expect((await engine.observation.sample(spec.id)).memory_limit_mb).toBe(512)
  expect(engine.held.get(spec.id)).toMatchObject({ spec: next, home: new Map([['notes', 'kept']]) })
})

test('an image is here or not, as the test wants', async () => {
  const engine = createFakeEngine({ clock: systemClock })
  expect(await engine.images.has(spec.image)).toBe(true)
  engine.imagesHere = false
  expect(await engine.images.has(spec.image)).toBe(false)
})

test('a machine that is not there is told apart from one that does not run', async () => {
  const engine = createFakeEngine({ clock: systemClock })
  await expect(engine.machines.start(spec.id, never)).rejects.toMatchObject({ code: 'not_found' })
  await expect(engine.console.exec(spec.id, ['true'])).rejects.toMatchObject({ code: 'not_found' })
  await engine.machines.create(spec, never)
  await expect(engine.console.exec(spec.id, ['true'])).rejects.toMatchObject({ code: 'not_running' })
  await expect(engine.network.connect(spec.id, 80)).rejects.toMatchObject({ code: 'not_running' })
  await engine.machines.start(spec.id, never)
  expect(await engine.console.exec(spec.id, ['true'])).toEqual({ exit_code: 0, stdout: '', stderr: '' })
  await expect(engine.network.connect(spec.id, 80)).rejects.toMatchObject({ code: 'port_closed' })
})

test('whoever watches hears of a machine that ended by itself, and a later driver finds it as it is', async () => {
  const engine = createFakeEngine({ clock: systemClock })
  await engine.machines.create(spec, never)
  await engine.machines.start(spec.id, never)
  const heard: string[] = []
  const stop = engine.observation.watch(id => heard.push(id))
  engine.exit(spec.id, 7)
  stop()
  expect(heard).toEqual([spec.id])
  const later = createFakeEngine({ clock: systemClock, held: engine.held })
  expect(await later.observation.status(spec.id)).toEqual({ state: 'stopped', exit_code: 7 })
  await later.machines.start(spec.id, never)
  expect(await later.shutdown()).toEqual([spec.id])
})

test('it fails and hangs as it is told, and heals', async () => {
  const engine = createFakeEngine({ clock: systemClock })
  engine.faults.fail('create', computeFailure('exhausted'), 1)
  await expect(engine.machines.create(spec, never)).rejects.toMatchObject({ code: 'exhausted' })
  await engine.machines.create(spec, never)
  const abort = new AbortController()
  const block = engine.faults.block('start')
  const starting = engine.machines.start(spec.id, abort.signal)
  await block.reached
  abort.abort(new Error('given up'))
  await expect(starting).rejects.toThrow('given up')
  expect((await engine.observation.status(spec.id)).state).toBe('created')
  engine.faults.heal()
  await engine.machines.start(spec.id, never)
  expect((await engine.observation.status(spec.id)).state).toBe('running')
})
