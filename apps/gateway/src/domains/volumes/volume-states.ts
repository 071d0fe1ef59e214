import assert from 'node:assert/strict'
import { UNPAID_VOLUME_KEPT_DAYS, UNPAID_VOLUME_NOTICE_DAYS } from '@berth/contract/limits'
import type { VolumeStatus } from '@berth/contract/volumes'
import { eq, sql } from 'drizzle-orm'
import { NETWORK_VOLUME_SKU } from '../../platform/config/skus.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { notify } from '../../platform/database/open-database.ts'
import type { Events } from '../../platform/events/events.ts'
import { deletedOn, type UnpaidRules } from '../../platform/unpaid.ts'
import type { Billing, Meter, Subject } from '../billing/billing.ts'
import { type VolumeNews, volumeNews } from './events.ts'
import { volume } from './tables.ts'
import { judgeUse, readOnlyOn } from './volume-use.ts'

/** A volume as its table keeps it. */
export type VolumeRow = typeof volume.$inferSelect

/** The channel on which a volume's id is told when it has changed. */
export const VOLUME_CHANNEL = 'volume'

/** What each status may become. */
export const VOLUME_FOLLOWS: Readonly<Record<VolumeStatus, readonly VolumeStatus[]>> = {
  creating: ['ready', 'error', 'deleting'],
  ready: ['growing', 'error', 'deleting'],
  growing: ['ready', 'error', 'deleting'],
  deleting: [],
  // What was lost is there again.
  error: ['ready', 'deleting'],
}

/** Whether a volume costs something in a status. */
export const isBilled = (status: VolumeStatus): boolean => status === 'ready' || status === 'growing'

/** A volume as billing knows it. */
export const volumeSubject = (id: string): Subject => ({ kind: 'network_volume', id })

/** What a volume costs while it is there: its size by the day. */
function metersOf({ sizeGb, microPerGbDay }: Pick<VolumeRow, 'sizeGb' | 'microPerGbDay'>): Meter[] {
  if (microPerGbDay === 0n) return []
  const label = `${sizeGb} GB`
  return [{ sku: NETWORK_VOLUME_SKU, label, unit: 'gb_day', quantity: sizeGb, rateMicro: microPerGbDay }]
}

/** What becomes of a volume that nothing is left to pay for. */
export const UNPAID_VOLUMES: UnpaidRules = {
  keptDays: UNPAID_VOLUME_KEPT_DAYS,
  noticeDays: UNPAID_VOLUME_NOTICE_DAYS,
}

export interface ChangeDeps {
  billing: Pick<Billing, 'openMeters' | 'closeMeters' | 'releaseHold'>
  events: Pick<Events, 'emit'>
}

export interface VolumeChange {
  status: VolumeStatus
  at: Date
  /** Left out: none. */
  reason?: { code: NonNullable<VolumeRow['reasonCode']>; detail: string }
  /** Where what it has cost ends; without it at `at`. */
  billedUntil?: Date
  /** What its customer is told. */
  news?: VolumeNews
  patch?: Partial<
    Pick<
      VolumeRow,
      | 'sizeGb'
      | 'wantedGb'
      | 'microPerGbDay'
      | 'wantedMicroPerGbDay'
      | 'observedAt'
      | 'unpaidSince'
      | 'unpaidNoticeDay'
      | 'deletedAt'
    >
  >
}

/**
 * Changes a volume's status, with what follows from it: what it costs, what is set aside, what its customer is told, the
 * notice to other gateways. The caller holds the locks: first the wallet's, then the row's.
 * @param row The row as it is under that lock.
 * @returns The row as it is now.
 */
export async function changeVolume(
  tx: Transaction,
  deps: ChangeDeps,
  row: VolumeRow,
  change: VolumeChange,
): Promise<VolumeRow> {
  const { status, at, reason, billedUntil = at } = change
  const follows = row.status === status || VOLUME_FOLLOWS[row.status].includes(status)
  assert(follows, `a volume that is ${row.status} does not become ${status}`)
  const stays = isBilled(status)
  // Of another size it is more or less full; what that means for its customer is told when it is measured next.
  const { news: _, ...judged } = judgeUse({ ...row, ...change.patch }, at)
  const [changed] = await tx
    .update(volume)
    .set({
      // What nobody pays for any more is not unpaid.
      ...(!stays && { unpaidSince: null, unpaidNoticeDay: null }),
      ...(change.patch?.sizeGb !== undefined && judged),
      ...change.patch,
      status,
      reasonCode: reason?.code ?? null,
      reasonDetail: reason?.detail ?? '',
      statusSince: at,
      attempts: 0,
      nextAttemptAt: at,
      version: sql`${volume.version} + 1`,
    })
    .where(eq(volume.id, row.id))
    .returning()
  assert(changed, `volume ${row.id} vanished under its lock`)
  await bill(tx, deps, row, changed, { at, billedUntil })
  if (change.news) await tell(tx, deps, changed, { news: change.news, at })
  await notify(tx, VOLUME_CHANNEL, row.id)
  return changed
}

/** Tells of a volume, in the transaction that has changed it. */
export async function tell(
  tx: Transaction,
  { events }: Pick<ChangeDeps, 'events'>,
  row: VolumeRow,
  { news, at, detail = '' }: { news: VolumeNews; at: Date; detail?: string },
): Promise<void> {
  const { id, name, userId } = row
  const until = deletedOn(row, UNPAID_VOLUMES)?.toISOString() ?? null
  await events.emit(tx, volumeNews, {
    userId,
    at: at.toISOString(),
    news,
    volume: { id, name },
    deletedOn: until,
    readOnlyOn: readOnlyOn(row)?.toISOString() ?? null,
    detail,
  })
}

async function bill(
  tx: Transaction,
  { billing }: ChangeDeps,
  before: VolumeRow,
  row: VolumeRow,
  { at, billedUntil }: { at: Date; billedUntil: Date },
): Promise<void> {
  const key = { userId: row.userId, subject: volumeSubject(row.id) }
  const ran = isBilled(before.status)
  const runs = isBilled(row.status)
  const isOther = before.sizeGb !== row.sizeGb || before.microPerGbDay !== row.microPerGbDay
  if (ran && (!runs || isOther)) await billing.closeMeters(tx, { ...key, at: billedUntil })
  const meters = metersOf(row)
  if (runs && (!ran || isOther) && meters.length > 0) {
    await billing.openMeters(tx, { ...key, name: row.name, meters, stopsWhenEmpty: true, at })
  }
  if (!runs && row.status !== 'creating') await billing.releaseHold(tx, key)
}
