import type { BigIntStats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { S3Error } from '../s3-error.ts'
import { codeOf, type Folder } from './beneath.ts'
import type { KeyLocks } from './key-locks.ts'
import { dropFacts, etagOf, isSamePlace, keepFacts, type ObjectFacts, readFacts } from './object-facts.ts'
import { type ObjectKey, readObjectKey } from './object-key.ts'
import { inFolderOf, inOwn, pruneFolders, type VolumeFolder } from './volume-folder.ts'

/** A folder that was opened may be removed before a file is put into it, by whoever deletes its last one. */
const PUT_TRIES_MAX = 5
/** What an object that is a folder holds. */
const NOTHING_MD5 = 'd41d8cd98f00b204e9800998ecf8427e'

/** An object as it is now. */
export interface SeenObject {
  etag: string
  bytes: number
  modified: Date
  facts: ObjectFacts | null
}

/** What must hold of the object that stands there before another takes its place. */
export interface PutCondition {
  /** Nothing stands there. */
  isNew: boolean
  /** ETags of which it has one; null: whatever it has. */
  match: readonly string[] | null
}

/** What the bytes of a put are, once they are written. */
export type Written = Omit<ObjectFacts, 'key'>

function seenFrom(stat: BigIntStats, facts: ObjectFacts | null): SeenObject {
  return {
    etag: etagOf(facts, stat),
    bytes: Number(stat.size),
    // As headers say it, in whole seconds.
    modified: new Date(Number(stat.mtimeNs / 1_000_000_000n) * 1_000),
    facts,
  }
}

/** An object, without its bytes. @throws S3Error `NoSuchKey`. */
export async function seeObject(volume: VolumeFolder, key: ObjectKey): Promise<SeenObject> {
  const stat = await inFolderOf(volume, key, folder => folder.look(key.name))
  const seen = stat && (await seenOf(volume, key, stat))
  if (!seen) throw new S3Error('NoSuchKey', { more: { Key: key.key } })
  return seen
}

/** What an entry of a folder is as an object; null where it is none: a link, a device, a folder that nobody has put. */
export async function seenOf(
  volume: VolumeFolder,
  key: Pick<ObjectKey, 'key' | 'isFolder'>,
  stat: BigIntStats,
): Promise<SeenObject | null> {
  if (!key.isFolder) return stat.isFile() ? seenFrom(stat, await readFacts(volume, key.key, stat)) : null
  if (!stat.isDirectory()) return null
  const facts = await readFacts(volume, key.key, null)
  return facts && { ...seenFrom(stat, facts), bytes: 0 }
}

/**
 * An object with its bytes; whoever gets it closes the file. A put that comes meanwhile puts another file in its place,
 * and this one stays as it is.
 * @returns `file` is null for an object that is a folder.
 * @throws S3Error `NoSuchKey`.
 */
export async function openObject(
  volume: VolumeFolder,
  key: ObjectKey,
): Promise<SeenObject & { file: FileHandle | null }> {
  if (key.isFolder) return { ...(await seeObject(volume, key)), file: null }
  const found = await inFolderOf(volume, key, folder => folder.read(key.name)).catch(error => {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  })
  if (!found) throw new S3Error('NoSuchKey', { more: { Key: key.key } })
  const facts = await readFacts(volume, key.key, found.stat)
  return { ...seenFrom(found.stat, facts), file: found.file }
}

/**
 * Writes bytes where nobody sees them, has them outlive a power cut, and then puts them in their place at once.
 * @param fill Writes the bytes and says what they are. What it throws leaves nothing behind.
 * @throws S3Error `PreconditionFailed`, `ObjectIsFolder`, `ObjectParentIsFile`.
 */
export async function putObject(
  { volume, locked }: { volume: VolumeFolder; locked: KeyLocks },
  key: ObjectKey,
  condition: PutCondition,
  fill: (file: FileHandle) => Promise<Written>,
): Promise<SeenObject> {
  // Whoever cannot succeed is told before all is sent; it is looked at again when it is.
  await requireFree(volume, key)
  return inOwn(volume, ['tmp'], async temporary => {
    const { file, name } = await temporary.create(volume.owner)
    try {
      let facts: ObjectFacts
      let stat: BigIntStats
      try {
        facts = { ...(await fill(file)), key: key.key }
        await file.sync()
        stat = await file.stat({ bigint: true })
      } finally {
        await file.close()
      }
      await locked(key.key, () => place({ volume, temporary, name }, key, { condition, facts, stat }))
      return seenFrom(stat, facts)
    } catch (error) {
      await temporary.remove(name)
      throw error
    }
  })
}

/** Puts a file that is written in the place of its key. */
async function place(
  { volume, temporary, name }: { volume: VolumeFolder; temporary: Folder; name: string },
  key: ObjectKey,
  { condition, facts, stat }: { condition: PutCondition; facts: ObjectFacts; stat: BigIntStats },
): Promise<void> {
  const before = await inFolderOf(volume, key, folder => folder.look(key.name))
  if (before?.isDirectory()) throw new S3Error('ObjectIsFolder')
  const seen = before && (await seenOf(volume, key, before))
  checkCondition(condition, seen?.etag ?? null)
  await keepFacts(volume, facts, stat)
  try {
    for (let tries = 1; ; tries += 1) {
      try {
        await inFolderOf(volume, key, folder => moveIn({ temporary, name }, folder, { key, condition }), {
          make: true,
        })
        break
      } catch (error) {
        if (codeOf(error) !== 'ENOENT' || tries === PUT_TRIES_MAX) throw error
      }
    }
  } catch (error) {
    if (!before || !isSamePlace(before, stat)) await dropFacts(volume, key.key, stat)
    throw error
  }
  if (before && !isSamePlace(before, stat)) await dropFacts(volume, key.key, before)
}

async function moveIn(
  { temporary, name }: { temporary: Folder; name: string },
  folder: Folder,
  { key, condition }: { key: ObjectKey; condition: PutCondition },
): Promise<void> {
  try {
    // A machine may make the file at this very moment: the kernel itself looks.
    if (condition.isNew) await temporary.moveToFree(name, folder, key.name)
    else await temporary.moveTo(name, folder, key.name)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'EEXIST' && condition.isNew) throw new S3Error('PreconditionFailed', { cause: error })
    if (code === 'EISDIR') throw new S3Error('ObjectIsFolder', { cause: error })
    throw error
  }
  await folder.sync()
}

