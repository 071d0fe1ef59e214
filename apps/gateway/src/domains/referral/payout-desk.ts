import type { Readable } from 'node:stream'
import type { Currency } from '@berth/contract/limits'
import { and, asc, count, eq, gt, inArray, sum } from 'drizzle-orm'
import type { PayoutFailure } from '../../drivers/payouts/port.ts'
import { CSV_PAGE_ROWS, csvBody, harmless } from '../../platform/csv-file.ts'
import type { Payout, Payouts } from './payouts.ts'
import type { ReferralDeps } from './referral-deps.ts'
import { referral, referralPayout } from './tables.ts'

/** Payouts of one list. */
export const PAYOUTS_LISTED_MAX = 1_000

/** What operators may say of a payout: it is not there, it is that already, or it is the other. */
export type PayoutSaid = 'done' | 'not_found' | 'paid_already' | 'failed_already' | 'not_exported'

/** What operators do with payouts, and see of referrals (R6.5). */
export function createPayoutDesk(deps: ReferralDeps, payouts: Payouts) {
  const { db, clock, billing } = deps

  async function say(
    id: string,
    change: (tx: Parameters<Payouts['notePaid']>[0]) => Promise<boolean>,
    other: PayoutSaid,
  ): Promise<PayoutSaid> {
    const [row] = await db
      .select({ userId: referralPayout.userId, state: referralPayout.state, driver: referralPayout.driver })
      .from(referralPayout)
      .where(eq(referralPayout.id, id))
    if (!row) return 'not_found'
    // By hand it is paid from a file: what is in none would be in the next one.
    if (row.state === 'queued') return 'not_exported'
    return await db.transaction(async tx => {
      await billing.lockWallet(tx, row.userId)
      return (await change(tx)) ? 'done' : other
    })
  }

  // Where nobody else pays, what was meant for somebody who paid before waits to be paid by hand as well.
  const waitsForFile = () =>
    and(
      eq(referralPayout.state, 'queued'),
      deps.payouts.byHand ? undefined : eq(referralPayout.driver, 'by-hand'),
    )
  // A name of PayPal's is no file: what is asked for there would be paid a second time.
  const isOpenOf = (file: string) =>
    and(
      eq(referralPayout.batchId, file),
      eq(referralPayout.state, 'sent'),
      eq(referralPayout.driver, 'by-hand'),
    )

  return {
    /** One of them; null where none has the id. */
    async show(id: string): Promise<Payout | null> {
      const [row] = await db.select().from(referralPayout).where(eq(referralPayout.id, id))
      return row ?? null
    },

    /**
     * What {@link export} would give now, and changes nothing.
     * @returns How many payouts of each currency, and what they come to; empty where it would give nothing.
     */
    async wouldExport(again?: string): Promise<{ currency: Currency; count: number; cents: number }[]> {
      return await db
        .select({
          currency: referralPayout.currency,
          count: count(),
          cents: sum(referralPayout.cents).mapWith(Number),
        })
        .from(referralPayout)
        .where(again === undefined ? waitsForFile() : isOpenOf(again))
        .groupBy(referralPayout.currency)
        .orderBy(asc(referralPayout.currency))
    },

    /**
     * Payouts, the oldest first.
     * @param filter.states Left out: those that are not finished.
     * @param filter.after The id of the last one of the page before.
     */
    async list(filter: { states?: readonly Payout['state'][]; after?: string } = {}): Promise<Payout[]> {
      const { states = ['queued', 'sending', 'sent', 'unclear'], after } = filter
      return await db
        .select()
        .from(referralPayout)
        .where(
          and(inArray(referralPayout.state, [...states]), after ? gt(referralPayout.id, after) : undefined),
        )
        .orderBy(asc(referralPayout.id))
        .limit(PAYOUTS_LISTED_MAX)
    },

    /**
     * Takes all payouts that wait to be paid by hand into a file, each into one file alone, and gives that file; or a file of
     * before once more, by its name, with what of it is not finished.
     * @returns Its name, how many payouts it has, and its CSV (id, PayPal account, amount, currency, quarter, note): destroy it to end it.
     *   Null where nothing waits, and for a name that no file has.
     */
    async export(again?: string): Promise<{ batchId: string; count: number; body: Readable } | null> {
      const batchId = again ?? `f-${deps.ids.uuid()}`
      if (again === undefined) {
        await db
          .update(referralPayout)
          .set({ state: 'sent', batchId, sentAt: clock.now(), driver: 'by-hand', lookAt: null })
          .where(waitsForFile())
      }
      const isIn = isOpenOf(batchId)
      const page = async (after: Payout | null) =>
        await db
          .select()
          .from(referralPayout)
          .where(and(isIn, after ? gt(referralPayout.id, after.id) : undefined))
          .orderBy(asc(referralPayout.id))
          .limit(CSV_PAGE_ROWS)
      const first = await page(null)
      if (first.length === 0) return null
      const held = await db.$count(referralPayout, isIn)
      const head = ['Payout', 'PayPal account', 'Amount', 'Currency', 'Quarter', 'Note']
      const body = csvBody<Payout>({
        head,
        first,
        next: page,
        cellsOf: row => cellsOf(row, deps.brandName()),
      })
      return { batchId, count: held, body }
    },

    /**
     * Says that a payout was paid; again it changes nothing.
     * @param reference What the platform calls the payment; for the books.
     */
    markPaid: (id: string, reference: string): Promise<PayoutSaid> =>
      say(id, tx => payouts.notePaid(tx, id, reference), 'failed_already'),

    /** Says that a payout was not paid and never will be: its customer chooses anew. Again it changes nothing. */
    markFailed: (id: string, failure: PayoutFailure = 'other'): Promise<PayoutSaid> =>
      say(id, tx => payouts.noteFailed(tx, id, failure), 'paid_already'),

    /** Friends who are known to be their own referrers, or others who were rewarded before, and by what; the newest are last. */
    refused: (): Promise<
      Pick<
        typeof referral.$inferSelect,
        'id' | 'friendId' | 'referrerId' | 'samePersonBy' | 'samePersonAs' | 'samePersonAt'
      >[]
    > =>
      db
        .select({
          id: referral.id,
          friendId: referral.friendId,
          referrerId: referral.referrerId,
          samePersonBy: referral.samePersonBy,
          samePersonAs: referral.samePersonAs,
          samePersonAt: referral.samePersonAt,
        })
        .from(referral)
        .where(inArray(referral.samePersonBy, ['card', 'paypal', 'device']))
        .orderBy(asc(referral.samePersonAt), asc(referral.id))
        .limit(PAYOUTS_LISTED_MAX),
  }
}
export type PayoutDesk = ReturnType<typeof createPayoutDesk>

function cellsOf({ id, email, cents, currency, quarter }: Payout, brand: string): string[] {
  const amount = `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`
  return [id, harmless(email), amount, currency, quarter, harmless(`${brand} ${quarter}`)]
}
