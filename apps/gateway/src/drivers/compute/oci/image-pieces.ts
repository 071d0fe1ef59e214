import { readdir, rm, rmdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { takeLock } from '../../../platform/host-lock.ts'

const DAY_MS = 86_400_000

/** What may lie there of downloads that nobody goes on with. */
export interface PiecesLimits {
  ageMsMax: number
  bytesMax: number
}

const PIECES: PiecesLimits = {
  // Whoever tries again does so within days.
  ageMsMax: 3 * DAY_MS,
  // A few of the largest layers that there are.
  bytesMax: 64 * 1024 ** 3,
}

/** Where the pieces of a store are, and what is held by whoever fetches, by the name of an image's folder there. */
interface PiecesPlace {
  allPartials: string
  lockOf(key: string): string
}

/** The pieces of one image. */
interface PiecesFolder {
  path: string
  lock: string
}

/**
 * Removes pieces of downloads that lie there too long, and the oldest where they are too much together: what a registry
 * changes while it is fetched leaves pieces that nobody will ever ask for. What is fetched now stays.
 * @param places Stores of one disk; the limit of bytes is for all of them together.
 * @param now In ms.
 */
export async function removePieces(
  places: readonly PiecesPlace[],
  now: number,
  limits = PIECES,
): Promise<void> {
  const folders = (await Promise.all(places.map(foldersIn))).flat()
  const pieces = (await Promise.all(folders.map(piecesIn))).flat()
  let bytes = 0
  for (const piece of pieces.sort((a, b) => b.writtenMs - a.writtenMs)) {
    bytes += piece.bytes
    if (bytes <= limits.bytesMax && now - piece.writtenMs <= limits.ageMsMax) continue
    const isGone = await unlessFetched(piece.folder, () => rm(piece.path, { force: true }))
    if (isGone) bytes -= piece.bytes
  }
  for (const folder of folders) {
    if ((await namesIn(folder.path)).length === 0) await unlessFetched(folder, () => rmdir(folder.path))
  }
}

/** Does something to an image's pieces while nobody may fetch it; not done where somebody does. */
async function unlessFetched({ lock }: PiecesFolder, act: () => Promise<void>): Promise<boolean> {
  const { signal } = new AbortController()
  const held = await takeLock(lock, { kind: 'exclusive', wait: false, signal })
  if (held === null) return false
  try {
    await act()
    return true
  } finally {
    held.release()
  }
}

async function foldersIn({ allPartials, lockOf }: PiecesPlace): Promise<PiecesFolder[]> {
  const keys = await namesIn(allPartials)
  return keys.map(key => ({ path: join(allPartials, key), lock: lockOf(key) }))
}

async function piecesIn(folder: PiecesFolder) {
  const names = await namesIn(folder.path)
  return await Promise.all(
    names.map(async name => {
      const path = join(folder.path, name)
      const { size, mtimeMs } = (await stat(path).catch(() => null)) ?? { size: 0, mtimeMs: 0 }
      return { folder, path, bytes: size, writtenMs: mtimeMs }
    }),
  )
}

function namesIn(path: string): Promise<string[]> {
  return readdir(path).catch(() => [])
}
