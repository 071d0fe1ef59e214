/**
 * Reads archives as images have them (POSIX ustar with pax, and GNU's long names), piece by piece as they come. Needs no
 * package: it also runs within the walls of a sandbox, where a layer's files are laid, and that it may be wrong about a
 * name is what those walls are for. Whoever reads archives elsewhere takes no name of one for a path.
 */

/** What an archive says of one entry. */
export interface TarEntry {
  /** As it stands there: it may be any text. */
  name: string
  kind: 'file' | 'folder' | 'symlink' | 'hardlink' | 'other'
  /** What a link leads to. */
  target: string
  size: number
  mode: number
  uid: number
  gid: number
  changed_s: number
  /** As the archive has it, by which those of other kinds are told from each other. */
  type: string
  /** Of a device node. */
  device: { major: number; minor: number }
  /** Extended attributes by their full names. */
  xattrs: ReadonlyMap<string, Buffer>
}

/** Takes the bytes of one file. */
export interface FileSink {
  write(piece: Uint8Array): void
  end(): void
}

export class NotAnArchive extends Error {}

/** It ends before it is over. */
export class ArchiveCut extends NotAnArchive {}

const BLOCK_BYTES = 512
/** Of an entry that says more about the next one. */
const EXTRA_BYTES_MAX = 1024 * 1024
const KINDS: Readonly<Record<string, TarEntry['kind']>> = {
  '': 'file',
  '0': 'file',
  '7': 'file',
  '1': 'hardlink',
  '2': 'symlink',
  '5': 'folder',
}
/** Entries about the next one: pax, GNU's long name, GNU's long target; and pax about all that follow. */
const EXTRA: ReadonlySet<string> = new Set(['x', 'L', 'K', 'g'])

const KEPT = ['path', 'linkpath', 'size', 'mtime', 'uid', 'gid'] as const
type Extra = Partial<Record<(typeof KEPT)[number], string>> & { xattrs?: Map<string, Buffer> }
const NO_XATTRS: ReadonlyMap<string, Buffer> = new Map()
const XATTR = 'SCHILY.xattr.'

interface Body {
  left: number
  /** Up to the next block. */
  padding: number
  sink: FileSink | null
  /** The type of an entry about the next one; empty for one of its own. */
  extra: string
}

export class TarReader {
  readonly #onEntry: (entry: TarEntry) => FileSink | null
  #held: Buffer = Buffer.alloc(0)
  #extra: Extra = {}
  /** What the bytes up to the next header belong to. */
  #body: Body | null = null
  #gathered: Buffer[] = []
  #isOver = false

  /** @param onEntry Told of each entry; gives what takes a file's bytes, null to pass over them. */
  constructor(onEntry: (entry: TarEntry) => FileSink | null) {
    this.#onEntry = onEntry
  }

  /** Takes the next bytes. Throws NotAnArchive, and what `onEntry` and sinks throw. */
  push(piece: Buffer): void {
    let rest = this.#held.length > 0 ? Buffer.concat([this.#held, piece]) : piece
    while (rest.length > 0 && !this.#isOver) {
      if (this.#body) {
        rest = this.#pushBody(this.#body, rest)
        continue
      }
      if (rest.length < BLOCK_BYTES) break
      this.#readHeader(rest.subarray(0, BLOCK_BYTES))
      rest = rest.subarray(BLOCK_BYTES)
    }
    this.#held = this.#isOver ? Buffer.alloc(0) : Buffer.from(rest)
  }

  /** Says that there are no more bytes. Throws NotAnArchive where it breaks off. */
  end(): void {
    if (this.#body || this.#held.length > 0) throw new ArchiveCut('it breaks off')
  }

  /** Whether the mark of its end was read; what comes behind it is passed over. */
  get isOver(): boolean {
    return this.#isOver
  }

  #pushBody(body: Body, rest: Buffer): Buffer {
    const bytes = rest.subarray(0, body.left)
    if (bytes.length > 0) {
      body.left -= bytes.length
      if (body.extra !== '') this.#gathered.push(Buffer.from(bytes))
      else body.sink?.write(bytes)
      if (body.left === 0) this.#endBody(body)
    }
    const padding = Math.min(body.padding, rest.length - bytes.length)
    body.padding -= padding
    if (body.left === 0 && body.padding === 0) this.#body = null
    return rest.subarray(bytes.length + padding)
  }

