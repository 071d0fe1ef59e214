import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { getImagePrice } from '@berth/contract/images'
import { stopInstance, terminateInstance } from '@berth/contract/instances'
import { createImage, deleteImage } from '@berth/contract/own-images'
import { pino } from 'pino'
import { describe, expect, test, vi } from 'vitest'
import { imageDetails } from '../src/domains/images/images-fixture.ts'
import { describeWhere, eventually, text } from '../src/drivers/compute/conformance/tools.ts'
import { makeImage, packOdd, startRegistry } from '../src/drivers/compute/oci/registry-fixture.ts'
import { echoDisk } from '../src/drivers/compute/qemu/guest-fixture.ts'
import { findHypervisor } from '../src/drivers/compute/qemu/probe-qemu.ts'
import { createQemuEngine } from '../src/drivers/compute/qemu/qemu-engine.ts'
import { programsLayer } from '../src/drivers/compute/sandbox/programs-layer-fixture.ts'
import type { Catalogue, CatalogueImage } from '../src/platform/config/catalogue.ts'
import { onEngine, HOUSE_MS as TEST_MS, useHouse } from './image-house.ts'
import { REAL_ENGINES } from './real-engines.ts'
import { shippedCatalogue } from './shipped-catalogue.ts'

// Goal: what a customer has made of an instance is an image that another instance is made of, and nothing is left of it
// when it is deleted. Method: the whole gateway over HTTP, real machines of each driver, and a real store in a folder.
const BYTES_PER_GB = 1_073_741_824

for (const { name, missing } of REAL_ENGINES) {
  if (missing !== null) process.stdout.write(`SKIP images of customers on ${name}: ${missing}\n`)
}

describe.each(REAL_ENGINES.filter(({ missing }) => missing === null))(
  'images of customers on $name',
  ({ open }) => {
    let registry: Awaited<ReturnType<typeof startRegistry>>
    const house = useHouse(async folder => {
      const { engine, catalogue, end } = await open(folder)
      // A sandbox makes images of machines that run on an image themselves.
      const layer = { bytes: gzipSync(await programsLayer(folder)), packing: '+gzip' as const }
      const more = { bytes: packOdd([{ name: 'srv/more', content: 'more' }]), packing: '' as const }
      registry = await startRegistry(makeImage([layer, more], { Env: ['PATH=/usr/bin:/bin'] }))
      return {
        engine,
        privateRegistries: [registry.host],
        catalogue: withRecipe(catalogue, 'berth-base', { sandbox: { image: registry.reference } }),
        async end() {
          await end()
          registry.close()
        },
      }
    })

    test(
      '[R4.6] [R1.2] [R4.8] what an instance holds is in the image, which outlives it, runs anew out of the store, and goes with all its bytes',
      async () => {
        const { engine, store, data, becomes, running, image, own } = house()
        const first = await running({})
        await text(engine, first, 'mkdir -p /srv/deep; echo kept > /srv/deep/file')
        const made = await data(createImage, { body: { ...imageDetails, instance_id: first } })
        expect(await house().statusOf(first)).toBe('imageBuilding')
        // It goes on meanwhile; Docker holds it still, and takes no commands, while it reads what has changed.
        await eventually(() => text(engine, first, 'echo runs'))
        await eventually(async () => expect((await image(made.id))?.status).toBe('private'))
        await becomes(first, 'running')
        const { images } = await store.sizes()
        const [bytes = 0] = [...images.values()].map(({ size_bytes }) => size_bytes)
        expect(images.size).toBe(1)
        expect(bytes).toBeGreaterThan(1_000_000)
        const gb = Math.ceil(bytes / BYTES_PER_GB)
        expect(await image(made.id)).toMatchObject({
          size: Math.ceil(bytes / 1_048_576),
          micro_per_day: String(1_700 * gb),
        })
        expect(await data(getImagePrice, {})).toMatchObject({ micro_per_day: String(1_700 * gb) })

        await data(terminateInstance, { params: { id: first } })
        await becomes(first, undefined)
        await own().delete(made.id)
        expect(await onEngine(engine)).toEqual([])
        const second = await running({ image_id: made.id })
        expect(await text(engine, second, 'cat /srv/deep/file')).toBe('kept\n')

        await data(deleteImage, { params: { id: made.id } })
        await eventually(async () => expect(await image(made.id)).toBeUndefined())
        expect((await store.sizes()).images.size).toBe(0)
        expect(readdirSync(join(house().storeDir, 'blobs/sha256'))).toEqual([])
        expect(await text(engine, second, 'cat /srv/deep/file')).toBe('kept\n')
        await data(terminateInstance, { params: { id: second } })
        await becomes(second, undefined)
        await eventually(async () => {
          await house().gateway.gateway.images.run(new AbortController().signal)
          expect(await onEngine(engine)).toEqual([])
        })
        expect(await house().gateway.gateway.billing.checkBooks()).toEqual([])
      },
      TEST_MS,
    )

    test(
      '[R1.2] [B7] one of a registry is made and runs; one that is not there or is not as large as it says leaves nothing',
      async () => {
        const { engine, store, data, becomes, running, refusal, image } = house()
        const of = (tag: string) => ({
          body: { ...imageDetails, image_reference: `${registry.host}/t/image:${tag}` },
        })
        expect(await refusal(createImage, of('none'))).toBe('image_reference image_not_found')
        const manifest = await (await fetch(`http://${registry.host}/v2/t/image/manifests/1`)).text()
        registry.does(({ url = '' }, response) => {
          if (!url.endsWith('/manifests/lies')) return false
          const said = JSON.parse(manifest)
          said.layers[1].size = 512
          response.setHeader('content-type', said.mediaType).end(JSON.stringify(said))
          return true
        })
        const { id: lies } = await data(createImage, of('lies'))
        // It is tried several times first, each after a longer pause.
        const failed = async () => expect((await image(lies))?.status).toBe('failed')
        await vi.waitFor(failed, { timeout: TRIES_MS, interval: 200 })
        expect(await image(lies)).toMatchObject({ size: 0, cost_micro: '0', micro_per_day: '0' })
        expect((await store.sizes()).images.size).toBe(0)
        expect((await engine.machines.list()).map(one => one.id)).not.toContain(lies)
        await data(deleteImage, { params: { id: lies } })

        const { id } = await data(createImage, of('1'))
        await eventually(async () => expect((await image(id))?.status).toBe('private'))
        expect((await engine.machines.list()).map(one => one.id)).not.toContain(id)
        const instance = await running({ image_id: id })
        expect(await text(engine, instance, 'echo runs')).toBe('runs\n')
        await data(terminateInstance, { params: { id: instance } })
        await becomes(instance, undefined)
        await data(deleteImage, { params: { id } })
        await eventually(async () => {
          await house().gateway.gateway.images.run(new AbortController().signal)
          expect(await onEngine(engine)).toEqual([])
        })
      },
      TEST_MS,
    )

    test(
      '[R4.6] a pod that is stopped is refused',
      async () => {
        const { data, becomes, running, refusal } = house()
        const id = await running({})
        await data(stopInstance, { params: { id } })
        await becomes(id, 'stopped')
        expect(await refusal(createImage, { body: { ...imageDetails, instance_id: id } })).toBe(
          'create_image_pod',
        )
        await data(terminateInstance, { params: { id } })
        await becomes(id, undefined)
      },
      TEST_MS,
    )
  },
)

