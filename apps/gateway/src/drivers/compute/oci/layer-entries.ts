import type { TarEntry } from '../../../platform/tar/tar-reader.ts'
import type { TarHeader } from '../../../platform/tar/tar-writer.ts'

/** By which a file of a lower layer is hidden. */
const WHITEOUT = '.wh.'
/** By which all of a folder's lower layers are. */
const OPAQUE = '.wh..wh..opq'
/** As the kernel marks them, for root and for everybody else. */
const OVERLAY = ['trusted.overlay.', 'user.overlay.'] as const
const CAPABILITY = 'security.capability'
/** A file's rights in a user namespace say whose root gives them, behind what they say elsewhere. */
const NAMESPACED = { version: 0x03, bytes: 24, elsewhereVersion: 0x02, elsewhereBytes: 20 }

const NAME_LENGTH_MAX = 4_096
const DEPTH_MAX = 512
const TYPES: Readonly<Record<string, TarHeader['type']>> = { '3': 'char', '4': 'block', '6': 'fifo' }

/** A file that can be in no image, in a sentence for whoever has the machine. */
export class NotForImages extends Error {}

/**
 * What a changed file is in a layer of an image, as OCI has it: what hides others is a file with a name of its own, owners
 * are those within the machine, and what only this computer's kernel knows is left out.
 * @param users The machine's, by their ids here: those of others are root's.
 * @returns The entries in its place, of which the last one has its bytes; none for what has no place in an image.
 * @throws NotForImages.
 */
export function layerEntries(entry: TarEntry, users: { first: number; count: number }): TarHeader[] {
  const parts = entry.name.split('/').filter(part => part !== '' && part !== '.')
  const base = parts.at(-1)
  if (base === undefined) return []
  const name = parts.join('/')
  if (Buffer.byteLength(name) > NAME_LENGTH_MAX || parts.length > DEPTH_MAX)
    throw new NotForImages('a path in the machine is longer than an image may have one')
  if (parts.includes('..')) throw new NotForImages('a path in the machine leads out of it')
  // It would hide something wherever the image is unpacked.
  if (parts.some(part => part.startsWith(WHITEOUT))) return []
  const marks = new Map(
    OVERLAY.flatMap(prefix =>
      [...entry.xattrs].flatMap(([key, value]) =>
        key.startsWith(prefix) ? [[key.slice(prefix.length), value.toString('latin1')] as const] : [],
      ),
    ),
  )
  if (marks.has('redirect'))
    throw new NotForImages(
      'a folder of the machine’s image was renamed in it; copy it under its old name to have an image made',
    )
  const { mode, size } = entry
  const common = {
    name,
    mode,
    uid: idIn(entry.uid, users),
    gid: idIn(entry.gid, users),
    changed_s: Math.max(0, Math.floor(entry.changed_s)),
    xattrs: xattrsOf(entry.xattrs),
  }
  switch (entry.kind) {
    case 'file':
      return [{ ...common, type: 'file', size }]
    case 'hardlink':
      return [
        { ...common, type: 'hardlink', target: entry.target.replace(/^(\.?\/)+/, ''), xattrs: new Map() },
      ]
    case 'symlink':
      return [{ ...common, type: 'symlink', target: entry.target }]
    case 'folder': {
      const folder: TarHeader = { ...common, name: `${name}/`, type: 'folder' }
      return marks.get('opaque') === 'y' ? [folder, hiding(`${name}/${OPAQUE}`)] : [folder]
    }
    case 'other': {
      const type = TYPES[entry.type]
      if (type === undefined) return []
      if (type === 'char' && entry.device.major === 0 && entry.device.minor === 0)
        return [hiding([...parts.slice(0, -1), `${WHITEOUT}${base}`].join('/'))]
      return [{ ...common, type, ...(type !== 'fifo' && { device: entry.device }) }]
    }
  }
}

function hiding(name: string): TarHeader {
  return { name, type: 'file', mode: 0o644 }
}

function idIn(id: number, { first, count }: { first: number; count: number }): number {
  return id >= first && id < first + count ? id - first : 0
}

function xattrsOf(all: ReadonlyMap<string, Buffer>): Map<string, Uint8Array> {
  const kept = new Map<string, Uint8Array>()
  for (const [name, value] of all) {
    if (name === CAPABILITY) kept.set(name, withoutNamespace(value))
    else if (name.startsWith('user.') && !OVERLAY.some(prefix => name.startsWith(prefix)))
      kept.set(name, value)
  }
  return kept
}

function withoutNamespace(value: Buffer): Buffer {
  if (value.length !== NAMESPACED.bytes || value[3] !== NAMESPACED.version) return value
  const changed = Buffer.from(value.subarray(0, NAMESPACED.elsewhereBytes))
  changed[3] = NAMESPACED.elsewhereVersion
  return changed
}
