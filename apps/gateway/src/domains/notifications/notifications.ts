import type { Currency } from '@berth/contract/limits'
import type { NoticeKind, NotificationChoice } from '@berth/contract/notifications'
import type { Logger } from 'pino'
import type { MailOutbox } from '../../drivers/mail/port.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Queryable, Transaction } from '../../platform/database/database.ts'
import { type Burning, checkBalances } from './balance-alerts.ts'
import { forgetChoices, readChoice, saveChoice } from './choices.ts'
import type { KeyKind, TroubleCause } from './facts.ts'
import { defineNotices } from './notice-mails.ts'
import type { ReadRecipient } from './recipient.ts'

export type { Burning } from './balance-alerts.ts'
export type { KeyKind, TroubleCause } from './facts.ts'

/**
 * What customers are told by mail, and whether they want it. Functions that take a query handle queue a mail in the
 * caller's transaction: it goes out if that commits. Whether it is wanted is looked up when it goes out.
 */
export interface Notifications {
  /** What a customer wants; a new account wants all mails (R1.7). */
  get(userId: string): Promise<NotificationChoice>
  /** Keeps what a customer wants. @returns What is kept. @throws ApiError `login_expired` for a deleted account. */
  set(userId: string, choice: NotificationChoice): Promise<NotificationChoice>
  /** Whether a customer wants mails of a kind. */
  wants(userId: string, kind: NoticeKind): Promise<boolean>

  /** Somebody signed in from a browser or network that the account has not had. */
  newSignIn(
    q: Queryable,
    facts: { userId: string; at: Date; address: string; browser: string; system: string },
  ): Promise<void>
  /** A key was added; `name` is the customer's own name of it, never the key. */
  keyAdded(q: Queryable, facts: { userId: string; what: KeyKind; name: string }): Promise<void>
  /** A top-up was paid. */
  topUpReceipt(
    q: Queryable,
    facts: {
      userId: string
      transactionId: string
      amountCents: number
      currency: Currency
      paidWith: string
      at: Date
    },
  ): Promise<void>
  /** Instances failed or ended by themselves, or were stopped because the balance was used up. */
  instanceTrouble(
    q: Queryable,
    facts: { userId: string; cause: TroubleCause; instanceNames: string[]; at: Date },
  ): Promise<void>

  /**
   * Looks at all customers who burn money, after each round of metering, and queues the alerts that are due (B4).
   * @returns How many it queued.
   */
  checkBalances(signal?: AbortSignal): Promise<number>
  /** Removes what is kept of a customer whose account is deleted. */
  forgetUser(tx: Transaction, userId: string): Promise<void>
}

export interface NotificationsDeps {
  db: Database
  clock: Clock
  log: Pick<Logger, 'error'>
  mail: MailOutbox
  /** Who gets a customer's mails; it comes from the identity domain. */
  recipient: ReadRecipient
  /** Holds back the deletion of an account until the transaction ends. @throws ApiError `login_expired` when it is deleted. */
  requireOpen(tx: Transaction, userId: string): Promise<void>
  /** Customers who burn money, a page at a time; it comes from the billing domain. */
  burning(after: string | null): Promise<Burning[]>
  publicUrl: () => string
  brandName: () => string
}

/** Makes the notifications domain. */
export function createNotifications(deps: NotificationsDeps): Notifications {
  const { db, clock } = deps
  const wants = async (userId: string, kind: NoticeKind) => (await readChoice(db, userId)).mails[kind]
  const notices = defineNotices({ ...deps, wants })
  return {
    get: userId => readChoice(db, userId),
    set: (userId, choice) =>
      db.transaction(async tx => {
        await deps.requireOpen(tx, userId)
        return await saveChoice(tx, userId, choice)
      }),
    wants,
    newSignIn: (q, { at, ...facts }) => notices.newSignIn(q, { ...facts, at: at.toISOString() }),
    keyAdded: (q, facts) => notices.keyAdded(q, { ...facts, at: clock.now().toISOString() }),
    topUpReceipt: (q, { at, ...facts }) => notices.topUpReceipt(q, { ...facts, at: at.toISOString() }),
    async instanceTrouble(q, { at, ...facts }) {
      if (facts.instanceNames.length === 0) return
      await notices.instanceTrouble(q, { ...facts, at: at.toISOString() })
    },
    checkBalances: signal => checkBalances({ ...deps, queue: notices.balanceLow }, signal),
    forgetUser: forgetChoices,
  }
}
