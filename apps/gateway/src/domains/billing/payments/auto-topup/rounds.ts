import { and, asc, eq, gt, inArray, isNull, lte, or, sql } from 'drizzle-orm'
import { PaymentUnavailable } from '../../../../drivers/payments/port.ts'
import { forCustomer } from '../../../customers/customers.ts'
import { wallet } from '../../ledger/tables.ts'
import { lockWallet, readTotals, selectTotals, withSumsOfEach } from '../../ledger/wallet.ts'
import { carryOn, type Intent, type PaymentsDeps } from '../intents.ts'
import { whyNotCharged } from '../methods/chargeable.ts'
import { findSaved } from '../methods/stored.ts'
import { paymentIntent } from '../tables.ts'
import { noteCapped, noteRefusal } from './outcomes.ts'
import { type AutoTopupRow, chargedCents, isCharging } from './stored.ts'
import { autoTopup } from './tables.ts'
import { isBelow } from './wanted.ts'

/** Customers whose balance is read at once. */
const CUSTOMERS_PAGE = 200
/** Charges of one round, so that it comes to its end; the next one goes on. */
const CHARGES_PER_ROUND_MAX = 200

/**
 * Tops up the balances that are below what their customers have said (R3.9), each by one payment at a time. Safe at any
 * time and in any number of replicas: who is charged is decided under the wallet's lock.
 * @returns How many charges it began. A customer who fails is logged and left for the next round.
 */
export async function runAutoTopups(deps: PaymentsDeps, signal?: AbortSignal): Promise<number> {
  let begun = 0
  let after: string | null = null
  for (;;) {
    const page: AutoTopupRow[] = await readPage(deps, after)
    for (const userId of await belowOf(deps, page)) {
      if (signal?.aborted || begun >= CHARGES_PER_ROUND_MAX) return begun
      try {
        const intent = await begin(deps, userId)
        if (intent === null) continue
        begun += 1
        await charge(deps, intent)
      } catch (error) {
        deps.log.error({ err: error, userId }, 'a balance could not be topped up; the next round tries again')
      }
    }
    after = page.at(-1)?.userId ?? null
    if (after === null || page.length < CUSTOMERS_PAGE) return begun
  }
}

/** Those that may be tried now, by user id. */
async function readPage(
  { db, clock }: Pick<PaymentsDeps, 'db' | 'clock'>,
  after: string | null,
): Promise<AutoTopupRow[]> {
  const isDue = or(isNull(autoTopup.nextTryAt), lte(autoTopup.nextTryAt, clock.now()))
  return await db
    .select()
    .from(autoTopup)
    .where(and(eq(autoTopup.enabled, true), isDue, after === null ? undefined : gt(autoTopup.userId, after)))
    .orderBy(asc(autoTopup.userId))
    .limit(CUSTOMERS_PAGE)
}

/** Whose balance is below, as read without a lock: it is looked at again before anything is charged. */
async function belowOf(
  { db, clock, log }: Pick<PaymentsDeps, 'db' | 'clock' | 'log'>,
  page: AutoTopupRow[],
): Promise<string[]> {
  if (page.length === 0) return []
  const now = sql`${clock.now().toISOString()}::timestamptz`
  const userIds = page.map(({ userId }) => userId)
  const rows = await selectTotals(db, now, inArray(wallet.userId, userIds))
  const totals = new Map(withSumsOfEach(rows, log).map(has => [has.userId, has]))
  return page.flatMap(row => {
    const has = totals.get(row.userId)
    return has && isBelow(has, row) ? [row.userId] : []
  })
}

/**
 * Writes the payment of a customer whose balance is below, before the platform is asked, so that a crash leaves what
 * recovery finishes with the same one charge.
 * @returns Null where there is nothing to charge by now: spent, turned off, charging, backed off or capped meanwhile.
 */
async function begin(deps: PaymentsDeps, userId: string): Promise<Intent | null> {
  return await deps.db.transaction(async tx => {
    await forCustomer(tx, userId)
    const { currency } = await lockWallet(tx, userId)
    const now = deps.clock.now()
    const [row] = await tx.select().from(autoTopup).where(eq(autoTopup.userId, userId)).for('update')
    if (!row?.enabled || (row.nextTryAt !== null && row.nextTryAt > now)) return null
    if (!isBelow(await readTotals(tx, deps.clock, userId), row)) return null
    if (await isCharging(tx, userId)) return null
    const method = await findSaved(tx, userId, row.methodId)
    const card = { brand: method?.brand ?? '', last4: method?.last4 ?? '' }
    if ((await chargedCents(tx, userId, now)) + row.amountCents > row.monthlyCapCents) {
      await noteCapped(tx, deps, row, { currency, card })
      return null
    }
    if (method === null) {
      await noteRefusal(tx, deps, row, { failure: 'payment_method_required', currency, card })
      return null
    }
    const failure = whyNotCharged(deps, method, currency)
    if (failure !== null) {
      await noteRefusal(tx, deps, row, { failure, currency, card })
      return null
    }
    const [made] = await tx
      .insert(paymentIntent)
      .values({
        id: deps.ids.uuid(),
        userId,
        amountCents: row.amountCents,
        currency,
        platformName: method.platformName,
        source: method.platformMethodId,
        sourceBrand: method.brand,
        sourceLast4: method.last4,
        methodId: method.id,
        origin: 'auto',
        state: 'created',
        createdAt: now,
        lookAt: now,
      })
      .returning()
    return made ?? null
  })
}

async function charge(deps: PaymentsDeps, intent: Intent): Promise<void> {
  try {
    await carryOn(deps, intent)
  } catch (error) {
    if (!(error instanceof PaymentUnavailable)) throw error
    deps.log.warn(
      { err: error, intentId: intent.id },
      'the payment platform did not answer; the auto top-up stays open',
    )
  }
}
