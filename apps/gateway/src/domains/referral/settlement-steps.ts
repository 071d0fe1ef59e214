import { MICRO_PER_CENT } from '@berth/contract/money'
import { and, eq } from 'drizzle-orm'
import type { Transaction } from '../../platform/database/database.ts'
import { type ReferralNews, referralNews } from './events.ts'
import type { ReferralDeps } from './referral-deps.ts'
import type { SettlementStep } from './settlement-plan.ts'
import { referralPayout, referralSettlement } from './tables.ts'
import { splitCash } from './terms.ts'

type Settlement = typeof referralSettlement.$inferSelect
type Deps = Pick<ReferralDeps, 'billing' | 'clock' | 'ids' | 'events' | 'payouts' | 'terms'>

/** Carries out a step of a quarter's settlement, under the wallet's lock, in the transaction that changes its row. */
export async function carryOut(
  tx: Transaction,
  deps: Deps,
  { row, plan, email }: { row: Settlement; plan: SettlementStep; email: string },
): Promise<void> {
  const now = deps.clock.now()
  switch (plan.act) {
    case 'wait':
      return
    case 'remind':
      await change(tx, row, { remindedAt: now })
      return await tell(tx, deps, row, { news: 'reminder', micro: row.amountMicro, until: row.chooseUntil })
    case 'credit':
      return await credit(tx, deps, row)
    case 'schedule': {
      const { netMicro, feeMicro } = splitCash(row.amountMicro, deps.terms)
      await change(tx, row, { state: 'to_be_paid', payoutAt: plan.payoutAt, paypalEmail: email })
      const about = { news: 'scheduled', micro: netMicro, feeMicro, until: plan.payoutAt, email } as const
      return await tell(tx, deps, row, about)
    }
    case 'unschedule':
      return await change(tx, row, { state: 'choosing', payoutAt: null, paypalEmail: null })
    case 'pay':
      return await pay(tx, deps, row, email)
  }
}

/** Settles a quarter as credits for everything, without a fee and without an end. */
async function credit(tx: Transaction, deps: Deps, row: Settlement): Promise<void> {
  const { userId, amountMicro } = row
  const grantId = deps.ids.uuid()
  await deps.billing.grantCredit(tx, {
    ...{ id: grantId, userId, amountMicro, kind: 'referral', reason: 'referral' },
    settles: true,
  })
  await change(tx, row, {
    ...{ state: 'credited', rewardType: 'bonus', grantId, paidAt: deps.clock.now(), payoutAt: null },
    ...{ netMicro: amountMicro, feeMicro: 0n, restMicro: 0n, paypalEmail: null, failure: null },
  })
  await tell(tx, deps, row, { news: 'credited', micro: amountMicro, until: null })
}

/**
 * Writes down that money is to be paid, before anybody is asked: the books owe it no more from here, and its row is what
 * pays it once.
 */
async function pay(tx: Transaction, deps: Deps, row: Settlement, email: string): Promise<void> {
  const { userId, quarter, currency } = row
  const split = splitCash(row.amountMicro, deps.terms)
  const payoutId = deps.ids.uuid()
  const now = deps.clock.now()
  await tx.insert(referralPayout).values({
    ...{ id: payoutId, userId, quarter, email, currency, feeMicro: split.feeMicro },
    cents: Number(split.netMicro / MICRO_PER_CENT),
    ...{ driver: deps.payouts.name, state: 'queued', createdAt: now },
    lookAt: deps.payouts.byHand ? null : now,
  })
  await deps.billing.earnings.payOut(tx, {
    payoutId,
    userId,
    netMicro: split.netMicro,
    feeMicro: split.feeMicro,
  })
  await change(tx, row, { ...split, state: 'paying', paypalEmail: email, failure: null })
}

async function change(tx: Transaction, row: Settlement, values: Partial<Settlement>): Promise<void> {
  await tx
    .update(referralSettlement)
    .set(values)
    .where(and(eq(referralSettlement.userId, row.userId), eq(referralSettlement.quarter, row.quarter)))
}

interface Told {
  news: ReferralNews
  micro: bigint
  feeMicro?: bigint
  until: Date | null
  email?: string
}

/** Tells what happened to a quarter, in the transaction in which it does. */
export async function tell(
  tx: Transaction,
  { events, clock }: Pick<ReferralDeps, 'events' | 'clock'>,
  { userId, quarter, currency }: Pick<Settlement, 'userId' | 'quarter' | 'currency'>,
  { news, micro, feeMicro, until, email = '' }: Told,
): Promise<void> {
  await events.emit(tx, referralNews, {
    ...{ userId, quarter, currency, news, at: clock.now().toISOString() },
    amountMicro: micro.toString(),
    feeMicro: feeMicro?.toString() ?? null,
    until: until?.toISOString() ?? null,
    about: email === '' ? null : email,
  })
}
