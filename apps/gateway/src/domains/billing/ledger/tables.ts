import { sql } from 'drizzle-orm'
import { check, index, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { amount, moment } from '../../../platform/database/columns.ts'
import { SUBJECT_KINDS } from '../subject.ts'

/**
 * Accounts of the double-entry ledger. A customer has `cash` and `credits`; the rest belong to the house:
 * `clearing` (what payment platforms owe us), `revenue`, `promotions` (credits given), `write_off`
 * (usage that an empty wallet could not pay), `receivable` (what customers owe of refunds of money that was spent
 * already), `earnings` (what customers have earned by referring and was not settled), `payouts` (what was paid of it). Only customers' accounts keep a balance in the row, so that
 * house accounts are not a lock that everybody waits for; theirs is the sum of their transfers.
 */
export const ledgerAccount = pgTable(
  'ledger_account',
  {
    /** `user:<id>:cash`, `house:revenue:USD`. */
    id: text('id').primaryKey(),
    kind: text('kind', {
      enum: [
        'cash',
        'credits',
        'clearing',
        'revenue',
        'promotions',
        'write_off',
        'receivable',
        'earnings',
        'payouts',
      ],
    }).notNull(),
    userId: uuid('user_id'),
    currency: text('currency', { enum: ['USD', 'EUR'] }).notNull(),
    balanceMicro: amount('balance_micro'),
  },
  table => [
    index('ledger_account_user').on(table.userId),
    check('ledger_account_floor', sql`${table.balanceMicro} is null or ${table.balanceMicro} >= 0`),
    check('ledger_account_owner', sql`(${table.userId} is null) = (${table.balanceMicro} is null)`),
  ],
)

/** Entries: append-only (a trigger refuses change and deletion), one for each key. */
export const ledgerTransfer = pgTable(
  'ledger_transfer',
  {
    id: uuid('id').primaryKey(),
    /** Made by the caller from what the transfer is for, so that a retry posts it once. */
    key: text('key').notNull(),
    fromAccount: text('from_account')
      .notNull()
      .references(() => ledgerAccount.id),
    toAccount: text('to_account')
      .notNull()
      .references(() => ledgerAccount.id),
    amountMicro: amount('amount_micro').notNull(),
    kind: text('kind', {
      enum: ['topup', 'usage', 'credit', 'credit_end', 'write_off', 'refund', 'repay', 'earning', 'payout'],
    }).notNull(),
    /** The payment, the refund, the usage interval, the credit grant or the end of one, the reward or the payout that it belongs to. */
    refId: uuid('ref_id').notNull(),
    userId: uuid('user_id').notNull(),
    createdAt: moment('created_at').notNull(),
  },
  table => [
    uniqueIndex('ledger_transfer_key').on(table.key),
    index('ledger_transfer_ref').on(table.refId),
    index('ledger_transfer_user').on(table.userId, table.createdAt),
    check('ledger_transfer_amount', sql`${table.amountMicro} > 0`),
    check('ledger_transfer_sides', sql`${table.fromAccount} <> ${table.toAccount}`),
  ],
)

/** One wallet a customer: its row is the lock that every change of that customer's money takes first. */
export const wallet = pgTable('wallet', {
  userId: uuid('user_id').primaryKey(),
  currency: text('currency', { enum: ['USD', 'EUR'] }).notNull(),
  /** What the stretches that have ended left over and no later one has begun with, in parts of a micro-unit. */
  restParts: amount('rest_parts').notNull().default(sql`0`),
  createdAt: moment('created_at').notNull(),
})

/** Money set aside for something that runs: still the customer's, but not available. */
export const walletHold = pgTable(
  'wallet_hold',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    /** What it is held for; at most one open hold for each. */
    subjectKind: text('subject_kind', { enum: SUBJECT_KINDS }).notNull(),
    subjectId: text('subject_id').notNull(),
    amountMicro: amount('amount_micro').notNull(),
    /** What the subject has used up of it: the first hour is paid from here. */
    usedMicro: amount('used_micro').notNull().default(sql`0`),
    /** What is set aside beside that of credits for models alone; they are in no balance but their own. */
    freeMicro: amount('free_micro').notNull().default(sql`0`),
    createdAt: moment('created_at').notNull(),
    releasedAt: moment('released_at'),
  },
  table => [
    index('wallet_hold_user_open').on(table.userId).where(sql`${table.releasedAt} is null`),
    uniqueIndex('wallet_hold_open')
      .on(table.subjectKind, table.subjectId)
      .where(sql`${table.releasedAt} is null`),
    check(
      'wallet_hold_amount',
      sql`${table.amountMicro} >= 0 and ${table.freeMicro} >= 0 and ${table.usedMicro} between 0 and ${table.amountMicro}`,
    ),
  ],
)
