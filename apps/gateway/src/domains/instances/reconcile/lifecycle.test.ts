import { randomUUID } from 'node:crypto'
import type { DeployBody } from '@berth/contract/instances'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { shippedCatalogue } from '../../../../test/shipped-catalogue.ts'
import { computeFailure } from '../../../drivers/compute/fake/fake-engine.ts'
import type { MachineSpec } from '../../../drivers/compute/port/machines.ts'
import { CONTAINER_DISK_SKU, computeSku, OWN_DISK_SKUS } from '../../../platform/config/skus.ts'
import {
  CUSTOMERS_KEY,
  createInstancesFixture,
  type InstancesFixture,
  startWanted,
} from '../instances-fixture.ts'

/** What there is to say of a deploy that makes a virtual machine; none that ships does. */
const VM = { kind: 'VM', image_id: 'whole-system' } as const

let fixture: InstancesFixture
beforeAll(async () => {
  const [plain] = shippedCatalogue().images
  if (!plain) throw new Error('the catalogue has no image')
  fixture = await createInstancesFixture({ vmImages: [{ ...plain, id: VM.image_id, kind: VM.kind }] })
  await fixture.instances.reconciler.start()
})
afterEach(() => {
  fixture.compute.faults.heal()
  fixture.compute.pullReports.length = 0
  fixture.compute.waitToBegin = false
})
afterAll(() => fixture.close())

/** How long a pull takes that a notice could cut short; below the fixture's limit for one that stands still. */
const PULL_MS = 150
/** 100 GB beyond the free ones: 0.014 an hour, running or stopped. */
const WITH_DISK: Partial<DeployBody> = { container_disk_gb: 120 }

test('[B6] a deploy goes through its steps to a machine that runs, and is charged from there', async () => {
  const userId = await fixture.payer()
  const id = await fixture.running(userId)
  const { progress, readyAt, engineId, observedAt } = await fixture.row(id)
  expect({ progress: progress?.step, readyAt, engineId, observedAt }).toEqual({
    progress: 'ready',
    readyAt: fixture.clock.now(),
    engineId: fixture.compute.id,
    observedAt: fixture.clock.now(),
  })
  expect(fixture.compute.held.get(id)?.status.state).toBe('running')
  expect(await fixture.eventCodes(userId, id)).toEqual(['deployed', 'pulling', 'booting', 'ready'])
  await fixture.expectSound(id)
})

test.each([
  ['a machine of GPUs with a disk', { gpu_spec_id: 'l4', gpu_count: 2, container_disk_gb: 137 }],
  [
    'one of GPUs with a volume of its own',
    { gpu_spec_id: 'l4', gpu_count: 4, container_disk_gb: 41, pod_volume_gb: 23 },
  ],
  [
    'a virtual machine with a data disk',
    { ...VM, gpu_spec_id: 'cpu', gpu_count: 1, container_disk_gb: 34, data_disk_gb: 71 },
  ],
  [
    'a pod with a volume of its own',
    { gpu_spec_id: 'cpu', gpu_count: 1, container_disk_gb: 33, pod_volume_gb: 57 },
  ],
  [
    'one whose volume alone costs',
    { gpu_spec_id: 'cpu', gpu_count: 1, container_disk_gb: 5, pod_volume_gb: 7 },
  ],
  ['one whose disk is free', { gpu_spec_id: 'cpu', gpu_count: 1, container_disk_gb: 20 }],
] as const)(
  '[B3] [R3.5] [R9.5] [R4.7] what %s was quoted, line by line, is what the ledger takes, to the micro-unit',
  async (_what, body) => {
    const userId = await fixture.payer()
    const totals = async () => fixture.billing.totals(fixture.db, userId)
    const request = {
      query: { kind: 'POD', region_code: 'us-west', billing_type: 'postpay', charge_cycle: null, ...body },
    }
    const price = await fixture.quotes.price({ ...request, caller: { userId } } as never)
    const lines = price.lines.reduce((sum, line) => sum + BigInt(line.rate_micro_per_hour), 0n)
    expect(lines).toBe(BigInt(price.running_micro_per_hour))
    const before = await totals()
    const id = await fixture.running(userId, body)
    expect(before.availableMicro - (await totals()).availableMicro).toBe(lines)
    const skus = {
      cpu: computeSku(body.gpu_spec_id),
      gpu: computeSku(body.gpu_spec_id),
      disk: CONTAINER_DISK_SKU,
      ...OWN_DISK_SKUS,
    }
    const quoted = price.lines.map(({ key, rate_micro_per_hour }) => [
      skus[key as keyof typeof skus],
      BigInt(rate_micro_per_hour),
    ])
    const [interval] = await fixture.intervals(id)
    expect(
      interval?.meters.map(({ sku, quantity, rateMicro }) => [sku, BigInt(quantity) * rateMicro]),
    ).toEqual(quoted.filter(([, micro]) => micro !== 0n))
    fixture.clock.advance(3 * 3_600)
    await fixture.instances.stop({ userId, instanceId: id })
    await fixture.until(id, 'stopped')
    const running = await totals()
    expect(before.availableMicro - running.availableMicro).toBe(3n * lines)
    fixture.clock.advance(24 * 3_600)
    const stopped = running.availableMicro - (await totals()).availableMicro
    expect(stopped).toBe(BigInt(price.stopped_micro_per_day))
    await fixture.instances.terminate({ userId, instanceId: id })
    await fixture.until(id, 'terminated')
    expect((await fixture.billing.costMicro(fixture.db, 'instance', [id])).get(id)).toBe(3n * lines + stopped)
    await fixture.expectSound(id)
  },
)

