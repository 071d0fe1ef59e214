import { microFromCents } from '@berth/contract/money'
import { and, asc, desc, eq, gt, lt } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import type { Events } from '../../../platform/events/events.ts'
import type { Ids } from '../../../platform/ids.ts'
import { creditRefund, type InvoiceDeps, reverseCredit } from '../documents/invoices/make-invoice.ts'
import { disputeWon, paymentDisputed, paymentRefunded, refundFailed } from '../events.ts'
import { customerAccounts, openHouseAccount, postTransfer } from '../ledger/ledger.ts'
import { lockWallet, readTotals, type WalletTotals } from '../ledger/wallet.ts'
import { postAll } from '../meters/posting.ts'
import { type paymentIntent, paymentRefund } from './tables.ts'

interface RefundDeps {
  clock: Clock
  ids: Ids
}

type BookingDeps = RefundDeps & InvoiceDeps & { events: Pick<Events, 'emit'> }
type Intent = typeof paymentIntent.$inferSelect
type Refund = typeof paymentRefund.$inferSelect

/** Why money of a payment went back. */
type Reason = Refund['reason']

/** From how much in all to how much, as it stands in the intent's row. */
interface Span {
  reason: Reason
  fromCents: number
  toCents: number
}

/** Customers who owe that are looked at in one go. */
const OWING_MAX = 100

/**
 * Books that the platform gave back a part of a payment, or that a bank took it for a dispute. It is taken from the cash that the wallet can give; what is
 * spent already, or set aside for what runs, is owed from then on: the platform has paid the customer, so the house
 * has a claim on them. Credits were given and not paid, and are never taken. Call it under the wallet's lock.
 * @param span From how much that was refunded in all to how much; also what makes the transfers' keys.
 */
export async function bookRefund(
  tx: Transaction,
  deps: BookingDeps,
  intent: Intent,
  { reason, fromCents, toCents }: Span,
): Promise<void> {
  const { userId, currency } = intent
  const amountMicro = microFromCents(toCents - fromCents)
  // What ran before is paid first: the wallet gives back what is left.
  await postAll(tx, deps, userId)
  const takenMicro = least(amountMicro, spendableCash(await readTotals(tx, deps.clock, userId)))
  const owedMicro = amountMicro - takenMicro
  const id = deps.ids.uuid()
  const booked = { id, amountCents: toCents - fromCents, createdAt: deps.clock.now() }
  await tx.insert(paymentRefund).values({ ...booked, intentId: intent.id, userId, reason, owedMicro })
  const to = await openHouseAccount(tx, { clearing: intent.platformName }, currency)
  const common = { to, kind: 'refund', refId: id, userId, at: deps.clock.now() } as const
  const key = `${reason}:${intent.id}:${fromCents}`
  if (takenMicro > 0n) {
    const from = customerAccounts(userId).cash
    await postTransfer(tx, deps, { ...common, key, from, amountMicro: takenMicro })
  }
  if (owedMicro > 0n) {
    const from = await openHouseAccount(tx, 'receivable', currency)
    await postTransfer(tx, deps, { ...common, key: `${key}:owed`, from, amountMicro: owedMicro })
  }
  const happened = reason === 'refund' ? paymentRefunded : paymentDisputed
  await deps.events.emit(tx, happened, noticeOf(deps, intent, id, toCents - fromCents))
  // What a bank takes is disputed, and no sale that we take back: it has no credit note.
  if (reason === 'refund') await creditRefund(tx, deps, intent, booked)
}

/**
 * Books that a part of what was given back did not arrive, or that a bank gave back what it took for a dispute: the
 * platform has it again, so it goes back to where it was taken from. What is still owed of those refunds is owed no more, and the rest is the customer's cash again. Of
 * several refunds the newest are taken first; what a customer has less what they owe comes to the same in any order.
 * Call it under the wallet's lock.
 */
export async function bookFailedRefund(
  tx: Transaction,
  deps: BookingDeps,
  intent: Intent,
  { reason, fromCents, toCents }: Span,
): Promise<void> {
  const { id: intentId, userId } = intent
  // What ran before is posted first, so that what an empty wallet could not pay stays waived.
  await postAll(tx, deps, userId)
  let leftCents = toCents - fromCents
  const refunds = await tx
    .select()
    .from(paymentRefund)
    .where(
      and(
        eq(paymentRefund.intentId, intentId),
        eq(paymentRefund.reason, reason),
        lt(paymentRefund.failedCents, paymentRefund.amountCents),
      ),
    )
    .orderBy(desc(paymentRefund.createdAt), desc(paymentRefund.id))
  for (const refund of refunds) {
    const cents = Math.min(leftCents, refund.amountCents - refund.failedCents)
    if (cents === 0) break
    await putBack(tx, deps, intent, refund, cents)
    leftCents -= cents
  }
  if (leftCents > 0) throw new Error(`more came back of payment ${intentId} (${reason}) than was booked`)
  await repayOwed(tx, deps, userId)
}

