import type { Descriptor, LayoutImage } from '../../platform/image-layout/layout.ts'
import { LayoutError } from '../../platform/image-layout/layout-error.ts'
import { packLayout } from '../../platform/image-layout/pack-layout.ts'
import { OuterS3Error } from '../../platform/outer-s3/outer-s3.ts'
import { LayoutStoreError } from './port.ts'

/** What the system says where a disk is full. */
const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/** @throws LayoutStoreError `given_up`. */
export function mustGoOn(signal: AbortSignal): void {
  if (signal.aborted)
    throw new LayoutStoreError('given_up', 'the call was given up', { cause: signal.reason })
}

/** An archive that is kept; its own failures, and those of who is told of it, are told from the store's. */
export class Incoming implements AsyncIterable<Uint8Array> {
  readonly #archive: AsyncIterable<Uint8Array>
  #failure: { error: unknown } | null = null

  constructor(archive: AsyncIterable<Uint8Array>) {
    this.#archive = archive
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const pieces = this.#archive[Symbol.asyncIterator]()
    try {
      for (;;) {
        const { done, value } = await pieces.next().catch(error => {
          this.#failure = { error }
          throw error
        })
        if (done) return
        yield value
      }
    } finally {
      await pieces.return?.()
    }
  }

  /** Waits for somebody who is told of it, whose failures are none of the store's either. */
  async tell(telling: Promise<void> | undefined): Promise<void> {
    await telling?.catch(error => {
      this.#failure = { error }
      throw error
    })
  }

  hasFailedWith(error: unknown): boolean {
    return this.#failure?.error === error
  }
}

/** Runs work of a store; what it fails with becomes the port's error, unless whoever sent an archive threw it. */
export async function translated<T>(doing: string, work: () => Promise<T>, incoming?: Incoming): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw incoming?.hasFailedWith(error) ? error : asStoreError(doing, error)
  }
}

/** The same of what gives bytes. */
export async function* translatedPieces(
  doing: string,
  work: () => AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* work()
  } catch (error) {
    throw asStoreError(doing, error)
  }
}

/** `put` of a store that keeps an archive as it comes. */
export function putTranslated<T>(
  archive: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
  keep: (incoming: Incoming) => Promise<T>,
): Promise<T> {
  const incoming = new Incoming(archive)
  const work = async () => {
    mustGoOn(signal)
    return await keep(incoming)
  }
  return translated('keeping an image', work, incoming)
}

/**
 * `get` of a store that has images by their manifests and blobs.
 * @param read Null of an image that is not there.
 */
export function getTranslated(
  digest: string,
  signal: AbortSignal,
  { read, open }: { read(): Promise<LayoutImage | null>; open(blob: Descriptor): AsyncIterable<Uint8Array> },
): AsyncGenerator<Uint8Array> {
  return translatedPieces('reading an image', async function* () {
    mustGoOn(signal)
    const image = await read()
    if (!image) throw new LayoutStoreError('not_found', `no image ${digest}`)
    yield* packLayout(image, open)
  })
}

function asStoreError(doing: string, error: unknown): LayoutStoreError {
  if (error instanceof LayoutStoreError) return error
  if (error instanceof LayoutError)
    return new LayoutStoreError(error.fault, `${doing}: ${error.message}`, { cause: error })
  if (error instanceof OuterS3Error) {
    const code = error.code === 'full' ? 'full' : 'unavailable'
    return new LayoutStoreError(code, `${doing}: ${error.message}`, { cause: error })
  }
  const { code = '', message } = error as NodeJS.ErrnoException
  if (FULL.has(code)) return new LayoutStoreError('full', `${doing}: the disk is full`, { cause: error })
  return new LayoutStoreError('unavailable', `${doing}: ${message}`, { cause: error })
}