test('[B6] a pull shows its bytes, and nothing is charged before the machine answers', async () => {
  fixture.compute.pullReports.push({ bytes_done: 250, bytes_total: 1_000 })
  const pull = fixture.compute.faults.block('pull')
  const userId = await fixture.payer()
  const id = await fixture.deploy(userId)
  await fixture.until(id, row => row.progress?.bytes_done === 250)
  expect(await fixture.instances.list(userId)).toMatchObject([
    { status: 'pulling', progress: { step: 'pulling', percent: 21, bytes_done: 250, bytes_total: 1_000 } },
  ])
  const exec = fixture.compute.faults.block('probe')
  pull.release()
  await exec.reached
  expect(await fixture.row(id)).toMatchObject({ status: 'creating', progress: { step: 'probing' } })
  fixture.clock.advance(5)
  expect(await fixture.intervals(id)).toEqual([])
  exec.release()
  const { readyAt } = await fixture.until(id, 'running')
  expect(await fixture.intervals(id)).toMatchObject([{ usage: 'compute', startedAt: readyAt, endedAt: null }])
})

test('a deploy pulls once: its own change of status does not cut the pull short', async () => {
  const listening = await createInstancesFixture({ listen: true })
  try {
    const { compute } = listening
    const { pull } = compute.images
    let aborted = 0
    let pulls = 0
    compute.images.pull = async (image, onProgress, signal) => {
      pulls += 1
      signal.addEventListener('abort', () => {
        aborted += 1
      })
      // Long enough for a notice to come round and its row to be read.
      await new Promise(resolve => setTimeout(resolve, PULL_MS))
      signal.throwIfAborted()
      return pull(image, onProgress, signal)
    }
    await listening.instances.reconciler.start()
    const id = await listening.deploy(await listening.payer())
    // Nothing is kicked here: only what the database tells counts.
    await expect.poll(async () => (await listening.row(id)).status).toBe('running')
    expect({ pulls, aborted }).toEqual({ pulls: 1, aborted: 0 })
  } finally {
    await listening.close()
  }
})

test('[B2] metering counts the seconds from ready to when the stop is confirmed', async () => {
  const userId = await fixture.payer()
  const id = await fixture.running(userId)
  const { readyAt } = await fixture.row(id)
  fixture.clock.advance(1_801)
  await fixture.billing.postDue()
  fixture.clock.advance(1_800)
  const stop = fixture.compute.faults.block('stop')
  await fixture.instances.stop({ userId, instanceId: id })
  await stop.reached
  // Its programs may take their time to end: for as long as they run they cost.
  fixture.clock.advance(20)
  stop.release()
  await fixture.until(id, 'stopped')
  fixture.clock.advance(3_600)
  const [interval, ...rest] = await fixture.intervals(id)
  expect(rest).toEqual([])
  expect(Number(interval?.endedAt) - Number(readyAt)).toBe(3_621_000)
  // floor(3621 s × 0.08 ÷ 3600 s)
  expect(await fixture.instances.list(userId)).toMatchObject([{ cost_micro: '80466' }])
  await fixture.expectSound(id)
})

