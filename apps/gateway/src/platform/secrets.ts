import { hkdfSync, randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { makePrivateFolder } from './data-dir.ts'

/** What this installation keeps to itself. None of it has a default or ever reaches a log. */
export interface Secrets {
  /** 32 bytes that every other key is derived from, by `deriveKey`. */
  signingKey: Uint8Array
  /** Password of the embedded PostgreSQL. */
  databasePassword: string
  /** Names this installation towards engines that it shares with others; not secret, but as lasting. */
  installationId: string
}

const DERIVED_KEY_BYTES = 32

/**
 * A key for one purpose, from the installation's signing key: all replicas derive the same, and none tells another.
 * @param signingKey The installation's.
 * @param purpose Words of its own for each use.
 * @returns 32 bytes.
 */
export function deriveKey(signingKey: Uint8Array, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', signingKey, '', purpose, DERIVED_KEY_BYTES))
}

const FILE_NAME = 'secrets.json'
const SIGNING_KEY_BYTES = 32

const stored = z.object({
  signing_key: z.base64url().refine(text => Buffer.from(text, 'base64url').length === SIGNING_KEY_BYTES),
  database_password: z.string().min(20),
  installation_id: z.string().regex(/^[0-9a-f]{12}$/),
})

/**
 * Reads the installation's secrets, or makes them at the first start, in a file that only its owner may read.
 * @param dataDir The data folder; made when it is missing.
 * @throws Error when the file is there but cannot be used: making new secrets would sign everybody out and
 *   lock the gateway out of its own database.
 */
export function loadSecrets(dataDir: string): Secrets {
  makePrivateFolder(dataDir)
  const file = join(dataDir, FILE_NAME)
  const text = readIfThere(file) ?? create(file)
  let parsed: z.infer<typeof stored>
  try {
    parsed = stored.parse(JSON.parse(text))
  } catch {
    throw new Error(`${file} is damaged. Restore it from a backup of the data folder.`)
  }
  return {
    signingKey: new Uint8Array(Buffer.from(parsed.signing_key, 'base64url')),
    databasePassword: parsed.database_password,
    installationId: parsed.installation_id,
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

/** Written beside its place and linked into it: a crash leaves no half file, and of two writers one wins. */
function create(file: string): string {
  const values: z.infer<typeof stored> = {
    signing_key: randomBytes(SIGNING_KEY_BYTES).toString('base64url'),
    database_password: randomBytes(24).toString('base64url'),
    installation_id: randomBytes(6).toString('hex'),
  }
  const draft = `${file}.${randomBytes(4).toString('hex')}`
  const handle = openSync(draft, 'wx', 0o600)
  try {
    writeFileSync(handle, `${JSON.stringify(values, null, 2)}\n`)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  try {
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
  return readFileSync(file, 'utf8')
}
