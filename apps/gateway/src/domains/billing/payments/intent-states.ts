import type { Card } from '@berth/contract/billing'
import type { ErrorCode } from '@berth/contract/errors'
import type { IntentStatus, SumsBack } from '../../../drivers/payments/port.ts'

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
  disputesToldCents: number
  disputesWonToldCents: number
}

/** What an answer or an event of the platform says. */
export interface Told extends SumsBack {
  /** Null where only what went back is told. */
  status: IntentStatus | null
  failure: ErrorCode | null
  next_url: string | null
  card?: Card | null
  paid_with?: string | null
  fingerprint?: string | null
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
 * their sum, those that failed by theirs, and disputes in the same way), so that events may come twice, late, and in
 * any order: the end is the same. What is told to have gone back before the success is kept, and counts once it is known.
 * @param amountCents What the intent is over; more cannot go back, either way, than that and what came to us again.
 */
export function advance(known: Known, told: Told, amountCents: number): Known {
  const before = statusOf(known.state)
  const isNews = told.status !== null && RANK[told.status] > RANK[before]
  const status = isNews && told.status !== null ? told.status : before
  const refunds = farthest(
    { goneCents: known.refundsToldCents, backCents: known.refundsFailedToldCents },
    { goneCents: told.refunded_cents, backCents: told.refunds_failed_cents },
    amountCents,
  )
  const disputes = farthest(
    { goneCents: known.disputesToldCents, backCents: known.disputesWonToldCents },
    { goneCents: told.disputed_cents ?? 0, backCents: told.disputes_won_cents ?? 0 },
    amountCents,
  )
  return {
    state: stateOf(status, refunds.goneCents - refunds.backCents, amountCents),
    failure: status === 'failed' ? (isNews ? (told.failure ?? 'payment_failed') : known.failure) : null,
    nextUrl:
      status === 'requires_action' ? (isNews ? told.next_url : (known.nextUrl ?? told.next_url)) : null,
    refundsToldCents: refunds.goneCents,
    refundsFailedToldCents: refunds.backCents,
    disputesToldCents: disputes.goneCents,
    disputesWonToldCents: disputes.backCents,
  }
}

/** What went one way in all, and what of it came to us again. */
interface Sums {
  goneCents: number
  backCents: number
}

/** The greater of each sum, as far as they can be. */
function farthest(known: Sums, told: Sums, amountCents: number): Sums {
  const backCents = Math.min(told.backCents, told.goneCents)
  return {
    goneCents: Math.max(known.goneCents, Math.min(told.goneCents, amountCents + backCents)),
    backCents: Math.max(known.backCents, backCents),
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
