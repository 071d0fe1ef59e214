import { randomUUID } from 'node:crypto'
import {
  INSTANCE_STATUSES,
  type InstanceStatus,
  instanceCan,
  STATUS_ON_ACTION,
} from '@berth/contract/instance-states'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createInstancesFixture, type InstancesFixture, startWanted } from '../instances-fixture.ts'

/** The actions that this domain carries out so far, each through the function that its call goes to. */
const ACTIONS = {
  start: (fixture: InstancesFixture, target: Target) => fixture.instances.start(target, startWanted()),
  stop: (fixture: InstancesFixture, target: Target) => fixture.instances.stop(target),
  restart: (fixture: InstancesFixture, target: Target) => fixture.instances.restart(target),
  terminate: (fixture: InstancesFixture, target: Target) => fixture.instances.terminate(target),
  edit: (fixture: InstancesFixture, target: Target) => fixture.instances.edit(target, { name: 'renamed' }),
} as const
type Action = keyof typeof ACTIONS
type Target = { userId: string; instanceId: string }

const actions = Object.keys(ACTIONS) as Action[]
const pairs = actions.flatMap(action => INSTANCE_STATUSES.map(status => ({ action, status })))

let fixture: InstancesFixture
beforeAll(async () => {
  // No reconciler runs: what a call does at once is what is looked at.
  fixture = await createInstancesFixture()
})
afterAll(() => fixture.close())

describe('[R4.4] [R4.5] the state table holds for every action in every status', () => {
  let target: Target
  beforeAll(async () => {
    const userId = await fixture.payer()
    target = { userId, instanceId: await fixture.deploy(userId) }
  })

  test.each(pairs)('$action while $status', async ({ action, status }) => {
    await fixture.force(target.instanceId, status)
    const before = await fixture.row(target.instanceId)
    const acting = ACTIONS[action](fixture, target)
    if (instanceCan(action, { kind: 'POD', status })) {
      const expected = STATUS_ON_ACTION[action] ?? status
      expect(await acting).toEqual({ instance_id: target.instanceId, status: expected })
      expect((await fixture.row(target.instanceId)).status).toBe(expected)
    } else {
      await expect(acting).rejects.toMatchObject({ code: 'instance_state', values: { status } })
      expect(await fixture.row(target.instanceId)).toEqual(before)
    }
  })
})

describe('[R4.4] [R4.5] the same table holds for how it is paid for', () => {
  let target: Target
  beforeAll(async () => {
    const userId = await fixture.payer()
    const body = { billing_type: 'prepay', charge_cycle: 'weekly' } as const
    target = { userId, instanceId: await fixture.deploy(userId, body) }
  })
  // Its first term has not begun, and what is allowed by its status is asked before that.
  const CHANGES = [
    ['renew', 'renew', 'term_not_begun'],
    ['convert', 'convert_charge_type', 'term_not_begun'],
    ['subscribe', 'switch_to_subscription', 'already_prepaid'],
  ] as const

  test.each(INSTANCE_STATUSES)('while %s', async status => {
    await fixture.force(target.instanceId, status)
    for (const [change, action, code] of CHANGES) {
      const wanted = { change, cycle: null, priceMicro: '0', idempotencyKey: randomUUID() }
      const expected = instanceCan(action, { kind: 'POD', status }) ? code : 'instance_state'
      await expect(fixture.instances.changePaying(target, wanted)).rejects.toMatchObject({ code: expected })
      const preview = await fixture.instances.previewBilling(target, wanted)
      expect(preview).toMatchObject({ refused: expected, cost_micro: '0', back_micro: '0' })
    }
    for (const autoRenew of [false, true]) {
      const toggling = fixture.instances.toggleRenewal(target, autoRenew)
      const can = instanceCan(autoRenew ? 'toggle_renewal' : 'cancel_renewal', { kind: 'POD', status })
      if (can) expect(await toggling).toMatchObject({ status })
      else await expect(toggling).rejects.toMatchObject({ code: 'instance_state' })
      if (can) expect(await fixture.row(target.instanceId)).toMatchObject({ autoRenew })
    }
  })
})

