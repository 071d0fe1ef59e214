import { TERM_DAYS, TERM_NOTICE_DAYS } from '@berth/contract/charge-terms'
import type { InstanceRow } from '../rows.ts'

/** What says whether an instance is paid for in advance. */
export type TermState = Pick<InstanceRow, 'billingType' | 'expiryTime' | 'desired' | 'terminatedAt'>

/** What says when something is to be done about a term. */
export type TermRow = TermState & Pick<InstanceRow, 'status' | 'termNoticeDay'>

/** What is to be done about a term: it is over, or its customer is to be told how many days it still has. */
export type TermStep = { kind: 'end_term' } | { kind: 'announce_term_end'; day: number }

const DAY_MS = 86_400_000
/** A renewal that comes later than this begins when it is made: what no gateway watched is not paid for. */
const RENEWAL_LATE_MS_MAX = 3_600_000

/**
 * Whether an instance is paid for in advance: from when its first term has begun until it is on demand, or is to be
 * removed. It keeps its place in the stock then, also while it is off, and nothing of it is metered.
 */
export function inTerm({ billingType, expiryTime, desired, terminatedAt }: TermState): boolean {
  return billingType === 'prepay' && expiryTime !== null && desired !== 'terminated' && terminatedAt === null
}

/**
 * What is to be done now about an instance's term; null: nothing. One that is being stopped gets there first, and of
 * one that is out of sight nobody can say whether another term would be of any use.
 */
export function termStepOf(row: TermRow, now: Date): TermStep | null {
  const { expiryTime, termNoticeDay } = row
  if (!inTerm(row) || expiryTime === null || row.status === 'stopping' || row.status === 'unknown')
    return null
  const leftMs = expiryTime.getTime() - now.getTime()
  if (leftMs <= 0) return { kind: 'end_term' }
  const due = TERM_NOTICE_DAYS.filter(day => leftMs <= day * DAY_MS).at(-1)
  return due !== undefined && (termNoticeDay === null || due < termNoticeDay)
    ? { kind: 'announce_term_end', day: due }
    : null
}

/** When something is to be done next about a term that goes on; null: never. */
export function nextTermStep(row: TermRow, now: Date): Date | null {
  const { expiryTime } = row
  if (!inTerm(row) || expiryTime === null) return null
  const moments = [...TERM_NOTICE_DAYS, 0].map(day => new Date(expiryTime.getTime() - day * DAY_MS))
  return moments.find(moment => moment > now) ?? null
}

/** The end of a term that begins at a moment. */
export function termEnd(cycle: keyof typeof TERM_DAYS, from: Date): Date {
  return new Date(from.getTime() + TERM_DAYS[cycle] * DAY_MS)
}

/**
 * Where the term begins that follows on one that is over: at its end, or now where that is long ago. What came to be
 * in its status after that end, since its engine was away, begins there.
 */
export function renewalStart(row: Pick<InstanceRow, 'statusSince'>, expiryTime: Date, now: Date): Date {
  const from = expiryTime > row.statusSince ? expiryTime : row.statusSince
  return now.getTime() - from.getTime() <= RENEWAL_LATE_MS_MAX ? from : now
}
