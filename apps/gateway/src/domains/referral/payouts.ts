import { microFromCents } from '@berth/contract/money'
import { and, asc, eq, isNotNull, lte, ne, not, or } from 'drizzle-orm'
import {
  type PayoutAnswer,
  PayoutDoubtful,
  type PayoutFailure,
  PayoutRefused,
} from '../../drivers/payouts/port.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { isSuspended } from '../customers/customers.ts'
import type { ReferralDeps } from './referral-deps.ts'
import { DAY_MS } from './settlement-plan.ts'
import { tell } from './settlement-steps.ts'
import { referralPayout, referralSettlement } from './tables.ts'

export type Payout = typeof referralPayout.$inferSelect

const MINUTE_MS = 60_000
/** Payouts of one round. */
const PAYOUTS_PER_ROUND_MAX = 200
/** Pauses between two looks at one payout grow with its age to this: one that is not claimed takes 30 days. */
const PAUSE_MS_MAX = 6 * 3_600_000

/** Has money paid, each amount once, and notes what became of it. */
export function createPayouts(deps: ReferralDeps) {
  const { db, clock, billing, payouts: driver, log } = deps

  /** A payout that is due, with its next look already set: whatever comes of this one. */
  async function takeDue(): Promise<Payout | null> {
    return await db.transaction(async tx => {
      const now = clock.now()
      const [due] = await tx
        .select()
        .from(referralPayout)
        .where(
          and(
            isNotNull(referralPayout.lookAt),
            lte(referralPayout.lookAt, now),
            eq(referralPayout.driver, driver.name),
            // Whoever is kept out is paid once they are let in again; what is on its way is followed.
            or(ne(referralPayout.state, 'queued'), not(isSuspended(referralPayout.userId))),
          ),
        )
        .orderBy(asc(referralPayout.lookAt))
        .limit(1)
        .for('update', { skipLocked: true })
      if (!due) return null
      const ageMs = now.getTime() - due.createdAt.getTime()
      const lookAt = new Date(now.getTime() + Math.min(PAUSE_MS_MAX, Math.max(MINUTE_MS, ageMs / 4)))
      // Written before anybody is asked: from here on whoever pays may have it.
      const sending = due.state === 'queued' ? ({ state: 'sending', sentAt: now } as const) : {}
      await tx
        .update(referralPayout)
        .set({ lookAt, ...sending })
        .where(eq(referralPayout.id, due.id))
      return { ...due, ...sending, lookAt }
    })
  }

  async function lookAt(row: Payout): Promise<void> {
    try {
      if (row.state === 'sending') await send(row)
      else if (row.batchId !== null) await settle(row, await driver.read(row.batchId))
    } catch (error) {
      if (error instanceof PayoutRefused) {
        return await settle(row, { status: 'failed', failure: error.failure })
      }
      if (error instanceof PayoutDoubtful) {
        log.error(
          { err: error, payoutId: row.id },
          'a payout is in doubt: look at the platform, and say what became of it',
        )
        return await setState(row, { state: 'unclear', lookAt: null })
      }
      log.warn({ err: error, payoutId: row.id }, 'a payout could not be looked at; a later round tries again')
    }
  }

  async function send(row: Payout): Promise<void> {
    const sinceMs = clock.now().getTime() - (row.sentAt ?? row.createdAt).getTime()
    if (sinceMs > driver.keyKeptMs)
      throw new PayoutDoubtful('nobody knows any more whether the platform has it')
    const { id: key, email, cents, currency } = row
    const note = `${deps.brandName()} · ${row.quarter}`
    const { batch_id: batchId } = await driver.pay({ key, email, cents, currency, note })
    await setState(row, { state: 'sent', batchId, lookAt: new Date(clock.now().getTime() + MINUTE_MS) })
  }

  async function setState(row: Payout, values: Partial<Payout>): Promise<void> {
    await db
      .update(referralPayout)
      .set(values)
      .where(and(eq(referralPayout.id, row.id), eq(referralPayout.state, row.state)))
  }

  async function settle({ id, userId }: Payout, answer: PayoutAnswer): Promise<void> {
    if (answer.status === 'pending') return
    await db.transaction(async tx => {
      await billing.lockWallet(tx, userId)
      if (answer.status === 'paid') await notePaid(tx, id, null)
      else await noteFailed(tx, id, answer.failure)
    })
  }

  /** A payout under its wallet's lock. */
  async function read(tx: Transaction, id: string): Promise<Payout | null> {
    const [row] = await tx.select().from(referralPayout).where(eq(referralPayout.id, id))
    return row ?? null
  }

  /**
   * Notes that it was paid, once. Call it under the wallet's lock.
   * @returns Whether it is paid now, or was; false for one that has failed.
   */
  async function notePaid(tx: Transaction, id: string, reference: string | null): Promise<boolean> {
    const row = await read(tx, id)
    if (!row || row.state === 'failed') return false
    if (row.state === 'paid') return true
    const now = clock.now()
    await tx
      .update(referralPayout)
      .set({ state: 'paid', finishedAt: now, lookAt: null, failure: null, reference })
      .where(eq(referralPayout.id, id))
    await tx.update(referralSettlement).set({ state: 'paid', paidAt: now }).where(isOf(row))
    const about = {
      news: 'paid',
      micro: microFromCents(row.cents),
      feeMicro: row.feeMicro,
      until: null,
    } as const
    await tell(tx, deps, row, { ...about, email: row.email })
    return true
  }

  /**
   * Notes that it did not arrive, once: it is owed again, and its customer chooses anew. Call it under the wallet's lock.
   * @returns Whether it has failed now, or had; false for one that was paid.
   */
  async function noteFailed(tx: Transaction, id: string, failure: PayoutFailure): Promise<boolean> {
    const row = await read(tx, id)
    if (!row || row.state === 'paid') return false
    if (row.state === 'failed') return true
    const now = clock.now()
    await tx
      .update(referralPayout)
      .set({ state: 'failed', finishedAt: now, lookAt: null, failure })
      .where(eq(referralPayout.id, id))
    const netMicro = microFromCents(row.cents)
    await billing.earnings.takeBack(tx, {
      payoutId: id,
      userId: row.userId,
      netMicro,
      feeMicro: row.feeMicro,
    })
    const [quarter] = await tx.select().from(referralSettlement).where(isOf(row))
    if (!quarter) throw new Error(`payout ${id} belongs to no quarter`)
    // What was less than a cent may be part of a later quarter by now.
    const amountMicro = netMicro + row.feeMicro + (quarter.carriedTo === null ? quarter.restMicro : 0n)
    const chooseUntil = new Date(now.getTime() + deps.terms.choiceDays * DAY_MS)
    await tx
      .update(referralSettlement)
      .set({
        ...{
          state: 'failed',
          rewardType: null,
          chosenAt: null,
          chooseUntil,
          remindedAt: null,
          payoutAt: null,
        },
        ...{ amountMicro, netMicro: 0n, feeMicro: 0n, failure },
        ...(quarter.carriedTo === null && { restMicro: 0n }),
      })
      .where(isOf(row))
    const about = { news: 'failed', micro: netMicro, feeMicro: row.feeMicro, until: chooseUntil } as const
    await tell(tx, deps, row, { ...about, email: row.email })
    return true
  }

  return {
    notePaid,
    noteFailed,

    /** One round: what waits is sent, what was sent is asked about. */
    async run(signal?: AbortSignal): Promise<void> {
      if (driver.byHand) return
      for (let count = 0; count < PAYOUTS_PER_ROUND_MAX && !signal?.aborted; count += 1) {
        const row = await takeDue()
        if (!row) return
        await lookAt(row)
      }
    },
  }
}
export type Payouts = ReturnType<typeof createPayouts>

function isOf({ userId, quarter }: Pick<Payout, 'userId' | 'quarter'>) {
  return and(eq(referralSettlement.userId, userId), eq(referralSettlement.quarter, quarter))
}
