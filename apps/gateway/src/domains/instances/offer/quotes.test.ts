import { checkResource, getPrice } from '@berth/contract/instances'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startGateway, type TestGateway } from '../../../../test/start-gateway.ts'
import { computeFailure, createFakeEngine } from '../../../drivers/compute/fake/fake-engine.ts'
import { systemClock } from '../../../platform/clock.ts'

const QUOTE = {
  region_code: 'us-west',
  gpu_spec_id: 'rtx-4090',
  gpu_count: 2,
  container_disk_gb: 40,
} as const
const CHECK = { ...QUOTE, image_id: 'berth-base' } as const

const term = (charge_cycle: string, days: number, [machine, disk, price, own = '0']: string[]) => ({
  charge_cycle,
  days,
  machine_micro: machine,
  disk_micro: disk,
  own_disk_micro: own,
  price_micro: price,
})

const compute = createFakeEngine({ clock: systemClock })
let gateway: TestGateway
let token: string
let userId: string
beforeAll(async () => {
  gateway = await startGateway({ compute })
})
afterAll(() => gateway.stop())
beforeEach(async () => {
  ;({ token, userId } = await gateway.signUp())
})

describe('the price of an instance', () => {
  test('[R9.5] [R4.7] [B3] names the machine, the disk past its free part, and what it costs stopped', async () => {
    await gateway.grant(userId, 4_187)
    const price = await gateway.data(getPrice, { query: QUOTE }, { token })
    expect(price).toMatchObject({
      currency: 'USD',
      lines: [
        { key: 'gpu', name: 'RTX 4090', quantity: 2, rate_micro_per_hour: '840000' },
        { key: 'disk', quantity: 20, of: 40, rate_micro_per_hour: '2800' },
      ],
      running_micro_per_hour: '842800',
      stopped_micro_per_day: '67200',
      reserve_cents: 85,
      // 41.87 ÷ 0.8428 hours.
      lasts_seconds: 178_846,
      // Two GPUs, and 20 GB at 168 h × 0.00014 less 10 %, and at 720 h less 20 %.
      terms: [
        term('weekly', 7, ['127000000', '423360', '127423360']),
        term('monthly', 30, ['483840000', '1612800', '485452800']),
      ],
    })
  })

  test('[R1.4] of a term that is chosen the whole is set aside, and nothing is spent by the hour', async () => {
    await gateway.grant(userId, 20_000)
    const query = { ...QUOTE, billing_type: 'prepay', charge_cycle: 'weekly' } as const
    const price = await gateway.data(getPrice, { query }, { token })
    expect(price).toMatchObject({ reserve_cents: 12_743, lasts_seconds: null })
    const { checks } = await gateway.data(
      checkResource,
      { body: { ...CHECK, ...query, charge_cycle: 'monthly' } },
      { token },
    )
    expect(checks.find(({ key }) => key === 'balance')).toMatchObject({
      ok: false,
      values: { needed_cents: 48_546 },
    })
  })

  test('[R3.5] [R4.7] [B3] names the pod’s own volume on a line of its own, none of which is free', async () => {
    await gateway.grant(userId, 4_187)
    const price = await gateway.data(getPrice, { query: { ...QUOTE, pod_volume_gb: 30 } }, { token })
    expect(price).toMatchObject({
      lines: [
        { key: 'gpu', rate_micro_per_hour: '840000' },
        { key: 'disk', quantity: 20, of: 40, rate_micro_per_hour: '2800' },
        { key: 'pod_volume', quantity: 30, of: 30, rate_micro_per_hour: '4200' },
      ],
      running_micro_per_hour: '847000',
      stopped_micro_per_day: '168000',
      // 20 GB and 30 GB at 168 h × 0.00014 less 10 %, and at 720 h less 20 %.
      terms: [
        term('weekly', 7, ['127000000', '423360', '128058400', '635040']),
        term('monthly', 30, ['483840000', '1612800', '487872000', '2419200']),
      ],
    })
    const refused = await gateway.call(getPrice, { query: { ...QUOTE, data_disk_gb: 30 } }, { token })
    expect(refused.envelope).toMatchObject({ fields: [{ path: 'data_disk_gb', rule: 'vm_only' }] })
  })

  test('[R9.5] a disk within its free part costs nothing', async () => {
    const query = { ...QUOTE, container_disk_gb: 20 }
    const price = await gateway.data(getPrice, { query }, { token })
    expect(price.lines[1]).toMatchObject({ quantity: 0, of: 20, rate_micro_per_hour: '0' })
    expect(price.stopped_micro_per_day).toBe('0')
  })

  test.each([
    ['a region that is not open', { region_code: 'sa-east' }, 'region_not_supported'],
    ['a region that does not exist', { region_code: 'moon' }, 'region_not_supported'],
    ['a spec that the region does not have', { gpu_spec_id: 'h200' }, 'gpu_spec_unknown'],
    ['a virtual machine', { kind: 'VM' as const }, 'kind_not_supported'],
    ['a prepaid one without its cycle', { billing_type: 'prepay' as const }, 'validation_failed'],
  ])('[R5.4] refuses %s', async (_, change, code) => {
    const answer = await gateway.call(getPrice, { query: { ...QUOTE, ...change } }, { token })
    expect(answer).toMatchObject({ httpStatus: 400, envelope: { code } })
  })
})

