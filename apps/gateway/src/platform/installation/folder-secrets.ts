import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { makePrivateFolder } from '../data-dir.ts'

/** What this computer keeps to itself: nothing of it is needed by a gateway elsewhere. */
export interface FolderSecrets {
  /** Password of the embedded PostgreSQL. */
  databasePassword: string
  /** Seals the installation's secrets in the database where the operator gave no key for that: 32 bytes. */
  masterKey: Uint8Array
  /** What a version before kept here and the database keeps now; null when there is none. */
  former: FormerSecrets | null
  /** Removes `former` from the file; call it once the database has it. */
  forgetFormer(): void
}

export interface FormerSecrets {
  rootKey: Uint8Array
  installationId: string
}

const FILE_NAME = 'secrets.json'
const KEY_BYTES = 32

const key = z.base64url().refine(text => Buffer.from(text, 'base64url').length === KEY_BYTES)
const stored = z.object({
  database_password: z.string().min(20),
  master_key: key.optional(),
  signing_key: key.optional(),
  installation_id: z
    .string()
    .regex(/^[0-9a-f]{12}$/)
    .optional(),
})
type Stored = z.infer<typeof stored>

/**
 * Reads this computer's secrets, or makes them at the first start, in a file that only its owner may read.
 * @param dataDir The data folder.
 * @param options.make Whether they are made, and the folder with them, where they are missing.
 * @returns Null when they are missing and not to be made.
 * @throws Error when the file is there but cannot be used: making new secrets would lock the gateway out of its own
 *   database and of all that is sealed in it.
 */
export function openFolderSecrets(dataDir: string, { make }: { make: boolean }): FolderSecrets | null {
  if (make) makePrivateFolder(dataDir)
  const file = join(dataDir, FILE_NAME)
  let values = readSecrets(file) ?? (make ? create(file) : null)
  if (!values) return null
  if (values.master_key === undefined) {
    values = { ...values, master_key: randomBytes(KEY_BYTES).toString('base64url') }
    replace(file, values)
  }
  const { signing_key, installation_id, ...rest } = values
  return {
    databasePassword: values.database_password,
    masterKey: keyOf(values.master_key),
    former:
      signing_key === undefined || installation_id === undefined
        ? null
        : { rootKey: keyOf(signing_key), installationId: installation_id },
    forgetFormer: () => replace(file, rest),
  }
}

/**
 * Puts a key of before into a data folder, as a restore does; the password of its database stays, or is made.
 * @param masterKey 32 bytes.
 */
export function putFolderKey(dataDir: string, masterKey: Uint8Array): void {
  makePrivateFolder(dataDir)
  const file = join(dataDir, FILE_NAME)
  const values = readSecrets(file) ?? create(file)
  replace(file, { ...values, master_key: Buffer.from(masterKey).toString('base64url') })
}

function keyOf(text = ''): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'base64url'))
}

function readSecrets(file: string): Stored | null {
  const text = readIfThere(file)
  if (text === null) return null
  try {
    return stored.parse(JSON.parse(text))
  } catch {
    throw new Error(`${file} is damaged. Restore it from a backup of the data folder.`)
  }
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Linked into its place: of two writers one wins, and the other reads what that one wrote. */
function create(file: string): Stored {
  const draft = writeDraft(file, {
    database_password: randomBytes(24).toString('base64url'),
    master_key: randomBytes(KEY_BYTES).toString('base64url'),
  })
  try {
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
  return stored.parse(JSON.parse(readFileSync(file, 'utf8')))
}

function replace(file: string, values: Stored): void {
  renameSync(writeDraft(file, values), file)
}

/** Written beside its place, so that a crash leaves no half file. */
function writeDraft(file: string, values: Stored): string {
  const draft = `${file}.${randomBytes(4).toString('hex')}`
  const handle = openSync(draft, 'wx', 0o600)
  try {
    writeFileSync(handle, `${JSON.stringify(values, null, 2)}\n`)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  return draft
}
