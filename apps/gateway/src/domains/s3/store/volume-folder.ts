import type { BigIntStats } from 'node:fs'
import { S3Error } from '../s3-error.ts'
import { codeOf, Folder, type Owner, whereMissing } from './beneath.ts'
import { type ObjectKey, OWN_FOLDER } from './object-key.ts'

/** A volume while a request works on it. */
export interface VolumeFolder {
  readonly root: Folder
  /** Whose files are that are made here: the volume's own owner, so that machines may write them; null: the gateway's user. */
  readonly owner: Owner | null
}

/** Opens a volume, does some work on it, and closes it. @throws S3Error `ServiceUnavailable` where it is not there. */
export async function withVolume<Result>(
  path: string,
  work: (volume: VolumeFolder) => Promise<Result>,
): Promise<Result> {
  const root = await Folder.root(path).catch(error => {
    throw new S3Error('ServiceUnavailable', { cause: error })
  })
  try {
    const { uid, gid } = await root.stat()
    // Nobody else may give files away.
    const owner = process.geteuid?.() === 0 ? { uid: Number(uid), gid: Number(gid) } : null
    return await work({ root, owner })
  } finally {
    await root.close()
  }
}

/**
 * Opens the folder that a key's file lies in, does some work in it, and closes it.
 * @param options.make Makes what is not there of it.
 * @returns What the work gave; null where the folder is not there, or a part of it is no folder.
 * @throws S3Error `ObjectParentIsFile` where it is to be made, and cannot be.
 */
export async function inFolderOf<Result>(
  volume: VolumeFolder,
  { folders }: Pick<ObjectKey, 'folders'>,
  work: (folder: Folder) => Promise<Result>,
  options: { make?: boolean } = {},
): Promise<Result | null> {
  let at = volume.root
  // One is held open at a time: a key may have five hundred folders, and a process so many handles.
  const leave = async () => {
    if (at !== volume.root) await at.close()
  }
  try {
    for (const name of folders) {
      const next = options.make ? await at.makeFolder(name, volume.owner) : await at.folder(name)
      await leave()
      at = next
    }
  } catch (error) {
    await leave()
    const code = codeOf(error)
    if (options.make && code === 'ENOTDIR') throw new S3Error('ObjectParentIsFile', { cause: error })
    if (!options.make && (code === 'ENOENT' || code === 'ENOTDIR')) return null
    throw error
  }
  try {
    return await work(at)
  } finally {
    await leave()
  }
}

/** Folders below the one that is no object. */
export type OwnPlace =
  | readonly ['meta', string]
  | readonly ['tmp']
  | readonly ['uploads']
  | readonly ['uploads', string]

/**
 * Works in a folder that S3 access has for itself, which is made if it is not there.
 * @throws Error where a machine has put something else in its place.
 */
export async function inOwn<Result>(
  volume: VolumeFolder,
  place: OwnPlace,
  work: (folder: Folder) => Promise<Result>,
): Promise<Result> {
  const folders = [OWN_FOLDER, ...place]
  const done = await inFolderOf(volume, { folders }, async folder => ({ result: await work(folder) }), {
    make: true,
  })
  if (!done) throw new Error('a folder that was just made is gone')
  return done.result
}

/** Works in a folder that S3 access has for itself, if it is there; null where it is not. */
export function inOwnIfThere<Result>(
  volume: VolumeFolder,
  place: OwnPlace,
  work: (folder: Folder) => Promise<Result>,
): Promise<Result | null> {
  return inFolderOf(volume, { folders: [OWN_FOLDER, ...place] }, work)
}

/** Removes the folders of a key that hold nothing any more, from the last one on, but those that are objects themselves. */
export async function pruneFolders(
  volume: VolumeFolder,
  folders: readonly string[],
  isObject: (key: string) => Promise<boolean>,
): Promise<void> {
  for (let depth = folders.length; depth > 0; depth -= 1) {
    const name = folders[depth - 1] ?? ''
    if (await isObject(`${folders.slice(0, depth).join('/')}/`)) return
    const above = { folders: folders.slice(0, depth - 1) }
    const isGone = await inFolderOf(volume, above, async folder => folder.removeFolder(name)).catch(
      whereMissing(null),
    )
    if (!isGone) return
  }
}

/** When something was last written, in milliseconds. */
export const modifiedMsOf = (stat: BigIntStats) => Number(stat.mtimeNs / 1_000_000n)
