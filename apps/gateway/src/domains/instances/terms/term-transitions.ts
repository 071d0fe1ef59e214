import { eq } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import type { Events } from '../../../platform/events/events.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Billing } from '../../billing/billing.ts'
import type { PublicIps } from '../../public-ips/public-ips.ts'
import type { Stock } from '../../regions/regions.ts'
import { changeBilling, changeStatus } from '../change-status.ts'
import { type TermOutcome, termNews } from '../events.ts'
import type { Quotes } from '../offer/quotes.ts'
import type { Store } from '../reconcile/store.ts'
import { beginRemoval } from '../removal.ts'
import type { InstanceRow } from '../rows.ts'
import { instance } from '../tables.ts'
import { ON_DEMAND } from './billing-change.ts'
import { isUnderLimit } from './term-checks.ts'
import { nextTerm, type TermColumns } from './term-price.ts'
import { renewalStart, termEnd, termStepOf } from './term-rules.ts'

interface TermDeps {
  clock: Clock
  billing: Billing
  stock: Stock
  publicIps: PublicIps
  store: Pick<Store, 'withLocks'>
  quotes: Pick<Quotes, 'rates' | 'term'>
  events: Pick<Events, 'emit'>
}

type Outcome = Promise<InstanceRow | null>

/** What becomes of a term at its end, each in one transaction of the reconciler: null where the row has changed meanwhile. */
export interface TermTransitions {
  /**
   * A term is over: another one is bought where its customer wants that and can pay for it. Otherwise it is released, if
   * they do not; or, if they do, it goes on demand and is stopped, and keeps what it stored.
   */
  over(row: InstanceRow): Outcome
  /** Tells the customer what will become of the instance, so many days before. */
  announce(row: InstanceRow, day: number): Outcome
}

/** Status in which nothing runs, so that there is nothing to stop. */
const AT_REST: readonly InstanceRow['status'][] = ['stopped', 'exited', 'error']

export function createTermTransitions(deps: TermDeps): TermTransitions {
  const { clock, billing, stock, publicIps, store, quotes, events } = deps
  const statusDeps = { billing, stock, publicIps }

  async function tell(
    tx: Transaction,
    row: InstanceRow,
    news: { outcome: TermOutcome; at: Date; expiryTime: Date; priceMicro: bigint | null },
  ): Promise<void> {
    const { currency } = await billing.totals(tx, row.userId)
    await events.emit(tx, termNews, {
      userId: row.userId,
      instance: { id: row.id, name: row.name },
      outcome: news.outcome,
      at: news.at.toISOString(),
      expiryTime: news.expiryTime.toISOString(),
      priceMicro: news.priceMicro?.toString() ?? null,
      currency,
    })
  }

  /** What the next term costs, if nothing but money keeps it from being bought; null where something else does. */
  async function wanted(tx: Transaction, row: InstanceRow): Promise<TermColumns | null> {
    // What has failed costs nothing: nobody is charged for another term of it.
    if (row.status === 'error') return null
    const next = offered(row)
    if (!next) return null
    const costs = await billing.costMicro(tx, 'instance', [row.id])
    return isUnderLimit(row.spendLimitCents, (costs.get(row.id) ?? 0n) + next.termMicro) ? next : null
  }

  /** What the next term costs, if it would be bought now; null: it would not. */
  async function affordable(tx: Transaction, row: InstanceRow): Promise<TermColumns | null> {
    const next = await wanted(tx, row)
    if (!next) return null
    const { availableMicro } = await billing.totals(tx, row.userId)
    return availableMicro >= next.termMicro ? next : null
  }

  /** Null where its region or its GPUs are not offered any more. */
  function offered(row: InstanceRow): TermColumns | null {
    try {
      return nextTerm(quotes, row)
    } catch (error) {
      if (error instanceof ApiError) return null
      throw error
    }
  }

  async function renew(
    tx: Transaction,
    row: InstanceRow & { expiryTime: Date; chargeCycle: 'weekly' | 'monthly' },
    next: TermColumns,
    at: Date,
  ): Promise<InstanceRow> {
    const from = renewalStart(row, row.expiryTime, at)
    const expiryTime = termEnd(row.chargeCycle, from)
    const renewed = await changeBilling(tx, statusDeps, row, {
      at,
      termFrom: from,
      event: { code: 'term_renewed', detail: expiryTime.toISOString() },
      patch: { ...next, expiryTime, termNoticeDay: null },
    })
    await tell(tx, row, { outcome: 'renewed', at, expiryTime, priceMicro: next.termMicro })
    return renewed
  }

  /** On demand and off: what is stored is kept, under the rules of every stopped instance. */
  async function lapse(
    tx: Transaction,
    row: InstanceRow,
    { at, isUnpaid }: { at: Date; isUnpaid: boolean },
  ): Promise<InstanceRow> {
    const event = { code: 'term_unpaid' } as const
    if (AT_REST.includes(row.status)) {
      const reason = row.status === 'error' ? {} : { reasonCode: 'term_unpaid' as const, reasonDetail: '' }
      return changeBilling(tx, statusDeps, row, { at, event, patch: { ...ON_DEMAND, ...reason } })
    }
    return changeStatus(tx, statusDeps, row, {
      status: 'stopping',
      at,
      event,
      reason: { code: 'term_unpaid', detail: '' },
      patch: { ...ON_DEMAND, desired: 'stopped', ...(isUnpaid && { emptiedAt: at }) },
    })
  }

  return {
    over: row =>
      store.withLocks(row, async (tx, fresh) => {
        const at = clock.now()
        const { expiryTime, chargeCycle } = fresh
        if (!expiryTime || !chargeCycle || termStepOf(fresh, at)?.kind !== 'end_term') return fresh
        if (!fresh.autoRenew) {
          const released = await beginRemoval(tx, statusDeps, fresh, { at, event: 'released_at_expiry' })
          await tell(tx, fresh, { outcome: 'released', at, expiryTime, priceMicro: null })
          return released
        }
        const next = await affordable(tx, fresh)
        if (next) return renew(tx, { ...fresh, expiryTime, chargeCycle }, next, at)
        const isUnpaid = (await wanted(tx, fresh)) !== null
        const lapsed = await lapse(tx, fresh, { at, isUnpaid })
        const priceMicro = offered(fresh)?.termMicro ?? null
        await tell(tx, fresh, { outcome: 'unpaid', at, expiryTime, priceMicro })
        return lapsed
      }),
    announce: (row, day) =>
      store.withLocks(row, async (tx, fresh) => {
        const at = clock.now()
        const { expiryTime } = fresh
        const step = termStepOf(fresh, at)
        if (!expiryTime || step?.kind !== 'announce_term_end' || step.day !== day) return fresh
        const [noted] = await tx
          .update(instance)
          .set({ termNoticeDay: day })
          .where(eq(instance.id, fresh.id))
          .returning()
        const will = (await affordable(tx, fresh)) ? 'will_renew' : 'will_stop'
        const outcome = fresh.autoRenew ? will : 'will_release'
        // Once is enough where all is well.
        if (fresh.termNoticeDay === null || outcome !== 'will_renew') {
          const priceMicro = offered(fresh)?.termMicro ?? null
          await tell(tx, fresh, { outcome, at, expiryTime, priceMicro })
        }
        return noted ?? null
      }),
  }
}
