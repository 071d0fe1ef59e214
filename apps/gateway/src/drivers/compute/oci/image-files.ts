import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { takeLock } from '../../../platform/host-lock.ts'
import { removePieces } from './image-pieces.ts'
import { type ImageRecord, imageRecordSchema } from './image-record.ts'

/**
 * Where images lie below one folder:
 *
 *   blobs/sha256/<digest>   as in the OCI image layout, each shared by all images that name it; whole, or not there
 *   images/<hash>.json      what is kept of an image, by its reference; its blobs are all there
 *   partial/<hash>/<digest> what there is so far of a blob that an image needs
 *   locks/<hash>            held while an image is fetched
 *   trees/<digest>/root     the files of an image, by its manifest; in the uppermost folder only; see `image-trees.ts`.
 *                           `-owners` behind it where they have the owners that the image gives them
 *   locks/tree-<digest>     held while those are made, used for a machine, or removed
 *   held/<hash>/            the same again, of what was fetched with one owner's login; in the uppermost folder only
 *   own/                    the same again, of what was made of machines here or brought here; likewise, and kept until
 *                           somebody removes it
 *
 * Nothing in here is a name that a registry or a customer chose.
 */
export function imageFiles(dir: string) {
  const keyOf = (reference: string) => createHash('sha256').update(reference).digest('hex').slice(0, 32)
  const hexOf = (digest: string) => digest.slice('sha256:'.length)
  return {
    record: (reference: string) => join(dir, 'images', `${keyOf(reference)}.json`),
    blob: (digest: string) => join(dir, 'blobs/sha256', hexOf(digest)),
    partial: (reference: string, digest: string) => join(dir, 'partial', keyOf(reference), hexOf(digest)),
    partials: (reference: string) => join(dir, 'partial', keyOf(reference)),
    allPartials: join(dir, 'partial'),
    lock: (reference: string) => join(dir, 'locks', keyOf(reference)),
    lockOf: (key: string) => join(dir, 'locks', key),
    trees: join(dir, 'trees'),
    tree: (key: string) => join(dir, 'trees', key),
    treeLock: (key: string) => join(dir, 'locks', `tree-${key}`),
    folders: ['blobs/sha256', 'images', 'partial', 'locks'].map(name => join(dir, name)),
  }
}

const HELD = 'held'

/**
 * Where lies what was fetched with a login: apart for each owner, blobs and all, since a blob is given to whoever knows
 * its digest.
 * @param dir The uppermost folder.
 * @param owner The customer; undefined for the operator.
 */
export function heldFolder(dir: string, owner: string | undefined): string {
  const name =
    owner === undefined ? 'operator' : createHash('sha256').update(owner).digest('hex').slice(0, 32)
  return join(dir, HELD, name)
}

/**
 * Where lies what was made of machines here, or brought here.
 * @param dir The uppermost folder.
 */
export function ownFolder(dir: string): string {
  return join(dir, 'own')
}

/** Held by whoever changes which of those there are. */
export function ownLock(dir: string): string {
  return imageFiles(ownFolder(dir)).lockOf('own')
}

/** Makes the folders. */
export async function makeImageFolders(dir: string): Promise<void> {
  for (const folder of imageFiles(dir).folders) await mkdir(folder, { recursive: true, mode: 0o700 })
}

/** What is kept of an image; null where it is not here. */
export async function readRecord(dir: string, reference: string): Promise<ImageRecord | null> {
  const body = await readFile(imageFiles(dir).record(reference), 'utf8').catch(() => null)
  return body === null ? null : (imageRecordSchema.safeParse(parse(body)).data ?? null)
}

/** Writes down that an image is here. */
export async function writeRecord(dir: string, record: ImageRecord): Promise<void> {
  await replaceFile(imageFiles(dir).record(record.reference), JSON.stringify(record))
}

/** An image that was fetched, and the folder that it lies in: the uppermost, or an owner's. */
export interface FetchedImage {
  folder: string
  record: ImageRecord
}

/** The files of an image's layers, from the lowest on. */
export function layersOf({ folder, record }: FetchedImage): string[] {
  return record.layers.map(({ digest }) => imageFiles(folder).blob(digest))
}

/** Writes a file under another name first, so that one of the right name is always whole. */
export async function replaceFile(path: string, content: string | Buffer): Promise<void> {
  const next = `${path}.${randomBytes(4).toString('hex')}`
  await writeFile(next, content, { mode: 0o644 })
  await rename(next, path)
}

/**
 * Says that something is in use.
 * @param at In ms; left out: now.
 */
export async function touch(path: string, at = Date.now()): Promise<void> {
  await utimes(path, new Date(at), new Date(at))
}

