import { createHash } from 'node:crypto'
import * as z from 'zod'

/** Of the file's own form. */
export const BACKUP_VERSION = 1
/** The first entry: what the file holds. */
export const MANIFEST_NAME = 'berth-backup.json'
/** The last entry: by what it is seen that nothing of it is missing or changed. */
export const SUMS_NAME = 'berth-sums.json'
/** Pieces of a table, each an entry: an archive says how long an entry is before it begins. */
export const PIECE_BYTES = 4 * 1_048_576
/** Headers and paddings of all entries of one file. */
export const OVERHEAD_BYTES_MAX = 8 * 2 ** 30
/** The manifest and the sums. */
export const NOTE_BYTES_MAX = 4 * 1_048_576

/** A table in a backup. */
const tableSchema = z.object({
  schema: z.enum(['public', 'pgboss']),
  name: z.string(),
  columns: z.array(z.string()).min(1),
})
export type KeptTable = z.infer<typeof tableSchema>

/** A secret that only who knows its passphrase opens. */
const sealedSchema = z.object({ salt: z.string(), nonce: z.string(), box: z.string() })
export type SealedByPassphrase = z.infer<typeof sealedSchema>

export const manifestSchema = z.object({
  berth_backup: z.literal(BACKUP_VERSION),
  made_at: z.iso.datetime(),
  /** Of the schema: the newest is the last. */
  migrations: z.array(z.object({ hash: z.string(), created_at: z.number() })).min(1),
  tables: z.array(tableSchema),
  sequences: z.array(z.object({ name: z.string(), last_value: z.string() })),
  /** Names of the keys that the installation's secrets are sealed under. */
  key_ids: z.array(z.string()),
  /** The data folder's key; null where the operator has one of their own (`BERTH_MASTER_KEY`). */
  folder_key: sealedSchema.nullable(),
  /** Folders that are in it. */
  folders: z.array(z.enum(['images', 'machines'])),
})
export type Manifest = z.infer<typeof manifestSchema>
export type FolderName = Manifest['folders'][number]

export const sumsSchema = z.object({
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  entries: z.number().int(),
  /** Rows by `schema.table`. */
  rows: z.record(z.string(), z.number().int()),
  /** Files by folder. */
  files: z.record(z.string(), z.number().int()),
})
export type Sums = z.infer<typeof sumsSchema>

/** A backup cannot be used; the message is for the operator, in words. */
export class BadBackup extends Error {}

/** Sums all that a backup's entries hold, in their order, as they pass. */
export function createSummer() {
  const hash = createHash('sha256')
  let entries = 0
  return {
    /** An entry begins. */
    entry(name: string, kind: string, target: string): void {
      entries += 1
      hash.update(JSON.stringify([name, kind, target]))
    },
    bytes(piece: Uint8Array): void {
      hash.update(piece)
    },
    /** Ends it. */
    done: () => ({ sha256: hash.digest('hex'), entries }),
  }
}
