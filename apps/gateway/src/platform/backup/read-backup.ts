import { createReadStream } from 'node:fs'
import { createGunzip } from 'node:zlib'
import type * as z from 'zod'
import { readTar, type TarPart } from '../tar/read-tar.ts'
import {
  BadBackup,
  createSummer,
  MANIFEST_NAME,
  type Manifest,
  manifestSchema,
  NOTE_BYTES_MAX,
  OVERHEAD_BYTES_MAX,
  SUMS_NAME,
  type Sums,
  sumsSchema,
} from './backup-format.ts'

/** The entries of a backup after its manifest, each read before the next one is asked for; the sums are the last. */
export async function* partsOf(file: string): AsyncGenerator<TarPart> {
  const source = createReadStream(file)
  const unzipped = createGunzip()
  source.on('error', error => unzipped.destroy(error))
  try {
    yield* readTar(source.pipe(unzipped), OVERHEAD_BYTES_MAX)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'EISDIR' || code === 'EACCES')
      throw new BadBackup(`${file} cannot be read: ${code}.`)
    if (error instanceof BadBackup) throw error
    throw new BadBackup(`${file} is no whole backup: ${(error as Error).message}.`, { cause: error })
  } finally {
    source.destroy()
    unzipped.destroy()
  }
}

/**
 * Reads a backup from its beginning to its end, and sums it.
 * @throws BadBackup where anything of it is missing, changed or too much.
 */
export async function checkBackup(file: string): Promise<{ manifest: Manifest; sums: Sums }> {
  const summer = createSummer()
  let manifest: Manifest | null = null
  let sums: Sums | null = null
  for await (const part of partsOf(file)) {
    const { entry } = part
    if (sums !== null) throw new BadBackup(`${file} goes on behind its end.`)
    if (entry.name === SUMS_NAME && manifest !== null) {
      sums = noted(file, sumsSchema, await wholeOf(part))
      continue
    }
    summer.entry(entry.name, entry.kind, entry.target)
    if (manifest === null) {
      const bytes = await wholeOf(part)
      manifest = parsed(file, entry.name, bytes)
      summer.bytes(bytes)
    } else for await (const piece of part.bytes) summer.bytes(piece)
  }
  if (manifest === null || sums === null) throw new BadBackup(`${file} breaks off: its end is missing.`)
  const found = summer.done()
  if (found.sha256 !== sums.sha256 || found.entries !== sums.entries) {
    throw new BadBackup(`${file} is damaged: it holds something else than what was written into it.`)
  }
  return { manifest, sums }
}

function parsed(file: string, name: string, bytes: Buffer): Manifest {
  if (name !== MANIFEST_NAME) throw new BadBackup(`${file} is no backup of Berth.`)
  return noted(file, manifestSchema, bytes)
}

/** What a backup says of itself. @throws BadBackup where that is not what this version writes. */
function noted<Schema extends z.ZodType>(file: string, schema: Schema, bytes: Buffer): z.output<Schema> {
  const read = schema.safeParse(jsonIn(bytes))
  if (read.success) return read.data
  throw new BadBackup(`${file} was made by a version of Berth that this one does not know.`)
}

/** @returns Null where it is none. */
function jsonIn(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return null
  }
}

async function wholeOf({ entry, bytes }: TarPart): Promise<Buffer> {
  if (entry.size > NOTE_BYTES_MAX) throw new BadBackup('What the backup says of itself is too long.')
  const pieces: Buffer[] = []
  for await (const piece of bytes) pieces.push(piece)
  return Buffer.concat(pieces)
}
