import assert from 'node:assert/strict'
import type { ImageStatus } from '@berth/contract/images'
import {
  IMAGE_REVIEW_WORKING_DAYS,
  UNPAID_IMAGE_KEPT_DAYS,
  UNPAID_IMAGE_NOTICE_DAYS,
} from '@berth/contract/limits'
import { eq, sql } from 'drizzle-orm'
import { IMAGE_SKU } from '../../platform/config/skus.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { notify } from '../../platform/database/open-database.ts'
import type { Events } from '../../platform/events/events.ts'
import { deletedOn, type UnpaidRules } from '../../platform/unpaid.ts'
import type { Billing, Subject } from '../billing/billing.ts'
import { type ImageNews, imageNews } from './events.ts'
import { ownImage } from './tables.ts'
import { workingDaysAfter } from './working-days.ts'

/** A customer's own image as its table keeps it. */
export type OwnImageRow = typeof ownImage.$inferSelect

/** The channel on which an image's id is told when there is something to do with it. */
export const IMAGE_CHANNEL = 'image'

const BYTES_PER_GB = 1_073_741_824

/** What becomes of an image that nothing is left to pay for. */
export const UNPAID_IMAGES: UnpaidRules = {
  keptDays: UNPAID_IMAGE_KEPT_DAYS,
  noticeDays: UNPAID_IMAGE_NOTICE_DAYS,
}

/**
 * What each status may become (R4.8). What the community has is taken off by whoever goes from `community`, `review` or
 * `refused` to `private` of their own will, and stays when the image is deleted.
 */
export const IMAGE_FOLLOWS: Readonly<Record<ImageStatus, readonly ImageStatus[]>> = {
  building: ['private', 'failed', 'deleting'],
  private: ['review', 'deleting'],
  review: ['private', 'community', 'refused', 'deleting'],
  community: ['private', 'review', 'refused', 'deleting'],
  refused: ['private', 'review', 'deleting'],
  failed: ['deleting'],
  deleting: [],
}

/** Whether an image costs something in a status: it is kept. */
export const isBilled = (status: ImageStatus): boolean =>
  status === 'private' || status === 'review' || status === 'community' || status === 'refused'

/** GB that an image is charged by: each that is begun. */
export const gbOf = ({ sizeBytes }: { sizeBytes: number }): number => Math.ceil(sizeBytes / BYTES_PER_GB)

/** An image as billing knows it. */
export const imageSubject = (id: string): Subject => ({ kind: 'image', id })

/** By the end of which day the operator answers; null while it is not in review. */
export function reviewBy({ status, reviewSince }: Pick<OwnImageRow, 'status' | 'reviewSince'>): Date | null {
  return status === 'review' && reviewSince ? workingDaysAfter(reviewSince, IMAGE_REVIEW_WORKING_DAYS) : null
}

export interface ImageChangeDeps {
  billing: Pick<Billing, 'openMeters' | 'closeMeters' | 'releaseHold'>
  events: Pick<Events, 'emit'>
}

export interface ImageChange {
  status: ImageStatus
  at: Date
  /** Left out: none. */
  reason?: { code: NonNullable<OwnImageRow['reasonCode']>; detail: string }
  /** What its customer is told. */
  news?: ImageNews
  patch?: Partial<
    Pick<
      OwnImageRow,
      | 'digest'
      | 'parts'
      | 'sizeBytes'
      | 'number'
      | 'communityId'
      | 'versionOf'
      | 'reviewSince'
      | 'progress'
      | 'deletedAt'
    >
  >
}

/**
 * Changes an image's status, with what follows from it: what it costs, what is set aside, what its customer is told, the
 * notice to other gateways. The caller holds the locks: first the wallet's, then the row's.
 * @param row The row as it is under that lock.
 * @returns The row as it is now.
 */
export async function changeImage(
  tx: Transaction,
  deps: ImageChangeDeps,
  row: OwnImageRow,
  { status, at, reason, news, patch }: ImageChange,
): Promise<OwnImageRow> {
  const follows = row.status === status || IMAGE_FOLLOWS[row.status].includes(status)
  assert(follows, `an image that is ${row.status} does not become ${status}`)
  const [changed] = await tx
    .update(ownImage)
    .set({
      // What nobody pays for any more is not unpaid.
      ...(!isBilled(status) && { unpaidSince: null, unpaidNoticeDay: null }),
      progress: null,
      ...patch,
      status,
      reasonCode: reason?.code ?? null,
      reasonDetail: reason?.detail ?? '',
      statusSince: at,
      attempts: 0,
      nextAttemptAt: at,
      leaseOwner: null,
      leaseUntil: null,
      version: sql`${ownImage.version} + 1`,
    })
    .where(eq(ownImage.id, row.id))
    .returning()
  assert(changed, `image ${row.id} vanished under its lock`)
  await bill(tx, deps, row, changed, at)
  if (news) await tellOfImage(tx, deps, changed, { news, at })
  await notify(tx, IMAGE_CHANNEL, row.id)
  return changed
}

/** Tells of an image, in the transaction that has changed it. */
export async function tellOfImage(
  tx: Transaction,
  { events }: Pick<ImageChangeDeps, 'events'>,
  row: OwnImageRow,
  { news, at }: { news: ImageNews; at: Date },
): Promise<void> {
  const { id, name, userId, reasonDetail: detail } = row
  const until = deletedOn(row, UNPAID_IMAGES) ?? reviewBy(row)
  await events.emit(tx, imageNews, {
    userId,
    at: at.toISOString(),
    news,
    image: { id, name },
    detail,
    until: until?.toISOString() ?? null,
  })
}

async function bill(
  tx: Transaction,
  { billing }: ImageChangeDeps,
  before: OwnImageRow,
  row: OwnImageRow,
  at: Date,
): Promise<void> {
  const key = { userId: row.userId, subject: imageSubject(row.id) }
  const ran = isBilled(before.status)
  const runs = isBilled(row.status)
  if (ran && !runs) await billing.closeMeters(tx, { ...key, at })
  if (!ran && runs && row.microPerGbDay > 0n) {
    const meter = {
      sku: IMAGE_SKU,
      label: `${gbOf(row)} GB`,
      unit: 'gb_day' as const,
      quantity: gbOf(row),
      rateMicro: row.microPerGbDay,
    }
    await billing.openMeters(tx, { ...key, name: row.name, meters: [meter], stopsWhenEmpty: true, at })
  }
  // What was set aside is for the first day of what may be kept: from here on it is known what is.
  if (before.status === 'building' && row.status !== 'building') await billing.releaseHold(tx, key)
}
