import { S3Error } from '../s3-error.ts'
import { S3_LIMITS } from '../s3-limits.ts'
import { codeOf, type Folder, whereMissing } from './beneath.ts'
import { OWN_FOLDER } from './object-key.ts'
import { type SeenObject, seenOf } from './objects.ts'
import type { VolumeFolder } from './volume-folder.ts'

/** What a list is to hold. */
export interface ListQuestion {
  prefix: string
  /** What lies behind one is told as one common prefix; empty: all is told. */
  delimiter: string
  /** Keys and common prefixes up to this one are not told again; empty: from the first. */
  after: string
  /** 0 to 1,000. */
  keysMax: number
}

export interface ListAnswer {
  objects: { key: string; seen: SeenObject }[]
  prefixes: string[]
  /** Where the next page goes on, by `after`; null: this was all. */
  next: string | null
}

/** An entry of a folder; `sort` is how it stands among keys: what lies in a folder begins with its name and a slash. */
interface Entry {
  sort: Buffer
  text: string
  isFolder: boolean
}

/**
 * Lists objects in the order of their UTF-8 bytes. Folders may be of any size: of each only the next entries are held, so
 * that a page takes as much memory in a volume of a million files as in one of ten.
 */
export async function listObjects(volume: VolumeFolder, asked: ListQuestion): Promise<ListAnswer> {
  const answer: ListAnswer = { objects: [], prefixes: [], next: null }
  if (asked.keysMax === 0) return answer
  const walk = new Walk(volume, asked, answer)
  await walk.folder(volume.root, '')
  return answer
}

class Walk {
  readonly #volume: VolumeFolder
  readonly #asked: ListQuestion
  readonly #answer: ListAnswer
  #looks = 0
  /** The last that was told, or passed by. */
  #last: string

  constructor(volume: VolumeFolder, asked: ListQuestion, answer: ListAnswer) {
    this.#volume = volume
    this.#asked = asked
    this.#answer = answer
    this.#last = asked.after
  }