  #endBody({ extra, sink }: { extra: string; sink: FileSink | null }): void {
    if (extra === '') {
      sink?.end()
      return
    }
    const text = Buffer.concat(this.#gathered)
    this.#gathered = []
    if (extra === 'L') this.#extra.path = untilNul(text)
    else if (extra === 'K') this.#extra.linkpath = untilNul(text)
    else if (extra === 'x') Object.assign(this.#extra, readPax(text))
  }

  #readHeader(block: Buffer): void {
    if (block.every(byte => byte === 0)) {
      this.#isOver = true
      return
    }
    checkSum(block)
    const type = block[156] === 0 ? '' : String.fromCharCode(block[156] ?? 0)
    const isExtra = EXTRA.has(type)
    const kind = KINDS[type] ?? 'other'
    const declared = isExtra ? undefined : this.#extra.size
    const size = declared === undefined ? readNumber(block.subarray(124, 136)) : Number(declared)
    if (!Number.isSafeInteger(size) || size < 0) throw new NotAnArchive('a size is none')
    if (isExtra && size > EXTRA_BYTES_MAX) throw new NotAnArchive('a name is too long')
    // Links and folders have no bytes, whatever they say.
    const bytes = kind === 'file' || kind === 'other' ? size : 0
    let sink: FileSink | null = null
    if (!isExtra) {
      const entry = this.#entryOf(block, kind, bytes)
      this.#extra = {}
      sink = this.#onEntry(entry)
    }
    const padding = (BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES
    if (bytes === 0) sink?.end()
    else this.#body = { left: bytes, padding, sink, extra: isExtra ? type : '' }
  }

  #entryOf(block: Buffer, kind: TarEntry['kind'], size: number): TarEntry {
    const isUstar = block.toString('latin1', 257, 263) === 'ustar\0'
    const prefix = isUstar ? untilNul(block.subarray(345, 500)) : ''
    const short = untilNul(block.subarray(0, 100))
    return {
      name: this.#extra.path ?? (prefix === '' ? short : `${prefix}/${short}`),
      kind,
      target: this.#extra.linkpath ?? untilNul(block.subarray(157, 257)),
      size,
      mode: readNumber(block.subarray(100, 108)) & 0o7777,
      uid: Number(this.#extra.uid ?? readNumber(block.subarray(108, 116))),
      gid: Number(this.#extra.gid ?? readNumber(block.subarray(116, 124))),
      changed_s: Number(this.#extra.mtime ?? readNumber(block.subarray(136, 148))) || 0,
      type: String.fromCharCode(block[156] ?? 0),
      device: { major: readNumber(block.subarray(329, 337)), minor: readNumber(block.subarray(337, 345)) },
      xattrs: this.#extra.xattrs ?? NO_XATTRS,
    }
  }
}

function checkSum(block: Buffer): void {
  const said = readNumber(block.subarray(148, 156))
  let sum = 0
  for (const [at, byte] of block.entries()) sum += at >= 148 && at < 156 ? 0x20 : byte
  if (sum !== said) throw new NotAnArchive('a header is none')
}

/** Octal digits, or where the first bit is set a binary number, as GNU writes large ones. */
function readNumber(field: Buffer): number {
  const [first = 0] = field
  if (first & 0x80) {
    return field.subarray(1).reduce((sum, byte) => sum * 256 + byte, first & 0x7f)
  }
  return Number.parseInt(field.toString('latin1').replace(/\0.*$/s, '').trim() || '0', 8)
}

/** `<length> <key>=<value>\n`, where the length counts all of it. */
function readPax(text: Buffer): Extra {
  const found: Extra = {}
  for (let at = 0; at < text.length; ) {
    const space = text.indexOf(0x20, at)
    const length = Number(text.toString('latin1', at, space))
    if (space < 0 || !Number.isSafeInteger(length) || length <= space - at || at + length > text.length) {
      throw new NotAnArchive('a header is none')
    }
    const record = text.toString('utf8', space + 1, at + length - 1)
    const equals = record.indexOf('=')
    const key = record.slice(0, equals)
    // A file with holes in it is stored in a way of its own, which no builder of images uses.
    if (key.startsWith('GNU.sparse.')) throw new NotAnArchive('a file has holes')
    if (isKept(key)) found[key] = record.slice(equals + 1)
    else if (key.startsWith(XATTR)) {
      found.xattrs ??= new Map()
      const value = text.subarray(text.indexOf(0x3d, space) + 1, at + length - 1)
      found.xattrs.set(key.slice(XATTR.length), Buffer.from(value))
    }
    at += length
  }
  return found
}

function isKept(key: string): key is (typeof KEPT)[number] {
  return (KEPT as readonly string[]).includes(key)
}

function untilNul(bytes: Buffer): string {
  const end = bytes.indexOf(0)
  return bytes.toString('utf8', 0, end < 0 ? bytes.length : end)
}