async function putBack(
  tx: Transaction,
  deps: BookingDeps,
  intent: Intent,
  { id, reason, failedCents, owedMicro, repaidMicro }: Refund,
  cents: number,
): Promise<void> {
  const { userId, currency, platformName } = intent
  const amountMicro = microFromCents(cents)
  const forgivenMicro = least(amountMicro, owedMicro - repaidMicro)
  const backMicro = amountMicro - forgivenMicro
  const from = await openHouseAccount(tx, { clearing: platformName }, currency)
  const common = { from, kind: 'refund', refId: id, userId, at: deps.clock.now() } as const
  const key = `refund-failed:${id}:${failedCents}`
  if (backMicro > 0n) {
    const to = customerAccounts(userId).cash
    await postTransfer(tx, deps, { ...common, key, to, amountMicro: backMicro })
  }
  if (forgivenMicro > 0n) {
    const to = await openHouseAccount(tx, 'receivable', currency)
    await postTransfer(tx, deps, { ...common, key: `${key}:owed`, to, amountMicro: forgivenMicro })
  }
  await tx
    .update(paymentRefund)
    .set({ failedCents: failedCents + cents, owedMicro: owedMicro - forgivenMicro })
    .where(eq(paymentRefund.id, id))
  const happened = reason === 'refund' ? refundFailed : disputeWon
  await deps.events.emit(tx, happened, noticeOf(deps, intent, id, cents))
  if (reason === 'refund') await reverseCredit(tx, deps, intent, { id, fromCents: failedCents, cents })
}

/** What customers are told of a refund. */
function noticeOf(
  { clock }: Pick<RefundDeps, 'clock'>,
  intent: Intent,
  refundId: string,
  amountCents: number,
) {
  const { userId, currency, sourceBrand: brand, sourceLast4: last4 } = intent
  const at = clock.now().toISOString()
  return { userId, at, transactionId: `r_${refundId}`, amountCents, currency, card: { brand, last4 } }
}

/**
 * Pays from the wallet's cash what is owed of refunds, oldest first, as far as the cash reaches. Call it under the
 * wallet's lock.
 */
export async function repayOwed(tx: Transaction, deps: RefundDeps, userId: string): Promise<void> {
  const owing = await tx
    .select()
    .from(paymentRefund)
    .where(and(eq(paymentRefund.userId, userId), lt(paymentRefund.repaidMicro, paymentRefund.owedMicro)))
    .orderBy(asc(paymentRefund.createdAt), asc(paymentRefund.id))
    .limit(OWING_MAX)
  for (const { id, owedMicro, repaidMicro } of owing) {
    const totals = await readTotals(tx, deps.clock, userId)
    const amountMicro = least(owedMicro - repaidMicro, spendableCash(totals))
    if (amountMicro === 0n) return
    await postTransfer(tx, deps, {
      key: `repay:${id}:${repaidMicro}`,
      from: customerAccounts(userId).cash,
      to: await openHouseAccount(tx, 'receivable', totals.currency),
      amountMicro,
      kind: 'repay',
      refId: id,
      userId,
      at: deps.clock.now(),
    })
    await tx
      .update(paymentRefund)
      .set({ repaidMicro: repaidMicro + amountMicro })
      .where(eq(paymentRefund.id, id))
  }
}

/**
 * Takes what is owed from wallets in which cash has become free since. A customer for whom that fails is logged and left
 * for the next time; the others are not held up.
 */
export async function collectOwed(
  deps: RefundDeps & { db: Database; log: Pick<Logger, 'error'> },
  signal?: AbortSignal,
): Promise<void> {
  let after: string | null = null
  for (;;) {
    const owing: { userId: string }[] = await deps.db
      .selectDistinct({ userId: paymentRefund.userId })
      .from(paymentRefund)
      .where(
        and(
          lt(paymentRefund.repaidMicro, paymentRefund.owedMicro),
          after === null ? undefined : gt(paymentRefund.userId, after),
        ),
      )
      .orderBy(asc(paymentRefund.userId))
      .limit(OWING_MAX)
    for (const { userId } of owing) {
      if (signal?.aborted) return
      after = userId
      try {
        await deps.db.transaction(async tx => {
          await lockWallet(tx, userId)
          await postAll(tx, deps, userId)
          await repayOwed(tx, deps, userId)
        })
      } catch (error) {
        deps.log.error({ err: error, userId }, 'what a customer owes could not be collected')
      }
    }
    if (owing.length < OWING_MAX) return
  }
}

/** Cash that can be taken so that what is set aside stays covered. */
export function spendableCash({ cashMicro, availableMicro }: WalletTotals): bigint {
  return least(cashMicro, availableMicro)
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
