import type { InvoiceKind, InvoicePage } from '@berth/contract/invoices'
import type { Currency } from '@berth/contract/limits'
import { and, eq, sql } from 'drizzle-orm'
import type { Clock } from '../../../../platform/clock.ts'
import type { Transaction } from '../../../../platform/database/database.ts'
import type { Ids } from '../../../../platform/ids.ts'
import { readAddress } from './addresses.ts'
import { type FrozenPage, invoice, invoiceSeries } from './tables.ts'

/** Who makes invoices out: the operator, as the catalogue says. */
export type Seller = InvoicePage['seller']

export interface InvoiceDeps {
  clock: Clock
  ids: Ids
  seller(): Seller
}

/** What a document is for. */
export interface Draft {
  key: string
  userId: string
  kind: InvoiceKind
  refId: string | null
  currency: Currency
  amountCents: number
  lines: FrozenPage['lines']
  card?: FrozenPage['card']
  paidAt?: Date | null
  corrects?: string | null
  creditsCents?: number
  usage?: { month: string; fromMicro: bigint; toMicro: bigint }
}

/**
 * Makes a document with the next number of its series, once for each key. The series' row stays locked until the
 * transaction ends, so that a number is neither given twice nor lost: make it the last thing of a transaction, under the
 * customer's wallet lock (B23).
 */
export async function makeInvoice(tx: Transaction, deps: InvoiceDeps, draft: Draft): Promise<void> {
  const [made] = await tx.select({ id: invoice.id }).from(invoice).where(eq(invoice.key, draft.key))
  if (made) return
  const { name, address, tax_id } = await readAddress(tx, draft.userId)
  const issuedAt = deps.clock.now()
  const { series, position } = await nextNumber(tx, issuedAt, draft.currency)
  const { key, userId, kind, refId, currency, amountCents, usage } = draft
  await tx.insert(invoice).values({
    ...{ id: deps.ids.uuid(), key, userId, kind, refId, series, position, currency, amountCents, issuedAt },
    ...usage,
    page: {
      customer: userId,
      seller: deps.seller(),
      buyer: { name, address, tax_id },
      lines: draft.lines,
      card: draft.card ?? null,
      paid_at: draft.paidAt?.toISOString() ?? null,
      corrects: draft.corrects ?? null,
      credits: draft.creditsCents ?? 0,
    },
  })
}

async function nextNumber(tx: Transaction, at: Date, currency: Currency) {
  const series = `${at.getUTCFullYear()}-${currency}`
  const [row] = await tx
    .insert(invoiceSeries)
    .values({ series, last: 1 })
    .onConflictDoUpdate({ target: invoiceSeries.series, set: { last: sql`${invoiceSeries.last} + 1` } })
    .returning()
  if (!row) throw new Error('an insert gave no row')
  return { series, position: row.last }
}

/** A document's number as people read it: `2026-USD-000017`. */
export function numberOf({ series, position }: { series: string; position: number }): string {
  return `${series}-${position.toString().padStart(6, '0')}`
}

/** The payment of a document, as it is booked. */
interface Paid {
  id: string
  userId: string
  currency: Currency
  amountCents: number
  sourceBrand: string
  sourceLast4: string
  finishedAt: Date | null
}

const cardOf = ({ sourceBrand: brand, sourceLast4: last4 }: Paid) => (last4 === '' ? null : { brand, last4 })

/** The invoice for a top-up, in the transaction that books it. */
export async function invoiceTopup(tx: Transaction, deps: InvoiceDeps, paid: Paid): Promise<void> {
  const { id, userId, currency, amountCents, finishedAt } = paid
  await makeInvoice(tx, deps, {
    ...{ key: `topup:${id}`, userId, kind: 'topup', refId: id, currency, amountCents },
    lines: [{ what: 'topup', amount: amountCents }],
    card: cardOf(paid),
    paidAt: finishedAt,
  })
}

/** A refund, as it is booked. */
interface Refunded {
  id: string
  amountCents: number
  createdAt: Date
}

/** The credit note for a refund, in the transaction that books it. */
export async function creditRefund(
  tx: Transaction,
  deps: InvoiceDeps,
  paid: Paid,
  { id, amountCents, createdAt }: Refunded,
): Promise<void> {
  const { userId, currency } = paid
  await makeInvoice(tx, deps, {
    ...{ key: `refund:${id}`, userId, kind: 'refund', refId: id, currency, amountCents: -amountCents },
    lines: [{ what: 'refund', amount: -amountCents }],
    card: cardOf(paid),
    paidAt: createdAt,
    corrects: await findNumber(tx, `topup:${paid.id}`),
  })
}

/**
 * Takes a credit note back as far as its money did not arrive.
 * @param fromCents What of the refund had come back before.
 */
export async function reverseCredit(
  tx: Transaction,
  deps: InvoiceDeps,
  paid: Paid,
  { id, fromCents, cents }: { id: string; fromCents: number; cents: number },
): Promise<void> {
  const { userId, currency } = paid
  await makeInvoice(tx, deps, {
    ...{ key: `refund-failed:${id}:${fromCents}`, userId, kind: 'refund_failed', refId: id, currency },
    amountCents: cents,
    lines: [{ what: 'refund_failed', amount: cents }],
    card: cardOf(paid),
    paidAt: deps.clock.now(),
    corrects: await findNumber(tx, `refund:${id}`),
  })
}

async function findNumber(tx: Transaction, key: string): Promise<string | null> {
  const [row] = await tx
    .select()
    .from(invoice)
    .where(and(eq(invoice.key, key)))
  return row ? numberOf(row) : null
}