test('[B2] what an engine takes to end a machine beyond a minute is not its customer’s to pay', async () => {
  const userId = await fixture.payer()
  const id = await fixture.running(userId)
  const stop = fixture.compute.faults.block('stop')
  await fixture.instances.terminate({ userId, instanceId: id })
  const askedAt = fixture.clock.now()
  await stop.reached
  fixture.clock.advance(200)
  stop.release()
  await fixture.until(id, 'terminated')
  const [interval] = await fixture.intervals(id)
  expect(Number(interval?.endedAt) - Number(askedAt)).toBe(60_000)
  await fixture.expectSound(id)
})

test('[R4.7] a stopped instance costs its disk and keeps what it stored', async () => {
  const userId = await fixture.payer()
  const id = await fixture.running(userId, WITH_DISK)
  fixture.compute.held.get(id)?.home.set('notes', 'kept')
  await fixture.instances.stop({ userId, instanceId: id })
  const stopped = await fixture.until(id, 'stopped')
  expect(stopped).toMatchObject({ stoppedAt: fixture.clock.now(), readyAt: null })
  expect(await fixture.takenBy(id)).toBe(0)
  fixture.clock.advance(24 * 3_600)
  const [, disk] = await fixture.intervals(id)
  expect(disk).toMatchObject({ usage: 'disk', rateMicro: 14_000n, endedAt: null })
  await fixture.expectSound(id)
  await fixture.instances.start({ userId, instanceId: id }, startWanted())
  await fixture.until(id, 'running')
  const intervals = await fixture.intervals(id)
  expect(intervals.map(({ usage, postedMicro }) => [usage, postedMicro])).toEqual([
    ['compute', 0n],
    ['disk', 336_000n],
    ['compute', 0n],
  ])
  expect(fixture.compute.held.get(id)?.home.get('notes')).toBe('kept')
  await fixture.expectSound(id)
})

test.each([
  { engine: 'whose machines wait to begin', waitToBegin: true, freeMs: 5_000 },
  // What its customer left in there runs from the start on.
  { engine: 'whose machines do not wait', waitToBegin: false, freeMs: 0 },
])(
  '[B2] a restart keeps the home and the GPUs, and is charged for what may run, on an engine $engine',
  async row => {
    fixture.compute.waitToBegin = row.waitToBegin
    const userId = await fixture.payer()
    const id = await fixture.running(userId, { start_command: 'serve' })
    fixture.compute.held.get(id)?.home.set('notes', 'kept')
    const stop = fixture.compute.faults.block('stop')
    await fixture.instances.restart({ userId, instanceId: id })
    await stop.reached
    expect(await fixture.row(id)).toMatchObject({ status: 'restarting' })
    expect(await fixture.takenBy(id)).toBe(1)
    // It does not end at once: until it has, it may go on with whatever it did.
    fixture.clock.advance(7)
    const start = fixture.compute.faults.block('start')
    const endedAt = fixture.clock.now()
    stop.release()
    await start.reached
    fixture.clock.advance(5)
    start.release()
    await fixture.until(id, found => found.status === 'running')
    const [before, after] = await fixture.intervals(id)
    expect(before?.endedAt).toEqual(endedAt)
    expect(Number(after?.startedAt) - Number(before?.endedAt)).toBe(row.freeMs)
    expect(fixture.compute.held.get(id)?.home.get('notes')).toBe('kept')
    expect((await fixture.eventCodes(userId, id)).slice(-2)).toEqual(['restarted_by_customer', 'ready'])
    await fixture.expectSound(id)
  },
)

test('[B6] a machine that waits is let begin once it is charged, and one that cannot begin costs nothing', async () => {
  fixture.compute.waitToBegin = true
  const userId = await fixture.payer()
  const begin = fixture.compute.faults.block('begin')
  const id = await fixture.deploy(userId, { start_command: 'serve' })
  await begin.reached
  expect(await fixture.row(id)).toMatchObject({ status: 'running' })
  expect(await fixture.intervals(id)).toMatchObject([{ endedAt: null }])
  begin.release()
  await fixture.until(id, () => !('waits' in (fixture.compute.held.get(id)?.status ?? {})))

  fixture.compute.faults.fail('begin', computeFailure('failed'))
  const other = await fixture.deploy(userId, { start_command: 'serve' })
  expect(await fixture.until(other, 'error', { seconds: 1 })).toMatchObject({ reasonCode: 'start_failed' })
  expect(await fixture.intervals(other)).toMatchObject([{ postedMicro: 0n, waivedMicro: 0n }])
  await fixture.until(other, () => fixture.compute.held.get(other)?.status.state === 'stopped', {
    seconds: 1,
  })
  await fixture.expectSound(other)
})

