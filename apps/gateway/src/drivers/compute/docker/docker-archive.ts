import { posix } from 'node:path'
import { z } from 'zod'
import {
  describe,
  LAYOUT_LIMITS,
  type LayoutImage,
  MANIFEST_BYTES_MAX,
  MEDIA_TYPES,
  makeLayoutImage,
} from '../../../platform/image-layout/layout.ts'
import { readTar, type TarPart } from '../../../platform/tar/read-tar.ts'
import { ComputeError } from '../port/compute-error.ts'
import { leavingConfig, readConfig } from './image-config.ts'

/** Headers of every layer, with three small files to each. */
const OVERHEAD_BYTES_MAX = 8 * 1024 * 1024
/** Of all small files that may turn out to be what describes the image. */
const HELD_BYTES_MAX = 32 * 1024 * 1024
const MAGIC_BYTES = 4
const PACKINGS: Readonly<Record<string, string>> = { '1f8b': '+gzip', '28b5': '+zstd' }

const contentsSchema = z.tuple([
  z.object({ Config: z.string(), Layers: z.array(z.string()).min(1).max(LAYOUT_LIMITS.layers_max) }),
])

interface SeenFile {
  size: number
  /** Its first bytes in hexadecimal. */
  begins: string
  /** All of it, where it may describe the image. */
  text: Buffer | null
}

/** An image as an engine packs it, looked through once. */
export interface SurveyedImage {
  image: LayoutImage
  /** What it says of itself. */
  config: Buffer
  /** The digest of each layer by the name of its file. */
  layers: ReadonlyMap<string, string>
}

/** The parts of what an engine packs. */
export function readDockerArchive(archive: AsyncIterable<Uint8Array>): AsyncIterable<TarPart> {
  return readTar(archive, OVERHEAD_BYTES_MAX)
}

/**
 * Looks through an image as an engine packs it: `manifest.json` names its config and layers, in the way of older engines
 * (`<id>/layer.tar`, never packed, sometimes a link to another) or as blobs of an OCI layout, in which newer ones may
 * have them packed. It stands at the end, so nothing of a layer is known before.
 * @throws ComputeError `failed` where that is not what came.
 */
export async function surveyDockerArchive(archive: AsyncIterable<Uint8Array>): Promise<SurveyedImage> {
  const files = new Map<string, SeenFile>()
  const links = new Map<string, string>()
  let held = 0
  for await (const { entry, bytes } of readDockerArchive(archive)) {
    const { name, kind, target, size } = entry
    if (kind === 'symlink') links.set(name, posix.join(posix.dirname(name), target))
    if (kind !== 'file') continue
    const { begins, text } = await look(bytes, size + held > HELD_BYTES_MAX ? 0 : MANIFEST_BYTES_MAX, size)
    held += text?.length ?? 0
    files.set(name, { size, begins, text })
  }
  const contents = parse(contentsSchema, files.get('manifest.json')?.text)[0]
  const said = readConfig(files.get(contents.Config)?.text ?? Buffer.alloc(0)) ?? unreadable()
  const { diff_ids } = said.rootfs
  if (diff_ids.length !== contents.Layers.length) unreadable()
  const layers = new Map<string, string>()
  const described = contents.Layers.map((path, at) => {
    const name = links.get(path) ?? path
    const file = files.get(name) ?? unreadable()
    const packing = PACKINGS[file.begins.slice(0, 4)] ?? ''
    const digest = packing === '' ? (diff_ids[at] ?? '') : `sha256:${posix.basename(name)}`
    layers.set(name, digest)
    return { mediaType: `${MEDIA_TYPES.layer}${packing}`, digest, size: file.size }
  })
  const config = leavingConfig(said)
  const image = makeLayoutImage({ config: describe(config, MEDIA_TYPES.config), layers: described })
  return { image, config, layers }
}

/** Reads a file's first bytes, and all of one that looks as if it described something. */
async function look(
  bytes: AsyncIterable<Buffer>,
  textBytesMax: number,
  size: number,
): Promise<Pick<SeenFile, 'begins' | 'text'>> {
  const pieces: Buffer[] = []
  let front = Buffer.alloc(0)
  let isText = size <= textBytesMax
  for await (const piece of bytes) {
    if (front.length < MAGIC_BYTES) front = Buffer.concat([front, piece.subarray(0, MAGIC_BYTES)])
    isText &&= /^[[{]/.test(front.toString('latin1'))
    if (isText) pieces.push(piece)
  }
  return { begins: front.toString('hex'), text: isText ? Buffer.concat(pieces) : null }
}

function parse<T>(schema: z.ZodType<T>, text: Buffer | null | undefined): T {
  try {
    return schema.parse(JSON.parse(text?.toString('utf8') ?? ''))
  } catch (cause) {
    return unreadable(cause)
  }
}

function unreadable(cause?: unknown): never {
  throw new ComputeError('failed', 'the engine packs its images in a way that is not known here', { cause })
}
