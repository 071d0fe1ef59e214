import { crc32 } from 'node:zlib'

/** A file of an archive. */
export interface ZipEntry {
  /** In ASCII. */
  name: string
  at: Date
  bytes: number
  read(): AsyncIterable<Uint8Array>
}

/** What an archive of this kind can say of itself: beyond that it would want another form, which not all programs read. */
export const ZIP_BYTES_MAX = 4_000_000_000
const SIGNATURES = {
  local: 0x04034b50,
  descriptor: 0x08074b50,
  central: 0x02014b50,
  end: 0x06054b50,
} as const
const VERSION = 20
/** Length and sum come after the bytes. */
const SAID_LATER = 0x0008

interface Written {
  entry: ZipEntry
  at: number
  crc: number
}

/**
 * An archive of files as they are, made no faster than it is read and held nowhere. Pictures and films are packed already, so
 * nothing is packed again.
 * @param entries Of no more than `ZIP_BYTES_MAX` together, and fewer than 65,535.
 */
export async function* zipOf(entries: readonly ZipEntry[]): AsyncGenerator<Uint8Array> {
  const written: Written[] = []
  let at = 0
  for (const entry of entries) {
    const head = headOf(entry)
    yield head
    let crc = 0
    for await (const piece of entry.read()) {
      crc = crc32(piece, crc)
      yield piece
    }
    yield descriptorOf(entry, crc)
    written.push({ entry, at, crc })
    at += head.length + entry.bytes + DESCRIPTOR_BYTES
  }
  const from = at
  for (const one of written) {
    const line = centralOf(one)
    yield line
    at += line.length
  }
  yield endOf(written.length, from, at - from)
}

const DESCRIPTOR_BYTES = 16
const LOCAL_BYTES = 30
const CENTRAL_BYTES = 46
const END_BYTES = 22

function headOf({ name, at }: ZipEntry): Buffer {
  const head = Buffer.alloc(LOCAL_BYTES)
  head.writeUInt32LE(SIGNATURES.local, 0)
  head.writeUInt16LE(VERSION, 4)
  head.writeUInt16LE(SAID_LATER, 6)
  head.writeUInt32LE(dosTime(at), 10)
  head.writeUInt16LE(name.length, 26)
  return Buffer.concat([head, Buffer.from(name, 'latin1')])
}

function descriptorOf({ bytes }: ZipEntry, crc: number): Buffer {
  const descriptor = Buffer.alloc(DESCRIPTOR_BYTES)
  descriptor.writeUInt32LE(SIGNATURES.descriptor, 0)
  descriptor.writeUInt32LE(crc, 4)
  descriptor.writeUInt32LE(bytes, 8)
  descriptor.writeUInt32LE(bytes, 12)
  return descriptor
}

function centralOf({ entry: { name, at, bytes }, at: from, crc }: Written): Buffer {
  const line = Buffer.alloc(CENTRAL_BYTES)
  line.writeUInt32LE(SIGNATURES.central, 0)
  line.writeUInt16LE(VERSION, 4)
  line.writeUInt16LE(VERSION, 6)
  line.writeUInt16LE(SAID_LATER, 8)
  line.writeUInt32LE(dosTime(at), 12)
  line.writeUInt32LE(crc, 16)
  line.writeUInt32LE(bytes, 20)
  line.writeUInt32LE(bytes, 24)
  line.writeUInt16LE(name.length, 28)
  line.writeUInt32LE(from, 42)
  return Buffer.concat([line, Buffer.from(name, 'latin1')])
}

function endOf(entries: number, from: number, bytes: number): Buffer {
  const end = Buffer.alloc(END_BYTES)
  end.writeUInt32LE(SIGNATURES.end, 0)
  end.writeUInt16LE(entries, 8)
  end.writeUInt16LE(entries, 10)
  end.writeUInt32LE(bytes, 12)
  end.writeUInt32LE(from, 16)
  return end
}

/** A moment of UTC as such archives have it: to two seconds, from 1980 on. The time is the lower half. */
function dosTime(at: Date): number {
  const time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1)
  const day = ((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate()
  return day * 65_536 + time
}
