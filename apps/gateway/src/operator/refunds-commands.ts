import type { Billing } from '../domains/billing/billing.ts'
import type { RefundRequest } from '../domains/billing/payments/refund-requests.ts'
import type { Ids } from '../platform/ids.ts'
import type { RefundsCommand } from './read-command.ts'

/**
 * Does what an operator asked for: gives a payment back, or lists who was given what. An id that is left out is made,
 * and printed, so that a retry can name it.
 * @throws RefundRefused with words for the operator.
 */
export async function runRefunds(
  { refunds }: Pick<Billing, 'refunds'>,
  { ids, note }: { ids: Pick<Ids, 'uuid'>; note(line: string): void },
  command: RefundsCommand,
): Promise<{ data: unknown; text: string }> {
  if (command.act === 'list') {
    const all = await refunds.list()
    return {
      data: all.map(wireOf),
      text: all.length === 0 ? 'Nothing was refunded.\n' : all.map(lineOf).join(''),
    }
  }
  const { paymentId, amountCents } = command
  const id = command.id ?? ids.uuid()
  // Before anything is done: whoever loses the answer names it again.
  if (command.id === undefined)
    note(`The refund's id is ${id}; the same command with --id ${id} refunds nothing more.`)
  const request = await refunds.create({
    id,
    paymentId,
    ...(amountCents === undefined ? {} : { amountCents }),
  })
  return { data: wireOf(request), text: lineOf(request) }
}

function wireOf({ id, intentId, userId, amountCents, state, failure, createdAt, finishedAt }: RefundRequest) {
  return {
    id,
    payment_id: `t_${intentId}`,
    user_id: userId,
    amount_cents: amountCents,
    state,
    failure,
    created_at: createdAt.toISOString(),
    finished_at: finishedAt?.toISOString() ?? null,
  }
}

const SAID: Record<RefundRequest['state'], string> = {
  asked: 'asked; the platform has not answered yet, and a gateway that runs finishes it',
  done: 'done; the customer is told by mail and has a credit note',
  refused: 'refused by the platform',
}

function lineOf(request: RefundRequest): string {
  const { id, intentId, amountCents, state, failure, createdAt } = request
  // Without a sign: the currency is the payment's.
  const amount = (amountCents / 100).toFixed(2)
  const why = failure === null ? '' : `: ${failure.replace(/[\p{Cc}\p{Cf}]/gu, ' ')}`
  return `${id}  ${createdAt.toISOString().slice(0, 10)}  ${amount} of t_${intentId}  ${SAID[state]}${why}\n`
}