test('a stopped instance that is started on other GPUs gets them, and keeps its home', async () => {
  const gpus = ['GPU-a', 'GPU-b'].map(uuid => ({ name: 'NVIDIA L4', memory_mb: 23_034, uuid }))
  const real = await createInstancesFixture({ gpus })
  try {
    await real.instances.reconciler.start()
    const userId = await real.payer()
    const id = await real.running(userId, { gpu_spec_id: 'l4' })
    expect(real.compute.held.get(id)?.spec?.gpu_uuids).toEqual(['GPU-a'])
    real.compute.held.get(id)?.home.set('notes', 'kept')
    await real.instances.stop({ userId, instanceId: id })
    await real.until(id, 'stopped')
    await real.instances.start({ userId, instanceId: id }, startWanted({ specId: 'l4', gpuCount: 2 }))
    await real.until(id, 'running')
    expect(real.compute.held.get(id)?.spec?.gpu_uuids).toEqual(['GPU-a', 'GPU-b'])
    expect(real.compute.held.get(id)?.home.get('notes')).toBe('kept')
    await real.expectSound(id)
  } finally {
    await real.close()
  }
})

test('a machine that ends by itself is exited with its exit code, and may be started', async () => {
  const userId = await fixture.payer()
  const id = await fixture.running(userId)
  fixture.compute.exit(id, 137)
  const row = await fixture.until(id, 'exited')
  expect(row).toMatchObject({ reasonCode: 'exited', reasonDetail: 'exit code 137' })
  expect(await fixture.takenBy(id)).toBe(0)
  expect(fixture.troubles(row.userId)).toMatchObject([{ cause: 'exited' }])
  await fixture.expectSound(id)
  await fixture.instances.start({ userId, instanceId: id }, startWanted())
  expect(await fixture.row(id)).toMatchObject({ status: 'creating', reasonCode: null })
  expect(await fixture.takenBy(id)).toBe(1)
  await fixture.until(id, 'running')
  await fixture.expectSound(id)
})

test('[B2] a machine that ends by itself between two looks is charged to its end, each time', async () => {
  const userId = await fixture.payer()
  const id = await fixture.running(userId)
  for (let run = 1; run <= 2; run += 1) {
    fixture.clock.advance(9)
    fixture.compute.exit(id, 0)
    await fixture.until(id, 'exited')
    const { endedAt } = (await fixture.intervals(id)).filter(({ usage }) => usage === 'compute').at(-1) ?? {}
    expect(endedAt).toEqual(fixture.clock.now())
    await fixture.instances.start({ userId, instanceId: id }, startWanted())
    await fixture.until(id, 'running')
  }
  await fixture.expectSound(id)
})

test('a machine that is found ended after a long silence is charged to when it was last seen', async () => {
  const userId = await fixture.payer()
  const id = await fixture.running(userId)
  const { observedAt } = await fixture.row(id)
  const status = fixture.compute.faults.block('status')
  fixture.clock.advance(20)
  fixture.compute.exit(id, 0)
  await status.reached
  status.release()
  await fixture.until(id, 'exited')
  const [interval] = await fixture.intervals(id)
  expect(interval?.endedAt).toEqual(observedAt)
  await fixture.expectSound(id)
})

test('a machine that ends before it is ready is exited, too, and was never charged', async () => {
  const exec = fixture.compute.faults.block('probe')
  const id = await fixture.deploy(await fixture.payer(), { start_command: 'exit 3' })
  await exec.reached
  fixture.compute.exit(id, 3)
  exec.release()
  expect(await fixture.until(id, 'exited', { seconds: 1 })).toMatchObject({ reasonDetail: 'exit code 3' })
  expect(await fixture.intervals(id)).toEqual([])
  await fixture.expectSound(id)
})

