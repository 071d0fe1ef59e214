import type { Currency } from '@berth/contract/limits'
import { and, eq, inArray } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { QueueMail } from '../../drivers/mail/port.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database/database.ts'
import { type AlertPlan, planAlert } from './alert-plan.ts'
import { DEFAULT_CHOICE, readChoices } from './choices.ts'
import type { BalanceLowFacts } from './facts.ts'
import { balanceAlert } from './tables.ts'

/** A customer whose balance is being used up. */
export interface Burning {
  userId: string
  currency: Currency
  /** All that there is, with what is set aside for instances: they use that too. */
  balanceMicro: bigint
  burnMicroPerHour: bigint
  /** The same figure that the console shows. */
  lastsSeconds: number | null
}

interface BalanceAlertsDeps {
  db: Database
  clock: Clock
  log: Pick<Logger, 'error'>
  burning(after: string | null): Promise<Burning[]>
  queue: QueueMail<BalanceLowFacts>
}

/**
 * One round over everybody who burns money. Three queries for a page of customers; those who are to be told something
 * take a short transaction each, so that one that fails never stops the rest. Rounds may run side by side: of two
 * that announce the same hour, one does.
 * @returns How many alerts it queued.
 */
export async function checkBalances(deps: BalanceAlertsDeps, signal?: AbortSignal): Promise<number> {
  let queued = 0
  let after: string | null = null
  for (;;) {
    const page: Burning[] = await deps.burning(after)
    const last = page.at(-1)
    if (!last) return queued
    const plans = await plansFor(deps.db, page)
    for (const [customer, plan] of plans) {
      if (signal?.aborted) return queued
      try {
        if (await carryOut(deps, customer, plan)) queued += 1
      } catch (error) {
        deps.log.error(
          { err: error, userId: customer.userId },
          'a balance alert could not be queued; the next round tries again',
        )
      }
    }
    after = last.userId
  }
}

/** What is to be done, for those customers for whom it is anything. */
async function plansFor(db: Database, page: Burning[]): Promise<[Burning, AlertPlan][]> {
  const userIds = page.map(({ userId }) => userId)
  const choices = await readChoices(db, userIds)
  const alerts = await db.select().from(balanceAlert).where(inArray(balanceAlert.userId, userIds))
  const sentTo = Map.groupBy(alerts, ({ userId }) => userId)
  return page.flatMap((customer): [Burning, AlertPlan][] => {
    const { mails, alert_hours } = choices.get(customer.userId) ?? DEFAULT_CHOICE
    const plan = planAlert({
      lastsSeconds: customer.lastsSeconds,
      // What is switched off is not announced, so that it still is when it is switched on in time.
      chosen: mails.balance_low ? alert_hours : [],
      sent: (sentTo.get(customer.userId) ?? []).map(({ hours }) => hours),
    })
    return plan.mark.length > 0 || plan.rearm.length > 0 ? [[customer, plan]] : []
  })
}

async function carryOut(
  { db, clock, queue }: BalanceAlertsDeps,
  customer: Burning,
  { announce, mark, rearm }: AlertPlan,
): Promise<boolean> {
  const { userId, currency } = customer
  return await db.transaction(async tx => {
    if (rearm.length > 0) {
      await tx
        .delete(balanceAlert)
        .where(and(eq(balanceAlert.userId, userId), inArray(balanceAlert.hours, rearm)))
    }
    if (mark.length === 0) return false
    const sentAt = clock.now()
    const marked = await tx
      .insert(balanceAlert)
      .values(mark.toSorted((a, b) => a - b).map(hours => ({ userId, hours, sentAt })))
      .onConflictDoNothing()
      .returning({ hours: balanceAlert.hours })
    if (announce === null || !marked.some(({ hours }) => hours === announce)) return false
    await queue(tx, {
      userId,
      hours: announce,
      lastsSeconds: customer.lastsSeconds ?? 0,
      balanceMicro: customer.balanceMicro.toString(),
      burnMicroPerHour: customer.burnMicroPerHour.toString(),
      currency,
    })
    return true
  })
}
