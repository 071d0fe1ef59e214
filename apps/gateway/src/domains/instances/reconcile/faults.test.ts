import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { computeFailure } from '../../../drivers/compute/fake/fake-engine.ts'
import { ComputeError } from '../../../drivers/compute/port/compute-error.ts'
import { createInstancesFixture, type InstancesFixture, startWanted } from '../instances-fixture.ts'

let fixture: InstancesFixture
beforeAll(async () => {
  fixture = await createInstancesFixture()
  await fixture.instances.reconciler.start()
})
afterEach(() => fixture.compute.faults.heal())
afterAll(() => fixture.close())

describe('[B6] a start that fails ends in an error with a cause, and costs nothing', () => {
  test.each([
    { step: 'pull', code: 'image_unavailable', reason: 'image_unavailable', tries: 1 },
    { step: 'pull', code: 'image_login_refused', reason: 'image_login_refused', tries: 1 },
    { step: 'pull', code: 'image_damaged', reason: 'image_damaged', tries: 1 },
    { step: 'pull', code: 'registry_busy', reason: 'registry_busy', tries: 3 },
    { step: 'pull', code: 'registry_slow', reason: 'registry_slow', tries: 3 },
    { step: 'pull', code: 'registry_unreachable', reason: 'registry_unreachable', tries: 3 },
    { step: 'pull', code: 'engine_unavailable', reason: 'engine_unavailable', tries: 3 },
    { step: 'create', code: 'unsupported', reason: 'unsupported', tries: 1 },
    { step: 'create', code: 'name_taken', reason: 'name_taken', tries: 1 },
    { step: 'create', code: 'exhausted', reason: 'exhausted', tries: 3 },
    { step: 'create', code: 'no_room', reason: 'no_room', tries: 3 },
    { step: 'start', code: 'port_taken', reason: 'port_taken', tries: 3 },
    { step: 'start', code: 'failed', reason: 'start_failed', tries: 3 },
    { step: 'probe', code: 'failed', reason: 'start_failed', tries: 3 },
  ] as const)('$step fails with $code', async ({ step, code, reason, tries }) => {
    const before = fixture.compute.calls.length
    fixture.compute.faults.fail(step, computeFailure(code))
    const userId = await fixture.payer()
    const id = await fixture.deploy(userId)
    const row = await fixture.until(id, 'error', { seconds: 1 })
    expect(row).toMatchObject({
      reasonCode: reason,
      reasonDetail: `the fake driver failed with ${code}`,
      desired: 'stopped',
    })
    expect(await fixture.takenBy(id)).toBe(0)
    if (step !== 'probe') {
      const calls = fixture.compute.calls.slice(before).filter(call => call.startsWith(`${step} `))
      expect(calls).toHaveLength(tries)
    }
    expect(await fixture.intervals(id)).toEqual([])
    await fixture.expectSound(id)
    expect((await fixture.eventCodes(userId, id)).at(-1)).toBe('failed')
    // Told once, however often it was tried.
    expect(fixture.troubles(userId)).toMatchObject([{ cause: 'error' }])
  })

  test.each([
    { step: 'pull', deaf: false },
    { step: 'pull', deaf: true },
    { step: 'create', deaf: false },
    { step: 'start', deaf: true },
    { step: 'probe', deaf: true },
  ])('$step hangs (deaf to its signal: $deaf)', async ({ step, deaf }) => {
    fixture.giveUpSoon()
    fixture.compute.faults.block(step, { deaf })
    const userId = await fixture.payer()
    const id = await fixture.deploy(userId)
    const row = await fixture.until(id, 'error', { seconds: 1 })
    expect(row).toMatchObject({ reasonCode: 'timed_out' })
    expect(await fixture.takenBy(id)).toBe(0)
    expect(row.reasonDetail).toMatch(/no answer within \d+ ms/)
    expect(await fixture.intervals(id)).toEqual([])
    await fixture.expectSound(id)
  })

  test.each([
    { bytes_done: 3, bytes_total: 9, reason: 'registry_slow' },
    { bytes_done: 3, bytes_total: null, reason: 'registry_slow' },
    // All of it came, and what hangs is the engine.
    { bytes_done: 9, bytes_total: 9, reason: 'timed_out' },
  ])('a pull stands still at $bytes_done of $bytes_total bytes', async ({ reason, ...report }) => {
    fixture.giveUpSoon()
    fixture.compute.pullReports.push(report)
    fixture.compute.faults.block('pull')
    const id = await fixture.deploy(await fixture.payer())
    const row = await fixture.until(id, 'error', { seconds: 1 })
    fixture.compute.pullReports.length = 0
    expect(row).toMatchObject({ reasonCode: reason })
    expect(await fixture.intervals(id)).toEqual([])
  })

  test('the driver never says what the machine is', async () => {
    const userId = await fixture.payer()
    const create = fixture.compute.faults.block('create')
    const id = await fixture.deploy(userId)
    await create.reached
    fixture.giveUpSoon()
    fixture.compute.faults.block('status', { deaf: true })
    create.release()
    const row = await fixture.until(id, 'error', { seconds: 10 })
    expect(row).toMatchObject({ reasonCode: 'compute_unavailable' })
    expect(await fixture.takenBy(id)).toBe(0)
    await fixture.expectSound(id)
    // Its machine was made: once the driver answers, it is seen not to be running.
    fixture.compute.faults.heal()
    await fixture.until(id, () => fixture.compute.held.get(id)?.status.state !== 'running', {
      seconds: 60,
    })
  })
})

