import { S3_KEYS_PER_VOLUME_MAX } from '@berth/contract/limits'
import {
  type MadeS3Key,
  madeS3Key,
  type S3Key,
  type S3KeyAccess,
  s3Key as s3KeyEntity,
} from '@berth/contract/volume-s3'
import { and, count, desc, eq, gt, inArray, isNull, lte, or } from 'drizzle-orm'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { notify } from '../../platform/database/open-database.ts'
import { lockForUser } from '../../platform/database/user-lock.ts'
import type { Events } from '../../platform/events/events.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { wireOf } from '../../platform/http/wire.ts'
import type { Ids } from '../../platform/ids.ts'
import type { Sealer } from '../../platform/sealer.ts'
import { forCustomer, isOpen } from '../customers/customers.ts'
import { accountDeleted } from '../identity/events.ts'
import type { Volumes } from '../volumes/volumes.ts'
import { s3Key } from './tables.ts'

/** Tells of a key that has changed or is gone. */
export const S3_KEY_CHANNEL = 's3_key'
/** A key whose place another has taken goes on for so long. */
const ROTATED_LIVES_MS = 24 * 3_600_000
/** When and where from a key was last used is written down no more often than this. */
const USED_STEP_MS = 60_000
const ID_BYTES = 10
const SECRET_BYTES = 30
const SECRET_END_CHARS = 4
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

type Row = typeof s3Key.$inferSelect

const keyOf = wireOf(s3KeyEntity)
const madeOf = wireOf(madeS3Key)

export interface S3KeysDeps {
  db: Database
  clock: Clock
  ids: Ids
  /** Seals the secrets. */
  sealer: Sealer
  volumes: Pick<Volumes, 'find' | 'goneAmong'>
  events: Pick<Events, 'on'>
}

