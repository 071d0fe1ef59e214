import {
  chmodSync,
  closeSync,
  constants,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  rmSync,
  type Stats,
  symlinkSync,
  utimesSync,
  writeSync,
} from 'node:fs'
import type { FileSink, TarEntry } from '../../../../platform/tar/tar-reader.ts'

/** What an image holds is not what may be laid. */
export class BadEntry extends Error {}

const LINKS_FOLLOWED_MAX = 40
/** Who owns what belongs to a user that machines do not have. */
const NOBODY = 65_534
const WHITEOUT = '.wh.'
/** All that lower layers have in that folder is hidden. */
const OPAQUE = '.wh..wh..opq'
/** Of a union file system of old: nothing to be laid. */
const MARKS = '.wh..wh.'

/**
 * A machine's root, laid from layers, one over the other. A name that leads out of it is refused, and links are
 * followed as the machine would follow them: its root is theirs.
 */
export class ImageTree {
  readonly #root: string
  readonly #filesMax: number
  readonly #users: number | null
  #files = 0
  /** What the layer under way has laid, since its own whiteouts are for lower ones. */
  #laid = new Set<string>()
  /** The folder that was found last; most entries follow others of the same. */
  #last: { name: string; path: string } | null = null

  /**
   * @param limits.files_max How many files it may have.
   * @param limits.users How many users there are that files may belong to, each as its entry says; null where all are to
   * be this process's own.
   */
  constructor(root: string, limits: { files_max: number; users: number | null }) {
    this.#root = root
    this.#filesMax = limits.files_max
    this.#users = limits.users
  }

  nextLayer(): void {
    this.#laid = new Set()
  }

  /** Lays one entry of a layer. Gives what takes its bytes; null for what has none, or is not laid (device nodes). */
  lay(entry: TarEntry): FileSink | null {
    const parts = partsOf(entry.name)
    const name = parts.pop()
    if (name === undefined) return null
    this.#count()
    const folder = this.folder(parts)
    if (name.startsWith(WHITEOUT)) {
      this.#hide(folder, name)
      return null
    }
    if (entry.kind === 'other') return null
    const path = `${folder}/${name}`
    const there = statOf(path)
    this.#laid.add(path)
    if (entry.kind === 'folder') {
      if (!there?.isDirectory()) {
        this.#remove(path, there)
        mkdirSync(path)
      }
      this.#giveAway(path, entry)
      chmodSync(path, this.#users === null ? ownersFolder(entry) : entry.mode & 0o3777)
      return null
    }
    if (entry.kind === 'hardlink') {
      const target = this.find(entry.target)
      if (target === path) return null
      const is = target && statOf(target)
      if (!is || is.isDirectory()) throw new BadEntry('a hard link in it leads nowhere')
      this.#remove(path, there)
      linkSync(target, path)
      return null
    }
    this.#remove(path, there)
    if (entry.kind === 'symlink') {
      if (entry.target === '' || entry.target.includes('\0')) throw new BadEntry('a link in it leads nowhere')
      symlinkSync(entry.target, path)
      this.#giveAway(path, entry)
      return null
    }
    const mode = this.#users === null ? (entry.mode & 0o777) | 0o600 : entry.mode & 0o777
    return writeFile(path, { ...entry, mode }, () => this.#giveAway(path, entry))
  }

  /** Where something is, with the links on the way to it followed; null where a part on the way is no folder. */
  find(name: string): string | null {
    const parts = partsOf(name)
    const last = parts.pop()
    const folder = this.#resolve(parts, false)
    return folder === null || last === undefined ? folder : `${folder}/${last}`
  }

  /** A folder, made where it is not there. */
  folder(parts: readonly string[]): string {
    const name = parts.join('/')
    if (this.#last?.name === name) return this.#last.path
    const path = this.#resolve(parts, true) ?? this.#root
    this.#last = { name, path }
    return path
  }

  /** Makes a place a plain folder, whatever was there, so that something can be mounted on it. */
  clear(name: string): void {
    const path = `${this.#root}/${name}`
    const there = statOf(path)
    if (there?.isDirectory()) return
    this.#remove(path, there)
    mkdirSync(path)
  }

  /** Puts an empty file in place of whatever is there. */
  put(name: string): void {
    const parts = partsOf(name)
    const path = `${this.folder(parts.slice(0, -1))}/${parts.at(-1)}`
    this.#remove(path, statOf(path))
    writeFile(path, { mode: 0o644, changed_s: Date.now() / 1000 }).end()
  }

  /** Makes something its owner's, as its entry says; whoever no machine has is nobody. */
  #giveAway(path: string, { uid, gid }: TarEntry): void {
    const users = this.#users
    if (users === null) return
    const known = (id: number) => (id >= 0 && id < users ? id : NOBODY)
    lchownSync(path, known(uid), known(gid))
  }

  #count(): void {
    if (++this.#files > this.#filesMax) throw new BadEntry(`it has more than ${this.#filesMax} files`)
  }

  #resolve(parts: readonly string[], make: boolean): string | null {
    let path = this.#root
    let links = 0
    const waiting = [...parts]
    for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) {
      if (part === '..') {
        path = path === this.#root ? path : path.slice(0, path.lastIndexOf('/'))
        continue
      }
      const next = `${path}/${part}`
      const there = statOf(next)
      if (there?.isSymbolicLink()) {
        if (++links > LINKS_FOLLOWED_MAX) throw new BadEntry('links in it lead in a circle')
        const target = readlinkSync(next)
        if (target.startsWith('/')) path = this.#root
        waiting.unshift(...target.split('/').filter(one => one !== '' && one !== '.'))
        continue
      }
      if (!there?.isDirectory()) {
        if (!make) return null
        // One name may stand for thousands of folders.
        this.#count()
        this.#remove(next, there)
        mkdirSync(next)
        chmodSync(next, 0o755)
      }
      path = next
    }
    return path
  }

