import type { CallData } from '@berth/contract/call'
import type { Currency } from '@berth/contract/limits'
import { beginPayment as beginPaymentCall, type getCheckoutUrl } from '@berth/contract/payment-methods'
import { ApiError } from '../../../../platform/http/api-error.ts'
import { currencyOf } from '../../ledger/wallet.ts'
import type { PaymentsDeps } from '../intents.ts'
import { openTopups, readTopup, topUp } from '../topups.ts'
import { addMethod } from './methods.ts'
import { methodRowId } from './stored.ts'

interface PaymentRequest {
  userId: string
  idempotencyKey: string
  /** The id of a saved method, or what is entered for a new one. */
  paymentMethod: string
  /** In cents; left out: the card is kept, and nothing is charged. */
  amountCents?: number | undefined
  /** Left out: the wallet's. */
  currency?: Currency | undefined
  /** Left out: the first that is offered. */
  platformName?: string | undefined
}

/**
 * Begins to pay by card, once for each key, or to keep a card where no amount is said.
 * @throws ApiError as `topUp` and `addMethod`.
 */
export async function beginPayment(
  deps: PaymentsDeps,
  request: PaymentRequest,
): Promise<CallData<typeof beginPaymentCall>> {
  const { userId, idempotencyKey, paymentMethod, amountCents } = request
  const first = deps.payments.find(({ offered }) => offered)
  if (!first) throw new ApiError('payments_not_set_up')
  const { platformName = first.name } = request
  if (amountCents === undefined) {
    const { method, next_url } = await addMethod(deps, userId, { platformName, source: paymentMethod })
    const kept = method.status === 'saved' ? 'settled' : 'pending'
    const status = next_url === null ? kept : 'requires_action'
    return { transaction_id: null, payment_method_id: method.id, status, client_secret: null, next_url }
  }
  const isSaved = methodRowId(paymentMethod) !== null
  const paid = await topUp(deps, {
    userId,
    idempotencyKey,
    amountCents,
    currency: request.currency ?? (await currencyOf(deps.db, userId)),
    platformName,
    ...(isSaved ? { methodId: paymentMethod } : { source: paymentMethod }),
    operation: beginPaymentCall.operation,
  })
  const { transaction_id, status, next_url } = paid
  return { transaction_id, payment_method_id: null, status, client_secret: null, next_url }
}

/**
 * Where the customer goes on paying: the page of a payment that waits for them, or the console's, on which one begins and
 * on which is shown what became of one.
 * @param id A top-up's; left out: the newest that waits.
 * @throws ApiError `not_found`, the same for another customer's (R6.4).
 */
export async function checkoutUrl(
  deps: PaymentsDeps,
  userId: string,
  id?: string,
): Promise<CallData<typeof getCheckoutUrl>> {
  const known = id === undefined ? await openTopups(deps, userId) : [await readTopup(deps, userId, id)]
  const topup = known.find(({ next_url }) => next_url !== null) ?? (id === undefined ? undefined : known[0])
  const page = topup?.next_url ?? `/payments?topup=${topup?.transaction_id ?? 'open'}`
  return { url: new URL(page, deps.publicUrl()).href, transaction_id: topup?.transaction_id ?? null }
}