test('a machine that boots a system of its own is told whom its SSH server lets in, each another key of the gateway’s; others have no use for that', async () => {
  const userId = await fixture.payer()
  const told: Pick<MachineSpec, 'ssh_keys' | 'ssh_access'>[] = []
  const { create } = fixture.compute.machines
  fixture.compute.machines.create = (spec, signal) => {
    const { ssh_keys, ssh_access } = spec
    told.push({ ...(ssh_keys && { ssh_keys }), ...(ssh_access && { ssh_access }) })
    return create(spec, signal)
  }
  // Pods are deployed, so it goes on making them: its kinds are told to all gateways meanwhile.
  for (const kinds of [['POD'], ['VM', 'POD'], ['VM', 'POD']] as const) {
    Object.assign(fixture.compute, { kinds })
    await fixture.running(userId)
  }
  Object.assign(fixture.compute, { kinds: ['POD'] })
  fixture.compute.machines.create = create
  const ssh_keys = [CUSTOMERS_KEY.public_key]
  expect(told).toMatchObject([{}, { ssh_keys }, { ssh_keys }])
  expect(told[0]).toEqual({})
  const own = told.flatMap(({ ssh_access }) =>
    ssh_access ? [ssh_access.key, ssh_access.host_key.public] : [],
  )
  expect(new Set(own).size).toBe(4)
})

test('a command that ends again and again is told at once, and then once an hour; the machine runs and is charged', async () => {
  const userId = await fixture.payer()
  const id = await fixture.running(userId, { start_command: 'serve', on_command_end: 'restart' })
  const told = async () => {
    const events = await fixture.instances.events({ userId, instanceId: id })
    return events.filter(({ code }) => code === 'command_ended').map(({ detail }) => detail)
  }
  fixture.compute.endCommand(id, 3)
  const first = await fixture.until(id, row => row.commandEnd !== null)
  expect(first.commandEnd).toMatchObject({ exit_code: 3, count: 1 })
  expect(await told()).toEqual(['exit code 3'])
  for (let ends = 2; ends <= 40; ends += 1) {
    fixture.clock.advance(100)
    fixture.compute.endCommand(id, 3)
    await fixture.until(id, row => row.commandEnd?.count === ends, { seconds: 1 })
  }
  // Somewhat more than an hour of them.
  expect(await told()).toEqual([expect.stringMatching(/^exit code 3, 3\d times$/), 'exit code 3'])
  const [listed] = await fixture.instances.list(userId)
  expect(listed).toMatchObject({
    status: 'running',
    start_command: 'serve',
    on_command_end: 'restart',
    command_end: { exit_code: 3, count: 40 },
  })
  expect(listed?.command_end).not.toHaveProperty('noted_at')
  expect(await fixture.intervals(id)).toMatchObject([{ endedAt: null }])
  await fixture.instances.stop({ userId, instanceId: id })
  await fixture.until(id, 'stopped')
  expect(await fixture.instances.list(userId)).toMatchObject([{ command_end: null }])
  await fixture.instances.start({ userId, instanceId: id }, startWanted())
  await fixture.until(id, 'running')
  expect(await fixture.instances.list(userId)).toMatchObject([{ command_end: null }])
  await fixture.expectSound(id)
})

test('[R4.7] an instance that stops with its command costs its disk from there, and keeps what it stored', async () => {
  const userId = await fixture.payer()
  const id = await fixture.running(userId, { ...WITH_DISK, start_command: 'train', on_command_end: 'stop' })
  fixture.compute.held.get(id)?.home.set('weights', 'kept')
  fixture.clock.advance(5)
  const endedAt = fixture.clock.now()
  fixture.compute.endCommand(id, 0)
  const ended = await fixture.until(id, 'exited')
  expect(ended).toMatchObject({
    reasonCode: 'command_ended',
    reasonDetail: 'exit code 0',
    desired: 'stopped',
  })
  expect(await fixture.takenBy(id)).toBe(0)
  expect(await fixture.intervals(id)).toMatchObject([
    { usage: 'compute', endedAt },
    { usage: 'disk', startedAt: endedAt, rateMicro: 14_000n, endedAt: null },
  ])
  expect(fixture.compute.held.get(id)?.home.get('weights')).toBe('kept')
  await fixture.expectSound(id)
})

test('a machine that is lost is an error with its cause, charged to when it was last seen', async () => {
  const userId = await fixture.payer()
  const id = await fixture.running(userId)
  const seen = fixture.clock.now()
  fixture.compute.lose(id)
  fixture.clock.advance(10)
  await fixture.billing.postDue()
  expect(await fixture.until(id, 'error')).toMatchObject({ reasonCode: 'machine_lost' })
  expect(await fixture.takenBy(id)).toBe(0)
  expect(await fixture.intervals(id)).toMatchObject([{ endedAt: seen, postedMicro: 0n }])
  await fixture.expectSound(id)
})

