import { existsSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { basename, join } from 'node:path'
import { Client } from 'pg'
import { BadBackup, type FolderName, type Manifest, type Sums } from '../platform/backup/backup-format.ts'
import { isInUse, migrationsOf } from '../platform/backup/load-database.ts'
import { openByPassphrase } from '../platform/backup/passphrase.ts'
import { restoreBackup } from '../platform/backup/restore-backup.ts'
import type { Config } from '../platform/config/config.ts'
import { lockDataDir } from '../platform/data-dir-lock.ts'
import { startEmbeddedPostgres } from '../platform/database/embedded/embedded-postgres.ts'
import { migrate } from '../platform/database/migrate.ts'
import { systemIds } from '../platform/ids.ts'
import { putFolderKey } from '../platform/installation/folder-secrets.ts'
import { needsDataDir, openOwnSecrets, opensKept } from '../platform/installation/open-secrets.ts'
import { createLog } from '../platform/log.ts'
import { Refused } from './line/answer.ts'

/** A backup that was read to its end, and where it goes. */
export interface Restore {
  config: Config
  file: string
  manifest: Manifest
  sums: Sums
}

/** Where folders of a backup have their place here; one whose store is elsewhere has none. */
export function foldersHere(config: Config): Partial<Record<FolderName, string>> {
  const { imageStore, sandboxDir } = config
  return {
    ...(imageStore.kind === 'folder' ? { images: imageStore.folder } : {}),
    machines: sandboxDir,
  }
}

/**
 * Looks at what is there before anything is touched.
 * @returns What would be lost, by the name that has to be typed for it; null where nothing is there.
 * @throws Refused while gateways run.
 */
export async function whatIsThere(config: Config): Promise<string | null> {
  const { databaseUrl, dataDir } = config
  // Throws where a gateway has the folder.
  if (needsDataDir(config) && existsSync(dataDir)) lockDataDir(dataDir, systemIds.uuid()).release()
  const folders = Object.values(foldersHere(config)).filter(existsSync)
  if (databaseUrl === null) {
    const isThere = existsSync(join(dataDir, 'postgres')) || folders.length > 0
    return isThere ? basename(dataDir) : null
  }
  const client = new Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  await client.connect()
  try {
    const { rows } = await client.query('select current_database() as name')
    if (!(await isInUse(client))) return folders.length > 0 ? basename(dataDir) : null
    const { rows: running } = await client.query('select from gateway where seen_until > now()')
    if (running.length > 0) {
      throw new Refused(`${running.length} of its gateways run: stop them, and wait ten seconds.`)
    }
    return rows[0].name
  } finally {
    await client.end()
  }
}

/** The data folder's key that is in the backup; null where none is. @throws Refused where what is sealed would not open here. */
export async function keyOf({ config, manifest }: Restore): Promise<Uint8Array | null> {
  const sealed = manifest.folder_key
  if (sealed !== null && config.backupPassphrase === null && config.masterKey === null) {
    throw new Refused('Set BERTH_BACKUP_PASSPHRASE: the backup’s key is sealed under it.')
  }
  const folderKey =
    sealed !== null && config.backupPassphrase !== null
      ? await openByPassphrase(sealed, config.backupPassphrase)
      : null
  if (!opensKept(config, { keyIds: manifest.key_ids, folderKey, ids: systemIds })) {
    throw new Refused(
      'Set BERTH_MASTER_KEY to the key that the installation had: its secrets are sealed under it.',
    )
  }
  return folderKey
}

/** Whether this version has made the schema of the backup. @throws BadBackup where a newer one has. */
export function requireKnown(manifest: Manifest): void {
  migrationsOf(manifest)
}

/**
 * Puts a backup in place of what is there, and checks the books.
 * @returns Each difference of the books.
 */
export async function restoreInstallation(restore: Restore): Promise<string[]> {
  const { config, manifest, sums, file } = restore
  const folderKey = await keyOf(restore)
  const log = createLog({ level: 'warn', pretty: process.stderr.isTTY === true })
  const lock = needsDataDir(config) ? lockDataDir(config.dataDir, systemIds.uuid()) : null
  try {
    const secrets = openOwnSecrets(config)
    const embedded =
      config.databaseUrl === null
        ? await startEmbeddedPostgres({
            dataDir: config.dataDir,
            password: secrets?.databasePassword ?? '',
            log,
          })
        : null
    const url = embedded?.url ?? config.databaseUrl ?? ''
    try {
      const here = foldersHere(config)
      const folders = Object.fromEntries(
        Object.entries(here).filter(([name]) => manifest.folders.includes(name as FolderName)),
      )
      await restoreBackup({
        ...{ file, manifest, sums, url, folders },
        async finishSchema() {
          if (folderKey !== null && needsDataDir(config)) putFolderKey(config.dataDir, folderKey)
          await migrate(url)
          const { openInstallation } = await import('./open-installation.ts')
          const opened = await openInstallation(config)
          await opened.close()
        },
      })
      return await checked(restore)
    } finally {
      await embedded?.stop()
    }
  } finally {
    lock?.release()
  }
}

/** Checks the books of what was restored, and writes down that it was. */
async function checked({ config, file, manifest }: Restore): Promise<string[]> {
  const { openInstallation } = await import('./open-installation.ts')
  const { operated, close } = await openInstallation(config)
  try {
    const problems = await operated.billing.checkBooks()
    const end = await operated.audit.operators.begin({
      who: `${userInfo().username}@${hostname()}`,
      command: 'backup restore',
      target: file,
      userId: null,
    })
    await end({ outcome: 'done', detail: `The installation is as it was at ${manifest.made_at}.` })
    return problems
  } finally {
    await close()
  }
}

/** What a backup that cannot be used is refused with. */
export async function inWords<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw error instanceof BadBackup ? new Refused(error.message) : error
  }
}
