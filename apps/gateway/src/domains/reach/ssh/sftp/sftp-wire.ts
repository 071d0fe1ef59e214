/** What version 3 of the protocol calls its packets (draft-ietf-secsh-filexfer-02), which is the one that clients speak. */
export const PACKET = {
  init: 1,
  version: 2,
  open: 3,
  close: 4,
  read: 5,
  write: 6,
  lstat: 7,
  fstat: 8,
  setstat: 9,
  fsetstat: 10,
  opendir: 11,
  readdir: 12,
  remove: 13,
  mkdir: 14,
  rmdir: 15,
  realpath: 16,
  stat: 17,
  rename: 18,
  readlink: 19,
  symlink: 20,
  status: 101,
  handle: 102,
  data: 103,
  name: 104,
  attrs: 105,
  extended: 200,
  extended_reply: 201,
} as const

/** How a request went. */
export const STATUS = {
  ok: 0,
  eof: 1,
  no_such_file: 2,
  permission_denied: 3,
  failure: 4,
  bad_message: 5,
  unsupported: 8,
} as const
export type Status = keyof typeof STATUS

/** What is known of a file, or is to be made so; each part may be missing. */
export interface FileAttributes {
  size?: number
  owner?: { uid: number; gid: number }
  /** Type and rights, as the kernel has them. */
  mode?: number
  times?: { accessedS: number; modifiedS: number }
}

const HAS = { size: 1, owner: 2, mode: 4, times: 8 } as const
const UINT_BYTES = 4
const LONG_BYTES = 8
/** Each piece is encrypted by itself: many short ones are better copied. */
const PIECES_MAX = 16

/** Reads the fields of a packet. Every method throws where one ends early. */
export class PacketReader {
  private readonly packet: Buffer
  private readonly more: Buffer[]
  private at = 0

  /** @param more What follows in the same packet: nothing but the end of its last field. */
  constructor(packet: Buffer, more: Buffer[] = []) {
    this.packet = packet
    this.more = more
  }

  uint(): number {
    const value = this.packet.readUInt32BE(this.at)
    this.at += UINT_BYTES
    return value
  }

  /** A number of 64 bits; past 2^53 it is none that a file has. */
  long(): number {
    const value = Number(this.packet.readBigUInt64BE(this.at))
    if (!Number.isSafeInteger(value)) throw new Error('a number is past any file')
    this.at += LONG_BYTES
    return value
  }

  bytes(): Buffer {
    const length = this.uint()
    const end = this.at + length
    if (end > this.packet.length) throw new Error('a field is cut off')
    const field = this.packet.subarray(this.at, end)
    this.at = end
    return field
  }

  /** The last field of its packet, as it came. */
  lastBytes(): Buffer[] {
    const length = this.uint()
    const pieces = [this.packet.subarray(this.at), ...this.more]
    if (pieces.reduce((sum, piece) => sum + piece.length, 0) !== length) throw new Error('a field is cut off')
    return pieces
  }

  /** Bytes as a text of as many characters: names of files are bytes, and stay what they are. */
  text(): string {
    return this.bytes().toString('latin1')
  }

  attributes(): FileAttributes {
    const flags = this.uint()
    const attributes: FileAttributes = {}
    if (flags & HAS.size) attributes.size = this.long()
    if (flags & HAS.owner) attributes.owner = { uid: this.uint(), gid: this.uint() }
    if (flags & HAS.mode) attributes.mode = this.uint()
    if (flags & HAS.times) attributes.times = { accessedS: this.uint(), modifiedS: this.uint() }
    return attributes
  }
}

export function uint(value: number): Buffer {
  const bytes = Buffer.alloc(UINT_BYTES)
  bytes.writeUInt32BE(value >>> 0)
  return bytes
}

export function long(value: number): Buffer {
  const bytes = Buffer.alloc(LONG_BYTES)
  bytes.writeBigUInt64BE(BigInt(value))
  return bytes
}

/** Bytes behind their length; of a text, one for each character. */
export function field(value: Buffer | string): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value, 'latin1') : value
  return Buffer.concat([uint(bytes.length), bytes])
}

export function attributeFields({ size, owner, mode, times }: FileAttributes): Buffer {
  const flags =
    (size === undefined ? 0 : HAS.size) |
    (owner ? HAS.owner : 0) |
    (mode === undefined ? 0 : HAS.mode) |
    (times ? HAS.times : 0)
  return Buffer.concat([
    uint(flags),
    ...(size === undefined ? [] : [long(size)]),
    ...(owner ? [uint(owner.uid), uint(owner.gid)] : []),
    ...(mode === undefined ? [] : [uint(mode)]),
    ...(times ? [uint(times.accessedS), uint(times.modifiedS)] : []),
  ])
}

/** One packet, ready to write. */
export function packet(type: number, ...fields: Buffer[]): Buffer {
  return Buffer.concat([headOf(type, fields), ...fields])
}

/** The packet of what was read of a file, in pieces: it is long, and not copied once more. */
export function dataPacket(id: Buffer, read: Buffer[]): Buffer[] {
  const [first = Buffer.alloc(0), ...rest] = read.length > PIECES_MAX ? [Buffer.concat(read)] : read
  const length = uint(read.reduce((sum, piece) => sum + piece.length, 0))
  // What is short goes with the first of what is long.
  return [Buffer.concat([headOf(PACKET.data, [id, length, ...read]), id, length, first]), ...rest]
}

function headOf(type: number, fields: Buffer[]): Buffer {
  const head = Buffer.alloc(UINT_BYTES + 1)
  head.writeUInt32BE(1 + fields.reduce((sum, { length }) => sum + length, 0))
  head.writeUInt8(type, UINT_BYTES)
  return head
}
