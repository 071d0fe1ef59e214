import { open } from 'node:fs/promises'
import type { TarEntry } from '../../../platform/tar/tar-reader.ts'
import type { TarHeader } from '../../../platform/tar/tar-writer.ts'
import { NotForImages } from '../oci/layer-entries.ts'
import { OciFailure } from '../oci/oci-failure.ts'
import type { PackedLayer } from '../oci/pack-orders.ts'
import { writeLayer } from '../oci/write-layer.ts'
import { type BaseFolder, findInBase, goneFrom, markSeen, partsOf } from './base-files.ts'

const NAME_BYTES_MAX = 4_096 + 64
/** Owners are as the machine has them, whatever users its node knows. */
const ALL_USERS = { first: 0, count: 2 ** 32 }
/** What the walls and the node put into each machine by themselves. */
const OWN_PLACES: ReadonlySet<string> = new Set(['tmp/.berth-command-end', 'dev/termination-log'])

/** What is read of a machine, each as a program in there writes it. All of it may be anything. */
export interface MachineFiles {
  /** What there is: when its inode last changed in s, its kind as one letter, its path; each ended by a NUL. */
  list(): AsyncIterable<Buffer>
  /** An archive of what has changed since then. */
  changed(): AsyncIterable<Buffer>
  /** An archive of its home. */
  home(): AsyncIterable<Buffer>
}

export interface MachineLayer {
  base: BaseFolder
  /** Since when it runs, in s. */
  since_s: number
  /** Its home's path. */
  home: string
  /** Paths at which something else than its root is mounted. */
  mounts: readonly string[]
  out: string
  bytes_max: number
  files_max: number
  /** What the disk is to have left. */
  kept_bytes: number
}

/**
 * Writes the layer of what a machine has over its image: what it changed, its home, and marks of what it removed. It is read
 * while it goes on, so what is written meanwhile may be in it or not.
 * @throws OciFailure `too_large`, `no_room`; NotForImages; what reading throws.
 */
export async function writeMachineLayer(
  what: MachineLayer,
  files: MachineFiles,
  onBytes: (done: number) => void,
): Promise<PackedLayer> {
  const { base } = what
  const mounted = new Set(what.mounts.map(path => pathOf(path)))
  const home = pathOf(what.home)
  await look(what, files.list(), mounted)
  const isLeftOut = (entry: TarEntry) => {
    if (isOthers(base, entry, mounted)) return true
    const parts = partsOf(entry.name)
    if (parts) markSeen(base, parts, entry.kind === 'folder')
    return false
  }
  const isApart = (path: string) => path !== home && mounted.has(path)
  const file = await open(what.out, 'wx', 0o600)
  return await writeLayer(
    file,
    { ...what, users: ALL_USERS },
    async parts => {
      await parts.archive(files.changed(), isLeftOut)
      await parts.archive(files.home(), isLeftOut)
      for (const gone of goneFrom(base, isApart)) await parts.entry(markOf(gone))
    },
    onBytes,
  )
}

/**
 * Notes what of its image a machine still has. A folder that the kernel has renamed in place of copying it holds files that never
 * changed, and whose bytes nobody would read: it is refused.
 */
async function look(what: MachineLayer, list: AsyncIterable<Buffer>, mounted: ReadonlySet<string>) {
  const { base, since_s } = what
  const home = pathOf(what.home)
  let count = 0
  for await (const line of linesOf(list)) {
    if (++count > what.files_max) throw new OciFailure('too_large', `more than ${what.files_max} files`)
    const [, changedS = '', kind = '', name = ''] = /^(\S+) (\S) ([\s\S]*)$/.exec(line) ?? []
    const parts = partsOf(name)
    if (parts === null || parts.length === 0) continue
    const path = parts.join('/')
    const isKnown = findInBase(base, parts) !== undefined
    const isApart = mounted.has(path) || path === home || path.startsWith(`${home}/`)
    if (!isKnown && !isApart && Number(changedS) < since_s)
      throw new NotForImages(
        'a folder of the machine’s image was renamed in it; copy it under its old name to have an image made',
      )
    markSeen(base, parts, kind === 'd')
  }
}

/** What is not the machine's doing: what others have mounted there, and folders that are as the image has them. */
function isOthers(base: BaseFolder, entry: TarEntry, mounted: ReadonlySet<string>): boolean {
  const parts = partsOf(entry.name)
  if (parts === null) return false
  const path = parts.join('/')
  if (OWN_PLACES.has(path)) return true
  if (entry.kind !== 'folder') return mounted.has(path)
  const before = findInBase(base, parts)
  return (
    typeof before === 'object' &&
    entry.xattrs.size === 0 &&
    before.mode === entry.mode &&
    before.uid === entry.uid &&
    before.gid === entry.gid
  )
}

function markOf({ folder, name }: { folder: string; name: string }): TarHeader {
  return { name: `${folder}.wh.${name}`, type: 'file', mode: 0o644 }
}

const pathOf = (path: string) => (partsOf(path) ?? []).join('/')

/** What stands between NULs. */
async function* linesOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let held: Buffer = Buffer.alloc(0)
  for await (const piece of pieces) {
    let rest = held.length === 0 ? piece : Buffer.concat([held, piece])
    for (let end = rest.indexOf(0); end >= 0; end = rest.indexOf(0)) {
      yield rest.toString('utf8', 0, end)
      rest = rest.subarray(end + 1)
    }
    if (rest.length > NAME_BYTES_MAX)
      throw new NotForImages('a path in the machine is longer than an image may have one')
    held = rest
  }
}