describe('[B7] the checks before money moves', () => {
  const check = async (change: object = {}) => {
    const { ok, checks } = await gateway.data(checkResource, { body: { ...CHECK, ...change } }, { token })
    return { ok, checks, failed: checks.filter(one => !one.ok).map(({ key, code }) => [key, code]) }
  }
  const imageCheck = async (change?: object) =>
    (await check(change)).checks.find(({ key }) => key === 'image')
  afterEach(() => {
    compute.imagesHere = true
    compute.faults.heal()
  })

  test('all pass with enough money', async () => {
    await gateway.grant(userId, 85)
    expect(await check()).toMatchObject({ ok: true, failed: [] })
  })

  test('one cent short of the first hour fails, and names only that', async () => {
    await gateway.grant(userId, 84)
    expect(await check()).toMatchObject({ ok: false, failed: [['balance', 'balance_low']] })
  })

  test('an image that is here is told from one that must be pulled first, with its size', async () => {
    expect(await imageCheck()).toEqual({ key: 'image', ok: true, code: 'image_here', values: {} })
    compute.imagesHere = false
    const pulled = { key: 'image', ok: true, code: 'image_to_pull' }
    expect(await imageCheck()).toEqual({ ...pulled, values: { size_mb: 120 } })
    expect(await imageCheck({ image_id: 'pytorch' })).toEqual({ ...pulled, values: { size_mb: 7_580 } })
  })

  test.each([
    ['is gone', () => compute.faults.fail('hasImage', computeFailure('engine_unavailable'))],
    ['hangs', () => void compute.faults.block('hasImage', { deaf: true })],
  ])(
    'a machine engine that %s is a failed check, which tells nothing of the engine, and nothing is said of images',
    async (_, fail) => {
      await gateway.grant(userId, 1_000)
      fail()
      const { failed, checks } = await check()
      expect(failed).toEqual([['compute', 'compute_missing']])
      expect(checks[0]?.values).toEqual({})
      expect(checks.map(({ key }) => key)).not.toContain('image')
    },
  )

  test('one answer names all that is wrong', async () => {
    const { ok, failed } = await check({ gpu_spec_id: 'h100-sxm', image_id: 'vllm', container_disk_gb: 10 })
    expect(ok).toBe(false)
    expect(failed).toEqual([
      ['stock', 'sold_out'],
      ['balance', 'balance_low'],
      ['disk', 'disk_too_small'],
    ])
  })

  test('[R3.5] a disk of its own is looked at where one is asked for', async () => {
    await gateway.grant(userId, 1_000)
    const keysOf = async (change: object) =>
      (await check(change)).checks.map(({ key, code }) => `${key} ${code}`)
    expect(await keysOf({})).not.toContainEqual(expect.stringContaining('own_disk'))
    expect(await keysOf({ pod_volume_gb: 10 })).toContain('own_disk own_disk_not_held')
    expect(await keysOf({ pod_volume_gb: 10, region_code: 'moon' })).toContain('own_disk own_disk_none')
  })

  test('a region or an image that does not exist is a failed check, not a failed call', async () => {
    await gateway.grant(userId, 1_000)
    expect((await check({ region_code: 'moon' })).failed).toEqual([['region', 'region_not_supported']])
    expect((await check({ image_id: 'none' })).failed).toEqual([['image', 'image_unknown']])
  })
})