test('what the host said of its files reaches no customer', async () => {
  const message = "ENOENT: no such file or directory, mkdir '/srv/operator/machines/i-abc'"
  const error = new ComputeError('failed', message, { cause: new Error(message) })
  fixture.compute.faults.fail('create', error)
  const userId = await fixture.payer()
  const id = await fixture.deploy(userId)
  const row = await fixture.until(id, 'error', { seconds: 1 })
  expect(row).toMatchObject({ reasonCode: 'start_failed', reasonDetail: '' })
  const told = [
    await fixture.instances.list(userId),
    await fixture.instances.events({ userId, instanceId: id }),
  ]
  expect(JSON.stringify(told)).not.toMatch(/ENOENT|operator/)
})

test('a failure that passes is got over', async () => {
  fixture.compute.faults.fail('start', computeFailure('exhausted'), 2)
  const id = await fixture.deploy(await fixture.payer())
  const row = await fixture.until(id, 'running', { seconds: 1 })
  expect(row).toMatchObject({ attempts: 0, failureCode: null, reasonCode: null })
  await fixture.expectSound(id)
})

test('a machine that starts after it was given up is stopped again', async () => {
  fixture.giveUpSoon()
  const block = fixture.compute.faults.block('start', { deaf: true })
  const id = await fixture.deploy(await fixture.payer())
  await fixture.until(id, 'error', { seconds: 1 })
  block.release()
  // The given-up call comes through now; a machine that runs is found by a look, at the latest by the sweep.
  fixture.compute.plant(id, 'running')
  await fixture.until(id, () => fixture.compute.held.get(id)?.status.state === 'stopped', {
    seconds: 600,
  })
  expect((await fixture.row(id)).status).toBe('error')
})

test('[R4.5] a failed instance can be started again', async () => {
  fixture.compute.faults.fail('start', computeFailure('unsupported'))
  const userId = await fixture.payer()
  const id = await fixture.deploy(userId)
  await fixture.until(id, 'error')
  fixture.compute.faults.heal()
  await fixture.instances.start({ userId, instanceId: id }, startWanted())
  await fixture.until(id, 'running')
  await fixture.expectSound(id)
})

describe('[B6] a stop that stalls', () => {
  test.each([
    { how: 'fails', deaf: null },
    { how: 'hangs', deaf: false },
    { how: 'hangs, deaf', deaf: true },
  ])('$how: not called stopped before it is, and stopped in the end', async ({ deaf }) => {
    const userId = await fixture.payer()
    const id = await fixture.running(userId)
    if (deaf === null) fixture.compute.faults.fail('stop', computeFailure('failed'))
    else {
      fixture.giveUpSoon()
      fixture.compute.faults.block('stop', { deaf })
    }
    await fixture.instances.stop({ userId, instanceId: id })
    const askedAt = fixture.clock.now()
    const row = await fixture.until(id, 'error', { seconds: 5 })
    expect(row).toMatchObject({ reasonCode: 'stop_failed' })
    // What an engine cannot stop is not its customer's to pay.
    const [interval] = await fixture.intervals(id)
    expect(interval?.endedAt).toEqual(askedAt)
    expect(await fixture.takenBy(id)).toBe(0)
    await fixture.expectSound(id)
    fixture.compute.faults.heal()
    await fixture.until(id, 'stopped', { seconds: 30 })
    expect(fixture.compute.held.get(id)?.status.state).toBe('stopped')
    await fixture.expectSound(id)
  })
})

