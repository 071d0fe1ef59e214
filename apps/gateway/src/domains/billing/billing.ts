import type { Readable } from 'node:stream'
import type { getSpend, listTransactions, Receipt, TopupState } from '@berth/contract/billing'
import type { Bill, getBillLine, getBillMonths } from '@berth/contract/bills'
import type { CallData } from '@berth/contract/call'
import type { CreditLot, listCoupons, listCredits } from '@berth/contract/credits'
import type { Currency, Language } from '@berth/contract/limits'
import { centsFloor } from '@berth/contract/money'
import type { Outlook } from '@berth/contract/outlook'
import { eq } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { PaymentDriver, WebhookDelivery } from '../../drivers/payments/port.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Catalogue } from '../../platform/config/catalogue.ts'
import type { Database, Queryable, Transaction } from '../../platform/database/database.ts'
import type { Events } from '../../platform/events/events.ts'
import type { Ids } from '../../platform/ids.ts'
import type { Sealer } from '../../platform/sealer.ts'
import { accountDeleted } from '../identity/events.ts'
import { createCouponDesk } from './credits/coupon-desk.ts'
import { redeemCoupon } from './credits/coupons.ts'
import { endCreditsNow, listCouponsOf, listLots } from './credits/credit-list.ts'
import { tellEndings } from './credits/end-notices.ts'
import { endGrant, type Grant, grantCredit } from './credits/grants.ts'
import { nextEnd, readLots } from './credits/lots.ts'
import { creditOutage, type Outage, outageCreditedUntil } from './credits/outages.ts'
import { openBillFile } from './documents/bill-file.ts'
import { type BillQuery, readBill, readBillLine, readMonths } from './documents/bills.ts'
import { readCashSpent, readSpentDays } from './documents/cash-spent.ts'
import { forgetAddress } from './documents/invoices/addresses.ts'
import { createInvoices } from './documents/invoices/invoices.ts'
import type { Seller } from './documents/invoices/make-invoice.ts'
import { readOutlook } from './documents/outlook.ts'
import { type InstanceEventsReader, readReceipt } from './documents/receipts.ts'
import { readSpend } from './documents/spend.ts'
import { type SpendingOf, spentAtMost, spentSince } from './documents/spent-since.ts'
import { openTransactionFile } from './documents/transaction-file.ts'
import type { TransactionFilter } from './documents/transaction-filter.ts'
import { listPage, type TransactionsQuery } from './documents/transactions.ts'
import { createBalanceReader } from './ledger/balance.ts'
import { checkBooks } from './ledger/check-books.ts'
import { type CreditedOf, creditedSince } from './ledger/credited.ts'
import { bookEarning, bookPayout, type Earning, type PayoutEntry } from './ledger/earnings.ts'
import { lockWallet, openWallet, readTotals, type WalletTotals } from './ledger/wallet.ts'
import { type Burning, readBurning } from './meters/burning.ts'
import {
  chargeOnce,
  chargeTerm,
  endTerm,
  type Settling,
  settle,
  type Term,
  type TermEnd,
  termBackMicro,
} from './meters/charges.ts'
import { hold, type ModelPurse, openModelPurse, releaseHold } from './meters/holds.ts'
import {
  closeMeters,
  costMicro,
  exhaustedSubjects,
  isUnpaid,
  type MeterStart,
  openMeters,
  type Stretch,
} from './meters/metering.ts'
import { postDue } from './meters/tick.ts'
import { type Meter, priceOf } from './meters/units.ts'
import { runAutoTopups } from './payments/auto-topup/rounds.ts'
import { readSettings, saveSettings } from './payments/auto-topup/settings.ts'
import { autoTopup } from './payments/auto-topup/tables.ts'
import { cardsOf } from './payments/cards-seen.ts'
import { pruneEvents, receiveWebhook } from './payments/events.ts'
import { driverOf, hasOpenTopup, openAmong } from './payments/intents.ts'
import { freshenMethods, recoverMethods } from './payments/methods/keeping.ts'
import { forgetLeaving, noteLeaving } from './payments/methods/leaving.ts'
import {
  addMethod,
  forgetMethods,
  listMethods,
  makeDefault,
  readPayable,
  removeMethod,
} from './payments/methods/methods.ts'
import { beginPayment, checkoutUrl } from './payments/methods/payment-intent.ts'
import { readPaidIn } from './payments/paid-in.ts'
import { recoverTopups } from './payments/recovery.ts'
import { createRefunds, recoverRefunds } from './payments/refund-requests.ts'
import { asideSince } from './payments/set-aside.ts'
import { cardSeen } from './payments/tables.ts'
import {
  cancelTopup,
  openTopups,
  readTopup,
  type TopupAnswer,
  type TopupRequest,
  topUp,
} from './payments/topups.ts'
import type { Subject } from './subject.ts'