/** In which an image that cannot be made was tried as often as it is. */
const TRIES_MS = 120_000

describeWhere('images of virtual machines', await findHypervisor(), () => {
  describe('images of virtual machines', () => {
    const house = useHouse(async folder => {
      const file = join(folder, 'echo.raw')
      writeFileSync(file, echoDisk())
      const log = pino({ level: 'silent' })
      const dataDir = join(folder, 'machines')
      const engine = await createQemuEngine({ dataDir, log, stopGraceMs: 100 })
      const catalogue = withRecipe(shippedCatalogue(), 'berth-base', { qemu: { file } }, 'VM')
      return { engine, catalogue, end: async () => void (await engine.shutdown()) }
    })

    test(
      '[R4.6] a virtual machine that runs is refused; of one that is stopped an image is made that boots',
      async () => {
        const { engine, data, becomes, running, refusal, image, store } = house()
        const vm = { kind: 'VM' as const, http_ports: [], tcp_ports: [] }
        const first = await running(vm)
        const body = { ...imageDetails, kind: 'VM' as const, instance_id: first }
        expect(await refusal(createImage, { body })).toBe('create_image_vm')
        await data(stopInstance, { params: { id: first } })
        await becomes(first, 'stopped')
        const { id } = await data(createImage, { body })
        await eventually(async () => expect((await image(id))?.status).toBe('private'))
        await becomes(first, 'stopped')
        await data(terminateInstance, { params: { id: first } })
        await becomes(first, undefined)
        const second = await running({ ...vm, image_id: id })
        await data(deleteImage, { params: { id } })
        await eventually(async () => expect(await image(id)).toBeUndefined())
        expect((await store.sizes()).images.size).toBe(0)
        await data(terminateInstance, { params: { id: second } })
        await becomes(second, undefined)
        await eventually(async () => {
          await house().gateway.gateway.images.run(new AbortController().signal)
          expect(await onEngine(engine)).toEqual([])
        })
      },
      TEST_MS,
    )
  })
})

/** The catalogue with another way to make one image. */
function withRecipe(
  catalogue: Catalogue,
  id: string,
  recipe: Record<string, unknown>,
  kind: CatalogueImage['kind'] = 'POD',
): Catalogue {
  const images = catalogue.images.map(entry =>
    entry.id === id ? { ...entry, kind, recipe: { ...entry.recipe, ...recipe } } : entry,
  )
  return { ...catalogue, images }
}
