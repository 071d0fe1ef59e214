import { expect, test } from 'vitest'
import { systemClock } from '../../../platform/clock.ts'
import type { MachineSpec } from '../port.ts'
import { computeFailure, createFakeDriver } from './fake-driver.ts'

// The shared suite asks for programs that run inside a machine, which a fake has none of; these are the parts of
// it that reconcilers rely on.

const never = new AbortController().signal
const spec: MachineSpec = {
  id: 'i-abc',
  hostname: 'abc',
  image: { id: 'berth-base', docker: null, sandbox: { userland: 'host' } },
  cpu_count: 1,
  memory_mb: 256,
  disk_gb: 1,
  gpu_uuids: [],
  env: {},
  command: null,
  ports: [],
}

test('a machine goes from absent to created, running, stopped, running and absent', async () => {
  const driver = createFakeDriver({ clock: systemClock })
  const states: string[] = []
  const look = async () => states.push((await driver.status(spec.id)).state)
  await look()
  await driver.create(spec, never)
  await look()
  await driver.start(spec.id, never)
  await look()
  await driver.stop(spec.id, never)
  await look()
  await driver.start(spec.id, never)
  await look()
  expect(await driver.list()).toEqual([{ id: spec.id, state: 'running' }])
  await driver.remove(spec.id, never)
  await look()
  expect(states).toEqual(['absent', 'created', 'running', 'stopped', 'running', 'absent'])
})

test('every step may be repeated, and the home outlives a stop', async () => {
  const driver = createFakeDriver({ clock: systemClock })
  await Promise.all([driver.create(spec, never), driver.create(spec, never)])
  await Promise.all([driver.start(spec.id, never), driver.start(spec.id, never)])
  driver.machines.get(spec.id)?.home.set('notes', 'kept')
  await Promise.all([driver.stop(spec.id, never), driver.stop(spec.id, never)])
  await driver.create(spec, never)
  expect(driver.machines.get(spec.id)?.home.get('notes')).toBe('kept')
  await Promise.all([driver.remove(spec.id, never), driver.remove(spec.id, never)])
  await driver.stop(spec.id, never)
  expect(await driver.status(spec.id)).toEqual({ state: 'absent' })
})

test('a stopped machine takes on another spec and keeps its home; one that runs is left as it is', async () => {
  const driver = createFakeDriver({ clock: systemClock })
  await driver.create(spec, never)
  driver.machines.get(spec.id)?.home.set('notes', 'kept')
  const next = { ...spec, memory_mb: 512, env: { GIVEN: 'yes' }, command: ['serve'] }
  await driver.create(next, never)
  await driver.start(spec.id, never)
  await driver.create(spec, never)
  expect((await driver.stats(spec.id)).memory_limit_mb).toBe(512)
  expect(driver.machines.get(spec.id)).toMatchObject({ spec: next, home: new Map([['notes', 'kept']]) })
})

test('an image is here or not, as the test wants', async () => {
  const driver = createFakeDriver({ clock: systemClock })
  expect(await driver.hasImage(spec.image)).toBe(true)
  driver.imagesHere = false
  expect(await driver.hasImage(spec.image)).toBe(false)
})

test('a machine that is not there is told apart from one that does not run', async () => {
  const driver = createFakeDriver({ clock: systemClock })
  await expect(driver.start(spec.id, never)).rejects.toMatchObject({ code: 'not_found' })
  await expect(driver.exec(spec.id, ['true'])).rejects.toMatchObject({ code: 'not_found' })
  await driver.create(spec, never)
  await expect(driver.exec(spec.id, ['true'])).rejects.toMatchObject({ code: 'not_running' })
  await expect(driver.connect(spec.id, 80)).rejects.toMatchObject({ code: 'not_running' })
  await driver.start(spec.id, never)
  expect(await driver.exec(spec.id, ['true'])).toEqual({ exit_code: 0, stdout: '', stderr: '' })
  await expect(driver.connect(spec.id, 80)).rejects.toMatchObject({ code: 'port_closed' })
})

test('whoever watches hears of a machine that ended by itself, and a later driver finds it as it is', async () => {
  const driver = createFakeDriver({ clock: systemClock })
  await driver.create(spec, never)
  await driver.start(spec.id, never)
  const heard: string[] = []
  const stop = driver.watch(id => heard.push(id))
  driver.exit(spec.id, 7)
  stop()
  expect(heard).toEqual([spec.id])
  const later = createFakeDriver({ clock: systemClock, machines: driver.machines })
  expect(await later.status(spec.id)).toEqual({ state: 'stopped', exit_code: 7 })
  await later.start(spec.id, never)
  expect(await later.shutdown()).toEqual([spec.id])
})

test('it fails and hangs as it is told, and heals', async () => {
  const driver = createFakeDriver({ clock: systemClock })
  driver.faults.fail('create', computeFailure('exhausted'), 1)
  await expect(driver.create(spec, never)).rejects.toMatchObject({ code: 'exhausted' })
  await driver.create(spec, never)
  const abort = new AbortController()
  const block = driver.faults.block('start')
  const starting = driver.start(spec.id, abort.signal)
  await block.reached
  abort.abort(new Error('given up'))
  await expect(starting).rejects.toThrow('given up')
  expect((await driver.status(spec.id)).state).toBe('created')
  driver.faults.heal()
  await driver.start(spec.id, never)
  expect((await driver.status(spec.id)).state).toBe('running')
})
