import { Readable } from 'node:stream'
import type Docker from 'dockerode'
import { type LayoutImage, MEDIA_TYPES } from '../../../platform/image-layout/layout.ts'
import { LayoutError } from '../../../platform/image-layout/layout-error.ts'
import { readLayout } from '../../../platform/image-layout/read-layout.ts'
import { TAR_END, tarHeader, tarPadding } from '../../../platform/tar/tar-writer.ts'
import { mustGoOn, refusedArchive } from '../own-archive.ts'
import { ComputeError } from '../port/compute-error.ts'
import { translated } from './docker-errors.ts'
import { CONFIG_TYPES, comingConfig, readConfig } from './image-config.ts'
import { pullFailure } from './pull-image.ts'

const LAYER_TYPES = new Set(['', '+gzip', '+zstd'].map(packing => `${MEDIA_TYPES.layer}${packing}`))
for (const packing of ['', '.gzip']) LAYER_TYPES.add(`application/vnd.docker.image.rootfs.diff.tar${packing}`)

interface LoadLine {
  error?: string
}

/**
 * Brings an image to an engine, in the archive that engines of all ages take. It is the engine's once all of it was
 * there: an archive that turns out wrong breaks off, and the engine keeps nothing of it.
 * @param as.reference The name that the engine is to know it by.
 * @throws ComputeError, as `OwnImages.load` has it.
 */
export async function loadImage(
  docker: Docker,
  as: { imageId: string; reference: string },
  archive: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const stop = new AbortController()
  const body = Readable.from(dockerArchive(as, archive, signal), { objectMode: false })
  let failure: { error: unknown } | null = null
  body.once('error', error => {
    failure ??= { error }
    // The client of the engine would wait for the rest.
    stop.abort(error)
  })
  const giveUp = () =>
    body.destroy(new ComputeError('failed', 'the call was given up', { cause: signal.reason }))
  signal.addEventListener('abort', giveUp, { once: true })
  try {
    const doing = `loading the image ${as.imageId}`
    await translated(doing, async () => {
      const answer = await docker.loadImage(body, { quiet: true, abortSignal: stop.signal })
      await ended(docker, answer)
    }).catch(error => {
      throw failure ? error : pullFailure(error.cause ?? error, { reference: as.reference, hasLogin: false })
    })
  } catch (error) {
    const { error: first } = (failure ?? { error }) as { error: unknown }
    refusedArchive(as.imageId)(first)
  } finally {
    signal.removeEventListener('abort', giveUp)
    body.destroy()
  }
}

/** Waits for the end of the engine's answer, in which it also says what went wrong. */
async function ended(docker: Docker, answer: NodeJS.ReadableStream): Promise<void> {
  let said: Error | null = null
  await new Promise<void>((resolve, reject) => {
    docker.modem.followProgress(
      answer,
      error => (error || said ? reject(error ?? said) : resolve()),
      (line: LoadLine) => {
        if (line.error !== undefined) said = new Error(line.error)
      },
    )
  })
}

/** The same image in the way of `docker save`: what names its parts, then each of them. */
async function* dockerArchive(
  as: { imageId: string; reference: string },
  archive: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let image: LayoutImage | null = null
  for await (const part of readLayout(archive)) {
    mustGoOn(signal)
    if ('image' in part) {
      image = part.image
      mustBeRunnable(image)
      yield* file('manifest.json', Buffer.from(JSON.stringify([contentsOf(image, as.reference)])))
      continue
    }
    const { digest, size } = part.blob
    if (digest === image?.manifest.config.digest) {
      yield* file(CONFIG_NAME, await configOf(part.bytes, image, as.imageId))
      continue
    }
    yield tarHeader({ name: layerName(digest), type: 'file', mode: 0o644, size })
    yield* part.bytes
    yield tarPadding(size)
  }
  yield TAR_END
}

const CONFIG_NAME = 'config.json'
const layerName = (digest: string) => `${digest.slice('sha256:'.length)}/layer.tar`

function contentsOf({ manifest }: LayoutImage, reference: string) {
  return {
    Config: CONFIG_NAME,
    RepoTags: [reference],
    Layers: manifest.layers.map(({ digest }) => layerName(digest)),
  }
}

function mustBeRunnable({ manifest }: LayoutImage): void {
  const isImage = manifest.artifactType === undefined && CONFIG_TYPES.has(manifest.config.mediaType)
  if (!isImage || manifest.layers.some(({ mediaType }) => !LAYER_TYPES.has(mediaType)))
    throw new LayoutError('unfit', 'it is no image that runs on Docker')
}

async function configOf(bytes: AsyncIterable<Buffer>, image: LayoutImage, imageId: string): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of bytes) pieces.push(piece)
  const config = readConfig(Buffer.concat(pieces))
  if (config?.rootfs.diff_ids.length !== image.manifest.layers.length)
    throw new LayoutError('unfit', 'what it says of itself does not fit it')
  return comingConfig(config, imageId)
}

function* file(name: string, bytes: Buffer): Generator<Uint8Array> {
  yield tarHeader({ name, type: 'file', mode: 0o644, size: bytes.length })
  yield bytes
  yield tarPadding(bytes.length)
}
