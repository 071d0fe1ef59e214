import type { ServerChannel } from 'ssh2'
import { ComputeError } from '../../../../drivers/compute/port/compute-error.ts'
import type { CustomerRoom } from '../customer-room.ts'
import { gatherBytes, joined } from '../gathered-bytes.ts'
import { createFileReader, createFileWriter, type FileReader, type FileWriter } from './file-streams.ts'
import {
  createMachineFiles,
  type FolderEntry,
  type FolderListing,
  type MachineFiles,
} from './machine-files.ts'
import { FileFault, type MachineShell, openMachineShell, type Run } from './machine-shell.ts'
import {
  attributeFields,
  dataPacket,
  field,
  long,
  PACKET,
  PacketReader,
  packet,
  STATUS,
  type Status,
  uint,
} from './sftp-wire.ts'

/** Version of the protocol, which is the one that OpenSSH speaks. */
const VERSION = 3
const PACKET_BYTES_MAX = 256 * 1024
/** What is longer takes of the customer's room while it comes and until it is answered: sessions are many. */
const SHORT_PACKET_BYTES_MAX = 40 * 1024
/** Below the longest packet by what stands around the bytes. */
const PIECE_BYTES_MAX = PACKET_BYTES_MAX - 1024
const HANDLES_MAX = 100
/** Names of one answer: a packet that every client takes. */
const NAMES_MAX = 100
const LENGTH_BYTES = 4
/** Far more than stands before the bytes of a write: the longest handle has some digits. */
const WRITE_HEAD_BYTES = 64
const OPEN = { read: 1, write: 2, append: 4, creates: 8, empties: 16, isNew: 32 } as const
const FOLDER_TYPE = 0o040000
const TYPE_BITS = 0o170000

interface OpenFile {
  path: string
  reader: FileReader
  writer: FileWriter
}
interface OpenFolder {
  listing: FolderListing
  /** Gives back the room that it takes. */
  free(): void
}

/**
 * Serves files of a machine on a channel, one request after the other: whoever sends more than is done waits.
 * @param options.held For what machines answer, as it comes and as long as it is kept; for what is read ahead of files; and
 * for long packets that are coming.
 * @param options.room Returns when there is room for an answer.
 * @param options.onFault Told of what the machine's side failed with before any request.
 */
