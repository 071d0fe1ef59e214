import { STOPPED_POD_KEPT_DAYS, STOPPED_POD_NOTICE_DAYS } from '@berth/contract/limits'
import type { InstanceRow } from '../rows.ts'
import { inTerm, type TermState } from '../terms/term-rules.ts'

/** What says until when a stopped pod is kept. */
export type DeletionRow = TermState &
  Pick<InstanceRow, 'kind' | 'status' | 'stoppedAt' | 'keptUntil' | 'deletionNoticeDay' | 'unpaidSince'>

/** What is to be done about a pod that is stopped: its customer is told how long it is still kept, or it is deleted. */
export type DeletionStep =
  | { kind: 'announce_deletion'; day: number; keptUntil: Date }
  | { kind: 'delete_stopped' }

const DAY_MS = 86_400_000

/**
 * When a stopped pod is deleted unless it is started (R9.6), and a stopped virtual machine unless its disks are paid for
 * again (B4); null: never, as it is now. What has failed may be stopped through no fault of its customer, and what is
 * paid for in advance is kept for as long as that.
 */
export function deletionOf(row: DeletionRow): Date | null {
  const { kind, status, desired, stoppedAt, terminatedAt, unpaidSince } = row
  if (desired !== 'stopped' || terminatedAt !== null || inTerm(row)) return null
  if ((status !== 'stopped' && status !== 'exited') || stoppedAt === null) return null
  if (kind === 'POD') return row.keptUntil ?? keptFrom(stoppedAt)
  if (unpaidSince === null) return null
  const kept = keptFrom(unpaidSince)
  return row.keptUntil !== null && row.keptUntil > kept ? row.keptUntil : kept
}

/** Until when an instance is kept that is stopped and has cost what stopped ones cost from that moment. */
export function keptFrom(moment: Date): Date {
  return daysAfter(moment, STOPPED_POD_KEPT_DAYS)
}

/**
 * What is to be done now; null: nothing. No announcement is left out, however late it is: one that comes late puts the
 * deletion off, so that as many days are left as it says.
 */
export function deletionStepOf(row: DeletionRow, now: Date): DeletionStep | null {
  const due = nextOf(row)
  if (due === null || due.at > now) return null
  const { day, deletion } = due
  if (day === null) return { kind: 'delete_stopped' }
  const ahead = daysAfter(now, day)
  return { kind: 'announce_deletion', day, keptUntil: deletion > ahead ? deletion : ahead }
}

/** When something is to be done next that is not due yet; null: never. */
export function nextDeletionStep(row: DeletionRow, now: Date): Date | null {
  const due = nextOf(row)
  return due !== null && due.at > now ? due.at : null
}

/** The announcement that is next, or the deletion once all of them were made. */
function nextOf(row: DeletionRow): { day: number | null; at: Date; deletion: Date } | null {
  const deletion = deletionOf(row)
  if (deletion === null) return null
  const told = row.deletionNoticeDay
  const day = STOPPED_POD_NOTICE_DAYS.find(one => told === null || one < told) ?? null
  return { day, at: daysAfter(deletion, -(day ?? 0)), deletion }
}

function daysAfter(moment: Date, days: number): Date {
  return new Date(moment.getTime() + days * DAY_MS)
}
