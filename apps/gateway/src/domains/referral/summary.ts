import type { CallData } from '@berth/contract/call'
import type { Currency } from '@berth/contract/limits'
import {
  type listReferralQuarters,
  type ReferralQuarter,
  type ReferralSummary,
  referralTerms,
} from '@berth/contract/referral'
import { and, count, eq, gte, isNotNull, min, sql, sum } from 'drizzle-orm'
import type { Queryable } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { wireOf } from '../../platform/http/wire.ts'
import type { Links } from './links.ts'
import { countOrders } from './lists.ts'
import type { PaypalAccounts } from './paypal.ts'
import { type Earned, NOTHING_EARNED, showQuarter } from './quarter-view.ts'
import { quarterAt } from './quarters.ts'
import type { ReferralDeps } from './referral-deps.ts'
import { referral, referralReward, referralSettlement } from './tables.ts'
import { termsOnWire } from './terms.ts'

const SNAPSHOT = { isolationLevel: 'repeatable read', accessMode: 'read only' } as const
/** Quarters that have ended and can be chosen. */
const WAITING = ['choosing', 'failed']

const termsOf = wireOf(referralTerms)
type Reader = Pick<Queryable, 'select'>

/** What the page of referrals reads (R2.28). */
export function createSummaries(
  deps: ReferralDeps,
  { links, paypal }: { links: Links; paypal: PaypalAccounts },
) {
  const { db, clock, billing, terms } = deps

  /** All quarters of an account of which there is something to say, and the one that runs; the newest first. */
  async function quartersOf(q: Reader, userId: string, currency: Currency): Promise<ReferralQuarter[]> {
    const earned = await earnedBy(q, userId)
    const rows = await q.select().from(referralSettlement).where(eq(referralSettlement.userId, userId))
    const settlements = new Map(rows.map(row => [row.quarter, row]))
    const waitingMicro = rows
      .filter(({ carriedTo }) => carriedTo === null)
      .reduce((all, { restMicro }) => all + restMicro, 0n)
    const current = quarterAt(clock.now()).name
    const names = new Set([...earned.keys(), ...settlements.keys(), current])
    // What waits is taken by the first quarter that is closed next.
    const isOpen = (name: string) => (settlements.get(name)?.state ?? 'open') === 'open'
    const taker = [...names].sort().find(isOpen)
    return [...names]
      .sort()
      .toReversed()
      .map(name =>
        showQuarter({
          ...{ name, currency, terms, row: settlements.get(name) ?? null },
          earned: earned.get(name) ?? NOTHING_EARNED,
          waitingMicro: name === taker ? waitingMicro : 0n,
        }),
      )
  }

  return {
    /** What the page begins with. */
    async summary(userId: string): Promise<ReferralSummary> {
      const code = await links.codeOf(userId)
      return await db.transaction(async tx => {
        const { currency } = await billing.totals(tx, userId)
        const quarters = await quartersOf(tx, userId, currency)
        const { name: current, since } = quarterAt(clock.now())
        const quarter = quarters.find(one => one.quarter === current)
        if (!quarter) throw new Error('the quarter that runs is missing')
        const account = await paypal.read(tx, userId)
        return {
          ...{ link: links.linkOf(code), code, currency, terms: termsOf(termsOnWire(terms)) },
          ...(await earningsOf(tx, userId)),
          ...(await friendsOf(tx, userId, since)),
          order_rewards: await countOrders(tx, userId, {}),
          quarter,
          to_choose: quarters.filter(({ state }) => WAITING.includes(state)).toReversed(),
          paypal: account && (await paypal.shown(tx, account)),
        }
      }, SNAPSHOT)
    },

    /** A page of an account's quarters. */
    async quarters(
      userId: string,
      { page, page_size }: { page: number; page_size: number },
    ): Promise<CallData<typeof listReferralQuarters>> {
      return await db.transaction(async tx => {
        const { currency } = await billing.totals(tx, userId)
        const all = await quartersOf(tx, userId, currency)
        const items = all.slice((page - 1) * page_size, page * page_size)
        return { items, total: all.length, page, page_size }
      }, SNAPSHOT)
    },

    /** One of them. @throws ApiError `not_found`. */
    async quarter(userId: string, name: string): Promise<ReferralQuarter> {
      return await db.transaction(async tx => {
        const { currency } = await billing.totals(tx, userId)
        const found = (await quartersOf(tx, userId, currency)).find(one => one.quarter === name)
        if (!found) throw new ApiError('not_found')
        return found
      }, SNAPSHOT)
    },
  }
}

async function earnedBy(q: Reader, userId: string): Promise<Map<string, Earned>> {
  const { kind, quarter, amountMicro, cashMicro } = referralReward
  const of = (column: typeof amountMicro, meant: 'rebate' | 'first_topup') =>
    sql<bigint>`coalesce(sum(${column}) filter (where ${kind} = ${meant}), 0)`.mapWith(BigInt)
  const rows = await q
    .select({
      quarter,
      rebateMicro: of(amountMicro, 'rebate'),
      firstTopupMicro: of(amountMicro, 'first_topup'),
      firstTopups:
        sql<number>`count(*) filter (where ${kind} = 'first_topup' and ${amountMicro} > 0)`.mapWith(Number),
      spentMicro: of(cashMicro, 'rebate'),
    })
    .from(referralReward)
    .where(eq(referralReward.userId, userId))
    .groupBy(quarter)
  return new Map(rows.map(({ quarter: name, ...earned }) => [name, earned]))
}

async function earningsOf(q: Reader, userId: string) {
  const [all] = await q
    .select({ micro: sum(referralReward.amountMicro).mapWith(BigInt) })
    .from(referralReward)
    .where(eq(referralReward.userId, userId))
  const { netMicro, feeMicro, paidAt } = referralSettlement
  const [settled] = await q
    .select({ net: sum(netMicro).mapWith(BigInt), fee: sum(feeMicro).mapWith(BigInt) })
    .from(referralSettlement)
    .where(and(eq(referralSettlement.userId, userId), isNotNull(paidAt)))
  const net = settled?.net ?? 0n
  return {
    total_earnings_micro: (all?.micro ?? 0n).toString(),
    settled_earnings_micro: (net + (settled?.fee ?? 0n)).toString(),
    settled_payout_micro: net.toString(),
  }
}

async function friendsOf(q: Reader, userId: string, quarterSince: Date) {
  const isTheirs = eq(referral.referrerId, userId)
  const [row] = await q
    .select({
      since: min(referral.registeredAt),
      registered: count(),
      now: sql<number>`count(*) filter (where ${gte(referral.registeredAt, quarterSince)})`.mapWith(Number),
      effective: sql<number>`count(*) filter (where ${eq(referral.state, 'recharged')})`.mapWith(Number),
    })
    .from(referral)
    .where(isTheirs)
  return {
    since: row?.since?.toISOString() ?? null,
    registered_users: row?.registered ?? 0,
    registered_this_quarter: row?.now ?? 0,
    effective_consumers: row?.effective ?? 0,
  }
}
