import { officialImages, officialImagesIn } from '@berth/contract/images'
import { allRegions } from '@berth/contract/regions'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGateway, type TestGateway } from '../../../test/start-gateway.ts'
import { createFakeEngine } from '../../drivers/compute/fake/fake-engine.ts'
import { systemClock } from '../../platform/clock.ts'

let gateway: TestGateway
beforeAll(async () => {
  const compute = createFakeEngine({ clock: systemClock })
  gateway = await startGateway({ compute: { ...compute, driver: 'sandbox' } })
})
afterAll(() => gateway.stop())

test('[R7.3] [R3.4] lists official images with size, type and what is in them', async () => {
  const images = await gateway.data(officialImages, {})
  expect(images.find(({ id }) => id === 'pytorch')).toMatchObject({
    type: 'Official',
    name: 'PyTorch',
    size: 7_580,
    version_info: 'PyTorch 2.9, CUDA 13',
    http_ports: [8_888],
    tcp_ports: [22],
    min_vram_gb: 8,
  })
})

test('[R3.4] says which images the machine driver here cannot make, and why', async () => {
  const images = await gateway.data(officialImages, {})
  expect(images.find(({ id }) => id === 'berth-base')).toMatchObject({
    available: true,
    unavailable_reason: null,
  })
  expect(images.find(({ id }) => id === 'vllm')).toMatchObject({
    available: false,
    unavailable_reason: 'not_on_engine',
    drivers: ['docker', 'kubernetes'],
  })
})

test('[R1.9] says the catalogue’s own texts in the language of the request, where it has them', async () => {
  const regions = await gateway.data(allRegions, {}, { language: 'ko' })
  expect(regions.map(({ name }) => name)).toContain('프랑크푸르트')
  const images = await gateway.data(officialImages, {}, { language: 'ko' })
  expect(images.find(({ id }) => id === 'berth-base')).toMatchObject({
    name: 'Berth Base',
    version_info: '셸과 기본 도구',
  })
})

test('[R7.3] lists those of one region, and refuses a region that does not exist', async () => {
  const all = await gateway.data(officialImages, {})
  expect(await gateway.data(officialImagesIn, { params: { region: 'us-west' } })).toEqual(all)
  const refused = await gateway.call(officialImagesIn, { params: { region: 'nowhere' } })
  expect(refused).toMatchObject({ httpStatus: 400, envelope: { code: 'region_not_supported' } })
})
