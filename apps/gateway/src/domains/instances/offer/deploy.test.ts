import { randomUUID } from 'node:crypto'
import { INSTANCES_PER_USER_DEFAULT } from '@berth/contract/limits'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  createInstancesFixture,
  deployBody,
  type InstancesFixture,
  SHARED_ADDRESS,
} from '../instances-fixture.ts'

let fixture: InstancesFixture
beforeAll(async () => {
  // No reconciler runs: what a deploy does at once is what is looked at.
  fixture = await createInstancesFixture()
})
afterAll(() => fixture.close())

test('[R1.1] [R3.5] a deployed instance is listed with all that was asked for', async () => {
  const userId = await fixture.payer()
  const id = await fixture.deploy(userId, {
    name: 'vision_1',
    gpu_spec_id: 'l4',
    gpu_count: 2,
    container_disk_gb: 120,
    http_ports: [8080, 3000],
    tcp_ports: [22],
    udp_ports: [53],
  })
  expect(await fixture.instances.list(userId)).toEqual([
    {
      instance_id: id,
      name: 'vision_1',
      kind: 'POD',
      status: 'creating',
      status_since: fixture.clock.now().toISOString(),
      reason: null,
      progress: { step: 'scheduled', percent: 0, bytes_done: null, bytes_total: null },
      region_code: 'us-west',
      region_name: 'us-west',
      gpu_spec_id: 'l4',
      gpu_spec_name: 'L4',
      gpu: true,
      gpu_count: 2,
      vram_gb: 24,
      vcpu: 16,
      memory_gb: 64,
      simulated: true,
      image_id: 'berth-base',
      image_reference: null,
      image_name: 'Berth Base',
      billing_type: 'postpay',
      charge_cycle: null,
      expiry_time: null,
      command_end: null,
      changes_wait: false,
      stop_at: null,
      spend_limit_cents: null,
      idle_stop_minutes: null,
      on_command_end: 'keep',
      start_command: '',
      auto_renew: false,
      term_micro: null,
      eip: { id: null, type: 'shared', address: SHARED_ADDRESS, rate_micro_per_hour: '0', costs_from: null },
      disks: {
        container_gb: 120,
        system_gb: 0,
        free_gb: 20,
        data_gb: 0,
        data_path: null,
        pod_volume_gb: 0,
        pod_volume_path: null,
        network_volume: null,
      },
      http_ports: [8080, 3000],
      tcp_ports: [22],
      udp_ports: [53],
      currency: 'USD',
      // 2 × 0.39 and 100 GB beyond the free 20 at 0.00014.
      running_micro_per_hour: '794000',
      stopped_micro_per_day: '336000',
      traffic_micro_per_gb: '0',
      resume_after_topup: false,
      cost_micro: '0',
      ready_at: null,
      stopped_at: null,
      deleted_on: null,
      created_at: fixture.clock.now().toISOString(),
      machine: {
        driver: 'fake',
        notes: [
          { code: 'walls_none', values: {}, detail: 'None: nothing runs.' },
          { code: 'no_disk_limit', values: {}, detail: 'the fake driver has no disk' },
          { code: 'internet', values: {}, detail: 'in name only' },
          { code: 'small_host', values: { cpu_count: 4, memory_gb: 8 }, detail: '' },
        ],
      },
    },
  ])
})

test('the list has the newest instance first', async () => {
  const userId = await fixture.payer()
  const older = await fixture.deploy(userId)
  fixture.clock.advance(1)
  const newer = await fixture.deploy(userId)
  expect((await fixture.instances.list(userId)).map(one => one.instance_id)).toEqual([newer, older])
})

test('a deploy sets the first hour aside and takes its GPUs', async () => {
  const userId = await fixture.payer()
  const id = await fixture.deploy(userId, { gpu_spec_id: 'l4', gpu_count: 1 })
  const totals = await fixture.billing.totals(fixture.db, userId)
  expect(totals).toMatchObject({ heldMicro: 390_000n, availableMicro: 99_610_000n })
  expect(await fixture.takenBy(id)).toBe(1)
  await fixture.expectSound(id)
})