describe('[R4.5] a removal that stalls', () => {
  test.each([{ how: 'fails' }, { how: 'hangs' }])(
    '$how: shown as an error, and done in the end',
    async row => {
      const userId = await fixture.payer()
      const id = await fixture.running(userId)
      if (row.how === 'fails') fixture.compute.faults.fail('remove', computeFailure('engine_unavailable'))
      else {
        fixture.giveUpSoon()
        fixture.compute.faults.block('remove', { deaf: true })
      }
      await fixture.instances.terminate({ userId, instanceId: id })
      expect(await fixture.until(id, 'error', { seconds: 30 })).toMatchObject({
        reasonCode: 'remove_failed',
        desired: 'terminated',
        terminatedAt: null,
      })
      expect(await fixture.instances.countUnremoved()).toBe(1)
      await fixture.expectSound(id)
      fixture.compute.faults.heal()
      await fixture.until(id, 'terminated', { seconds: 60 })
      expect(fixture.compute.held.has(id)).toBe(false)
      expect(await fixture.instances.countUnremoved()).toBe(0)
      await fixture.expectSound(id)
    },
  )
})

test('[B6] a restart that fails is not charged, and its GPUs are free', async () => {
  const userId = await fixture.payer()
  const id = await fixture.running(userId)
  fixture.compute.faults.fail('stop', computeFailure('failed'))
  await fixture.instances.restart({ userId, instanceId: id })
  const asked = fixture.clock.now()
  const row = await fixture.until(id, 'error', { seconds: 1 })
  expect(row).toMatchObject({ reasonCode: 'start_failed' })
  expect(await fixture.takenBy(id)).toBe(0)
  expect(await fixture.intervals(id)).toMatchObject([{ endedAt: asked }])
  await fixture.expectSound(id)
  // Its machine still ran: it is stopped as soon as that works.
  fixture.compute.faults.heal()
  await fixture.until(id, () => fixture.compute.held.get(id)?.status.state === 'stopped', { seconds: 60 })
})

test.each(['a stop', 'the loss of its machine'])(
  '[R4.5] a restart that is overtaken by %s is over: the next start is a start',
  async overtaker => {
    const userId = await fixture.payer()
    const id = await fixture.running(userId)
    if (overtaker === 'a stop') {
      const stopping = fixture.compute.faults.block('stop')
      await fixture.instances.restart({ userId, instanceId: id })
      await stopping.reached
      await fixture.instances.stop({ userId, instanceId: id })
      stopping.release()
      await fixture.until(id, 'stopped', { seconds: 1 })
    } else {
      fixture.compute.lose(id)
      await fixture.instances.restart({ userId, instanceId: id })
      expect(await fixture.until(id, 'error')).toMatchObject({ reasonCode: 'machine_lost' })
    }
    await fixture.instances.start({ userId, instanceId: id }, startWanted())
    const started = await fixture.until(id, row => ['running', 'error'].includes(row.status), { seconds: 1 })
    expect(started).toMatchObject({ status: 'running', reasonCode: null })
    expect(started.restartsDone).toBe(started.restartsAsked)
    await fixture.expectSound(id)
  },
)

test('a driver that says done while nothing is done is not asked for ever', async () => {
  const userId = await fixture.payer()
  const id = await fixture.running(userId)
  const before = fixture.compute.calls.length
  const { stop } = fixture.compute.machines
  fixture.compute.machines.stop = async machineId => {
    fixture.compute.calls.push(`stop ${machineId}`)
  }
  try {
    await fixture.instances.stop({ userId, instanceId: id })
    await fixture.until(id, row => row.failureDetail === 'stop changed nothing')
    expect(fixture.compute.calls.slice(before)).toEqual([`stop ${id}`])
  } finally {
    fixture.compute.machines.stop = stop
  }
  await fixture.until(id, 'stopped', { seconds: 1 })
})

test('[B6] a silent driver makes a running instance unknown, which is charged to when it was last seen', async () => {
  const userId = await fixture.payer()
  const id = await fixture.running(userId)
  const seen = fixture.clock.now()
  fixture.giveUpSoon()
  fixture.compute.faults.block('status', { deaf: true })
  const unknown = await fixture.until(id, 'unknown', { seconds: 4 })
  expect(unknown).toMatchObject({ reasonCode: 'driver_silent', desired: 'running' })
  expect(await fixture.takenBy(id)).toBe(1)
  expect((await fixture.intervals(id)).map(({ endedAt }) => endedAt)).toEqual([seen])
  await fixture.expectSound(id)
  fixture.compute.faults.heal()
  const again = await fixture.until(id, 'running', { seconds: 1 })
  const intervals = await fixture.intervals(id)
  expect(intervals).toHaveLength(2)
  expect(intervals[1]).toMatchObject({ startedAt: again.readyAt, endedAt: null })
  await fixture.expectSound(id)
  expect((await fixture.eventCodes(userId, id)).slice(-2)).toEqual(['lost_sight', 'seen_again'])
})
