/**
 * Writes archives as images have them (POSIX ustar, with pax for what does not fit into it), such that the same entries
 * give the same bytes. Needs no package: it also runs within the walls of a sandbox.
 */

/** What is said of one entry. */
export interface TarHeader {
  name: string
  type: 'file' | 'folder' | 'symlink' | 'hardlink' | 'fifo' | 'char' | 'block'
  mode: number
  /** Bytes of a file, which follow it; left out: none. */
  size?: number
  uid?: number
  gid?: number
  /** In whole seconds; left out: 0. */
  changed_s?: number
  /** What a link leads to. */
  target?: string
  device?: { major: number; minor: number }
  /** Extended attributes by their full names. */
  xattrs?: ReadonlyMap<string, Uint8Array>
}

const BLOCK_BYTES = 512
const NAME_BYTES_MAX = 100
const ID_MAX = 0o7777777
const SIZE_MAX = 0o77777777777
const TYPES: Readonly<Record<TarHeader['type'], string>> = {
  file: '0',
  hardlink: '1',
  symlink: '2',
  char: '3',
  block: '4',
  folder: '5',
  fifo: '6',
}

/** Two blocks of nothing. */
export const TAR_END = Buffer.alloc(2 * BLOCK_BYTES)

/** What follows so many bytes of a file, up to the next header. */
export function tarPadding(size: number): Buffer {
  return Buffer.alloc((BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES)
}

/** The header of one entry, with what goes before it where something does not fit into one. */
export function tarHeader(header: TarHeader): Buffer {
  const { name, target = '', size = 0, uid = 0, gid = 0, changed_s = 0, xattrs = new Map() } = header
  const pax: Buffer[] = []
  const keep = (key: string, value: string | Uint8Array) => pax.push(paxRecord(key, Buffer.from(value)))
  if (!fits(name)) keep('path', name)
  if (!fits(target)) keep('linkpath', target)
  if (size > SIZE_MAX) keep('size', String(size))
  if (uid > ID_MAX) keep('uid', String(uid))
  if (gid > ID_MAX) keep('gid', String(gid))
  if (changed_s < 0 || changed_s > SIZE_MAX) keep('mtime', String(changed_s))
  for (const key of [...xattrs.keys()].sort()) keep(`SCHILY.xattr.${key}`, xattrs.get(key) ?? '')
  const block = blockOf({ ...header, size: size > SIZE_MAX ? 0 : size }, TYPES[header.type])
  if (pax.length === 0) return block
  const records = Buffer.concat(pax)
  const before = blockOf({ name: 'pax', mode: 0o644, size: records.length }, 'x')
  return Buffer.concat([before, records, tarPadding(records.length), block])
}

function blockOf(header: Omit<TarHeader, 'type'>, type: string): Buffer {
  const { name, mode, target = '', size = 0, uid = 0, gid = 0, changed_s = 0, device } = header
  const block = Buffer.alloc(BLOCK_BYTES)
  block.write(name, 0, NAME_BYTES_MAX)
  octal(block, 100, 8, mode & 0o7777)
  octal(block, 108, 8, uid > ID_MAX ? 0 : uid)
  octal(block, 116, 8, gid > ID_MAX ? 0 : gid)
  octal(block, 124, 12, size)
  octal(block, 136, 12, changed_s < 0 || changed_s > SIZE_MAX ? 0 : changed_s)
  block.write('        ', 148)
  block.write(type, 156)
  block.write(target, 157, NAME_BYTES_MAX)
  block.write('ustar\x0000', 257)
  octal(block, 329, 8, device?.major ?? 0)
  octal(block, 337, 8, device?.minor ?? 0)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

function octal(block: Buffer, at: number, width: number, value: number): void {
  block.write(`${value.toString(8).padStart(width - 1, '0')}\0`, at)
}

function fits(text: string): boolean {
  return Buffer.byteLength(text) <= NAME_BYTES_MAX
}

/** `<length> <key>=<value>\n`, where the length counts all of it, its own digits with it. */
function paxRecord(key: string, value: Buffer): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${key}=`), value, Buffer.from('\n')])
  let length = rest.length + 1
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length
  return Buffer.concat([Buffer.from(String(length)), rest])
}
