import { createHash } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import * as z from 'zod'
import { CHECKSUM_ALGORITHMS } from '../protocol/checksums.ts'
import type { Folder } from './beneath.ts'
import { inOwn, inOwnIfThere, type VolumeFolder } from './volume-folder.ts'

/** What a header or a value of metadata may hold, so that it can be said again as a header. */
const HEADER_TEXT = /^[\x20-\x7e\u0080-\u00ff]*$/
const headerText = z.string().max(2_048).regex(HEADER_TEXT)
const headerName = z.string().regex(/^[a-z0-9-]{1,128}$/)
/** The longest note that is read: all that a request's headers can hold. */
const NOTE_BYTES_MAX = 32_768

/** What S3 access keeps of an object beside its bytes. Machines can write it, too, so it is read as anything else is. */
export const objectFacts = z.object({
  etag: z.string().regex(/^[0-9a-f]{32}(-\d{1,5})?$/),
  /** Headers that are said again as they came: content type, encoding, language, disposition, cache control, expiry. */
  headers: z.record(headerName, headerText).default({}),
  /** By names without `x-amz-meta-`. */
  metadata: z.record(headerName, headerText).default({}),
  checksum: z
    .object({
      algorithm: z.enum(CHECKSUM_ALGORITHMS),
      value: z.string().regex(/^[A-Za-z0-9+/]{1,88}={0,2}(-\d{1,5})?$/),
      isComposite: z.boolean(),
    })
    .nullable()
    .default(null),
  /** The lengths of its parts, where it was put in parts. */
  key: z.string(),
})
export type ObjectFacts = z.infer<typeof objectFacts>

/** Where an object's facts lie: by its key, and by when its bytes were written. What a machine has changed has none. */
function placeOf(
  key: string,
  stat: Pick<BigIntStats, 'mtimeNs' | 'size'> | null,
): { folder: string; name: string } {
  const hash = createHash('sha256').update(key).digest('hex').slice(0, 40)
  const written = stat ? `${stat.mtimeNs.toString(36)}-${stat.size.toString(36)}` : 'folder'
  return { folder: hash.slice(0, 2), name: `${hash.slice(2)}-${written}` }
}

type Written = Pick<BigIntStats, 'mtimeNs' | 'size'>

/**
 * Keeps facts of bytes that are written and not yet in their place, which outlives a power cut: whoever sees the bytes has
 * the facts. The facts of the bytes before stay until `dropFacts`.
 * @param stat Of the bytes; null for an object that is a folder.
 */
export async function keepFacts(
  volume: VolumeFolder,
  facts: ObjectFacts,
  stat: Written | null,
): Promise<void> {
  const { folder, name } = placeOf(facts.key, stat)
  await inOwn(volume, ['tmp'], async temporary => {
    const made = await temporary.create(volume.owner)
    try {
      await made.file.writeFile(JSON.stringify(facts))
      await made.file.datasync()
    } finally {
      await made.file.close()
    }
    await inOwn(volume, ['meta', folder], async meta => {
      await temporary.moveTo(made.name, meta, name)
      await meta.sync()
    })
  })
}

/** Forgets the facts of bytes that are gone. */
export async function dropFacts(volume: VolumeFolder, key: string, stat: Written | null): Promise<void> {
  const { folder, name } = placeOf(key, stat)
  await inOwnIfThere(volume, ['meta', folder], async meta => meta.remove(name))
}

/** Whether two states of a file have their facts at one place. */
export function isSamePlace(one: Written, other: Written): boolean {
  return one.mtimeNs === other.mtimeNs && one.size === other.size
}

/** What is kept of an object; null where nothing is, as of all that machines have written. */
export async function readFacts(
  volume: VolumeFolder,
  key: string,
  stat: Written | null,
): Promise<ObjectFacts | null> {
  const { folder, name } = placeOf(key, stat)
  return inOwnIfThere(volume, ['meta', folder], async meta => {
    const facts = objectFacts.safeParse(await readJson(meta, name)).data
    return facts?.key === key ? facts : null
  })
}

/** Reads what is in a small file that a machine may have written; null where that is no JSON, or too much. */
export async function readJson(folder: Folder, name: string): Promise<unknown> {
  const found = await folder.read(name).catch(() => null)
  if (!found) return null
  try {
    if (found.stat.size > NOTE_BYTES_MAX) return null
    return JSON.parse(await found.file.readFile('utf8'))
  } catch {
    return null
  } finally {
    await found.file.close()
  }
}

/**
 * The ETag of an object. Of bytes that were put by S3 it is S3's own; of others it is made of when and what was last
 * written, in the form of an upload by parts, which no client takes for an MD5.
 */
export function etagOf(facts: ObjectFacts | null, stat: BigIntStats): string {
  if (facts) return facts.etag
  const state = `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`
  return `${createHash('md5').update(state).digest('hex')}-1`
}
