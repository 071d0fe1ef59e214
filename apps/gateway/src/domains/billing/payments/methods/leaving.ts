import { and, asc, eq, lte } from 'drizzle-orm'
import type { Transaction } from '../../../../platform/database/database.ts'
import { isOpenOf, type PaymentsDeps } from '../intents.ts'
import { lookPauseMs } from '../recovery.ts'
import { paymentIntent } from '../tables.ts'
import { platformOf } from '../unreachable.ts'
import { leavingCustomer, paymentMethod } from './tables.ts'

type Leaving = typeof leavingCustomer.$inferSelect

/** Looks of one round. */
const LOOKS_PER_ROUND_MAX = 100

/**
 * Notes that platforms are to forget a customer, whose account is deleted: those that keep customers, and those that
 * have ever charged this one, also where this gateway does not know them. Safe to do again.
 */
export async function noteLeaving(
  tx: Transaction,
  { payments, clock }: Pick<PaymentsDeps, 'payments' | 'clock'>,
  userId: string,
): Promise<void> {
  const now = clock.now()
  const charged = await tx
    .selectDistinct({ name: paymentIntent.platformName })
    .from(paymentIntent)
    .where(eq(paymentIntent.userId, userId))
  const names = new Set(
    [...payments.filter(({ forgetCustomer }) => forgetCustomer), ...charged].map(({ name }) => name),
  )
  if (names.size === 0) return
  await tx
    .insert(leavingCustomer)
    .values([...names].map(platformName => ({ userId, platformName, lookAt: now, createdAt: now })))
    .onConflictDoNothing()
}

/**
 * Has platforms forget the customers who have left, once they have forgotten all of their cards. Safe at any time and in
 * any number of replicas. @returns How many customers it looked at. One that fails is logged and left for the next time.
 */
export async function forgetLeaving(deps: PaymentsDeps, signal?: AbortSignal): Promise<number> {
  let count = 0
  for (; count < LOOKS_PER_ROUND_MAX && !signal?.aborted; count += 1) {
    const row = await takeDue(deps)
    if (!row) break
    try {
      await forgetCustomer(deps, row)
    } catch (error) {
      const { userId, platformName: platform } = row
      deps.log.warn({ err: error, userId, platform }, 'a platform has not forgotten a customer yet')
    }
  }
  return count
}

async function forgetCustomer(deps: PaymentsDeps, row: Leaving): Promise<void> {
  const { db } = deps
  const { userId, platformName } = row
  const driver = platformOf(deps, row)
  if (driver === null) throw new Error(`there is no platform ${platformName} here`)
  // Forgetting a card, and what becomes of a payment, may ask for the customer: it would be made anew.
  const cards = and(eq(paymentMethod.userId, userId), eq(paymentMethod.platformName, platformName))
  if ((await db.$count(paymentMethod, cards)) > 0) return
  const payments = and(isOpenOf(userId), eq(paymentIntent.platformName, platformName))
  if ((await db.$count(paymentIntent, payments)) > 0) return
  await driver.forgetCustomer?.(userId)
  await db.delete(leavingCustomer).where(isOf(row))
}

/** The row that has waited longest; it is due again after a pause that grows with its age, whatever comes of the look. */
async function takeDue({ db, clock }: Pick<PaymentsDeps, 'db' | 'clock'>): Promise<Leaving | null> {
  return await db.transaction(async tx => {
    const now = clock.now()
    const [due] = await tx
      .select()
      .from(leavingCustomer)
      .where(lte(leavingCustomer.lookAt, now))
      .orderBy(asc(leavingCustomer.lookAt))
      .limit(1)
      .for('update', { skipLocked: true })
    if (!due) return null
    const lookAt = new Date(now.getTime() + lookPauseMs(now.getTime() - due.createdAt.getTime()))
    await tx.update(leavingCustomer).set({ lookAt }).where(isOf(due))
    return due
  })
}

function isOf({ userId, platformName }: Leaving) {
  return and(eq(leavingCustomer.userId, userId), eq(leavingCustomer.platformName, platformName))
}