  #hide(folder: string, name: string): void {
    if (name === OPAQUE) {
      for (const one of readdirSync(folder)) this.#hideLower(`${folder}/${one}`)
    } else if (!name.startsWith(MARKS)) {
      const [hidden] = partsOf(name.slice(WHITEOUT.length))
      if (hidden !== undefined) this.#hideLower(`${folder}/${hidden}`)
    }
  }

  /** Removes what lower layers laid at a path, and leaves what this one did. */
  #hideLower(path: string): void {
    const there = statOf(path)
    if (!this.#laid.has(path)) this.#remove(path, there)
    else if (there?.isDirectory()) for (const one of readdirSync(path)) this.#hideLower(`${path}/${one}`)
  }

  #remove(path: string, there: Stats | null): void {
    if (!there) return
    if (!there.isFile()) this.#last = null
    rmSync(path, { recursive: there.isDirectory() })
  }
}

/** The parts of a name, of which none leads elsewhere. */
function partsOf(name: string): string[] {
  if (name.includes('\0')) throw new BadEntry('a name in it cannot be one')
  const parts = name.split('/').filter(part => part !== '' && part !== '.')
  if (parts.includes('..')) throw new BadEntry('a name in it leads out of it')
  return parts
}

/**
 * Where a machine has one user, its root is nobody special to the kernel, and goes by its owner's rights: without them it
 * could neither read nor change what the root of another machine could.
 */
function ownersFolder({ mode }: { mode: number }): number {
  return (mode & 0o1777) | 0o700
}

/** Opened anew and never through a link. Rights that a program would have beyond its user's are not given. */
function writeFile(
  path: string,
  { mode, changed_s }: { mode: number; changed_s: number },
  onWritten?: () => void,
): FileSink {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  const file = openSync(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o600)
  return {
    write(piece) {
      for (let at = 0; at < piece.length; ) at += writeSync(file, piece, at)
    },
    end() {
      closeSync(file)
      onWritten?.()
      chmodSync(path, mode)
      utimesSync(path, changed_s, changed_s)
    },
  }
}

function statOf(path: string): Stats | null {
  return lstatSync(path, { throwIfNoEntry: false }) ?? null
}