test.each(INSTANCE_STATUSES)(
  '[R4.4] [R2.25] an address of its own is given and taken back as the same table says, while %s',
  async status => {
    const userId = await fixture.payer()
    const target = { userId, instanceId: await fixture.deploy(userId, { tcp_ports: [22] }) }
    const binding = () =>
      fixture.instances.bindPublicIp(target, {
        regionCode: 'us-west',
        priceMicro: null,
        idempotencyKey: randomUUID(),
      })
    const refused = { code: 'instance_state', values: { status } }
    const can = (action: 'bind_public_ip' | 'unbind_public_ip') =>
      instanceCan(action, { kind: 'POD', status })
    await fixture.force(target.instanceId, status)
    if (!can('bind_public_ip')) await expect(binding()).rejects.toMatchObject(refused)
    await fixture.force(target.instanceId, 'running')
    const { id } = await binding()
    const unbinding = () => fixture.instances.unbindPublicIp({ userId, id: id ?? '' })
    await fixture.force(target.instanceId, status)
    if (can('bind_public_ip')) await expect(binding()).rejects.toMatchObject({ code: 'public_ip_bound' })
    if (can('unbind_public_ip')) {
      expect(await unbinding()).toEqual({ instance_id: target.instanceId, status })
    } else {
      await expect(unbinding()).rejects.toMatchObject(refused)
      await fixture.force(target.instanceId, 'running')
      await unbinding()
    }
    await fixture.force(target.instanceId, status)
    // Given in its own right too, and others have theirs again.
    if (can('bind_public_ip')) {
      const again = await binding()
      await fixture.force(target.instanceId, 'running')
      await fixture.instances.unbindPublicIp({ userId, id: again.id ?? '' })
    }
  },
)

test.each(actions)(
  '[R6.4] %s: another customer’s instance and a missing one give the same 404',
  async action => {
    const owner = await fixture.payer()
    const instanceId = await fixture.deploy(owner)
    await fixture.force(instanceId, action === 'start' ? 'stopped' : 'running')
    const before = await fixture.row(instanceId)
    const stranger = await fixture.payer()
    for (const foreign of [instanceId, 'i-nowhere']) {
      const acting = ACTIONS[action](fixture, { userId: stranger, instanceId: foreign })
      await expect(acting).rejects.toMatchObject({ code: 'not_found', values: {} })
    }
    expect(await fixture.row(instanceId)).toEqual(before)
  },
)

test('[R6.4] a list, events and connections show a customer’s own instances only', async () => {
  const owner = await fixture.payer()
  const instanceId = await fixture.deploy(owner)
  await fixture.force(instanceId, 'running')
  const stranger = await fixture.payer()
  const { instances } = fixture
  expect(await instances.list(stranger)).toEqual([])
  await expect(instances.events({ userId: stranger, instanceId })).rejects.toMatchObject({
    code: 'not_found',
  })
  await expect(instances.findRunning(stranger, instanceId)).rejects.toMatchObject({ code: 'not_found' })
  const range = { from: new Date(0), to: new Date('2100-01-01') }
  expect(await instances.eventsBetween(fixture.db, { userId: stranger, instanceId, ...range })).toEqual([])
  expect((await instances.list(owner)).map(({ instance_id }) => instance_id)).toEqual([instanceId])
  expect(await instances.findRunning(owner, instanceId)).toMatchObject({ id: instanceId })
  expect(await instances.eventsBetween(fixture.db, { userId: owner, instanceId, ...range })).toHaveLength(1)
})

test.each(['stop', 'restart', 'terminate'] as const)(
  '[B2] a %s ends neither the charge nor what is set aside for it: what runs until it has ended is paid from there',
  async action => {
    const userId = await fixture.payer()
    const instanceId = await fixture.deploy(userId)
    await fixture.force(instanceId, 'running')
    const { heldMicro } = await fixture.billing.totals(fixture.db, userId)
    await ACTIONS[action](fixture, { userId, instanceId })
    expect(await fixture.row(instanceId)).toMatchObject({ mayRun: true })
    expect((await fixture.billing.totals(fixture.db, userId)).heldMicro).toBe(heldMicro)
    expect(heldMicro).toBeGreaterThan(0n)
  },
)

