import {
  describe,
  digestOf,
  type LayoutImage,
  MEDIA_TYPES,
  makeLayoutImage,
} from '../../../platform/image-layout/layout.ts'
import { packLayout } from '../../../platform/image-layout/pack-layout.ts'
import { readLayout } from '../../../platform/image-layout/read-layout.ts'
import { TAR_END, tarHeader, tarPadding } from '../../../platform/tar/tar-writer.ts'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { mustGoOn, refusedArchive } from '../own-archive.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { ImageRecipe, OwnImages } from '../port/images.ts'
import type { MachineSpec } from '../port/machines.ts'
import type { Faults } from './faults.ts'

interface FakeImagesDeps {
  faults: Faults
  /** The engine's machines, some of which may be made from an image. */
  held: ReadonlyMap<string, { spec: MachineSpec | null }>
  /** How many bytes a machine has written that an image is made of now. */
  writtenBytes(): number
}

/** An image in memory: its manifest, and the blobs that it names. */
interface HeldImage {
  image: LayoutImage
  blobs: ReadonlyMap<string, Buffer>
}

/** What all machines here are made from. */
const BASE_LAYER = layerOf('base', 2_048)

/** Images in memory: real ones, of one layer that all share and one of their own. */
export function createFakeOwnImages({ faults, held, writtenBytes }: FakeImagesDeps): OwnImages {
  const images = new Map<string, HeldImage>()
  const recipeOf = (id: string): ImageRecipe => ({ id, parts: { fake: { own: id } } })
  return {
    async build({ machine_id, image_id }, onProgress, signal) {
      checkId(image_id)
      mustGoOn(signal)
      await faults.pass('buildImage', signal)
      if (images.has(image_id)) return recipeOf(image_id)
      if (!held.has(machine_id)) throw new ComputeError('not_found', `no machine ${machine_id}`)
      const bytes_total = writtenBytes()
      onProgress({ bytes_done: 0, bytes_total })
      images.set(image_id, imageOf(layerOf(machine_id, bytes_total)))
      onProgress({ bytes_done: bytes_total, bytes_total })
      return recipeOf(image_id)
    },
    async *save(id, signal) {
      checkId(id)
      mustGoOn(signal)
      await faults.pass('saveImage', signal)
      const found = images.get(id)
      if (!found) throw new ComputeError('not_found', `no image ${id}`)
      for await (const piece of packLayout(found.image, ({ digest }) => piecesOf(found, digest))) {
        mustGoOn(signal)
        yield piece
      }
    },
    async load(id, archive, signal) {
      checkId(id)
      mustGoOn(signal)
      await faults.pass('loadImage', signal)
      if (images.has(id)) return recipeOf(id)
      images.set(id, await readAll(archive, signal).catch(refusedArchive(id)))
      return recipeOf(id)
    },
    async delete(id) {
      checkId(id)
      await faults.pass('deleteImage', null)
      const user = [...held].find(([, { spec }]) => spec?.image.id === id)
      if (user) throw new ComputeError('failed', `the machine ${user[0]} is made from the image ${id}`)
      images.delete(id)
    },
    async list() {
      return [...images].map(([id, { blobs }]) => {
        return { id, size_bytes: [...blobs.values()].reduce((sum, { length }) => sum + length, 0) }
      })
    },
  }
}

async function readAll(archive: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<HeldImage> {
  const blobs = new Map<string, Buffer>()
  let image: LayoutImage | null = null
  for await (const part of readLayout(archive)) {
    if ('image' in part) {
      image = part.image
      continue
    }
    const pieces: Buffer[] = []
    for await (const piece of part.bytes) {
      mustGoOn(signal)
      pieces.push(piece)
    }
    blobs.set(part.blob.digest, Buffer.concat(pieces))
  }
  mustGoOn(signal)
  if (!image) throw new Error('a layout without an image was read')
  return { image, blobs }
}

async function* piecesOf({ blobs }: HeldImage, digest: string): AsyncGenerator<Uint8Array> {
  const bytes = blobs.get(digest)
  if (bytes) yield bytes
}

/** A layer with one file of so many bytes, which are others for another name. */
function layerOf(name: string, size: number): Buffer {
  const header = tarHeader({ name, type: 'file', mode: 0o644, size })
  return Buffer.concat([header, Buffer.alloc(size, name), tarPadding(size), TAR_END])
}

function imageOf(own: Buffer): HeldImage {
  const layers = [BASE_LAYER, own]
  const rootfs = { type: 'layers', diff_ids: layers.map(digestOf) }
  const config = Buffer.from(JSON.stringify({ os: 'linux', architecture: 'amd64', config: {}, rootfs }))
  const image = makeLayoutImage({
    config: describe(config, MEDIA_TYPES.config),
    layers: layers.map(layer => describe(layer, MEDIA_TYPES.layer)),
  })
  return { image, blobs: new Map([config, ...layers].map(bytes => [digestOf(bytes), bytes])) }
}

function checkId(id: string): void {
  if (!MACHINE_ID_PATTERN.test(id)) throw new ComputeError('unsupported', `not an id: ${id}`)
}
