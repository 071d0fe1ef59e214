import { randomBytes } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import * as z from 'zod'
import { CHECKSUM_ALGORITHMS } from '../protocol/checksums.ts'
import { S3Error } from '../s3-error.ts'
import { S3_LIMITS } from '../s3-limits.ts'
import { codeOf, type Folder } from './beneath.ts'
import { objectFacts, readJson } from './object-facts.ts'
import { inOwn, inOwnIfThere, modifiedMsOf, type VolumeFolder } from './volume-folder.ts'

const UPLOAD_ID_BYTES = 16
const UPLOAD_ID = /^[0-9a-f]{32}$/
const ABOUT = 'about.json'
/** Each part has a note and its bytes, and one that takes its place may be on its way. */
const FILES_COUNTED_MAX = 3 * S3_LIMITS.partsMax

const aboutUpload = z.object({
  key: z.string(),
  headers: objectFacts.shape.headers,
  metadata: objectFacts.shape.metadata,
  checksum: z.object({ algorithm: z.enum(CHECKSUM_ALGORITHMS), isComposite: z.boolean() }).nullable(),
  initiated: z.iso.datetime(),
})
export type AboutUpload = z.infer<typeof aboutUpload>

const aboutPart = z.object({
  number: z.int().min(1).max(S3_LIMITS.partsMax),
  bytes: z.int().min(0),
  etag: z.string().regex(/^[0-9a-f]{32}$/),
  checksums: z.partialRecord(z.enum(CHECKSUM_ALGORITHMS), z.string().max(88)),
  modified: z.iso.datetime(),
  /** The file with its bytes. */
  file: z.string().regex(/^[0-9a-f]{24}$/),
})
export type AboutPart = z.infer<typeof aboutPart>

export interface Upload extends AboutUpload {
  id: string
}

/** Begins an upload by parts. @throws S3Error `SlowDown` where too many are open. */
export async function createUpload(volume: VolumeFolder, about: AboutUpload): Promise<string> {
  const id = randomBytes(UPLOAD_ID_BYTES).toString('hex')
  await inOwn(volume, ['uploads'], async uploads => {
    let open = 0
    for await (const _ of uploads.names()) {
      open += 1
      if (open === S3_LIMITS.uploadsMax) break
    }
    if (open === S3_LIMITS.uploadsMax) {
      const message = `A volume has ${S3_LIMITS.uploadsMax} open uploads at most. Complete or abort some.`
      throw new S3Error('SlowDown', { message })
    }
  })
  await inOwn(volume, ['uploads', id], folder => keepNote(volume, folder, ABOUT, about))
  return id
}

/** Writes a small note that is whole or not there, and outlives a power cut. */
async function keepNote(volume: VolumeFolder, folder: Folder, name: string, note: unknown): Promise<void> {
  const { file, name: temporary } = await folder.create(volume.owner)
  try {
    await file.writeFile(JSON.stringify(note))
    await file.datasync()
  } finally {
    await file.close()
  }
  await folder.moveTo(temporary, folder, name)
  await folder.sync()
}

/**
 * Works on an upload.
 * @param key The key that it is said to be of; null: any.
 * @throws S3Error `NoSuchUpload`.
 */
export async function inUpload<Result>(
  volume: VolumeFolder,
  { id, key }: { id: string; key: string },
  work: (upload: Upload, folder: Folder) => Promise<Result>,
): Promise<Result> {
  if (!UPLOAD_ID.test(id)) throw new S3Error('NoSuchUpload')
  const done = await inOwnIfThere(volume, ['uploads', id], async folder => {
    const about = aboutUpload.safeParse(await readJson(folder, ABOUT)).data
    return about?.key === key ? { result: await work({ ...about, id }, folder) } : null
  })
  if (!done) throw new S3Error('NoSuchUpload')
  return done.result
}

/** Keeps a part, whole or not at all; one of that number that was there goes. */
export async function putPart(
  volume: VolumeFolder,
  upload: { id: string; key: string },
  number: number,
  fill: (file: FileHandle, upload: Upload) => Promise<Pick<AboutPart, 'etag' | 'bytes' | 'checksums'>>,
): Promise<AboutPart> {
  return inUpload(volume, upload, async (about, folder) => {
    const { file, name } = await folder.create(volume.owner)
    try {
      let part: AboutPart
      try {
        const filled = await fill(file, about)
        await file.sync()
        const modified = new Date(modifiedMsOf(await file.stat({ bigint: true }))).toISOString()
        part = { number, ...filled, modified, file: name }
      } finally {
        await file.close()
      }
      const before = await readPart(folder, number)
      await keepNote(volume, folder, noteOf(number), part)
      if (before) await folder.remove(before.file)
      return part
    } catch (error) {
      await folder.remove(name)
      // It was completed or aborted meanwhile.
      if (codeOf(error) === 'ENOENT') throw new S3Error('NoSuchUpload', { cause: error })
      throw error
    }
  })
}

