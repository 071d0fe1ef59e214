import * as z from 'zod'
import type { Clock } from '../../../platform/clock.ts'
import {
  type PayoutAnswer,
  PayoutDoubtful,
  type PayoutDriver,
  type PayoutFailure,
  PayoutRefused,
  type PayoutRequest,
  PayoutUnavailable,
} from '../port.ts'
import { createPaypalClient, type PaypalAccess, type PaypalAnswer } from './paypal-client.ts'

/** Where money is real; its sandbox and doubles of it are elsewhere. */
const REAL_HOST = 'api-m.paypal.com'
const PAYOUTS = '/v1/payments/payouts'
const DAY_MS = 86_400_000
/** PayPal pays once for a `sender_batch_id` that was used in the last 30 days; some days are left for clocks and retries. */
const KEY_KEPT_MS = 25 * DAY_MS
const BATCH_ID = /^[A-Za-z0-9_-]{1,64}$/

const made = z.object({ batch_header: z.object({ payout_batch_id: z.string().regex(BATCH_ID) }) })
const refused = z.object({
  name: z.string().default(''),
  message: z.string().default(''),
  details: z
    .array(
      z.object({
        field: z.string().default(''),
        issue: z.string().default(''),
        link: z.array(z.object({ href: z.string() })).optional(),
      }),
    )
    .default([]),
  links: z.array(z.object({ href: z.string(), rel: z.string().default('') })).default([]),
})
const batch = z.object({
  batch_header: z.object({ batch_status: z.string() }),
  items: z
    .array(
      z.object({
        transaction_status: z.string().optional(),
        errors: z.object({ name: z.string().default('') }).optional(),
      }),
    )
    .default([]),
})

/** What PayPal says of accounts that do not take money, and of those that are none. */
const FAILURES: Readonly<Record<string, PayoutFailure>> = {
  RECEIVER_UNREGISTERED: 'account_unknown',
  RECEIVER_UNCONFIRMED: 'account_unknown',
  RECEIVER_ACCOUNT_LOCKED: 'account_refused',
  RECEIVER_ACCOUNT_INVALID: 'account_unknown',
  RECEIVER_COUNTRY_NOT_ALLOWED: 'account_refused',
  RECEIVER_REFUSED: 'account_refused',
  NON_HOLDING_CURRENCY: 'account_refused',
}

/**
 * Pays by PayPal's Payouts API, each amount as a batch of its own, whose `sender_batch_id` pays it once.
 * @see https://developer.paypal.com/docs/api/payments.payouts-batch/v1/
 */
export function createPaypalPayouts(access: PaypalAccess, deps: { clock: Clock }): PayoutDriver {
  const client = createPaypalClient(access, deps)
  return {
    name: 'paypal',
    test: new URL(access.apiUrl).hostname !== REAL_HOST,
    byHand: false,
    keyKeptMs: KEY_KEPT_MS,

    async pay(request) {
      const answer = await client.ask(PAYOUTS, { method: 'POST', json: batchOf(request), key: request.key })
      const { status, body } = answer
      if (status === 200 || status === 201) {
        const { success, data } = made.safeParse(body)
        // It was taken, and how it is called was not understood: the same again names it.
        if (!success) throw new PayoutUnavailable('PayPal took a payout and did not name it')
        return { batch_id: data.batch_header.payout_batch_id }
      }
      return { batch_id: earlierBatch(answer) }
    },

    async read(batchId) {
      const { status, body } = await client.ask(`${PAYOUTS}/${encodeURIComponent(batchId)}`, {
        method: 'GET',
      })
      const answer = batch.safeParse(body)
      if (status !== 200 || !answer.success) {
        throw new PayoutUnavailable(`PayPal says nothing of a payout: HTTP ${status}`)
      }
      return answerOf(answer.data)
    },
  }
}

function batchOf({ key, email, cents, currency, note }: PayoutRequest): object {
  const value = `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`
  return {
    sender_batch_header: { sender_batch_id: key, email_subject: note },
    items: [
      {
        recipient_type: 'EMAIL',
        receiver: email,
        amount: { value, currency },
        note,
        sender_item_id: key,
      },
    ],
  }
}

/**
 * What follows from an answer that is no new batch.
 * @returns The batch that was made with the key before.
 * @throws PayoutRefused, PayoutDoubtful, and PayoutUnavailable where nothing was decided.
 */
function earlierBatch({ status, body }: PaypalAnswer): string {
  const { data: error } = refused.safeParse(body)
  // Of a wrong key, a lack of money and too many questions nothing follows for this payout: it is tried again.
  const isUndecided = status >= 500 || status < 400 || [401, 403, 408, 409, 429].includes(status)
  if (!error || isUndecided || error.name === 'INSUFFICIENT_FUNDS') {
    throw new PayoutUnavailable(`PayPal did not take a payout: HTTP ${status} ${error?.name ?? ''}`.trim())
  }
  const duplicate = error.details.find(({ field }) => /sender_batch_id/i.test(field))
  if (duplicate || error.name === 'DUPLICATE_REQUEST_ID') {
    const links = [...(duplicate?.link ?? []), ...error.links]
    const id = links
      .map(({ href }) => href.match(/\/payouts\/([A-Za-z0-9_-]{1,64})(?:[/?#]|$)/)?.[1])
      .find(Boolean)
    if (id !== undefined) return id
    throw new PayoutDoubtful('PayPal has this payout already and does not say which one it is')
  }
  const failure = error.details.some(({ field }) => /receiver/i.test(field))
    ? 'account_unknown'
    : 'not_accepted'
  throw new PayoutRefused(`PayPal refused a payout: ${error.name}`, failure)
}

function answerOf({ batch_header, items: [item] }: z.output<typeof batch>): PayoutAnswer {
  const failure = FAILURES[item?.errors?.name ?? ''] ?? 'other'
  switch (item?.transaction_status) {
    case 'SUCCESS':
      return { status: 'paid' }
    case 'FAILED':
    case 'BLOCKED':
    case 'RETURNED':
    case 'REFUNDED':
    case 'REVERSED':
      return { status: 'failed', failure }
    case undefined:
      // Before it is gone through, a batch has no items; one that is turned down as a whole has none that were paid.
      return ['DENIED', 'CANCELED'].includes(batch_header.batch_status)
        ? { status: 'failed', failure: 'not_accepted' }
        : { status: 'pending' }
    default:
      // On hold, or not claimed: whoever it is for has 30 days.
      return batch_header.batch_status === 'DENIED'
        ? { status: 'failed', failure: 'not_accepted' }
        : { status: 'pending' }
  }
}