/** @throws S3Error `ObjectIsFolder` or `ObjectParentIsFile`. */
async function requireFree(volume: VolumeFolder, key: ObjectKey): Promise<void> {
  for (let depth = 1; depth <= key.folders.length; depth += 1) {
    const above = { folders: key.folders.slice(0, depth - 1) }
    const stat = await inFolderOf(volume, above, folder => folder.look(key.folders[depth - 1] ?? ''))
    if (!stat) return
    if (!stat.isDirectory()) throw new S3Error('ObjectParentIsFile')
  }
  const stat = await inFolderOf(volume, key, folder => folder.look(key.name))
  if (stat?.isDirectory()) throw new S3Error('ObjectIsFolder')
}

/** @throws S3Error `PreconditionFailed`, or `NoSuchKey` where an ETag was named and nothing is there. */
function checkCondition({ isNew, match }: PutCondition, etag: string | null): void {
  if (isNew && etag !== null) throw new S3Error('PreconditionFailed')
  if (match === null) return
  if (etag === null) throw new S3Error('NoSuchKey')
  if (!match.includes('*') && !match.includes(etag)) throw new S3Error('PreconditionFailed')
}

/**
 * Makes an object that is a folder, such as `photos/`. There already: it gets the new metadata.
 * @throws S3Error `ObjectParentIsFile`.
 */
export async function putFolder(
  { volume, locked }: { volume: VolumeFolder; locked: KeyLocks },
  key: ObjectKey,
  written: Written,
): Promise<SeenObject> {
  return locked(key.key, async () => {
    const facts: ObjectFacts = { ...written, etag: NOTHING_MD5, key: key.key }
    const inside = { folders: [...key.folders, key.name] }
    const stat = await inFolderOf(volume, inside, folder => folder.stat(), { make: true })
    if (!stat) throw new Error('a folder that was just made is gone')
    await keepFacts(volume, facts, null)
    return { ...seenFrom(stat, facts), bytes: 0 }
  })
}

/** Removes an object, and the folders above it that hold nothing any more and were not put. Absent: returns. */
export async function deleteObject(
  { volume, locked }: { volume: VolumeFolder; locked: KeyLocks },
  key: ObjectKey,
): Promise<void> {
  await locked(key.key, async () => {
    const stat = await inFolderOf(volume, key, folder => folder.look(key.name))
    if (!stat || !(await seenOf(volume, key, stat))) return
    await inFolderOf(volume, key, async folder => {
      if (key.isFolder) await folder.removeFolder(key.name)
      else await folder.remove(key.name)
      await folder.sync()
    })
    await dropFacts(volume, key.key, key.isFolder ? null : stat)
    await pruneFolders(volume, key.folders, async above => (await readFacts(volume, above, null)) !== null)
  })
}

/** Whether a key is one that a file can have. */
export function isObjectKey(key: string): boolean {
  try {
    readObjectKey(key)
    return true
  } catch {
    return false
  }
}
