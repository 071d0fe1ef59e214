import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { access, mkdir, open, rename, rm, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { OciFailure, type OciFault } from './oci-failure.ts'
import { type Patience, piecesOf } from './outgoing.ts'
import type { RegistryClient } from './registry-client.ts'

/** Tries in a row that bring nothing; each that brings something begins the count anew. */
const EMPTY_TRIES_MAX = 4
/** Tries in all, against a registry that gives a byte at a time. */
const TRIES_MAX = 40
/** What another try may mend. */
const PASSING: ReadonlySet<OciFault> = new Set(['unreachable', 'too_slow'])

/** How much is fetched between two looks at what the disk has left. */
const LOOK_BYTES = 4 * 1024 * 1024

interface FetchOptions {
  patience: Patience
  keptBytes: number
  onBytes(done: number): void
  onReceived(bytes: number): void
}

/**
 * Fetches a blob, going on where an earlier try broke off, and puts it in its place once its digest is the right one.
 * There already: returns.
 * @param blob.partial Where it lies until then; nobody else writes there.
 * @param options.keptBytes What the disk is to have left, whoever else fills it meanwhile.
 * @param options.onBytes Called with how many bytes are there.
 * @param options.onReceived Called with how many more came just now.
 * @throws OciFailure. What the disk had no room for is not kept; `digest_wrong` only of what came in one go.
 */
export async function fetchBlob(
  client: Pick<RegistryClient, 'blob'>,
  blob: { digest: string; size: number; path: string; partial: string },
  options: FetchOptions & { signal: AbortSignal },
): Promise<void> {
  const there = await access(blob.path).then(
    () => true,
    () => false,
  )
  if (there) return options.onBytes(blob.size)
  await mkdir(dirname(blob.partial), { recursive: true, mode: 0o700 })
  let empty = 0
  for (let tries = 1; ; tries++) {
    const before = await sizeOf(blob.partial)
    try {
      await fetchRest(client, blob, options)
      break
    } catch (error) {
      if (isFull(error)) {
        // Kept for another try, it would hold what machines need to go on.
        await rm(blob.partial, { force: true })
        throw new OciFailure('no_room', undefined, { cause: error })
      }
      if (!(error instanceof OciFailure) || !PASSING.has(error.fault)) throw error
      empty = (await sizeOf(blob.partial)) > before ? 0 : empty + 1
      if (options.signal.aborted || empty >= EMPTY_TRIES_MAX || tries >= TRIES_MAX) throw error
      const pauseMs = options.patience.pauseMs * 2 ** empty
      await new Promise(resolve => setTimeout(resolve, pauseMs))
    }
  }
  await rename(blob.partial, blob.path)
}

async function fetchRest(
  client: Pick<RegistryClient, 'blob'>,
  blob: { digest: string; size: number; partial: string },
  options: FetchOptions,
): Promise<void> {
  let hash = createHash('sha256')
  let isPatched: boolean
  const file = await open(blob.partial, 'a', 0o644)
  try {
    let { size: done } = await file.stat()
    isPatched = done > 0
    if (done < blob.size) {
      const { response, from } = await client.blob(blob.digest, done)
      if (from === 0 && done > 0) await file.truncate(0)
      done = from
      isPatched = done > 0
      if (done > 0) hash = await hashOf(blob.partial)
      let looked = Number.NEGATIVE_INFINITY
      try {
        for await (const piece of piecesOf(response, blob.size - done, options.patience)) {
          if (done - looked >= LOOK_BYTES) {
            await mustHaveLeft(blob.partial, options.keptBytes)
            looked = done
          }
          hash.update(piece)
          await file.write(piece)
          done += piece.length
          options.onReceived(piece.length)
          options.onBytes(done)
        }
      } catch (error) {
        if (!(error instanceof OciFailure) || error.fault !== 'too_large') throw error
        done = Number.POSITIVE_INFINITY
      }
    } else hash = await hashOf(blob.partial)
    if (done < blob.size) throw new OciFailure('unreachable', 'it breaks off')
    if (done === blob.size && `sha256:${hash.digest('hex')}` === blob.digest) return await file.sync()
  } finally {
    await file.close()
  }
  // None of it is worth keeping.
  await rm(blob.partial, { force: true })
  // A connection, or this computer, that broke off may have spoilt it; what comes in one go is what the registry has.
  if (isPatched) throw new OciFailure('unreachable', 'what came before and after it broke off does not fit')
  throw new OciFailure('digest_wrong', blob.digest)
}

async function mustHaveLeft(path: string, keptBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(path)
  if (bavail * bsize < keptBytes) throw new OciFailure('no_room')
}

/** Whether an error says that the disk is full, or has no more than it is to have left. */
export function isFull(error: unknown): boolean {
  if (error instanceof OciFailure) return error.fault === 'no_room'
  return ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '')
}

async function hashOf(path: string) {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(path) as AsyncIterable<Buffer>) hash.update(piece)
  return hash
}

/** The size of a file in bytes; 0 where there is none. */
export async function sizeOf(path: string): Promise<number> {
  const file = await open(path, 'r').catch(() => null)
  if (!file) return 0
  try {
    return (await file.stat()).size
  } finally {
    await file.close()
  }
}
