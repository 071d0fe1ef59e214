import type { BudgetPeriod } from '@berth/contract/budgets'
import type { Logger } from 'pino'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Queryable } from '../../platform/database/database.ts'
import type { Events } from '../../platform/events/events.ts'
import type { Ids } from '../../platform/ids.ts'
import type { Billing } from '../billing/billing.ts'

/** What budgets need of others. */
export interface BudgetsDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Pick<Logger, 'error'>
  billing: Pick<Billing, 'lockWallet' | 'totals' | 'spentSince' | 'spentAtMost'>
  events: Pick<Events, 'emit' | 'on'>
  /** Those of the instances that are not gone, by id; it comes from the instances domain. */
  instancesThere(q: Queryable, ids: string[]): Promise<Map<string, { userId: string; name: string }>>
  /** Those of the API keys that calls may be made with, by id; it comes from the models domain. */
  keysThere(q: Queryable, ids: string[]): Promise<Map<string, { userId: string; name: string }>>
  /** What the calls of keys have cost in the period of each that runs, by their ids; it comes from the models domain. */
  keysSpent(
    q: Queryable,
    keys: readonly { id: string; period: BudgetPeriod; since: Date }[],
  ): Promise<Map<string, bigint>>
  /** Stops what a customer's budgets let run no longer; it comes from the instances domain. */
  stop(userId: string): Promise<unknown>
  /** Who holds the loop's lease: the same for all of one process. */
  owner: string
  /** Pause between two looks at all budgets. */
  lookMs: number
}
