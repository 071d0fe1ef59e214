import type { ErrorCode } from '@berth/contract/errors'
import type { IntentStatus } from '../../../drivers/payments/port.ts'

/** What a payment can be, as the gateway knows it. */
export const INTENT_STATES = [
  'created',
  'requires_action',
  'processing',
  'canceled',
  'failed',
  'succeeded',
  'partly_refunded',
  'refunded',
] as const
export type IntentState = (typeof INTENT_STATES)[number]

/** Nothing is decided yet. */
export const OPEN_STATES = ['created', 'requires_action', 'processing'] as const satisfies IntentState[]
/** The platform has the money, or had it. */
const PAID_STATES = ['succeeded', 'partly_refunded', 'refunded'] as const satisfies IntentState[]

/** What of an intent's row the platform decides. */
export interface Known {
  state: IntentState
  failure: string | null
  nextUrl: string | null
  refundsToldCents: number
  refundsFailedToldCents: number
}

/** What an answer or an event of the platform says. */
export interface Told {
  /** Null where only a refund is told. */
  status: IntentStatus | null
  failure: ErrorCode | null
  refunded_cents: number
  refunds_failed_cents: number
  next_url: string | null
}

/**
 * How far each status is. A platform never goes back on this way, so the farthest that was ever told is what holds,
 * in whatever order it came. `succeeded` is above the other ends: money that a platform says it has is the
 * customer's, whatever was said before.
 */
const RANK: Record<IntentStatus, number> = {
  created: 0,
  requires_action: 1,
  processing: 2,
  canceled: 3,
  failed: 4,
  succeeded: 5,
}

/**
 * Joins what is known of an intent with what is told. All parts only grow (the status by its rank, the refunds by
 * their sum, those that failed by theirs), so that events may come twice, late, and in any order: the end is the same.
 * Refunds that are told before the success are kept, and count once it is known.
 * @param amountCents What the intent is over; more cannot be refunded than that and what came back.
 */
export function advance(known: Known, told: Told, amountCents: number): Known {
  const before = statusOf(known.state)
  const isNews = told.status !== null && RANK[told.status] > RANK[before]
  const status = isNews && told.status !== null ? told.status : before
  const failedCents = Math.min(told.refunds_failed_cents, told.refunded_cents)
  const refundsToldCents = Math.max(
    known.refundsToldCents,
    Math.min(told.refunded_cents, amountCents + failedCents),
  )
  const refundsFailedToldCents = Math.max(known.refundsFailedToldCents, failedCents)
  return {
    state: stateOf(status, refundsToldCents - refundsFailedToldCents, amountCents),
    failure: status === 'failed' ? (isNews ? (told.failure ?? 'payment_failed') : known.failure) : null,
    nextUrl:
      status === 'requires_action' ? (isNews ? told.next_url : (known.nextUrl ?? told.next_url)) : null,
    refundsToldCents,
    refundsFailedToldCents,
  }
}

/** Whether nothing is decided yet. */
export function isOpen(state: IntentState): boolean {
  return (OPEN_STATES as readonly IntentState[]).includes(state)
}

/** Whether the platform has the money, or had it. */
export function isPaid(state: IntentState): state is (typeof PAID_STATES)[number] {
  return (PAID_STATES as readonly IntentState[]).includes(state)
}

function statusOf(state: IntentState): IntentStatus {
  return state === 'partly_refunded' || state === 'refunded' ? 'succeeded' : state
}

function stateOf(status: IntentStatus, refundedCents: number, amountCents: number): IntentState {
  if (status !== 'succeeded' || refundedCents === 0) return status
  return refundedCents < amountCents ? 'partly_refunded' : 'refunded'
}