export type { Meter } from './meters/units.ts'
export type { Subject } from './subject.ts'

/** Which page of a list. */
type ListQuery = { page: number; page_size: number }

/** Customers' money, as `createBilling` makes it. */
export type Billing = ReturnType<typeof createBilling>

interface BillingDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Pick<Logger, 'info' | 'warn' | 'error'>
  payments: readonly PaymentDriver[]
  events: Pick<Events, 'emit' | 'on'>
  /** Seals the addresses on which customers confirm payments. */
  sealer: Sealer
  /** What is credited for outages; left out: nothing. */
  sla?: Catalogue['sla']
  /** The console's address, for payment platforms that send browsers back. */
  publicUrl(): string
  /** Who makes invoices out, as the catalogue says now. */
  seller(): Seller
}

/** What belongs to one customer's subject. */
type OfSubject<More = unknown> = { userId: string; subject: Subject } & More

/**
 * Makes the billing domain. Amounts are micro-units of the wallet's currency unless a name says cents. Functions that
 * take a transaction change nothing unless it commits. Lock order everywhere: the wallet's row, then an instance's.
 */
export function createBilling(deps: BillingDeps) {
  const { db, clock, payments } = deps
  const balances = createBalanceReader(deps)
  deps.events.on(accountDeleted, 'billing', async (tx, { userId }) => {
    await tx.delete(autoTopup).where(eq(autoTopup.userId, userId))
    await tx.delete(cardSeen).where(eq(cardSeen.userId, userId))
    await forgetMethods(tx, deps, userId)
    await noteLeaving(tx, deps, userId)
    await forgetAddress(tx, userId)
  })

  return {
    /** Opens a customer's wallet. Idempotent. */
    openWallet: (tx: Transaction, input: { userId: string; currency: Currency }): Promise<void> =>
      openWallet(tx, deps, input),

    /** Gives credits, as a lot that may have an end; idempotent by id. */
    grantCredit: (tx: Transaction, grant: Grant): Promise<void> => grantCredit(tx, deps, grant),

    /** Ends a lot of credits now; what was used of it stays used. */
    endGrant: (tx: Transaction, lot: { userId: string; grantId: string }): Promise<void> =>
      endGrant(tx, deps, lot),

    /** What customers have earned by referring (R9.7): booked, and paid as money. */
    earnings: {
      book: (tx: Transaction, earning: Earning): Promise<void> => bookEarning(tx, deps, earning),
      payOut: (tx: Transaction, payout: PayoutEntry): Promise<void> => bookPayout(tx, deps, payout),
      takeBack: (tx: Transaction, payout: PayoutEntry): Promise<void> => bookPayout(tx, deps, payout, 'back'),
    },

    /** What a customer has paid in by settled payments, less what went back. */
    paidIn: readPaidIn,

    /** What a customer spent by day, of what is paid for good. Call it under the wallet's lock. */
    spentDays: readSpentDays,

    /** What of many customers' usage was paid in cash, in all. */
    cashSpent: readCashSpent,

    /** What tells the cards apart that a customer has used, as hashes. */
    cardsOf,

    /** Credits an outage that is over, where it was longer than the catalogue's limit (B17). */
    creditOutage: (tx: Transaction, outage: Outage): Promise<void> =>
      creditOutage(tx, { ...deps, sla: deps.sla }, outage),
    outageCreditedUntil,

    /** Redeems a coupon. @throws ApiError of the coupons' codes. */
    redeemCoupon: (input: { userId: string; idempotencyKey: string; code: string }): Promise<CreditLot> =>
      redeemCoupon(deps, input),

    /** Answers the list of coupons (R3.8). */
    coupons: (userId: string, query: ListQuery): Promise<CallData<typeof listCoupons>> =>
      listCouponsOf(deps, userId, query),

    /** Answers the list of credits, lot by lot. */
    credits: (userId: string, query: ListQuery): Promise<CallData<typeof listCredits>> =>
      listLots(deps, userId, query),

    /** Tells customers of credits that end within a week, and again within a day. @returns How many customers. */
    tellEndings: (signal?: AbortSignal): Promise<number> => tellEndings(deps, signal),

    /** What operators do with credits and coupons (R6.5). */
    couponDesk: createCouponDesk(deps),

    /**
     * Takes the wallet's row lock; every change of a customer's money or of an instance's billing begins with it.
     * @throws ApiError `not_found` without a wallet.
     */
    lockWallet,

    /**
     * What a customer has, with what is due by now taken off, and what is spent in an hour.
     * @throws ApiError `not_found` without a wallet.
     */
    totals: (q: Pick<Queryable, 'select'>, userId: string): Promise<WalletTotals> =>
      readTotals(q, clock, userId),

    /** All that a customer has, in cents. @throws ApiError `not_found` without a wallet. */
    balanceCents: async (userId: string): Promise<number> =>
      centsFloor((await balances.totals(userId)).totalMicro),

    /** Answers the balance call (R3.6). */
    balance: balances.balance,

    /**
     * Sets money aside for a subject, in place of what was set aside for it before. What it uses is paid from it
     * first.
     * @throws ApiError `insufficient_balance` with `needed` and `available` when less is available.
     */
    hold: (tx: Transaction, input: OfSubject<{ amountMicro: bigint }>): Promise<void> =>
      hold(tx, deps, input),

    /** Opens a wallet for calls of models that begin together. Call it under the wallet's lock. */
    openModelPurse: (tx: Transaction, userId: string): Promise<ModelPurse> =>
      openModelPurse(tx, deps, userId),

    /** What counted meters cost, as {@link settle} charges them. */
    priceOf: (meters: readonly Meter[]): bigint => priceOf(meters, 0),

    /** When the next credits of a customer end of which something is left; null: none do. */
    creditsEnd: async (q: Pick<Queryable, 'select'>, userId: string): Promise<Date | null> =>
      nextEnd(await readLots(q, userId)),

    /** Makes what is left of a subject's hold available again; none open: nothing. */
    releaseHold: (tx: Transaction, input: OfSubject): Promise<void> => releaseHold(tx, deps, input),

    /**
     * Lets go what was set aside for subjects of one customer, and charges what was counted of them; what the wallet cannot
     * pay is waived. Call it under the wallet's lock. @returns The prices, in the order of what was counted.
     */
    settle: (tx: Transaction, input: Settling): Promise<bigint[]> => settle(tx, deps, input),

    /** Starts a subject's meters; those that run for it end first, at the same moment. */
    openMeters: (tx: Transaction, start: MeterStart): Promise<void> => openMeters(tx, deps, start),

    /**
     * Posts what is due to `at` and ends the subject's meters there; none that run: nothing. What was posted beyond
     * `at` is given back.
     */
    closeMeters: (tx: Transaction, input: OfSubject<{ at: Date }>): Promise<void> =>
      closeMeters(tx, deps, input),

    /**
     * Takes the price of a term in advance, first from what is set aside for its subject. @returns It.
     * @throws ApiError `insufficient_balance` when less is available.
     */
    chargeTerm: (tx: Transaction, term: Term): Promise<bigint> => chargeTerm(tx, deps, term),

    /** Ends a subject's terms, and gives back what is left when the time used is paid. @returns How much. */
    endTerm: (tx: Transaction, end: TermEnd): Promise<bigint> => endTerm(tx, deps, end),

    /** What `endTerm` would give back; nothing changes. */
    termBackMicro: (q: Queryable, end: TermEnd): Promise<bigint> => termBackMicro(q, deps, end),

    /** Charges what was counted, such as tokens; what the wallet cannot pay is waived. @returns The price. */
    chargeOnce: (tx: Transaction, used: Stretch & { at: Date }): Promise<bigint> =>
      chargeOnce(tx, deps, used),

    /**
     * Metering tick: looks at everybody for whom something runs, and posts where it is time.
     * @returns Customers who have nothing left for what runs.
     */
    postDue: (signal?: AbortSignal): Promise<{ exhausted: string[] }> => postDue(deps, signal),

    /**
     * What a customer can pay for no longer: nothing is available, and what was set aside is used up. Call it under
     * the wallet's lock. None while anything is available.
     */
    exhaustedSubjects: (tx: Transaction, userId: string): Promise<Subject[]> =>
      exhaustedSubjects(tx, deps, userId),

    /** Whether a subject costs something that nothing is left to pay for, whether it is stopped for that or not. */
    isUnpaid: (q: Queryable, of: OfSubject): Promise<boolean> => isUnpaid(q, deps, of),

    /** Of many questions those of which money has come since then. @returns Their keys. */
    creditedSince: (q: Pick<Queryable, 'execute'>, of: readonly CreditedOf[]): Promise<Set<string>> =>
      creditedSince(q, of),

    /** What subjects of one kind have cost, posted and due by now, by their ids. */
    costMicro: (q: Queryable, kind: Subject['kind'], ids: string[]): Promise<Map<string, bigint>> =>
      costMicro(q, deps, kind, ids),

    /** Customers whose balance is being used up, by user id; the next page begins after the last one's. */
    burning: (after: string | null): Promise<Burning[]> => readBurning(deps, after),

    /** Ways to pay, as the installation offers them. */
    payPlatforms: payments.filter(({ offered }) => offered) as readonly Pick<
      PaymentDriver,
      'name' | 'display_name' | 'test' | 'currencies' | 'entry' | 'publishable_key'
    >[],

    /** Charges once for each key; the wallet has the amount once the platform has. @throws ApiError of the money group. */
    topUp: (request: TopupRequest): Promise<TopupAnswer> => topUp(deps, request),

    /** A top-up as it is known now. @throws ApiError `not_found`. */
    topup: (userId: string, id: string): Promise<TopupState> => readTopup(deps, userId, id),

    /** Top-ups of which it is not known yet if they were paid, newest first. */
    openTopups: (userId: string): Promise<TopupState[]> => openTopups(deps, userId),

    /** Ends a top-up that waits for the customer. @throws ApiError `not_found`, `payment_pending`. */
    cancelTopup: (userId: string, id: string): Promise<TopupState> => cancelTopup(deps, userId, id),

    /** What is kept to pay with; adding, choosing and removing it (R3.7, R5.9). */
    methods: {
      list: (userId: string) => listMethods(deps, userId),
      /** The same, once platforms were asked for what the customer waits for. */
      listFresh: async (userId: string) => {
        await freshenMethods(deps, userId)
        return await listMethods(deps, userId)
      },
      add: (userId: string, given: Parameters<typeof addMethod>[2]) => addMethod(deps, userId, given),
      makeDefault: (userId: string, id: string, said: Parameters<typeof makeDefault>[3]) =>
        makeDefault(deps, userId, id, said),
      remove: (userId: string, id: string) => removeMethod(deps, userId, id),
      recover: async (signal?: AbortSignal): Promise<number> =>
        (await recoverMethods(deps, signal)) + (await forgetLeaving(deps, signal)),
    },

    /** Pays by card, or keeps one where no amount is said. @throws ApiError as `topUp` and `methods.add`. */
    beginPayment: (request: Parameters<typeof beginPayment>[1]) => beginPayment(deps, request),

    /** Where the customer goes on paying. @throws ApiError `not_found`. */
    checkoutUrl: (userId: string, topupId?: string) => checkoutUrl(deps, userId, topupId),

    /** Whether the account could pay now, and by what. */
    payable: (userId: string) => readPayable(deps, userId),

    /** Auto top-up: as it is set, setting it, and the round that charges (R3.9). */
    autoTopup: {
      get: (userId: string) => readSettings(deps, userId),
      set: (userId: string, body: Parameters<typeof saveSettings>[2]) => saveSettings(deps, userId, body),
      run: (signal?: AbortSignal) => runAutoTopups(deps, signal),
    },

    /**
     * Takes what a platform tells; each event counts once.
     * @throws ApiError `payment_platform_unknown`. @throws WebhookRefused when the platform did not send it.
     */
    receiveWebhook: async (platformName: string, delivery: WebhookDelivery): Promise<void> =>
      await receiveWebhook(deps, driverOf(deps, platformName), delivery),

    /** Whether it is not known yet of some top-up if it was paid. Call it under the wallet's lock. */
    hasOpenTopup,

    /** Which of these ids are those of top-ups that are not decided yet. */
    openTopupsAmong: (ids: string[]): Promise<Set<string>> => openAmong(db, ids),

    /** Forgets what platforms told so long ago that none of them tells it again. */
    purge: async (): Promise<void> => {
      await pruneEvents(deps)
      for (const { embedded } of payments) await embedded?.prune()
    },

    /** Finishes payments whose outcome is not known yet, and reads what no webhook told. @returns How many it finished. */
    recoverTopups: async (signal?: AbortSignal): Promise<number> => {
      try {
        await recoverRefunds(deps, signal)
      } catch (error) {
        deps.log.error({ err: error }, 'refunds could not be recovered; the next round tries again')
      }
      return await recoverTopups(deps, signal)
    },

    /** Answers the transaction list (R3.10). */
    transactions: async (
      userId: string,
      query: TransactionsQuery,
    ): Promise<CallData<typeof listTransactions>> => {
      await endCreditsNow(deps, userId)
      return await listPage(db, clock, userId, query)
    },

    /**
     * The same transactions as CSV; whoever has no use for it any more destroys it.
     * @param reader The language of its head, and what says a row in it.
     */
    transactionFile: async (
      userId: string,
      filter: TransactionFilter,
      reader: Parameters<typeof openTransactionFile>[3],
    ): Promise<{ name: string; body: Readable }> => {
      await endCreditsNow(deps, userId)
      return await openTransactionFile(deps, userId, filter, reader)
    },

    /**
     * A transaction opened (B2).
     * @param instanceEvents What happened to an instance; it comes from the instances domain.
     * @throws ApiError `not_found`.
     */
    receipt: (userId: string, id: string, instanceEvents: InstanceEventsReader): Promise<Receipt> =>
      readReceipt({ ...deps, instanceEvents }, userId, id),

    /** The months (UTC) in which something was used, newest first. */
    billMonths: (userId: string): Promise<CallData<typeof getBillMonths>> => readMonths(deps, userId),

    /** A page of what was used in a month, up to now, by thing, day or kind. */
    bill: (userId: string, query: Parameters<typeof readBill>[2]): Promise<Bill> =>
      readBill(deps, userId, query),

    /**
     * A line of a bill opened to its stretches.
     * @param instanceEvents As of `receipt`.
     * @throws ApiError `not_found`.
     */
    billLine: (
      userId: string,
      query: Parameters<typeof readBillLine>[2],
      instanceEvents: InstanceEventsReader,
    ): Promise<CallData<typeof getBillLine>> => readBillLine({ ...deps, instanceEvents }, userId, query),

    /** A month's usage as CSV, its head in a language; whoever has no use for it any more destroys it. */
    billFile: (
      userId: string,
      query: BillQuery,
      language: Language,
    ): Promise<{ name: string; body: Readable }> => openBillFile(deps, userId, query, language),

    /** What was spent by UTC day and kind of usage, oldest first. */
    spend: (userId: string, days: number): Promise<CallData<typeof getSpend>> =>
      readSpend(deps, userId, days),

    /**
     * What uses the balance, until when it lasts, and what is deleted after that (B4).
     * @param losesMachines Whether some machine is deleted some time after that; it comes from the instances domain.
     * @throws ApiError `not_found` without a wallet.
     */
    outlook: (userId: string, losesMachines: (userId: string) => Promise<boolean>): Promise<Outlook> =>
      readOutlook({ ...deps, losesMachines }, userId),

    /**
     * What was spent since a midnight of UTC, as bills say it. Call it in one snapshot, or under the wallet's lock.
     * @throws ApiError `not_found` without a wallet.
     */
    spentSince: (q: Queryable, of: SpendingOf): Promise<bigint> => spentSince(q, clock, of),

    /** What was spent at most, of many at once and in their order: posted, and due beyond that. */
    spentAtMost: (
      q: Queryable,
      of: readonly SpendingOf[],
    ): Promise<{ postedMicro: bigint; dueMicro: bigint }[]> => spentAtMost(q, clock, of),
    /** Invoices and credit notes (B23). */
    invoices: createInvoices(deps),

    /** Refunds by operators. */
    refunds: createRefunds(deps),

    /** Events of platforms that were set aside before that and still are not booked, the oldest first. */
    eventsAside: (before: Date) => asideSince(deps, before),

    /**
     * Audits all books.
     * @param signal Ends it.
     * @returns Problems found, for operators; none when the books balance.
     */
    checkBooks: (signal?: AbortSignal): Promise<string[]> => checkBooks(deps, signal),
  }
}
