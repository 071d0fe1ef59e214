import { and, asc, eq, gt, sql } from 'drizzle-orm'
import type { Database } from '../../../../platform/database/database.ts'
import { lockWallet } from '../../ledger/wallet.ts'
import { paymentIntent, paymentRefund } from '../../payments/tables.ts'
import { creditRefund, invoiceTopup, reverseCredit } from './make-invoice.ts'
import { invoice } from './tables.ts'
import type { JobDeps } from './usage-invoices.ts'

/** Rows of one page. */
const PAGE = 100

const isPaid = sql`${paymentIntent.state} in ('succeeded', 'partly_refunded', 'refunded')`
const has = (prefix: string, id: unknown) =>
  sql`exists (select 1 from ${invoice} where ${invoice.key} = ${prefix} || ${id}::text)`
const reversedCents = sql`(select coalesce(sum(${invoice.amountCents}), 0) from ${invoice}
  where ${invoice.refId} = ${paymentRefund.id} and ${invoice.kind} = 'refund_failed')`

/**
 * Makes the documents of top-ups and refunds that were booked by a version which made none: with numbers of today, and
 * the day of the payment in them. Where none is missing it is two queries. Whoever fails is logged and tried again.
 * @returns How many payments it looked at.
 */
export async function makeMissing(deps: JobDeps, signal?: AbortSignal): Promise<number> {
  return (await missingTopups(deps, signal)) + (await missingRefunds(deps, signal))
}

async function missingTopups(deps: JobDeps, signal?: AbortSignal): Promise<number> {
  return await eachPage(deps, signal, after =>
    deps.db
      .select({ id: paymentIntent.id, userId: paymentIntent.userId, intentId: paymentIntent.id })
      .from(paymentIntent)
      .where(
        and(
          isPaid,
          sql`not ${has('topup:', paymentIntent.id)}`,
          after === undefined ? undefined : gt(paymentIntent.id, after),
        ),
      )
      .orderBy(asc(paymentIntent.id))
      .limit(PAGE),
  )
}

async function missingRefunds(deps: JobDeps, signal?: AbortSignal): Promise<number> {
  return await eachPage(deps, signal, after =>
    deps.db
      .select({ id: paymentRefund.id, userId: paymentRefund.userId, intentId: paymentRefund.intentId })
      .from(paymentRefund)
      .where(
        and(
          eq(paymentRefund.reason, 'refund'),
          sql`(not ${has('refund:', paymentRefund.id)} or ${paymentRefund.failedCents} > ${reversedCents})`,
          after === undefined ? undefined : gt(paymentRefund.id, after),
        ),
      )
      .orderBy(asc(paymentRefund.id))
      .limit(PAGE),
  )
}

interface Found {
  id: string
  userId: string
  intentId: string
}

async function eachPage(
  deps: JobDeps,
  signal: AbortSignal | undefined,
  read: (after: string | undefined) => Promise<Found[]>,
): Promise<number> {
  let after: string | undefined
  let looked = 0
  for (;;) {
    const page: Found[] = await read(after)
    for (const found of page) {
      if (signal?.aborted) return looked
      after = found.id
      looked += 1
      try {
        await makeAllOf(deps, found)
      } catch (error) {
        deps.log.error({ err: error, ...found }, 'documents of a payment could not be made')
      }
    }
    if (page.length < PAGE) return looked
  }
}

/** Every document of a payment that is missing, in their order. */
async function makeAllOf(deps: JobDeps & { db: Database }, { userId, intentId }: Found): Promise<void> {
  await deps.db.transaction(async tx => {
    await lockWallet(tx, userId)
    const [intent] = await tx.select().from(paymentIntent).where(eq(paymentIntent.id, intentId))
    if (!intent) return
    await invoiceTopup(tx, deps, intent)
    const refunds = await tx
      .select()
      .from(paymentRefund)
      .where(and(eq(paymentRefund.intentId, intentId), eq(paymentRefund.reason, 'refund')))
      .orderBy(asc(paymentRefund.createdAt), asc(paymentRefund.id))
    for (const refund of refunds) {
      await creditRefund(tx, deps, intent, refund)
      const [sums] = await tx
        .select({ cents: sql<string>`coalesce(sum(${invoice.amountCents}), 0)` })
        .from(invoice)
        .where(and(eq(invoice.refId, refund.id), eq(invoice.kind, 'refund_failed')))
      const fromCents = Number(sums?.cents ?? 0)
      const cents = refund.failedCents - fromCents
      if (cents > 0) await reverseCredit(tx, deps, intent, { id: refund.id, fromCents, cents })
    }
  })
}
