import type { Balance, getSpend, listTransactions, Receipt } from '@berth/contract/billing'
import type { CallData } from '@berth/contract/call'
import type { Currency } from '@berth/contract/limits'
import { centsFloor } from '@berth/contract/money'
import type { Logger } from 'pino'
import type { PaymentDriver } from '../../drivers/payments/port.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Queryable, Transaction } from '../../platform/database/database.ts'
import type { Ids } from '../../platform/ids.ts'
import type { Notifications } from '../notifications/notifications.ts'
import { createBalanceReader } from './balance.ts'
import { type Burning, readBurning } from './burning.ts'
import { checkBooks } from './check-books.ts'
import {
  closeInterval,
  costMicro,
  exhaustedInstances,
  type IntervalStart,
  openInterval,
  postDue,
} from './metering.ts'
import { type InstanceEventsReader, readReceipt } from './receipts.ts'
import { readSpend } from './spend.ts'
import { hasOpenTopup, recoverTopups, type TopupAnswer, type TopupRequest, topUp } from './topups.ts'
import { listPage, type TransactionType } from './transactions.ts'
import { grantCredit, hold, lockWallet, openWallet, readTotals, releaseHold } from './wallet.ts'

/**
 * Customers' money. Amounts are micro-units of the wallet's currency unless a name says cents. Functions that take
 * a transaction change nothing unless it commits. Lock order everywhere: the wallet's row, then an instance's.
 */
export interface Billing {
  /** Opens a customer's wallet. Idempotent. */
  openWallet(tx: Transaction, input: { userId: string; currency: Currency }): Promise<void>
  /** Gives credits; idempotent by id. `reason` is a key of the console's texts. */
  grantCredit(
    tx: Transaction,
    input: { id: string; userId: string; amountMicro: bigint; reason: string },
  ): Promise<void>
  /** All that a customer has, in cents. @throws ApiError `not_found` without a wallet. */
  balanceCents(userId: string): Promise<number>
  /**
   * Takes the wallet's row lock; every change of a customer's money or of an instance's billing begins with it.
   * @throws ApiError `not_found` without a wallet.
   */
  lockWallet(
    tx: Transaction,
    userId: string,
  ): Promise<{ currency: Currency; totalMicro: bigint; heldMicro: bigint; availableMicro: bigint }>
  /**
   * Sets money aside for an instance, in place of what was set aside for it before. The instance's usage is paid
   * from it first.
   * @throws ApiError `insufficient_balance` with `needed` and `available` when less is available.
   */
  hold(tx: Transaction, input: { userId: string; instanceId: string; amountMicro: bigint }): Promise<void>
  /** Makes what is left of an instance's hold available again; none open: nothing. */
  releaseHold(tx: Transaction, input: { userId: string; instanceId: string }): Promise<void>
  /** Starts metering an instance at a rate; an open interval of it ends first, at the same moment. */
  openInterval(tx: Transaction, input: IntervalStart): Promise<void>
  /**
   * Posts what is due to `at` and ends the open interval there; none open: nothing. What was posted beyond `at` is
   * given back.
   */
  closeInterval(tx: Transaction, input: { userId: string; instanceId: string; at: Date }): Promise<void>
  /**
   * Metering tick: posts what is due on every open interval.
   * @returns Customers who have nothing left for a compute interval that is open.
   */
  postDue(signal?: AbortSignal): Promise<{ exhausted: string[] }>
  /**
   * The instances that a customer can pay for no longer: nothing is available, and what was set aside for them is
   * used up. Call it under the wallet's lock. None while anything is available.
   */
  exhaustedInstances(tx: Transaction, userId: string): Promise<string[]>
  /** What instances have cost, posted and due by now, by instance id. */
  costMicro(q: Queryable, instanceIds: string[]): Promise<Map<string, bigint>>
  /** What a customer's open intervals cost in an hour, and what there is to spend. */
  burn(
    q: Queryable,
    userId: string,
  ): Promise<{ burnMicroPerHour: bigint; availableMicro: bigint; currency: Currency }>
  /** Customers whose balance is being used up, by user id; the next page begins after the last one's. */
  burning(after: string | null): Promise<Burning[]>
  /** Whether it is not known yet of some top-up if it was paid. Call it under the wallet's lock. */
  hasOpenTopup(tx: Transaction, userId: string): Promise<boolean>
  /** Finishes top-ups whose outcome is not known yet. @returns How many it finished. */
  recoverTopups(signal?: AbortSignal): Promise<number>
  /** Audits all books. @returns Problems found, for operators; none when the books balance. */
  checkBooks(): Promise<string[]>

  /** Answers the balance call (R3.6). */
  balance(userId: string): Promise<Balance>
  /** Ways to pay, as the installation has them. */
  payPlatforms: readonly Pick<PaymentDriver, 'name' | 'display_name' | 'test' | 'currencies'>[]
  /** Charges once for each key and adds the amount to the wallet. @throws ApiError of the money group. */
  topUp(request: TopupRequest): Promise<TopupAnswer>
  /** Answers the transaction list (R3.10). */
  transactions(
    userId: string,
    query: {
      page: number
      page_size: number
      type?: TransactionType | undefined
      search?: string | undefined
    },
  ): Promise<CallData<typeof listTransactions>>
  /** A transaction opened (B2). @throws ApiError `not_found`. */
  receipt(userId: string, id: string): Promise<Receipt>
  /** What was spent by UTC day, oldest first. */
  spend(userId: string, days: number): Promise<CallData<typeof getSpend>>
}

/**
 * Makes the billing domain.
 * @param deps `instanceEvents` comes from the instances domain, for receipts; `requireOpen` from identity: it throws
 * for a deleted account, and holds back its deletion.
 */
export function createBilling(deps: {
  db: Database
  clock: Clock
  ids: Ids
  log: Pick<Logger, 'info' | 'warn' | 'error'>
  payments: readonly PaymentDriver[]
  instanceEvents: InstanceEventsReader
  notices: Pick<Notifications, 'topUpReceipt'>
  requireOpen(tx: Transaction, userId: string): Promise<void>
}): Billing {
  const { db, clock, payments } = deps
  const balances = createBalanceReader(db)
  return {
    openWallet: (tx, input) => openWallet(tx, deps, input),
    grantCredit: (tx, input) => grantCredit(tx, deps, input),
    balanceCents: async userId => centsFloor((await balances.totals(userId)).totalMicro),
    lockWallet,
    hold: (tx, input) => hold(tx, deps, input),
    releaseHold: (tx, input) => releaseHold(tx, deps, input),
    openInterval: (tx, input) => openInterval(tx, deps, input),
    closeInterval: (tx, input) => closeInterval(tx, deps, input),
    postDue: signal => postDue(deps, signal),
    exhaustedInstances,
    costMicro: (q, instanceIds) => costMicro(q, deps, instanceIds),
    burn: readTotals,
    burning: after => readBurning(db, after),
    hasOpenTopup,
    recoverTopups: signal => recoverTopups(deps, signal),
    checkBooks: () => checkBooks(db),
    balance: balances.balance,
    payPlatforms: payments,
    topUp: request => topUp(deps, request),
    transactions: (userId, query) => listPage(db, clock, userId, query),
    receipt: (userId, id) => readReceipt(deps, userId, id),
    spend: (userId, days) => readSpend(deps, userId, days),
  }
}