const noteOf = (number: number) => `part-${String(number).padStart(5, '0')}.json`

/** What is known of a part; null where there is none of that number. */
export async function readPart(folder: Folder, number: number): Promise<AboutPart | null> {
  const part = aboutPart.safeParse(await readJson(folder, noteOf(number))).data
  return part?.number === number ? part : null
}

/** Parts of an upload by their numbers. @param after Those up to this number are left out. */
export async function listParts(
  folder: Folder,
  { after, max }: { after: number; max: number },
): Promise<{ parts: AboutPart[]; isMore: boolean }> {
  const numbers: number[] = []
  for await (const { name } of folder.names()) {
    const number = Number(/^part-(\d{5})\.json$/.exec(name)?.[1] ?? 0)
    if (number > after && number <= S3_LIMITS.partsMax) numbers.push(number)
  }
  numbers.sort((one, other) => one - other)
  const parts: AboutPart[] = []
  for (const number of numbers.slice(0, max)) {
    const part = await readPart(folder, number)
    if (part) parts.push(part)
  }
  return { parts, isMore: numbers.length > max }
}

/** Uploads that are open, by key and then by when they began. */
export async function listUploads(volume: VolumeFolder, prefix: string): Promise<Upload[]> {
  const found: Upload[] = []
  for (const id of await uploadIds(volume)) {
    const about = await inOwnIfThere(volume, ['uploads', id], folder => readJson(folder, ABOUT))
    const read = aboutUpload.safeParse(about).data
    if (read?.key.startsWith(prefix)) found.push({ ...read, id })
  }
  return found.sort((one, other) => {
    const byKey = Buffer.compare(Buffer.from(one.key), Buffer.from(other.key))
    return byKey || one.initiated.localeCompare(other.initiated) || one.id.localeCompare(other.id)
  })
}

/** How many bytes the open uploads of a volume take. */
export async function countUploads(volume: VolumeFolder): Promise<number> {
  let bytes = 0
  for (const id of await uploadIds(volume)) {
    await inOwnIfThere(volume, ['uploads', id], async folder => {
      let looks = 0
      for await (const { name } of folder.names()) {
        bytes += Number((await folder.look(name))?.size ?? 0n)
        looks += 1
        if (looks === FILES_COUNTED_MAX) break
      }
    })
  }
  return bytes
}

/** No more than may be begun: a machine may have put any number there. */
async function uploadIds(volume: VolumeFolder): Promise<string[]> {
  const ids: string[] = []
  await inOwnIfThere(volume, ['uploads'], async folder => {
    for await (const { name } of folder.names()) {
      if (UPLOAD_ID.test(name)) ids.push(name)
      if (ids.length === S3_LIMITS.uploadsMax) break
    }
  })
  return ids
}

/** Removes an upload with all of its parts. Absent: returns. */
export async function removeUpload(volume: VolumeFolder, id: string): Promise<void> {
  if (!UPLOAD_ID.test(id)) return
  await inOwnIfThere(volume, ['uploads', id], async folder => {
    // What says that it is an upload goes first: nobody goes on with a half of one.
    await folder.remove(ABOUT)
    for await (const { name } of folder.names()) await folder.remove(name)
  })
  await inOwnIfThere(volume, ['uploads'], async uploads => {
    await uploads.removeFolder(id)
    await uploads.sync()
  })
}

/**
 * Removes what nobody completes any more: uploads of long ago, and files that a kill left half written.
 * @param now In milliseconds.
 */
export async function sweep(volume: VolumeFolder, now: number): Promise<void> {
  const old: string[] = []
  await inOwnIfThere(volume, ['uploads'], async uploads => {
    for await (const { name } of uploads.names()) {
      const stat = await uploads.look(name)
      if (stat && now - modifiedMsOf(stat) > S3_LIMITS.uploadKeptMs) old.push(name)
      // The others go the next time.
      if (old.length === S3_LIMITS.uploadsMax) break
    }
  })
  for (const id of old) await removeUpload(volume, id)
  await inOwnIfThere(volume, ['tmp'], async temporary => {
    for await (const { name, isFile } of temporary.names()) {
      const stat = isFile ? await temporary.look(name) : null
      if (stat && now - modifiedMsOf(stat) > S3_LIMITS.leftoverMs) await temporary.remove(name)
    }
  })
}
