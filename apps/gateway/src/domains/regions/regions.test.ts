import { deployInstance } from '@berth/contract/instances'
import { allRegions, listGpuSpecs, listRegions } from '@berth/contract/regions'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startGateway, type TestGateway } from '../../../test/start-gateway.ts'
import { createFakeEngine } from '../../drivers/compute/fake/fake-engine.ts'
import type { RealGpu } from '../../drivers/compute/port/engine.ts'
import { systemClock } from '../../platform/clock.ts'
import { deployBody } from '../instances/instances-fixture.ts'

describe('a machine without GPUs', () => {
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await startGateway()
  })
  afterAll(() => gateway.stop())

  test('[R7.2] [R3.3] lists every region, also one that is not open', async () => {
    const regions = await gateway.data(allRegions, {})
    expect(regions).toContainEqual({
      code: 'eu-frankfurt',
      name: 'Frankfurt',
      enabled: true,
      draining: false,
      traffic_micro_per_gb: '0',
    })
    expect(regions.find(({ code }) => code === 'sa-east')?.enabled).toBe(false)
  })

  test('[R7.2] gives regions by page, narrowed by name and by code', async () => {
    const first = await gateway.data(listRegions, { query: { page: 1, page_size: 2 } })
    expect(first).toMatchObject({ total: 4, page: 1, page_size: 2 })
    expect(first.items).toHaveLength(2)
    const byName = await gateway.data(listRegions, { query: { name: 'FRANK' } })
    expect(byName.items.map(({ code }) => code)).toEqual(['eu-frankfurt'])
    expect((await gateway.data(listRegions, { query: { code: 'us' } })).items).toEqual([])
    const refused = await gateway.call(listRegions, { query: { page_size: 101 } })
    expect(refused.envelope).toMatchObject({
      code: 'validation_failed',
      fields: [{ path: 'page_size', rule: 'too_large' }],
    })
  })

  test('[R7.2] [R3.3] [B1] offers the catalogue, every GPU of it marked as simulated', async () => {
    const specs = await gateway.data(listGpuSpecs, { body: { region_codes: ['us-west'] } })
    expect(specs.filter(({ gpu, simulated }) => gpu !== simulated)).toEqual([])
    expect(specs.find(({ id }) => id === 'rtx-4090')).toMatchObject({
      name: 'RTX 4090',
      vram_gb: 24,
      price_micro_per_hour: '420000',
      price_micro_per_week: '63500000',
      price_micro_per_month: '241920000',
      available: 64,
      stock_known: true,
      kinds: ['POD'],
      counts: [1, 2, 4, 8],
    })
    expect(specs.find(({ id }) => id === 'b200')).toMatchObject({ available: 0 })
  })

  test('[R3.3] where nobody reaches an engine, what is free is not known, though it is listed', async () => {
    const away = await startGateway({ engines: [] })
    try {
      const specs = await away.data(listGpuSpecs, { body: { region_codes: [] } })
      expect(specs.length).toBeGreaterThan(0)
      expect(specs.filter(spec => spec.stock_known || spec.kinds.length > 0)).toEqual([])
    } finally {
      await away.stop()
    }
  })

  test('[R5.4] a region that is not open offers nothing by itself', async () => {
    const specs = await gateway.data(listGpuSpecs, { body: { region_codes: [] } })
    expect(specs.some(({ region_code }) => region_code === 'sa-east')).toBe(false)
  })
})

describe('a machine with GPUs', () => {
  const listed: RealGpu = { name: 'NVIDIA GeForce RTX 4090', memory_mb: 24_564, uuid: 'GPU-a' }
  const unlisted: RealGpu = { name: 'NVIDIA RTX A2000 12GB', memory_mb: 12_282, uuid: 'GPU-b' }
  let gateway: TestGateway
  beforeAll(async () => {
    const compute = createFakeEngine({
      clock: systemClock,
      size: { gpus: [listed, { ...listed, uuid: 'GPU-c' }, unlisted] },
    })
    gateway = await startGateway({ compute })
  })
  afterAll(() => gateway.stop())

  test('[B1] offers what is really there, as it is, and simulates nothing', async () => {
    const specs = await gateway.data(listGpuSpecs, { body: { region_codes: [] } })
    const gpus = specs.filter(({ gpu }) => gpu)
    expect(
      gpus.map(({ name, total, simulated, region_code }) => [name, total, simulated, region_code]),
    ).toEqual([
      ['RTX 4090', 2, false, 'us-west'],
      ['RTX A2000 12GB', 1, false, 'us-west'],
    ])
    expect(gpus.find(({ name }) => name === 'RTX 4090')?.counts).toEqual([1, 2])
    expect(gpus.find(({ name }) => name === 'RTX A2000 12GB')).toMatchObject({
      vram_gb: 12,
      price_micro_per_hour: '500000',
    })
  })
})

test('[B1] GPUs that rest are offered to nobody, and none is simulated in their place', async () => {
  const gpu = (uuid: string): RealGpu => ({ name: 'NVIDIA GeForce RTX 4090', memory_mb: 24_564, uuid })
  const size = { cpu_count: 8, memory_mb: 65_536, disk_gb: null, gpus: [] as RealGpu[] }
  const compute = {
    ...createFakeEngine({ clock: systemClock }),
    size: async () => ({ ...size, gpus_resting: [gpu('GPU-a'), gpu('GPU-b')] }),
  }
  const gateway = await startGateway({ compute })
  try {
    const specs = await gateway.data(listGpuSpecs, { body: { region_codes: ['us-west'] } })
    expect(specs.filter(({ gpu }) => gpu).map(({ id, total, simulated }) => [id, total, simulated])).toEqual([
      ['rtx-4090', 0, false],
    ])
    const { userId, token } = await gateway.signUp()
    await gateway.grant(userId, 1_000)
    const body = deployBody({ gpu_spec_id: 'rtx-4090', gpu_count: 1 })
    const { envelope } = await gateway.call(deployInstance, { body }, { token })
    expect(envelope).toMatchObject({ status: 'error', code: 'gpu_sold_out' })
  } finally {
    await gateway.stop()
  }
})

test('[B1] GPUs that the vendor names differently and the catalogue does not are one offer', async () => {
  const gpu = (name: string, memory_mb: number, uuid: string): RealGpu => ({ name, memory_mb, uuid })
  const gpus = [
    gpu('NVIDIA A100-SXM4-80GB', 81_920, 'GPU-a'),
    gpu('NVIDIA A100 80GB PCIe', 81_920, 'GPU-b'),
    gpu('NVIDIA RTX A2000', 12_282, 'GPU-c'),
    gpu('RTX A2000', 6_138, 'GPU-d'),
  ]
  const compute = {
    ...createFakeEngine({ clock: systemClock }),
    size: async () => ({ cpu_count: 8, memory_mb: 65_536, disk_gb: null, gpus }),
  }
  const gateway = await startGateway({ compute })
  try {
    const specs = await gateway.data(listGpuSpecs, { body: { region_codes: [] } })
    const offered = specs.filter(({ gpu }) => gpu)
    expect(offered.map(({ id, total, counts, vram_gb }) => [id, total, counts, vram_gb])).toEqual([
      ['a100-80', 2, [1, 2], 80],
      ['rtx-a2000', 2, [1, 2], 6],
    ])
  } finally {
    await gateway.stop()
  }
})