  /**
   * Lists what lies in a folder.
   * @param above Its key with a slash at its end; empty for the root.
   * @returns Whether the page is full.
   */
  async folder(folder: Folder, above: string): Promise<boolean> {
    let from: Buffer | null = null
    for (;;) {
      const entries: Entry[] = await this.#nextEntries(folder, above, from)
      for (let first = 0; first < entries.length; first += LOOKS_AT_ONCE) {
        const some = entries.slice(first, first + LOOKS_AT_ONCE)
        const seen = await Promise.all(some.map(entry => this.#see(folder, above, entry)))
        for (const [index, entry] of some.entries()) {
          if (await this.#entry(folder, above, { ...entry, seen: seen[index] ?? null })) return true
        }
      }
      const end: Entry | undefined = entries.at(-1)
      if (!end || entries.length < BATCH) return false
      from = end.sort
    }
  }

  /** The next entries of a folder that can be or hold what is asked for, in order. */
  async #nextEntries(folder: Folder, above: string, from: Buffer | null): Promise<Entry[]> {
    const { prefix, after } = this.#asked
    const first = new FirstEntries(BATCH)
    const told = after.startsWith(above) ? after.slice(above.length) : ''
    const toldBytes = told === '' ? null : Buffer.from(told)
    for await (const { name, isFolder, isFile } of folder.names()) {
      if (!isFolder && !isFile) continue
      if (above === '' && name === OWN_FOLDER) continue
      const text = isFolder ? `${name}/` : name
      const key = above + text
      if (isFolder ? !key.startsWith(prefix) && !prefix.startsWith(key) : !key.startsWith(prefix)) continue
      const sort = Buffer.from(text)
      if (from && Buffer.compare(sort, from) <= 0) continue
      // A folder may hold what comes after, as long as what is told already does not come after all of it.
      if (toldBytes && Buffer.compare(sort, toldBytes) <= 0 && !(isFolder && told.startsWith(text))) continue
      // What is deeper than a key is long is no object, and nothing in it is.
      if (Buffer.byteLength(key) > S3_LIMITS.keyBytesMax) continue
      first.add({ sort, text, isFolder })
    }
    return first.inOrder()
  }

  /** An entry as an object, where it is told as one. */
  async #see(folder: Folder, above: string, { text, isFolder }: Entry): Promise<SeenObject | null> {
    const key = above + text
    if (this.#commonPrefix(key) !== null) return null
    const stat = await folder.look(isFolder ? text.slice(0, -1) : text)
    return stat && seenOf(this.#volume, { key, isFolder }, stat)
  }

  /** @returns Whether the page is full. */
  async #entry(folder: Folder, above: string, entry: Entry & { seen: SeenObject | null }): Promise<boolean> {
    const { after, prefix } = this.#asked
    const { seen, isFolder } = entry
    const key = above + entry.text
    this.#looks += 1
    if (this.#looks > S3_LIMITS.listLooksMax) {
      this.#answer.next = this.#last
      return true
    }
    const common = this.#commonPrefix(key)
    if (common !== null) return this.#common(folder, { entry, key, common })
    // A folder is listed itself, where it was put as one.
    const isAsked = !isFolder || (key.startsWith(prefix) && (after === '' || compareKeys(key, after) > 0))
    if (seen && isAsked) {
      if (this.#tell(() => this.#answer.objects.push({ key, seen }))) return true
      this.#last = key
    }
    if (!isFolder) return false
    return holding(key, 1, async () => {
      const inside = await folder.folder(entry.text.slice(0, -1)).catch(whereGone)
      if (!inside) return false
      try {
        return await this.folder(inside, key)
      } finally {
        await inside.close()
      }
    })
  }

  async #common(
    folder: Folder,
    { entry, key, common }: { entry: Entry; key: string; common: string },
  ): Promise<boolean> {
    const { after } = this.#asked
    if (this.#answer.prefixes.at(-1) === common) return false
    // A prefix that was told on the page before stands for what comes after it, too.
    if (after !== '' && compareKeys(common, after) <= 0) return false
    if (entry.isFolder && !(await this.#holdsAny(folder, entry.text.slice(0, -1), key))) return false
    if (this.#tell(() => this.#answer.prefixes.push(common))) return true
    this.#last = common
    return false
  }

  /** @returns Whether the page was full already, and there is more. */
  #tell(add: () => void): boolean {
    const { objects, prefixes } = this.#answer
    if (objects.length + prefixes.length >= this.#asked.keysMax) {
      this.#answer.next = this.#last
      return true
    }
    add()
    return false
  }

  /** What a key is told as; null where it is told itself. A folder is one as soon as its slash is the delimiter. */
  #commonPrefix(key: string): string | null {
    const { prefix, delimiter } = this.#asked
    if (delimiter === '' || !key.startsWith(prefix)) return null
    const at = key.indexOf(delimiter, prefix.length)
    return at === -1 ? null : key.slice(0, at + delimiter.length)
  }

  /** Whether there is any object in a folder, or it is one itself. */
  async #holdsAny(folder: Folder, name: string, key: string): Promise<boolean> {
    const stat = await folder.look(name)
    if (stat && (await seenOf(this.#volume, { key, isFolder: true }, stat))) return true
    return holding(key, 2, async () => {
      const inside = await folder.folder(name).catch(whereGone)
      if (!inside) return false
      try {
        for await (const entry of inside.names()) {
          // Who has that many empty folders sees one that holds nothing.
          this.#looks += 1
          if (entry.isFile || this.#looks > S3_LIMITS.listLooksMax) return true
          const deeper = `${key}${entry.name}/`
          if (!entry.isFolder || Buffer.byteLength(deeper) > S3_LIMITS.keyBytesMax) continue
          if (await this.#holdsAny(inside, entry.name, deeper)) return true
        }
        return false
      } finally {
        await inside.close()
      }
    })
  }
}

/** What all lists together hold of folders that lie deep. */
let deepHandles = 0

/**
 * Works while a folder is open. A list holds one handle for each folder on its way down, of which there may be five hundred,
 * and a process has so many: whoever has folders that deep gets some of them, and nobody else is kept from theirs.
 * @param key Of the folder. @param handles What it takes to be open.
 * @throws S3Error `SlowDown`.
 */
async function holding<Result>(key: string, handles: number, work: () => Promise<Result>): Promise<Result> {
  const isDeep = key.split('/').length > S3_LIMITS.listFreeDepth
  if (!isDeep) return work()
  if (deepHandles + handles > S3_LIMITS.listDeepHandlesMax) throw new S3Error('SlowDown')
  deepHandles += handles
  try {
    return await work()
  } finally {
    deepHandles -= handles
  }
}

const BATCH = S3_LIMITS.listKeysMax + 1
/** Entries that are looked at side by side. */
const LOOKS_AT_ONCE = 16
const missing = whereMissing(null)

/** A folder that went meanwhile, or became something else, holds nothing. */
function whereGone(error: unknown): null {
  return codeOf(error) === 'ENOTDIR' ? null : missing(error)
}

/** Keeps the first of what is added, whatever comes in whichever order. */
class FirstEntries {
  readonly #most: number
  #kept: Entry[] = []
  #end: Buffer | null = null

  constructor(most: number) {
    this.#most = most
  }

  add(entry: Entry): void {
    if (this.#end && Buffer.compare(entry.sort, this.#end) >= 0) return
    this.#kept.push(entry)
    // Sorted when there are twice as many as are wanted, so that each costs little.
    if (this.#kept.length < 2 * this.#most) return
    this.#kept = this.inOrder()
    this.#end = this.#kept.at(-1)?.sort ?? null
  }

  inOrder(): Entry[] {
    this.#kept.sort((one, other) => Buffer.compare(one.sort, other.sort))
    return this.#kept.slice(0, this.#most)
  }
}

/** How keys stand to each other: by their bytes, which is not how JavaScript compares what is beyond U+FFFF. */
function compareKeys(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}
