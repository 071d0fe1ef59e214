import { constants } from 'node:fs'
import { lstat, open, opendir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { type TarHeader, tarHeader, tarPadding } from '../tar/tar-writer.ts'

const READ_BYTES = 256 * 1_024

/** A thing in a folder, and what it holds. */
export interface FolderFile {
  header: TarHeader
  /** As many bytes as the header says, whatever becomes of the file meanwhile. */
  bytes: AsyncIterable<Buffer>
}

/**
 * All that lies in a folder, a folder before what is in it. What goes away meanwhile is passed over, and so are sockets and
 * devices.
 * @param prefix What the names begin with, such as `images`.
 */
export async function* filesOf(folder: string, prefix: string): AsyncGenerator<FolderFile> {
  const entries = await opendir(folder).catch(orGone)
  if (!entries) return
  for await (const entry of entries) {
    const path = join(folder, entry.name)
    const name = `${prefix}/${entry.name}`
    const stats = await lstat(path).catch(orGone)
    if (!stats) continue
    const common = {
      name,
      mode: stats.mode & 0o7777,
      uid: stats.uid,
      gid: stats.gid,
      changed_s: Math.floor(stats.mtimeMs / 1_000),
    }
    if (stats.isDirectory()) {
      yield { header: { ...common, type: 'folder' }, bytes: none() }
      yield* filesOf(path, name)
    } else if (stats.isSymbolicLink()) {
      const target = await readlink(path).catch(orGone)
      if (target !== null) yield { header: { ...common, type: 'symlink', target }, bytes: none() }
    } else if (stats.isFile()) {
      const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(orGone)
      if (!file) continue
      try {
        yield { header: { ...common, type: 'file', size: stats.size }, bytes: exactly(file, stats.size) }
      } finally {
        await file.close()
      }
    }
  }
}

/** An entry as an archive has it, piece by piece. */
export async function* packed(
  { header, bytes }: FolderFile,
  passed: (piece: Buffer) => void,
): AsyncGenerator<Buffer> {
  yield tarHeader(header)
  for await (const piece of bytes) {
    passed(piece)
    yield piece
  }
  yield tarPadding(header.size ?? 0)
}

async function* none(): AsyncGenerator<Buffer> {}

/** A file that has become shorter goes on with nothing, and of one that has grown only its beginning is read. */
async function* exactly(
  file: { read(into: Buffer, offset: number, length: number): Promise<{ bytesRead: number }> },
  size: number,
): AsyncGenerator<Buffer> {
  for (let left = size; left > 0; ) {
    const piece = Buffer.alloc(Math.min(READ_BYTES, left))
    const { bytesRead } = await file.read(piece, 0, piece.length)
    const taken = bytesRead === 0 ? piece : piece.subarray(0, bytesRead)
    left -= taken.length
    yield taken
  }
}

function orGone(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ELOOP') return null
  throw error
}