export function serveSftp(options: {
  channel: ServerChannel
  run: Run
  held: CustomerRoom
  room(): Promise<void>
  onFault(error: unknown): void
}): void {
  const { channel, held } = options
  const handles = new Map<string, OpenFile | OpenFolder>()
  let shell: MachineShell | null = null
  let files: MachineFiles | null = null
  const came = gatherBytes()
  /** Of the packet that is coming; null where not even that has come. */
  let length: number | null = null
  let last = 0

  /** What is taken of the room for it. */
  let takenBytes = 0
  const giveBack = () => {
    held.give(takenBytes)
    takenBytes = 0
  }

  let isClosed = false
  const close = () => {
    isClosed = true
    giveBack()
    shell?.close()
    for (const handle of handles.values()) closeHandle(handle)
    handles.clear()
  }
  const run: Run = async how => {
    const stream = await options.run(how)
    if (!isClosed) return stream
    // Whoever left meanwhile would never close it.
    stream.on('error', () => undefined).destroy()
    throw new FileFault('failure', 'closed')
  }
  channel.once('close', close)
  channel.once('end', () => {
    channel.exit(0)
    channel.end()
    close()
  })
  channel.on('data', (piece: Buffer) => {
    channel.pause()
    feed(piece).then(
      () => channel.resume(),
      error => {
        close()
        options.onFault(error)
      },
    )
  })

  async function feed(piece: Buffer): Promise<void> {
    came.add(piece)
    while (!isClosed) {
      if (length === null) {
        if (came.length < LENGTH_BYTES) return
        length = joined(came.take(LENGTH_BYTES)).readUInt32BE(0)
        if (length === 0 || length > PACKET_BYTES_MAX)
          throw new Error('a packet of no length that is allowed')
        if (length > SHORT_PACKET_BYTES_MAX) {
          if (!held.take(length)) throw new ComputeError('exhausted', 'too many long packets are coming')
          takenBytes = length
        }
      }
      if (came.length < length) return
      const body = came.take(length)
      length = null
      await send(await answerTo(body))
      giveBack()
    }
  }

  async function send(answer: Buffer | Buffer[]): Promise<void> {
    await options.room()
    for (const bytes of Buffer.isBuffer(answer) ? [answer] : answer) {
      if (channel.writable) await new Promise<void>(resolve => channel.write(bytes, () => resolve()))
    }
  }

  async function answerTo(body: Buffer[]): Promise<Buffer | Buffer[]> {
    const [first = Buffer.alloc(0), ...more] = body
    const type = first.readUInt8(0)
    // What is written to a file goes on as it came; all else is short.
    const isLong = type === PACKET.write && first.length >= WRITE_HEAD_BYTES
    const reader = isLong
      ? new PacketReader(first.subarray(1), more)
      : new PacketReader(joined(body).subarray(1))
    if (type === PACKET.init) {
      shell = await openMachineShell(run, held)
      files = createMachineFiles(shell)
      const extensions = ['posix-rename@openssh.com', 'limits@openssh.com'].map(name => [
        field(name),
        field('1'),
      ])
      return packet(PACKET.version, uint(VERSION), ...extensions.flat())
    }
    if (!files) throw new Error('a request before the version')
    const id = uint(reader.uint())
    try {
      return await work(files, type, id, reader)
    } catch (error) {
      const fault =
        error instanceof FileFault
          ? error
          : error instanceof RangeError
            ? new FileFault('bad_message')
            : new FileFault('failure')
      return status(id, fault.status, fault.message)
    }
  }

  async function work(
    at: MachineFiles,
    type: number,
    id: Buffer,
    reader: PacketReader,
  ): Promise<Buffer | Buffer[]> {
    const done = async (doing: Promise<void>) => {
      await doing
      return status(id, 'ok')
    }
    switch (type) {
      case PACKET.open:
        return opened(id, await openFile(at, reader))
      case PACKET.opendir:
        return opened(id, openFolder(await at.list(reader.text())))
      case PACKET.close:
        return done(closeFile(reader.text()))
      case PACKET.read: {
        const file = fileOf(reader.text())
        const read = await file.reader.read(reader.long(), Math.min(reader.uint(), PIECE_BYTES_MAX))
        return read === null ? status(id, 'eof') : dataPacket(id, read)
      }
      case PACKET.write: {
        const file = fileOf(reader.text())
        return done(file.writer.write(reader.long(), reader.lastBytes()))
      }
      case PACKET.readdir:
        return nextNames(id, reader.text())
      case PACKET.stat:
      case PACKET.lstat:
        return packet(PACKET.attrs, id, attributeFields(await at.look(reader.text(), type === PACKET.stat)))
      case PACKET.fstat:
        return packet(PACKET.attrs, id, attributeFields(await at.look(await settled(reader.text()), true)))
      case PACKET.setstat:
        return done(at.change(reader.text(), reader.attributes()))
      case PACKET.fsetstat:
        return done(at.change(await settled(reader.text()), reader.attributes()))
      case PACKET.remove:
        return done(at.remove(reader.text()))
      case PACKET.mkdir:
        return done(at.makeFolder(reader.text()))
      case PACKET.rmdir:
        return done(at.removeFolder(reader.text()))
      case PACKET.realpath:
        return oneName(id, await at.resolve(reader.text()))
      case PACKET.readlink:
        return oneName(id, await at.readLink(reader.text()))
      case PACKET.rename:
        return done(at.rename(reader.text(), reader.text(), false))
      // OpenSSH sends the target first, whatever the draft says.
      case PACKET.symlink:
        return done(at.link(reader.text(), reader.text()))
      case PACKET.extended:
        return extended(at, id, reader)
      default:
        return status(id, 'unsupported')
    }
  }

  async function extended(at: MachineFiles, id: Buffer, reader: PacketReader): Promise<Buffer> {
    const name = reader.text()
    if (name === 'limits@openssh.com') {
      const limits = [PACKET_BYTES_MAX, PIECE_BYTES_MAX, PIECE_BYTES_MAX, HANDLES_MAX]
      return packet(PACKET.extended_reply, id, ...limits.map(long))
    }
    if (name !== 'posix-rename@openssh.com') return status(id, 'unsupported')
    await at.rename(reader.text(), reader.text(), true)
    return status(id, 'ok')
  }

  async function openFile(at: MachineFiles, reader: PacketReader): Promise<OpenFile> {
    const path = reader.text()
    const flags = reader.uint()
    const { mode = null } = reader.attributes()
    const has = (flag: number) => (flags & flag) !== 0
    if (has(OPEN.write)) {
      const isNew = has(OPEN.creates) && has(OPEN.isNew)
      await at.prepare(path, { creates: has(OPEN.creates), empties: has(OPEN.empties), isNew, mode })
    } else {
      const found = await at.look(path, true)
      if (((found.mode ?? 0) & TYPE_BITS) === FOLDER_TYPE) throw new FileFault('failure', 'is a directory')
    }
    return {
      path,
      reader: createFileReader(run, path, held),
      writer: createFileWriter(run, path, { appends: has(OPEN.append) }),
    }
  }

  function openFolder(listing: FolderListing): OpenFolder {
    const { take, give } = held
    if (!take(listing.bytes)) throw new FileFault('failure', 'too many open folders')
    return { listing, free: () => give(listing.bytes) }
  }

  function opened(id: Buffer, what: OpenFile | OpenFolder): Buffer {
    if (handles.size >= HANDLES_MAX) {
      closeHandle(what)
      throw new FileFault('failure', 'too many open files')
    }
    const handle = String(++last)
    handles.set(handle, what)
    return packet(PACKET.handle, id, field(handle))
  }

  async function closeFile(handle: string): Promise<void> {
    const what = handles.get(handle)
    if (!what) throw new FileFault('failure', 'no such handle')
    handles.delete(handle)
    if (!('path' in what)) return what.free()
    what.reader.close()
    await what.writer.finish()
  }

  function fileOf(handle: string): OpenFile {
    const what = handles.get(handle)
    if (!what || !('path' in what)) throw new FileFault('failure', 'no such handle')
    return what
  }

  /** The path of an open file, once all that was written is in it. */
  async function settled(handle: string): Promise<string> {
    const { path, writer } = fileOf(handle)
    await writer.finish()
    return path
  }

  function nextNames(id: Buffer, handle: string): Buffer {
    const what = handles.get(handle)
    if (!what || !('listing' in what)) throw new FileFault('failure', 'no such handle')
    const entries = what.listing.next(NAMES_MAX)
    if (entries.length === 0) return status(id, 'eof')
    return packet(PACKET.name, id, uint(entries.length), ...entries.flatMap(nameFields))
  }
}

