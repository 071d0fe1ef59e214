import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, link, lstat, mkdir, open, opendir, rename, rmdir, unlink } from 'node:fs/promises'

/** Linux's own number on all processors that Node runs on; Node does not name it. Nothing is read through such a handle. */
const O_PATH = 0o10000000
const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants
const FILE_MODE = 0o644
const FOLDER_MODE = 0o755
const RANDOM_NAME_BYTES = 12

/**
 * A folder of a volume, held open. What a volume holds was put there by machines, which may change it at any moment: a
 * path would be followed wherever a link in it leads just then. So nothing here is reached by a path. Each name is opened
 * in a folder that is open already (`/proc/self/fd/<n>/<name>` is what `openat` does), links are not followed, and names
 * have no slash: what is reached lies in the volume, whatever becomes of it meanwhile.
 */
export class Folder {
  readonly #handle: FileHandle

  private constructor(handle: FileHandle) {
    this.#handle = handle
  }

  /** Opens a volume's own folder, by a path that is the operator's. @throws What the system says. */
  static async root(path: string): Promise<Folder> {
    return new Folder(await open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW))
  }

  #at(name: string): string {
    if (name === '' || name === '.' || name === '..' || name.includes('/') || name.includes('\0')) {
      throw new Error('not the name of a file')
    }
    return `/proc/self/fd/${this.#handle.fd}/${name}`
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }

  /** @throws `ENOENT`; `ENOTDIR` for what is no folder, such as a link to one. */
  async folder(name: string): Promise<Folder> {
    return new Folder(await open(this.#at(name), O_PATH | O_DIRECTORY | O_NOFOLLOW))
  }

  /**
   * Opens a folder, made if it is not there, which outlives a power cut then.
   * @param owner Whose it is; null leaves it to the gateway's user.
   */
  async makeFolder(name: string, owner: Owner | null): Promise<Folder> {
    const there = await this.folder(name).catch(whereMissing(null))
    if (there) return there
    await mkdir(this.#at(name), FOLDER_MODE).catch(error => {
      if (codeOf(error) !== 'EEXIST') throw error
    })
    const made = await this.folder(name)
    try {
      if (owner) await made.#own(owner)
      await this.sync()
      return made
    } catch (error) {
      await made.close()
      throw error
    }
  }

  async #own({ uid, gid }: Owner): Promise<void> {
    const real = await open(`/proc/self/fd/${this.#handle.fd}`, O_RDONLY | O_DIRECTORY)
    try {
      await real.chown(uid, gid)
    } finally {
      await real.close()
    }
  }

  /** What stands under a name, a link itself where it is one; null where nothing does. */
  async look(name: string): Promise<BigIntStats | null> {
    return lstat(this.#at(name), { bigint: true }).catch(whereMissing(null))
  }

  /** The folder's own state. */
  async stat(): Promise<BigIntStats> {
    return this.#handle.stat({ bigint: true })
  }

  /**
   * Opens a file to be read; null for what is no plain file. What it is is known before it is opened: opening a device or
   * a pipe that a machine has put there would do something.
   * @throws `ENOENT`.
   */
  async read(name: string): Promise<{ file: FileHandle; stat: BigIntStats } | null> {
    const seen = await open(this.#at(name), O_PATH | O_NOFOLLOW)
    try {
      const stat = await seen.stat({ bigint: true })
      if (!stat.isFile()) return null
      return { file: await open(`/proc/self/fd/${seen.fd}`, O_RDONLY), stat }
    } finally {
      await seen.close()
    }
  }

  /** Makes a file under a name that nobody has. @param owner Whose it is; null leaves it to the gateway's user. */
  async create(owner: Owner | null): Promise<{ file: FileHandle; name: string }> {
    const name = randomBytes(RANDOM_NAME_BYTES).toString('hex')
    const file = await open(this.#at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, FILE_MODE)
    try {
      if (owner) await file.chown(owner.uid, owner.gid)
      return { file, name }
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** Moves a file, over whatever file stands there. @throws `EISDIR` where a folder does. */
  async moveTo(name: string, folder: Folder, to: string): Promise<void> {
    await rename(this.#at(name), folder.#at(to))
  }

  /** Moves a file to where nothing stands. @throws `EEXIST`. */
  async moveToFree(name: string, folder: Folder, to: string): Promise<void> {
    await link(this.#at(name), folder.#at(to))
    await this.remove(name)
  }

  /** Removes a file or a link. @returns Whether there was one. */
  async remove(name: string): Promise<boolean> {
    return unlink(this.#at(name)).then(() => true, whereMissing(false))
  }

  /** Removes a folder that is empty. @returns Whether it was. */
  async removeFolder(name: string): Promise<boolean> {
    return rmdir(this.#at(name)).then(
      () => true,
      error => {
        if (['ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(codeOf(error))) return false
        throw error
      },
    )
  }

  /** Names in the folder in no order, as many as there are; those that are not UTF-8 are left out. */
  async *names(): AsyncGenerator<{ name: string; isFolder: boolean; isFile: boolean }> {
    // Names come as bytes: read as text, what is no UTF-8 would be another name.
    const entries = await opendir(`/proc/self/fd/${this.#handle.fd}`, {
      encoding: 'buffer' as BufferEncoding,
      bufferSize: NAMES_AT_ONCE,
    })
    for await (const entry of entries) {
      const bytes = entry.name as unknown as Buffer
      if (!isUtf8(bytes)) continue
      const name = bytes.toString('utf8')
      yield { name, isFolder: entry.isDirectory(), isFile: entry.isFile() }
    }
  }

  /** Has the names of the folder outlive a power cut. */
  async sync(): Promise<void> {
    const real = await open(`/proc/self/fd/${this.#handle.fd}`, O_RDONLY | O_DIRECTORY)
    try {
      await real.sync()
    } finally {
      await real.close()
    }
  }
}

const NAMES_AT_ONCE = 256

/** Whose files are, by the kernel's numbers. */
export interface Owner {
  uid: number
  gid: number
}

/** The system's word for an error, or nothing. */
export function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException)?.code ?? '')
}

/** For what may be missing: gives something else then, and throws whatever else went wrong. */
export function whereMissing<Else>(instead: Else): (error: unknown) => Else {
  return error => {
    if (codeOf(error) === 'ENOENT') return instead
    throw error
  }
}
