import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { and, asc, eq, inArray, isNotNull, isNull, lt, notExists, or, type SQL, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Queryable, Transaction } from '../../../platform/database/database.ts'
import { sha256Hex } from '../../../platform/hash.ts'
import type { Ids } from '../../../platform/ids.ts'
import { isOpen } from '../../customers/customers.ts'
import { creation, creationFile, creationItem, creationPiece, creationUpload } from './tables.ts'

/** Of a file, but for its last piece: so much of it is in memory at a time, whoever reads or sends it. */
const PIECE_BYTES = 524_288
/** What has come in part by then comes no more: a film is fetched within minutes. */
const COMING_MS_MAX = 3_600_000
/** Removed in one transaction; a round is over when nothing is left, or after so long. */
const PAGE_FILES_MAX = 100
const ROUND_MS_MAX = 60_000

/** A file that is larger than it may be. */
export class FileTooLarge extends Error {
  constructor() {
    super('the file is larger than it may be')
    this.name = 'FileTooLarge'
  }
}

/** Bytes that have come and belong to nothing yet. */
export interface ComeFile {
  id: string
  /** What it is, as it was said by its first bytes. */
  type: string
  digest: string
  bytes: number
}

/** Files of pictures and films, in the database: every gateway serves each of them, and a backup has them (decision 0140). */
export function createKeptFiles({ db, clock, ids }: { db: Database; clock: Clock; ids: Pick<Ids, 'uuid'> }) {
  return {
    /**
     * Keeps what comes, piece by piece. It belongs to nothing and is seen by nobody before `settle`.
     * @param typeOf Says by its first bytes, at least 64 of them or all that there are, what it is.
     * @throws FileTooLarge; what `typeOf` and `source` throw.
     */
    async take(
      source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
      { bytesMax, typeOf }: { bytesMax: number; typeOf(head: Buffer): string },
    ): Promise<ComeFile> {
      const id = ids.uuid()
      const hash = createHash('sha256')
      let number = 0
      let bytes = 0
      let type = ''
      try {
        for await (const piece of inPieces(source, bytesMax)) {
          if (number === 0) {
            type = typeOf(piece)
            await db.insert(creationFile).values({ id, type, bytes: 0, digest: null, createdAt: clock.now() })
          }
          hash.update(piece)
          bytes += piece.length
          await db.insert(creationPiece).values({ fileId: id, number, bytes: piece })
          number += 1
        }
      } catch (error) {
        // What is left of it where the database is away is removed later.
        await db
          .delete(creationFile)
          .where(eq(creationFile.id, id))
          .catch(() => undefined)
        throw error
      }
      return { id, type, digest: hash.digest('hex'), bytes }
    },

    /**
     * Makes what has come a file of a customer's, in the transaction in which something gets it; where the customer keeps the
     * same bytes already, those stay and these go. What others keep is not looked at: nobody learns by sending it that it is there.
     * @returns Its id.
     */
    async settle(tx: Transaction, userId: string, { id, digest: ofBytes, bytes }: ComeFile): Promise<string> {
      const digest = sha256Hex(`${userId} ${ofBytes}`)
      // Two of the same at once would both find none.
      await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`creation file ${digest}`}, 0))`)
      const [own] = await tx.select().from(creationFile).where(eq(creationFile.id, id))
      if (!own) throw new Error(`the file ${id} is gone before it was settled`)
      const [same] = await tx
        .select({ id: creationFile.id })
        .from(creationFile)
        .where(and(eq(creationFile.digest, digest), eq(creationFile.type, own.type)))
        .for('key share')
      if (same) {
        await tx.delete(creationFile).where(eq(creationFile.id, id))
        return same.id
      }
      await tx.update(creationFile).set({ digest, bytes }).where(eq(creationFile.id, id))
      return id
    },

    /** What a file is; null where there is none that is whole. */
    find: (id: string) => find(db, id, undefined),

    /** The same, for whoever comes by an address: null as well where the customer has it no more, or is kept out. */
    findOf: (userId: string, id: string) => find(db, id, and(isFileOf(userId), isOpen(sql`${userId}::uuid`))),

    /** Bytes of a file from `from` up to and with `last`, read no faster than they are taken; it fails where the file goes meanwhile. */
    read(id: string, from: number, last: number): Readable {
      return Readable.from(piecesOf(db, id, from, last), { objectMode: false })
    },

    /** A file up to so many bytes, or all of them. @throws Error where it is gone. */
    async readWhole(id: string, bytes: number): Promise<Buffer> {
      const all: Buffer[] = []
      for await (const piece of piecesOf(db, id, 0, bytes - 1)) all.push(piece)
      return Buffer.concat(all)
    },

    /** Lets go what has come and becomes nothing; where the database is away, it is removed later. */
    async drop({ id }: Pick<ComeFile, 'id'>): Promise<void> {
      await db
        .delete(creationFile)
        .where(and(eq(creationFile.id, id), isNull(creationFile.digest)))
        .catch(() => undefined)
    },

    /**
     * Removes those of some files that nothing has, in the transaction in which they have lost what had them. One that
     * somebody is about to get stays, and goes later where nobody has.
     */
    async removeUnusedOf(tx: Transaction, fileIds: readonly string[]): Promise<void> {
      if (fileIds.length === 0) return
      await removePage(tx, inArray(creationFile.id, [...fileIds]), fileIds.length)
    },

    /**
     * Removes files that nothing has, and what came in part long ago, page by page. Any number of gateways may do so at once.
     * @returns Whether some are left, since the time was over.
     */
    async removeUnused(signal?: AbortSignal): Promise<boolean> {
      const before = new Date(clock.now().getTime() - COMING_MS_MAX)
      const isOver = or(isNotNull(creationFile.digest), lt(creationFile.createdAt, before))
      const until = performance.now() + ROUND_MS_MAX
      for (;;) {
        const removed = await db.transaction(tx => removePage(tx, isOver, PAGE_FILES_MAX))
        if (removed < PAGE_FILES_MAX) return false
        if (signal?.aborted || performance.now() > until) return true
      }
    },
  }
}
export type KeptFiles = ReturnType<typeof createKeptFiles>

/** Files that a customer keeps, each once however much has it: of items, of what those are made after, and sent ones. */
export function filesOf(q: Pick<Queryable, 'select'>, userId: string) {
  return q
    .select({ id: creationFile.id, bytes: creationFile.bytes })
    .from(creationFile)
    .where(isFileOf(userId))
}

const isFileOf = (userId: string): SQL =>
  sql`${creationFile.id} in (
    select ${creationItem.fileId} from ${creationItem} where ${creationItem.userId} = ${userId} and ${creationItem.fileId} is not null
    union select ${creation.imageFileId} from ${creation} where ${creation.userId} = ${userId} and ${creation.imageFileId} is not null
    union select ${creation.lastImageFileId} from ${creation} where ${creation.userId} = ${userId} and ${creation.lastImageFileId} is not null
    union select ${creationUpload.fileId} from ${creationUpload} where ${creationUpload.userId} = ${userId})`

async function find(db: Pick<Database, 'select'>, id: string, condition: SQL | undefined) {
  const [row] = await db
    .select()
    .from(creationFile)
    .where(and(eq(creationFile.id, id), isNotNull(creationFile.digest), condition))
  return row?.digest ? { type: row.type, bytes: row.bytes, digest: row.digest } : null
}

/** Removes some of the files of a condition that nothing has. @returns How many were found. */
async function removePage(tx: Transaction, condition: SQL | undefined, max: number): Promise<number> {
  const rows = await tx
    .select({ id: creationFile.id })
    .from(creationFile)
    .where(and(condition, unused(tx)))
    .orderBy(asc(creationFile.id))
    .limit(max)
    .for('update', { skipLocked: true })
  const found = rows.map(({ id }) => id)
  // Looked at again under their locks: something may have got one in between.
  if (found.length > 0) await tx.delete(creationFile).where(and(inArray(creationFile.id, found), unused(tx)))
  return found.length
}

function unused(tx: Transaction) {
  const one = { one: sql`1` }
  return and(
    notExists(tx.select(one).from(creationItem).where(eq(creationItem.fileId, creationFile.id))),
    notExists(tx.select(one).from(creation).where(eq(creation.imageFileId, creationFile.id))),
    notExists(tx.select(one).from(creation).where(eq(creation.lastImageFileId, creationFile.id))),
    notExists(tx.select(one).from(creationUpload).where(eq(creationUpload.fileId, creationFile.id))),
  )
}

async function* inPieces(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<Buffer> {
  let parts: Uint8Array[] = []
  let length = 0
  let all = 0
  for await (const part of source) {
    all += part.length
    if (all > bytesMax) throw new FileTooLarge()
    parts.push(part)
    length += part.length
    if (length < PIECE_BYTES) continue
    const joined = Buffer.concat(parts)
    let at = 0
    for (; at + PIECE_BYTES <= joined.length; at += PIECE_BYTES) yield joined.subarray(at, at + PIECE_BYTES)
    parts = [joined.subarray(at)]
    length = joined.length - at
  }
  // Of an empty file too, so that it is looked at.
  if (length > 0 || all === 0) yield Buffer.concat(parts)
}

async function* piecesOf(
  db: Pick<Database, 'select'>,
  fileId: string,
  from: number,
  last: number,
): AsyncGenerator<Buffer> {
  for (let number = Math.floor(from / PIECE_BYTES); number * PIECE_BYTES <= last; number++) {
    const [row] = await db
      .select({ bytes: creationPiece.bytes })
      .from(creationPiece)
      .where(and(eq(creationPiece.fileId, fileId), eq(creationPiece.number, number)))
    if (!row) throw new Error(`a piece of the file ${fileId} is gone`)
    const start = number * PIECE_BYTES
    yield row.bytes.subarray(Math.max(0, from - start), last - start + 1)
  }
}