function closeHandle(handle: OpenFile | OpenFolder): void {
  if ('path' in handle) {
    handle.reader.close()
    handle.writer.close()
  } else handle.free()
}

function status(id: Buffer, how: Status, message: string = how): Buffer {
  return packet(PACKET.status, id, uint(STATUS[how]), field(message), field('en'))
}

function oneName(id: Buffer, name: string): Buffer {
  return packet(PACKET.name, id, uint(1), field(name), field(name), attributeFields({}))
}

function nameFields({ name, attributes }: FolderEntry): Buffer[] {
  return [field(name), field(longName(name, attributes)), attributeFields(attributes)]
}

/** A line for people, as `ls -l` has it. */
function longName(name: string, { mode = 0, size = 0, owner, times }: FolderEntry['attributes']): string {
  const type = { 9604: 'd', 21609: 'l', 4802: 'c', 14406: 'b', 2401: 'p', 26411: 's' }[mode & TYPE_BITS]
  const rights = [...'rwxrwxrwx'].map((right, index) => (mode & (0o400 >> index) ? right : '-')).join('')
  const date = new Date((times?.modifiedS ?? 0) * 1_000).toISOString().slice(0, 16).replace('T', ' ')
  const number = (value: number, width: number) => String(value).padStart(width)
  return `${type ?? '-'}${rights} 1 ${number(owner?.uid ?? 0, 5)} ${number(owner?.gid ?? 0, 5)} ${number(size, 12)} ${date} ${name}`
}