test('[B4] an empty balance stops what runs and deletes nothing', async () => {
  const userId = await fixture.payer(16)
  const ids = [await fixture.running(userId), await fixture.running(userId)]
  const other = await fixture.running(await fixture.payer())
  fixture.clock.advance(3_600)
  expect((await fixture.billing.postDue()).exhausted).toContain(userId)
  await fixture.instances.stopForEmptyBalance(userId)
  for (const id of ids) {
    expect(await fixture.until(id, 'stopped')).toMatchObject({ reasonCode: 'balance_used_up' })
    expect(fixture.compute.held.has(id)).toBe(true)
    expect(await fixture.eventCodes(userId, id)).toContain('stopped_no_balance')
    await fixture.expectSound(id)
  }
  // One mail for one cause, however many it stopped.
  const named = { name: 'llama-finetune' }
  expect(fixture.troubles(userId)).toMatchObject([{ cause: 'balance_used_up', instances: [named, named] }])
  expect((await fixture.row(other)).status).toBe('running')
})

test('[B4] money that arrives between the tick and the stop keeps an instance running', async () => {
  const userId = await fixture.payer(8)
  const id = await fixture.running(userId)
  fixture.clock.advance(3_700)
  expect((await fixture.billing.postDue()).exhausted).toContain(userId)
  const grant = { id: randomUUID(), userId, amountMicro: 100_000_000n, kind: 'demo', reason: 'demo' } as const
  await fixture.db.transaction(tx => fixture.billing.grantCredit(tx, grant))
  await fixture.instances.stopForEmptyBalance(userId)
  expect(await fixture.row(id)).toMatchObject({ status: 'running', desired: 'running', reasonCode: null })
})

test('[B4] an instance whose own hour is set aside goes on when another has used up the balance', async () => {
  const userId = await fixture.payer(17)
  const spent = await fixture.running(userId)
  fixture.clock.advance(3_600)
  await fixture.billing.postDue()
  const fresh = await fixture.running(userId)
  fixture.clock.advance(600)
  expect((await fixture.billing.postDue()).exhausted).toContain(userId)
  await fixture.instances.stopForEmptyBalance(userId)
  expect(await fixture.until(spent, 'stopped')).toMatchObject({ reasonCode: 'balance_used_up' })
  expect(await fixture.row(fresh)).toMatchObject({ status: 'running', desired: 'running' })
  await fixture.expectSound(fresh)
})

test('a stop overtakes a start that is under way', async () => {
  const userId = await fixture.payer()
  const pull = fixture.compute.faults.block('pull')
  const id = await fixture.deploy(userId)
  await pull.reached
  await fixture.instances.stop({ userId, instanceId: id })
  await fixture.until(id, 'stopped')
  expect(fixture.compute.held.has(id)).toBe(false)
  expect(await fixture.intervals(id)).toEqual([])
  await fixture.expectSound(id)
})

