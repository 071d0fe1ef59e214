import type { Descriptor } from '../../../platform/image-layout/layout.ts'
import { LayoutStoreError } from '../port.ts'
import { mustGoOn } from '../translate.ts'
import type { RegistryCalls } from './registry-calls.ts'

/** Of a blob, what is sent at once: a registry need not take all of a large one in one go. */
const CHUNK_BYTES = 8 * 1024 * 1024
/** Tries in a row that bring nothing. */
const EMPTY_TRIES_MAX = 4
const never = new AbortController().signal

/** Blobs of one repository. */
export function createRegistryBlobs({ ask }: RegistryCalls) {
  /** Sends what has come together; gives where the rest goes. */
  async function sendChunk(
    location: string,
    chunk: Buffer,
    from: number,
    signal: AbortSignal,
  ): Promise<string> {
    const answer = await ask(location, {
      method: 'PATCH',
      headers: {
        'content-type': 'application/octet-stream',
        'content-range': `${from}-${from + chunk.length - 1}`,
      },
      body: new Uint8Array(chunk),
      ok: [202, 204],
      signal,
    })
    return nextOf(answer, location)
  }

  async function has({ digest, size }: Descriptor, signal: AbortSignal): Promise<boolean> {
    const answer = await ask(`blobs/${digest}`, { method: 'HEAD', ok: [200, 404], signal })
    return answer.status === 200 && Number(answer.headers.get('content-length') ?? size) === size
  }

  return {
    has,

    /**
     * Sends a blob, in pieces. What turns out wrong, or is given up, is taken back; of two who send the same one at once a
     * registry may refuse either, though it is there.
     */
    async upload(blob: Descriptor, bytes: AsyncIterable<Buffer>, signal: AbortSignal): Promise<void> {
      let location = nextOf(
        await ask('blobs/uploads/', { method: 'POST', ok: [202], signal }),
        'blobs/uploads/',
      )
      try {
        let held: Buffer[] = []
        let heldBytes = 0
        let sent = 0
        for await (const piece of bytes) {
          mustGoOn(signal)
          held.push(piece)
          heldBytes += piece.length
          if (heldBytes < CHUNK_BYTES) continue
          location = await sendChunk(location, Buffer.concat(held), sent, signal)
          sent += heldBytes
          held = []
          heldBytes = 0
        }
        if (heldBytes > 0) location = await sendChunk(location, Buffer.concat(held), sent, signal)
        const end = new URL(location)
        end.searchParams.set('digest', blob.digest)
        const sealing = { method: 'PUT', headers: { 'content-length': '0' }, ok: [201, 204], signal } as const
        await ask(end.href, sealing).catch(async error => {
          // All of its bytes were read and sent here: whose of them the registry has keeps nobody from having it.
          if (!(await has(blob, signal).catch(() => false))) throw error
        })
      } catch (error) {
        await ask(location, { method: 'DELETE', ok: [204, 202, 200, 404, 405], signal: never }).catch(
          () => undefined,
        )
        throw error
      }
    },

    /** The bytes of a blob, gone on with where a connection breaks off. */
    async *open({ digest, size }: Descriptor, signal: AbortSignal): AsyncGenerator<Uint8Array> {
      let done = 0
      for (let empty = 0; done < size; empty++) {
        const answer = await ask(`blobs/${digest}`, {
          method: 'GET',
          headers: done > 0 ? { range: `bytes=${done}-` } : {},
          ok: done > 0 ? [206] : [200],
          signal,
          isLong: true,
        })
        try {
          for await (const piece of answer.body ?? []) {
            mustGoOn(signal)
            done += piece.length
            empty = 0
            yield piece
          }
        } catch (cause) {
          mustGoOn(signal)
          if (cause instanceof LayoutStoreError) throw cause
        }
        if (done < size && empty >= EMPTY_TRIES_MAX)
          throw new LayoutStoreError('unavailable', `the registry breaks off in ${digest}`)
      }
    },
  }
}

function nextOf(answer: Response, before: string): string {
  const location = URL.parse(answer.headers.get('location') ?? '', answer.url)
  if (!location)
    throw new LayoutStoreError('unavailable', `the registry does not say where to go on from ${before}`)
  return location.href
}