/** S3 keys of customers' volumes: made, told once, rotated and revoked (R2.25). */
export function createS3Keys({ db, clock, ids, sealer, volumes, events }: S3KeysDeps) {
  events.on(accountDeleted, 's3-keys', async (tx, { userId }) => {
    await lockForUser(tx, 's3_key', userId)
    await tx.delete(s3Key).where(eq(s3Key.userId, userId))
  })

  const lives = (now: Date) => or(isNull(s3Key.endsAt), gt(s3Key.endsAt, now))
  const isOwn = (userId: string, volumeId: string) =>
    and(eq(s3Key.userId, userId), eq(s3Key.volumeId, volumeId))

  async function insert(
    tx: Transaction,
    of: { userId: string; volumeId: string; access: S3KeyAccess },
  ): Promise<MadeS3Key> {
    const now = clock.now()
    const [held] = await tx
      .select({ keys: count() })
      .from(s3Key)
      .where(and(isOwn(of.userId, of.volumeId), lives(now)))
    if ((held?.keys ?? 0) >= S3_KEYS_PER_VOLUME_MAX) {
      throw new ApiError('s3_key_limit', { values: { limit: S3_KEYS_PER_VOLUME_MAX } })
    }
    const accessKeyId = `BKIA${base32(Buffer.from(ids.secret(ID_BYTES), 'base64url'))}`
    const secret = ids.secret(SECRET_BYTES)
    const { box, keyId } = sealer.seal(secret, [accessKeyId, of.userId, of.volumeId])
    const row: Row = {
      ...of,
      accessKeyId,
      secret: box,
      keyId,
      secretEnd: secret.slice(-SECRET_END_CHARS),
      createdAt: now,
      lastUsedAt: null,
      lastUsedFrom: null,
      endsAt: null,
    }
    await tx.insert(s3Key).values(row)
    return madeOf({ ...row, secretAccessKey: secret })
  }

  /** Takes the locks in their order. @throws ApiError `not_found` where the customer has no such volume. */
  async function lock(tx: Transaction, userId: string, volumeId: string): Promise<void> {
    await forCustomer(tx, userId)
    await lockForUser(tx, 's3_key', userId)
    await volumes.find(userId, volumeId, tx)
  }

  return {
    /** Keys of a volume that are not over, newest first. */
    async list(userId: string, volumeId: string): Promise<S3Key[]> {
      const rows = await db
        .select()
        .from(s3Key)
        .where(and(isOwn(userId, volumeId), lives(clock.now())))
        .orderBy(desc(s3Key.createdAt), desc(s3Key.accessKeyId))
      return rows.map(keyOf)
    },

    /**
     * Makes a key to a volume.
     * @returns The key with its secret, which nobody can be told again.
     * @throws ApiError `not_found`, `s3_key_limit`.
     */
    make: (userId: string, volumeId: string, access: S3KeyAccess): Promise<MadeS3Key> =>
      db.transaction(async tx => {
        await lock(tx, userId, volumeId)
        return insert(tx, { userId, volumeId, access })
      }),

    /**
     * Makes a key that may do what another one may; that one ends a day later.
     * @throws ApiError `not_found` where that one is none, or is over; `s3_key_limit`.
     */
    rotate: (userId: string, volumeId: string, accessKeyId: string): Promise<MadeS3Key> =>
      db.transaction(async tx => {
        await lock(tx, userId, volumeId)
        const now = clock.now()
        const isIt = and(isOwn(userId, volumeId), eq(s3Key.accessKeyId, accessKeyId))
        const [former] = await tx
          .select()
          .from(s3Key)
          .where(and(isIt, lives(now)))
        if (!former) throw new ApiError('not_found')
        const made = await insert(tx, { userId, volumeId, access: former.access })
        const endsAt = former.endsAt ?? new Date(now.getTime() + ROTATED_LIVES_MS)
        await tx.update(s3Key).set({ endsAt }).where(isIt)
        await notify(tx, S3_KEY_CHANNEL, accessKeyId)
        return made
      }),

    /** Revokes a key. @throws ApiError `not_found`. */
    revoke: (userId: string, volumeId: string, accessKeyId: string): Promise<void> =>
      db.transaction(async tx => {
        await forCustomer(tx, userId)
        const gone = await tx
          .delete(s3Key)
          .where(and(isOwn(userId, volumeId), eq(s3Key.accessKeyId, accessKeyId)))
          .returning({ accessKeyId: s3Key.accessKeyId })
        if (gone.length === 0) throw new ApiError('not_found')
        await notify(tx, S3_KEY_CHANNEL, accessKeyId)
      }),

    /** A key that is not over, with its secret; null where there is none of that id. */
    async find(accessKeyId: string): Promise<(Omit<Row, 'secret'> & { secret: string }) | null> {
      const [row] = await db
        .select()
        .from(s3Key)
        .where(and(eq(s3Key.accessKeyId, accessKeyId), lives(clock.now()), isOpen(s3Key.userId)))
      if (!row) return null
      const secret = sealer.open({ box: row.secret, keyId: row.keyId }, [
        accessKeyId,
        row.userId,
        row.volumeId,
      ])
      return { ...row, secret }
    },

    /** Writes down that a key was used. @param from The address that the request came from. */
    async noteUse(accessKeyId: string, from: string): Promise<void> {
      const now = clock.now()
      const step = new Date(now.getTime() - USED_STEP_MS)
      const isOld = or(isNull(s3Key.lastUsedAt), lte(s3Key.lastUsedAt, step))
      await db
        .update(s3Key)
        .set({ lastUsedAt: now, lastUsedFrom: from })
        .where(and(eq(s3Key.accessKeyId, accessKeyId), isOld))
    },

    /** Forgets keys that are over, and those of volumes that are gone. */
    async purge(): Promise<void> {
      await db.delete(s3Key).where(lte(s3Key.endsAt, clock.now()))
      const rows = await db.selectDistinct({ volumeId: s3Key.volumeId }).from(s3Key)
      const gone = await volumes.goneAmong(rows.map(({ volumeId }) => volumeId))
      if (gone.length > 0) await db.delete(s3Key).where(inArray(s3Key.volumeId, gone))
    },
  }
}

function base32(bytes: Uint8Array): string {
  let bits = ''
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0')
  return (bits.match(/.{5}/g) ?? []).map(five => BASE32[Number.parseInt(five, 2)]).join('')
}
