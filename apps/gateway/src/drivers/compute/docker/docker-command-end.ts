import type { Readable } from 'node:stream'
import type Docker from 'dockerode'
import { REPORT_PATH } from '../main-program.ts'
import { COMMAND_REPORT_BYTES_MAX, readCommandEnd } from '../port/command-end.ts'
import type { CommandEnd } from '../port/machines.ts'
import { orNull } from './docker-errors.ts'

/** The engine sends a file as an archive: a block about it, perhaps others before, and its content. */
const BLOCK_BYTES = 512
const BLOCKS_MAX = 6
const ARCHIVE_BYTES_MAX = BLOCKS_MAX * BLOCK_BYTES

/** Where a block has the size and the time of its file, as octal digits, and its kind. */
const SIZE = [124, 136] as const
const TIME = [136, 148] as const
const KIND_AT = 156
const REGULAR: ReadonlySet<number> = new Set([0, 0x30])
/** Blocks of more about the file that follows. */
const EXTENDED: ReadonlySet<number> = new Set([0x78, 0x67])

/**
 * What the main program of a container says of its command's end; null where it says nothing. It lies where the customer
 * may have put anything in its place: whatever that is, little of it is read.
 * @throws What dockerode throws.
 */
export async function readReport(
  container: Docker.Container,
  options: { abortSignal: AbortSignal; started_at: Date },
): Promise<CommandEnd | null> {
  const { abortSignal, started_at } = options
  const asked = container.getArchive({ path: REPORT_PATH, abortSignal } as { path: string })
  const archive = (await orNull(asked)) as Readable | null
  const file = archive && fileIn(await firstBytes(archive, ARCHIVE_BYTES_MAX))
  if (!file) return null
  return readCommandEnd(file.text, { started_at, ended_at: file.changed_at, now: new Date() })
}

async function firstBytes(stream: Readable, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  // Leaving the loop destroys the stream.
  for await (const chunk of stream) {
    chunks.push(chunk as Buffer)
    bytes += (chunk as Buffer).length
    if (bytes >= bytesMax) break
  }
  return Buffer.concat(chunks).subarray(0, bytesMax)
}

/** The first file in the beginning of an archive; null where that is no small, plain file. */
function fileIn(archive: Buffer): { text: string; changed_at: Date } | null {
  let at = 0
  while (at + BLOCK_BYTES <= archive.length) {
    const block = archive.subarray(at, at + BLOCK_BYTES)
    const size = octal(block, SIZE)
    const kind = block[KIND_AT] ?? 0
    at += BLOCK_BYTES
    if (REGULAR.has(kind)) {
      if (size === 0 || size > COMMAND_REPORT_BYTES_MAX) return null
      const text = archive.toString('latin1', at, at + size)
      return { text, changed_at: new Date(octal(block, TIME) * 1_000) }
    }
    if (!EXTENDED.has(kind)) return null
    at += Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES
  }
  return null
}

function octal(block: Buffer, [from, to]: readonly [number, number]): number {
  return Number.parseInt(block.toString('latin1', from, to), 8) || 0
}
