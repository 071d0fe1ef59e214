import { createReadStream } from 'node:fs'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { readTar } from '../../../platform/tar/read-tar.ts'
import { OciFailure } from '../oci/oci-failure.ts'
import { OVERHEAD_BYTES_EACH } from '../oci/write-layer.ts'

/** A layer of an image on this computer. */
export interface BaseLayer {
  path: string
  packing: 'plain' | 'gzip' | 'zstd'
}

/** A folder of the image. What is no folder is only whether a machine still has it: images have a great many of those. */
export interface BaseFolder {
  mode: number
  uid: number
  gid: number
  isSeen: boolean
  children: Map<string, BaseFolder | boolean>
}

const WHITEOUT = '.wh.'
const OPAQUE = '.wh..wh..opq'

/** The parts of a path as archives and lists have it; null for one that leads out. */
export function partsOf(name: string): string[] | null {
  const parts = name.split('/').filter(part => part !== '' && part !== '.')
  return parts.includes('..') ? null : parts
}

/**
 * What files an image has, by its layers. It is only compared with: nothing of it becomes a path on this computer.
 * @param filesMax Of all layers together.
 * @returns The uppermost folder.
 * @throws OciFailure `too_large`, `not_an_image`.
 */
export async function readBaseFiles(layers: readonly BaseLayer[], filesMax: number): Promise<BaseFolder> {
  const root = emptyFolder()
  let files = 0
  for (const layer of layers) {
    try {
      for await (const { entry } of readTar(open(layer), filesMax * OVERHEAD_BYTES_EACH)) {
        if (++files > filesMax) throw new OciFailure('too_large', `more than ${filesMax} files`)
        const parts = partsOf(entry.name)
        if (parts === null) continue
        const name = parts.at(-1)
        const parent = parentOf(root, parts)
        if (name === undefined) Object.assign(root, ownerOf(entry))
        else if (name === OPAQUE) parent.children.clear()
        else if (name.startsWith(WHITEOUT)) parent.children.delete(name.slice(WHITEOUT.length))
        else if (entry.kind !== 'folder') parent.children.set(name, false)
        else parent.children.set(name, { ...emptyFolder(), ...ownerOf(entry), children: below(parent, name) })
      }
    } catch (cause) {
      if (cause instanceof OciFailure) throw cause
      throw new OciFailure('not_an_image', 'a layer of it cannot be read', { cause })
    }
  }
  return root
}

/** Finds something of an image; undefined where it has nothing there. */
export function findInBase(root: BaseFolder, parts: readonly string[]): BaseFolder | boolean | undefined {
  let found: BaseFolder | boolean | undefined = root
  for (const part of parts) {
    if (typeof found !== 'object') return undefined
    found = found.children.get(part)
  }
  return found
}

/** Notes that a machine has something where its image has it. A file in a folder's place is none of the image's. */
export function markSeen(root: BaseFolder, parts: readonly string[], isFolder: boolean): void {
  const name = parts.at(-1)
  const parent = name === undefined ? undefined : findInBase(root, parts.slice(0, -1))
  if (name === undefined || typeof parent !== 'object') return
  const found = parent.children.get(name)
  if (found === undefined) return
  if (typeof found === 'object' && isFolder) found.isSeen = true
  else parent.children.set(name, true)
}

/**
 * What of an image a machine has not any more: the uppermost of what is gone.
 * @param isApart Whether something else is laid over a path, so that nobody can tell.
 */
export function* goneFrom(
  folder: BaseFolder,
  isApart: (path: string) => boolean,
  above = '',
): Generator<{ folder: string; name: string }> {
  for (const [name, child] of folder.children) {
    const path = `${above}${name}`
    if (isApart(path)) continue
    const isSeen = typeof child === 'object' ? child.isSeen : child
    if (!isSeen) yield { folder: above, name }
    else if (typeof child === 'object') yield* goneFrom(child, isApart, `${path}/`)
  }
}

function emptyFolder(): BaseFolder {
  return { mode: 0o755, uid: 0, gid: 0, isSeen: false, children: new Map() }
}

const ownerOf = ({ mode, uid, gid }: { mode: number; uid: number; gid: number }) => ({ mode, uid, gid })

function below(parent: BaseFolder, name: string): BaseFolder['children'] {
  const found = parent.children.get(name)
  return typeof found === 'object' ? found.children : new Map()
}

/** The folder that something lies in. Archives need not say each one. */
function parentOf(root: BaseFolder, parts: readonly string[]): BaseFolder {
  let folder = root
  for (const part of parts.slice(0, -1)) {
    const found = folder.children.get(part)
    const next = typeof found === 'object' ? found : emptyFolder()
    folder.children.set(part, next)
    folder = next
  }
  return folder
}

async function* open({ path, packing }: BaseLayer): AsyncGenerator<Buffer> {
  const packed = createReadStream(path)
  if (packing === 'plain') return yield* packed as AsyncIterable<Buffer>
  const unpacked = packed.pipe(packing === 'gzip' ? createGunzip() : createZstdDecompress())
  packed.on('error', error => unpacked.destroy(error))
  yield* unpacked as AsyncIterable<Buffer>
}
