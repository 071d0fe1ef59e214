import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { OpenDatabase } from '../database/open-database.ts'
import type { Ids } from '../ids.ts'
import type { Logger } from '../log.ts'
import { createSealer } from '../sealer.ts'
import type { Secrets } from '../secrets.ts'
import { type FolderSecrets, openFolderSecrets } from './folder-secrets.ts'
import { createKeptSecrets, KEPT_SECRETS_PURPOSE } from './kept-secrets.ts'

type KeySettings = Pick<Config, 'databaseUrl' | 'dataDir' | 'masterKey' | 'formerMasterKeys'>

/** Whether this gateway needs a data folder that is its own. */
export function needsDataDir({ databaseUrl, masterKey }: KeySettings): boolean {
  return databaseUrl === null || masterKey === null
}

/**
 * The secrets of this computer. Where nothing needs any, none are made; what a former version left is still read.
 * @throws Error for a damaged file.
 */
export function openOwnSecrets(config: KeySettings): FolderSecrets | null {
  return openFolderSecrets(config.dataDir, { make: needsDataDir(config) })
}

interface SecretsDeps {
  config: KeySettings
  folder: FolderSecrets | null
  database: Pick<OpenDatabase, 'db'>
  clock: Clock
  ids: Pick<Ids, 'secret'>
  log: Pick<Logger, 'info' | 'warn'>
}

/**
 * Whether what a database keeps under those keys opens with the operator's keys, or with one of a data folder.
 * @param keyIds Names of the keys. @param folderKey The folder's; null where there is none.
 */
export function opensKept(
  { masterKey, formerMasterKeys }: KeySettings,
  {
    keyIds,
    folderKey,
    ids,
  }: { keyIds: readonly string[]; folderKey: Uint8Array | null; ids: Pick<Ids, 'secret'> },
): boolean {
  const all = [masterKey, ...formerMasterKeys].filter(text => text !== null).map(bytesOf)
  const [first, ...rest] = folderKey === null ? all : [...all, folderKey]
  if (!first) return false
  const sealer = createSealer({ keys: [first, ...rest], purpose: KEPT_SECRETS_PURPOSE, ids })
  return keyIds.every(sealer.knows)
}

/** The installation's secrets in the database, opened by the operator's key, else by the data folder's. */
export function createInstallationSecrets({ config, folder, database, ...deps }: SecretsDeps) {
  return createKeptSecrets({ ...deps, db: database.db, masterKeys: masterKeysOf(config, folder) })
}

/**
 * Reads the installation's secrets, or makes them on a database that has none, or takes them over from the data folder
 * in which a version before kept them.
 * @throws Error with words for the operator.
 */
export async function openSecrets(
  deps: SecretsDeps & { database: Pick<OpenDatabase, 'db' | 'listen'> },
): Promise<Secrets> {
  const { config, folder, database } = deps
  const kept = createInstallationSecrets(deps)
  const { tookOver, ...loaded } = await kept.load(folder?.former ?? null)
  // Of a folder whose own database is another one than this, it stays as it is.
  if (folder?.former && (tookOver || config.databaseUrl === null)) folder.forgetFormer()
  return { ...loaded, tokenKeys: await kept.followTokenKeys(database.listen) }
}

/** The operator's keys first; the folder's still opens what was sealed before there were any. */
function masterKeysOf(
  { masterKey, formerMasterKeys }: KeySettings,
  folder: FolderSecrets | null,
): [Uint8Array, ...Uint8Array[]] {
  const former = formerMasterKeys.map(bytesOf)
  const own = folder ? [folder.masterKey] : []
  const [first, ...rest] = masterKey === null ? [...own, ...former] : [bytesOf(masterKey), ...former, ...own]
  if (!first) throw new Error('There is no key to open the secrets of this installation with.')
  return [first, ...rest]
}

function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, 'base64')
}
