import { Client } from 'pg'
import type { TarPart } from '../tar/read-tar.ts'
import { BadBackup, type FolderName, type Manifest, SUMS_NAME, type Sums } from './backup-format.ts'
import { beginLoad, endLoad, keepJobs, loadRows, sendJobs } from './load-database.ts'
import { createFolderLoad } from './load-folder.ts'
import { partsOf } from './read-backup.ts'

/** What is to be restored. */
export interface RestoreWanted {
  file: string
  /** As `checkBackup` found them: nothing of an unchecked file is taken. */
  manifest: Manifest
  sums: Sums
  url: string
  /** Where folders of the backup go; those that are left out are passed over. */
  folders: Partial<Record<FolderName, string>>
  /** Brings the schema up to this version and makes the tables of jobs, once the database is there. */
  finishSchema(): Promise<void>
}

const TABLE_PIECE = /^database\/([^/]+)\/\d+$/
const FOLDER_FILE = /^folders\/(images|machines)\/(.+)$/s

/**
 * Puts a backup in place of what is there. The database comes in one transaction, which is committed when all of the folders
 * lie beside their places: up to there a restore that breaks off has changed nothing.
 * @throws BadBackup where other rows came than were written.
 */
export async function restoreBackup(wanted: RestoreWanted): Promise<void> {
  const { manifest } = wanted
  const client = new Client({ connectionString: wanted.url, application_name: 'berth-restore' })
  client.on('error', () => {})
  await client.connect()
  const loads = new Map(
    Object.entries(wanted.folders).map(([name, folder]) => [name, createFolderLoad(folder)] as const),
  )
  try {
    await beginLoad(client, manifest)
    for (const load of loads.values()) await load.begin()
    await takeParts(client, wanted, loads)
    await endLoad(client, manifest)
  } catch (error) {
    await client.end().catch(() => {})
    for (const load of loads.values()) await load.abandon()
    throw error
  }
  try {
    for (const load of loads.values()) await load.end()
    await wanted.finishSchema()
    const jobs = manifest.tables.find(({ schema }) => schema === 'pgboss')
    if (jobs && (wanted.sums.rows['pgboss.job'] ?? 0) > 0) await sendJobs(client, jobs)
  } finally {
    await client.end().catch(() => {})
  }
}

async function takeParts(
  client: Client,
  { file, manifest, sums }: RestoreWanted,
  loads: ReadonlyMap<string, ReturnType<typeof createFolderLoad>>,
): Promise<void> {
  const tables = new Map(manifest.tables.map(table => [`${table.schema}.${table.name}`, table]))
  const parts = partsOf(file)
  let next = await parts.next()
  // The manifest, which is known.
  next = await parts.next()
  while (!next.done) {
    const part = next.value
    const { name } = part.entry
    const tableName = TABLE_PIECE.exec(name)?.[1]
    const [, folder, path] = FOLDER_FILE.exec(name) ?? []
    if (tableName !== undefined) {
      const table = tables.get(tableName)
      if (!table) throw new BadBackup(`The backup has rows of ${tableName}, of which it says nothing.`)
      const follow: { next: IteratorResult<TarPart> } = { next }
      const take = table.schema === 'pgboss' ? keepJobs : loadRows
      const count = await take(client, table, rowsOf(parts, tableName, follow))
      if (count !== sums.rows[tableName]) throw new BadBackup(`Of ${tableName} came ${count} rows.`)
      next = follow.next
      continue
    }
    if (folder !== undefined && path !== undefined) await loads.get(folder)?.take(path, part)
    else if (name !== SUMS_NAME) throw new BadBackup(`The backup has something odd: ${JSON.stringify(name)}.`)
    next = await parts.next()
  }
}

/** The rows of one table over its pieces; `follow` has the part behind them then. */
async function* rowsOf(
  parts: AsyncGenerator<TarPart>,
  tableName: string,
  follow: { next: IteratorResult<TarPart> },
): AsyncGenerator<Buffer> {
  while (!follow.next.done) {
    const part = follow.next.value
    if (TABLE_PIECE.exec(part.entry.name)?.[1] !== tableName) return
    for await (const piece of part.bytes) yield piece
    follow.next = await parts.next()
  }
}