const DAY_MS = 86_400_000
/** An image that nobody made a machine from for so long is fetched anew when somebody does. */
const UNUSED_DAYS_MAX = 30
/** The same of one that is the operator's, and neither offered nor in use any more. */
const DROPPED_DAYS_MAX = 1
/** A pull that is under way has blobs that no image names yet. */
const UNNAMED_DAYS_MAX = 1

/** The uppermost folder, and those of owners. */
async function foldersOf(dir: string): Promise<string[]> {
  const held = await readdir(join(dir, HELD)).catch(() => [])
  return [dir, ...held.map(name => join(dir, HELD, name))]
}

/**
 * The manifests of all images that are kept.
 * @param dir The uppermost folder.
 */
export async function namedManifests(dir: string): Promise<Set<string>> {
  const records = await Promise.all([...(await foldersOf(dir)), ownFolder(dir)].map(readRecords))
  return new Set(records.flat().map(({ manifest }) => manifest))
}

/**
 * An image whose manifest this is, whoever it was fetched for; null where none is kept.
 * @param dir The uppermost folder.
 */
export async function findByManifest(dir: string, manifest: string): Promise<FetchedImage | null> {
  for (const folder of [...(await foldersOf(dir)), ownFolder(dir)]) {
    const record = (await readRecords(folder)).find(one => one.manifest === manifest)
    if (record) return { folder, record }
  }
  return null
}

/** What is kept of all images of a folder. */
export async function readRecords(dir: string): Promise<ImageRecord[]> {
  const [, images = ''] = imageFiles(dir).folders
  const names = await readdir(images).catch(() => [])
  const found = await Promise.all(
    names.map(async name => {
      const body = await readFile(join(images, name), 'utf8').catch(() => '')
      return imageRecordSchema.safeParse(parse(body)).data ?? []
    }),
  )
  return found.flat()
}

/**
 * Removes images that were not used for long, then blobs and pieces that no image names.
 * @param dir The uppermost folder.
 * @param options.now In ms.
 * @param options.needed Images of the operator's that stay, by their references; all others of his go a day after they
 * were needed last. Null where that is not known: then they go as customers' own do.
 * @param options.used The manifests of images that machines lie over: an image of such a machine has their layers.
 */
export async function removeUnused(
  dir: string,
  options: { now: number; needed: ReadonlySet<string> | null; used: ReadonlySet<string> },
): Promise<void> {
  const { now, needed, used } = options
  const folders = await foldersOf(dir)
  const operators = needed === null ? [] : [dir, heldFolder(dir, undefined)]
  for (const folder of folders) {
    const isOperators = operators.includes(folder)
    if (isOperators && needed) await keepThose(folder, ({ reference }) => needed.has(reference), now)
    await keepThose(folder, ({ manifest }) => used.has(manifest), now)
    await removeUnusedOf(folder, now, isOperators ? DROPPED_DAYS_MAX : UNUSED_DAYS_MAX)
  }
  await removeUnnamedOwn(dir, now)
  await removePieces([...folders, ownFolder(dir)].map(imageFiles), now)
}

/** What was made here stays; what its making left when it was killed does not. */
async function removeUnnamedOwn(dir: string, now: number): Promise<void> {
  await makeImageFolders(ownFolder(dir))
  const { signal } = new AbortController()
  const lock = await takeLock(ownLock(dir), { kind: 'exclusive', wait: true, signal })
  try {
    await removeUnusedOf(ownFolder(dir), now, Number.POSITIVE_INFINITY)
  } finally {
    lock?.release()
  }
}

/** Notes which images are needed now. */
async function keepThose(
  dir: string,
  isNeeded: (record: ImageRecord) => boolean,
  now: number,
): Promise<void> {
  for (const record of await readRecords(dir)) {
    if (isNeeded(record)) await touch(imageFiles(dir).record(record.reference), now)
  }
}

async function removeUnusedOf(dir: string, now: number, unusedDaysMax: number): Promise<void> {
  await makeImageFolders(dir)
  const [blobs = '', images = ''] = imageFiles(dir).folders
  const isOlder = async (path: string, days: number) => {
    const found = await stat(path).catch(() => null)
    return found !== null && now - found.mtimeMs > days * DAY_MS
  }
  const named = new Set<string>()
  for (const name of await readdir(images)) {
    const path = join(images, name)
    if (await isOlder(path, unusedDaysMax)) await rm(path, { force: true })
  }
  for (const record of await readRecords(dir)) {
    for (const digest of digestsOf(record)) named.add(digest.slice('sha256:'.length))
  }
  for (const name of await readdir(blobs)) {
    const path = join(blobs, name)
    if (!named.has(name) && (await isOlder(path, UNNAMED_DAYS_MAX))) await rm(path, { force: true })
  }
}

/** Every blob of an image. */
export function digestsOf(record: ImageRecord): string[] {
  return [record.manifest, record.config, ...record.layers.map(({ digest }) => digest)]
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return null
  }
}