test.each([
  { what: 'a disabled region', body: { region_code: 'sa-east' }, code: 'region_not_supported' },
  { what: 'a region that is not there', body: { region_code: 'moon' }, code: 'region_not_supported' },
  {
    what: 'a spec that the region lacks',
    body: { region_code: 'eu-frankfurt', gpu_spec_id: 'b200' },
    code: 'gpu_spec_unknown',
  },
  {
    what: 'a count that is not rented',
    body: { gpu_spec_id: 'l4', gpu_count: 3 },
    code: 'validation_failed',
  },
  { what: 'an image that is not there', body: { image_id: 'no-such' }, code: 'image_unknown' },
  { what: 'a spec that is sold out', body: { gpu_spec_id: 'b200' }, code: 'gpu_sold_out' },
  { what: 'a VM', body: { kind: 'VM' as const }, code: 'kind_not_supported' },
  {
    what: 'a term that the balance does not cover',
    body: { billing_type: 'prepay' as const, charge_cycle: 'weekly' as const },
    code: 'insufficient_balance',
  },
  {
    what: 'more than the balance covers',
    body: { gpu_spec_id: 'a100-80', gpu_count: 8 },
    code: 'insufficient_balance',
  },
])('[R5.4] a deploy of $what is refused with $code and leaves nothing behind', async ({ body, code }) => {
  const userId = await fixture.payer(500)
  await expect(fixture.deploy(userId, body)).rejects.toMatchObject({ code })
  expect(await fixture.instances.list(userId)).toEqual([])
  const { heldMicro } = await fixture.billing.totals(fixture.db, userId)
  expect(heldMicro).toBe(0n)
})

test('too little balance says what is needed and what is there', async () => {
  const userId = await fixture.payer(7)
  await expect(fixture.deploy(userId)).rejects.toMatchObject({
    code: 'insufficient_balance',
    values: { needed: '$0.08', available: '$0.07' },
  })
})

test('[B1] where no machine can run, a deploy says so, and the reason is for the log', async () => {
  const bare = await createInstancesFixture({ compute: null })
  try {
    const userId = await bare.payer()
    const deploying = bare.instances.deploy({ userId, idempotencyKey: randomUUID(), body: deployBody() })
    await expect(deploying).rejects.toMatchObject({
      code: 'compute_unavailable',
      values: {},
      cause: { message: 'the fake driver failed with engine_unavailable' },
    })
  } finally {
    await bare.close()
  }
})

test('[B3] a double click is one instance; another key is another one', async () => {
  const userId = await fixture.payer()
  const key = randomUUID()
  const ids = await Promise.all(Array.from({ length: 8 }, () => fixture.deploy(userId, {}, key)))
  expect(new Set(ids).size).toBe(1)
  await fixture.deploy(userId)
  expect(await fixture.instances.list(userId)).toHaveLength(2)
  const { heldMicro } = await fixture.billing.totals(fixture.db, userId)
  expect(heldMicro).toBe(160_000n)
})

test('[B3] two customers may use the same key', async () => {
  const key = randomUUID()
  const [first, second] = [await fixture.payer(), await fixture.payer()]
  expect(await fixture.deploy(first, {}, key)).not.toBe(await fixture.deploy(second, {}, key))
})

test('of twenty deploys for the last GPU exactly one wins', async () => {
  const users = await Promise.all(Array.from({ length: 20 }, () => fixture.payer()))
  const results = await Promise.allSettled(
    users.map(userId => fixture.deploy(userId, { gpu_spec_id: 'h100-sxm' })),
  )
  const refused = results.flatMap(result => (result.status === 'rejected' ? [result.reason.code] : []))
  expect(refused).toEqual(Array(19).fill('gpu_sold_out'))
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('a customer may have so many instances and no more', async () => {
  const userId = await fixture.payer()
  const deploys = Array.from({ length: INSTANCES_PER_USER_DEFAULT + 2 }, () =>
    fixture.deploy(userId, { region_code: 'eu-frankfurt' }),
  )
  const results = await Promise.allSettled(deploys)
  const refused = results.flatMap(result => (result.status === 'rejected' ? [result.reason] : []))
  expect(refused).toMatchObject([
    { code: 'instance_limit', values: { limit: INSTANCES_PER_USER_DEFAULT } },
    { code: 'instance_limit' },
  ])
})

test('real GPUs go to one instance each, and are offered as they are', async () => {
  const gpus = ['GPU-a', 'GPU-b'].map(uuid => ({ name: 'NVIDIA L4', memory_mb: 23_034, uuid }))
  const real = await createInstancesFixture({ gpus })
  try {
    const userId = await real.payer()
    const wanted = { gpu_spec_id: 'l4' }
    const ids = [await real.deploy(userId, wanted), await real.deploy(userId, wanted)]
    await expect(real.deploy(userId, wanted)).rejects.toMatchObject({ code: 'gpu_sold_out' })
    const rows = await Promise.all(ids.map(id => real.row(id)))
    expect(rows.flatMap(({ gpuUuids }) => gpuUuids).sort()).toEqual(['GPU-a', 'GPU-b'])
    expect(rows.map(({ simulated }) => simulated)).toEqual([false, false])
  } finally {
    await real.close()
  }
})