test.each<InstanceStatus>(['creating', 'pulling', 'unknown', 'stopping', 'exited', 'error'])(
  'nothing connects to an instance that is %s',
  async status => {
    const userId = await fixture.payer()
    const instanceId = await fixture.deploy(userId)
    await fixture.force(instanceId, status)
    const finding = fixture.instances.findRunning(userId, instanceId)
    await expect(finding).rejects.toMatchObject({ code: 'instance_not_running' })
    const { serviceSecret } = await fixture.row(instanceId)
    expect(await fixture.instances.findService(serviceSecret)).toEqual({
      instanceId,
      userId,
      httpPorts: [8080],
      running: false,
    })
  },
)

test('a service is found by its secret alone, until its instance is gone', async () => {
  const userId = await fixture.payer()
  const instanceId = await fixture.deploy(userId)
  await fixture.force(instanceId, 'running')
  const { serviceSecret } = await fixture.row(instanceId)
  expect(await fixture.instances.findService(serviceSecret)).toMatchObject({ instanceId, running: true })
  expect(await fixture.instances.findService(randomUUID())).toBeNull()
})

test('a start may take another spec and count, at that price', async () => {
  const userId = await fixture.payer()
  const instanceId = await fixture.deploy(userId)
  await fixture.force(instanceId, 'stopped')
  await fixture.instances.start({ userId, instanceId }, startWanted({ specId: 'l4', gpuCount: 2 }))
  expect(await fixture.row(instanceId)).toMatchObject({
    gpuSpecId: 'l4',
    gpuCount: 2,
    spec: { name: 'L4', gpu: true, vram_gb: 24, vcpu: 16, memory_gb: 64 },
    runningMicroPerHour: 780_000n,
    simulated: true,
  })
  expect(await fixture.takenBy(instanceId)).toBe(2)
  const { heldMicro } = await fixture.billing.totals(fixture.db, userId)
  expect(heldMicro).toBe(780_000n)
})

test('[B3] a start repeated with its key answers with what is there, and reserves nothing again', async () => {
  const userId = await fixture.payer()
  const instanceId = await fixture.deploy(userId)
  await fixture.force(instanceId, 'stopped')
  const wanted = startWanted()
  const again = () => fixture.instances.start({ userId, instanceId }, wanted)
  const heldMicro = async () => (await fixture.billing.totals(fixture.db, userId)).heldMicro
  expect(await again()).toEqual({ instance_id: instanceId, status: 'creating' })
  const [row, held] = [await fixture.row(instanceId), await heldMicro()]
  expect(await again()).toEqual({ instance_id: instanceId, status: 'creating' })
  expect(await fixture.row(instanceId)).toEqual(row)
  expect(await heldMicro()).toBe(held)

  // Stopped again meanwhile: the old call does not start it anew, but a new one does.
  await fixture.instances.stop({ userId, instanceId })
  await fixture.force(instanceId, 'stopped')
  expect(await again()).toEqual({ instance_id: instanceId, status: 'stopped' })
  expect(await fixture.row(instanceId)).toMatchObject({ status: 'stopped', desired: 'stopped' })
  expect(await fixture.instances.start({ userId, instanceId }, startWanted())).toMatchObject({
    status: 'creating',
  })
})

test.each([
  { wanted: { specId: 'h100-sxm', gpuCount: 2 }, code: 'gpu_sold_out' },
  { wanted: { specId: 'no-such', gpuCount: 1 }, code: 'gpu_spec_unknown' },
  { wanted: { specId: 'l4', gpuCount: 3 }, code: 'validation_failed' },
  { wanted: { specId: 'a100-80', gpuCount: 8 }, code: 'insufficient_balance' },
])('a start on $wanted.gpuCount × $wanted.specId is refused with $code and changes nothing', async row => {
  const userId = await fixture.payer(500)
  const instanceId = await fixture.deploy(userId)
  await fixture.force(instanceId, 'stopped')
  const before = await fixture.row(instanceId)
  const starting = fixture.instances.start({ userId, instanceId }, startWanted(row.wanted))
  await expect(starting).rejects.toMatchObject({ code: row.code })
  expect(await fixture.row(instanceId)).toEqual(before)
  expect(await fixture.billing.checkBooks()).toEqual([])
})
