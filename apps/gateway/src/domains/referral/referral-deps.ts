import type { Logger } from 'pino'
import type { MailOutbox } from '../../drivers/mail/port.ts'
import type { PayoutDriver } from '../../drivers/payouts/port.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Queryable, Transaction } from '../../platform/database/database.ts'
import type { Events } from '../../platform/events/events.ts'
import type { RateCounts } from '../../platform/http/rate-counts.ts'
import type { Ids } from '../../platform/ids.ts'
import type { Billing } from '../billing/billing.ts'
import type { Terms } from './terms.ts'

/** What the referral domain is made of. */
export interface ReferralDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Pick<Logger, 'info' | 'warn' | 'error'>
  events: Pick<Events, 'on' | 'emit'>
  billing: Pick<
    Billing,
    | 'lockWallet'
    | 'totals'
    | 'grantCredit'
    | 'endGrant'
    | 'earnings'
    | 'paidIn'
    | 'spentDays'
    | 'cashSpent'
    | 'cardsOf'
  >
  /** Whose an account is, and whether its address is verified; null where it is gone. It comes from the identity domain. */
  contactOf(
    q: Pick<Queryable, 'select'>,
    userId: string,
  ): Promise<{ email: string; isVerified: boolean } | null>
  displayNameOf(userId: string): Promise<string | null>
  /** Browsers that an account was signed in from, as hashes of their marks. */
  devicesOf(q: Pick<Queryable, 'select'>, userId: string): Promise<string[]>
  /** Who gets a customer's mails; null where none are to go. */
  recipient(userId: string): Promise<{ email: string; language: 'en' | 'zh' | 'ja' | 'ko' } | null>
  mail: MailOutbox
  counts: Pick<RateCounts, 'within'>
  /** Pays money. */
  payouts: PayoutDriver
  terms: Terms
  publicUrl(): string
  brandName(): string
  /** Who holds the loops' leases. */
  owner: string
}

/** The lock of an account's money, of several accounts in one order, so that no two who want both wait for each other. */
export async function lockWallets(
  tx: Transaction,
  { billing }: Pick<ReferralDeps, 'billing'>,
  userIds: readonly string[],
): Promise<void> {
  for (const userId of [...new Set(userIds)].sort()) await billing.lockWallet(tx, userId)
}