describe('[R4.5] an instance can be terminated from every state', () => {
  const ways: Record<string, (userId: string) => Promise<string>> = {
    creating: async userId => {
      const create = fixture.compute.faults.block('create')
      const id = await fixture.deploy(userId)
      await create.reached
      return id
    },
    pulling: async userId => {
      const pull = fixture.compute.faults.block('pull')
      const id = await fixture.deploy(userId)
      await pull.reached
      return id
    },
    running: userId => fixture.running(userId),
    restarting: async userId => {
      const id = await fixture.running(userId)
      fixture.giveUpSoon()
      const stop = fixture.compute.faults.block('stop')
      await fixture.instances.restart({ userId, instanceId: id })
      await stop.reached
      return id
    },
    stopping: async userId => {
      const id = await fixture.running(userId)
      fixture.giveUpSoon()
      const stop = fixture.compute.faults.block('stop')
      await fixture.instances.stop({ userId, instanceId: id })
      await stop.reached
      return id
    },
    stopped: async userId => {
      const id = await fixture.running(userId)
      await fixture.instances.stop({ userId, instanceId: id })
      await fixture.until(id, 'stopped')
      return id
    },
    exited: async userId => {
      const id = await fixture.running(userId)
      fixture.compute.exit(id, 1)
      await fixture.until(id, 'exited')
      return id
    },
    error: async userId => {
      const id = await fixture.running(userId)
      fixture.compute.lose(id)
      await fixture.until(id, 'error', { seconds: 5 })
      return id
    },
    unknown: async userId => {
      const id = await fixture.running(userId)
      fixture.giveUpSoon()
      const status = fixture.compute.faults.block('status', { deaf: true })
      await fixture.until(id, 'unknown', { seconds: 5 })
      status.release()
      return id
    },
  }

  test.each(Object.keys(ways))('%s', async status => {
    const userId = await fixture.payer()
    const id = (await ways[status]?.(userId)) ?? ''
    expect((await fixture.row(id)).status).toBe(status)
    const done = await fixture.instances.terminate({ userId, instanceId: id })
    expect(done).toEqual({ instance_id: id, status: 'deleting' })
    // Also where its stop hangs, which nothing of the removal waits for in the end.
    await fixture.until(id, 'terminated', { seconds: 1 })
    expect(fixture.compute.held.has(id)).toBe(false)
    expect(await fixture.instances.list(userId)).toEqual([])
    const again = fixture.instances.terminate({ userId, instanceId: id })
    await expect(again).rejects.toMatchObject({ code: 'not_found' })
    expect(await fixture.takenBy(id)).toBe(0)
    await fixture.expectSound(id)
  })

  test('it is shown as deleting until the driver has confirmed it; asking twice changes nothing', async () => {
    const userId = await fixture.payer()
    const id = await fixture.running(userId)
    const remove = fixture.compute.faults.block('remove')
    await fixture.instances.terminate({ userId, instanceId: id })
    await remove.reached
    const before = await fixture.row(id)
    expect(await fixture.instances.terminate({ userId, instanceId: id })).toMatchObject({
      status: 'deleting',
    })
    expect((await fixture.row(id)).version).toBe(before.version)
    expect(await fixture.instances.list(userId)).toMatchObject([{ instance_id: id, status: 'deleting' }])
    remove.release()
    await fixture.until(id, 'terminated')
  })
})

test('the machine is what was asked for, as far as the computer has it, and says so', async () => {
  const userId = await fixture.payer()
  const id = await fixture.running(userId, {
    name: 'My_Model-1',
    gpu_spec_id: 'l4',
    gpu_count: 2,
    container_disk_gb: 30,
    http_ports: [8080, 9000],
    tcp_ports: [22, 8080],
    env: { TOKEN: 'x' },
    start_command: 'serve --all',
    on_command_end: 'restart',
  })
  expect(fixture.compute.held.get(id)?.spec).toEqual({
    id,
    tenant: userId,
    hostname: 'my-model-1',
    image: { id: 'berth-base', parts: { docker: 'debian:12', kubernetes: 'debian:12', sandbox: 'host' } },
    cpu_count: 4,
    memory_mb: 8_192,
    disk_gb: 30,
    gpu_uuids: [],
    env: { TOKEN: 'x' },
    command: ['sh', '-c', 'serve --all'],
    on_command_end: 'restart',
    ports: [8080, 9000, 22],
  })
  const [listed] = await fixture.instances.list(userId)
  expect(listed?.machine).toEqual({
    driver: 'fake',
    notes: [
      { code: 'walls_none', values: {}, detail: 'None: nothing runs.' },
      { code: 'no_disk_limit', values: {}, detail: 'the fake driver has no disk' },
      { code: 'internet', values: {}, detail: 'in name only' },
      { code: 'small_host', values: { cpu_count: 4, memory_gb: 8 }, detail: '' },
    ],
  })
})

test('a renamed instance shows its new name and goes on undisturbed', async () => {
  const userId = await fixture.payer()
  const id = await fixture.running(userId)
  const before = await fixture.row(id)
  await fixture.instances.edit({ userId, instanceId: id }, { name: 'renamed' })
  expect(await fixture.instances.list(userId)).toMatchObject([{ name: 'renamed', status: 'running' }])
  expect((await fixture.row(id)).version).toBe(before.version)
})

test('events name what happened, newest first, with the status that followed', async () => {
  const userId = await fixture.payer()
  const id = await fixture.running(userId)
  await fixture.instances.stop({ userId, instanceId: id })
  await fixture.until(id, 'stopped')
  const events = await fixture.instances.events({ userId, instanceId: id })
  expect(events.map(({ code, status }) => [code, status])).toEqual([
    ['stopped', 'stopped'],
    ['stopped_by_customer', 'stopping'],
    ['ready', 'running'],
    ['booting', 'creating'],
    ['pulling', 'pulling'],
    ['deployed', 'creating'],
  ])
})
