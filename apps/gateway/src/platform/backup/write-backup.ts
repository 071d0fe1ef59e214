import { createWriteStream } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip, constants as zlib } from 'node:zlib'
import { Client } from 'pg'
import { TAR_END } from '../tar/tar-writer.ts'
import {
  BACKUP_VERSION,
  createSummer,
  type FolderName,
  type KeptTable,
  MANIFEST_NAME,
  type Manifest,
  PIECE_BYTES,
  type SealedByPassphrase,
  SUMS_NAME,
  type Sums,
} from './backup-format.ts'
import { beginSnapshot, describeDatabase, rowsOf } from './dump-database.ts'
import { type FolderFile, filesOf, packed } from './folder-files.ts'

/** What is to be kept. */
export interface BackupWanted {
  /** Where the file is made. */
  file: string
  /** The installation's database. */
  url: string
  /** Folders that go along, by the name that they have in the backup. */
  folders: Partial<Record<FolderName, string>>
  /** The data folder's key; null where there is none, or the operator has one of their own. */
  folderKey: SealedByPassphrase | null
  at: Date
}

/**
 * Writes an installation into one file, while its gateways run: the database as it was at one moment, then the folders. What
 * is held of it at a time is a few pieces, however large it is. The file is there once it is whole.
 * @returns What it holds.
 */
export async function writeBackup(wanted: BackupWanted): Promise<Sums> {
  const client = new Client({ connectionString: wanted.url, application_name: 'berth-backup' })
  client.on('error', () => {})
  await client.connect()
  const draft = `${wanted.file}.part`
  const sums: { whole?: Sums } = {}
  try {
    await beginSnapshot(client)
    const manifest: Manifest = {
      berth_backup: BACKUP_VERSION,
      made_at: wanted.at.toISOString(),
      ...(await describeDatabase(client)),
      folder_key: wanted.folderKey,
      folders: Object.keys(wanted.folders) as FolderName[],
    }
    const archive = Readable.from(archiveOf(client, manifest, wanted.folders, whole => (sums.whole = whole)))
    const zipped = createGzip({ level: zlib.Z_BEST_SPEED })
    // What is in it lets whoever has it read all of the installation.
    await pipeline(archive, zipped, createWriteStream(draft, { flags: 'wx', mode: 0o600, flush: true }))
    await rename(draft, wanted.file)
    await syncFolder(dirname(wanted.file))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') await rm(draft, { force: true })
    throw error
  } finally {
    await client.end().catch(() => {})
  }
  if (!sums.whole) throw new Error('a backup was written without its sums')
  return sums.whole
}

async function* archiveOf(
  client: Client,
  manifest: Manifest,
  folders: BackupWanted['folders'],
  done: (sums: Sums) => void,
): AsyncGenerator<Buffer> {
  const summer = createSummer()
  const rows: Record<string, number> = {}
  const files: Record<string, number> = {}
  async function* entry(file: FolderFile) {
    summer.entry(file.header.name, file.header.type, file.header.target ?? '')
    yield* packed(file, summer.bytes)
  }
  yield* entry(note(MANIFEST_NAME, manifest))
  for (const table of manifest.tables) {
    const name = `${table.schema}.${table.name}`
    rows[name] = 0
    let nth = 0
    for await (const piece of piecesOf(client, table)) {
      rows[name] += linesIn(piece)
      yield* entry(bytesAs(`database/${name}/${String(nth++).padStart(8, '0')}`, piece))
    }
  }
  // The snapshot holds the database's cleaning up back: not longer than it is read.
  await client.query('commit')
  for (const [name, folder] of Object.entries(folders)) {
    files[name] = 0
    for await (const file of filesOf(folder, `folders/${name}`)) {
      if (file.header.type === 'file') files[name] += 1
      yield* entry(file)
    }
  }
  const whole = { ...summer.done(), rows, files }
  yield* packed(note(SUMS_NAME, whole), () => {})
  yield TAR_END
  done(whole)
}

/** `COPY` writes a line for each row, and a line's end within a row as two letters. */
function linesIn(piece: Buffer): number {
  let lines = 0
  for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) lines += 1
  return lines
}

async function* piecesOf(client: Client, table: KeptTable): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = []
  let bytes = 0
  for await (const some of rowsOf(client, table)) {
    waiting.push(some)
    bytes += some.length
    if (bytes < PIECE_BYTES) continue
    yield Buffer.concat(waiting)
    waiting = []
    bytes = 0
  }
  if (bytes > 0) yield Buffer.concat(waiting)
}

const note = (name: string, of: object) => bytesAs(name, Buffer.from(`${JSON.stringify(of, null, 1)}\n`))

function bytesAs(name: string, bytes: Buffer): FolderFile {
  return {
    header: { name, type: 'file', mode: 0o600, size: bytes.length },
    bytes: (async function* () {
      yield bytes
    })(),
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  await handle.sync().finally(() => handle.close())
}
