import { FileFault, faultOf, type MachineShell, quoted } from './machine-shell.ts'
import type { FileAttributes } from './sftp-wire.ts'

/** Files of a machine, by what every image has that has a shell: no program of ours is put into it. */
export type MachineFiles = ReturnType<typeof createMachineFiles>

export interface FolderEntry {
  name: string
  attributes: FileAttributes
}

/** What a folder holds, as it was said: what is made of it takes several times as much, and is made when it is asked for. */
export interface FolderListing {
  /** What it takes, in bytes. */
  bytes: number
  /** The next entries, in their order; fewer than so many at the end. */
  next(countMax: number): FolderEntry[]
}

const FORMAT = '%f %s %u %g %X %Y'
/** Machines may say anything: no number of a file is longer. */
const FIELDS = /^([0-9a-f]{1,8}) (\d{1,20}) (\d{1,10}) (\d{1,10}) (-?\d{1,20}) (-?\d{1,20})/
const FIELDS_CHARS_MAX = 100
const RIGHTS = 0o7777
/** More than any path that leads anywhere. */
const PATH_CHARS_MAX = 64 * 1024

/** @param shell Is asked one thing at a time. */
export function createMachineFiles({ ask }: Pick<MachineShell, 'ask'>) {
  return {
    /** What a file is. @param follow Whether a link is what it leads to. @throws FileFault */
    async look(path: string, follow: boolean): Promise<FileAttributes> {
      const said = await ask(`stat ${follow ? '-L ' : ''}-c '${FORMAT}' ${quoted(path)}`)
      const attributes = attributesOf(said)
      if (!attributes) throw faultOf(said)
      return attributes
    },

    /** What a folder holds. @throws FileFault */
    async list(path: string): Promise<FolderListing> {
      const names = `printf '%s\\0' .* *`
      const said = await ask(
        `cd ${quoted(path)} || exit 1\n${names}\nprintf '\\0'\n` +
          `${names} | xargs -0 stat -c '${FORMAT} %n' -- 2>/dev/null\nexit 0`,
      )
      const end = said.indexOf('\0\0')
      if (end < 0) throw new FileFault('failure')
      return listingOf(said, end)
    },

    /** Makes a file ready to be written to. @throws FileFault */
    async prepare(
      path: string,
      how: { creates: boolean; empties: boolean; isNew: boolean; mode: number | null },
    ): Promise<void> {
      const file = quoted(path)
      const write = how.empties ? '>' : '>>'
      if (how.isNew) await ask(`set -C; : >${file}`)
      else if (how.creates) {
        const rights = how.mode === null ? '' : ` && chmod ${(how.mode & RIGHTS).toString(8)} ${file}`
        await ask(`if [ -e ${file} ]; then : ${write}${file}; else : >${file}${rights}; fi`)
      } else await ask(`[ -e ${file} ] || { echo no such file; exit 1; }; : ${write}${file}`)
    },

    /** @throws FileFault */
    async change(path: string, { size, owner, mode, times }: FileAttributes): Promise<void> {
      const file = quoted(path)
      const lines = [
        size === undefined ? '' : `truncate -s ${size} ${file}`,
        owner ? `chown ${owner.uid}:${owner.gid} ${file}` : '',
        mode === undefined ? '' : `chmod ${(mode & RIGHTS).toString(8)} ${file}`,
        times
          ? `touch -c -a -d @${times.accessedS} ${file} && touch -c -m -d @${times.modifiedS} ${file}`
          : '',
      ].filter(line => line !== '')
      if (lines.length > 0) await ask(lines.join(' && '))
    },

    /** Where a path leads. @throws FileFault */
    async resolve(path: string): Promise<string> {
      const file = quoted(path === '' ? '.' : path)
      return lineOf(await ask(`readlink -f ${file} || (cd ${file} && pwd -P)`))
    },

    makeFolder: (path: string) => done(ask(`mkdir ${quoted(path)}`)),
    removeFolder: (path: string) => done(ask(`rmdir ${quoted(path)}`)),
    remove(path: string): Promise<void> {
      const file = quoted(path)
      return done(ask(`[ -e ${file} ] || [ -L ${file} ] || { echo no such file; exit 1; }\nrm -f ${file}`))
    },
    /** @param replaces Whether a file of that name gives way. @throws FileFault */
    rename(from: string, to: string, replaces: boolean): Promise<void> {
      const [source, target] = [quoted(from), quoted(to)]
      // What is moved onto a folder would go into it.
      const taken = replaces
        ? `[ -d ${target} ] && [ ! -L ${target} ]`
        : `[ -e ${target} ] || [ -L ${target} ]`
      return done(
        ask(`if ${taken}; then echo there is one of that name; exit 1; fi\nmv -f ${source} ${target}`),
      )
    },
    link: (target: string, path: string) =>
      done(ask(`ln -s -- '${target.replaceAll("'", "'\\''")}' ${quoted(path)}`)),
    readLink: async (path: string) => lineOf(await ask(`readlink ${quoted(path)}`)),
  }
}

async function done(asked: Promise<string>): Promise<void> {
  await asked
}

function lineOf(said: string): string {
  if (said.length > PATH_CHARS_MAX) throw new FileFault('failure')
  return said.replace(/\n$/, '')
}

function attributesOf(said: string): FileAttributes | null {
  const [, mode, size, uid, gid, accessed, modified] = FIELDS.exec(said) ?? []
  if (mode === undefined) return null
  return {
    size: Number(size),
    owner: { uid: Number(uid), gid: Number(gid) },
    mode: Number.parseInt(mode, 16),
    times: { accessedS: Math.max(0, Number(accessed)), modifiedS: Math.max(0, Number(modified)) },
  }
}

/**
 * Begins to read an answer entry by entry. A name may hold line ends, so each is looked for where it has to stand; one that
 * went meanwhile does not.
 * @param end Where the names end.
 */
function listingOf(said: string, end: number): FolderListing {
  /** Of the next name, and of the line that waits for its own. */
  let from = 0
  let at = end + 2
  let line = lineAt(said, at)

  function nextEntry(): FolderEntry | null {
    while (from < end && line) {
      const to = said.indexOf('\0', from)
      const name = said.slice(from, to)
      from = to + 1
      const { attributes, length } = line
      if (!said.startsWith(` ${name}\n`, at + length)) continue
      at += length + name.length + 2
      line = lineAt(said, at)
      return { name, attributes }
    }
    return null
  }

  return {
    bytes: said.length,
    next(countMax) {
      const entries: FolderEntry[] = []
      while (entries.length < countMax) {
        const entry = nextEntry()
        if (!entry) break
        entries.push(entry)
      }
      return entries
    },
  }
}

/** What stands there of a file, and how long that is; null for what is none. */
function lineAt(said: string, at: number): { attributes: FileAttributes; length: number } | null {
  const rest = said.slice(at, at + FIELDS_CHARS_MAX)
  const attributes = attributesOf(rest)
  return attributes && { attributes, length: FIELDS.exec(rest)?.[0].length ?? 0 }
}
