import { sql } from 'drizzle-orm'
import { check, index, integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { amount, moment } from '../../platform/database/columns.ts'

/**
 * Accounts of the double-entry ledger. A customer has `cash` and `credits`; the rest belong to the house:
 * `clearing` (what payment platforms owe us), `revenue`, `promotions` (credits given), `write_off`
 * (usage that an empty wallet could not pay). Only customers' accounts keep a balance in the row, so that
 * house accounts are not a lock that everybody waits for; theirs is the sum of their transfers.
 */
export const ledgerAccount = pgTable(
  'ledger_account',
  {
    /** `user:<id>:cash`, `house:revenue:USD`. */
    id: text('id').primaryKey(),
    kind: text('kind', {
      enum: ['cash', 'credits', 'clearing', 'revenue', 'promotions', 'write_off'],
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
    kind: text('kind', { enum: ['topup', 'usage', 'credit', 'write_off'] }).notNull(),
    /** The top-up, the usage interval or the credit grant that it belongs to. */
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
  createdAt: moment('created_at').notNull(),
})

/** Money set aside for something that runs: still the customer's, but not available. */
export const walletHold = pgTable(
  'wallet_hold',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    /** The instance that it is held for; at most one open hold for each. */
    instanceId: text('instance_id').notNull(),
    amountMicro: amount('amount_micro').notNull(),
    /** What the instance has used up of it: the first hour is paid from here. */
    usedMicro: amount('used_micro').notNull().default(sql`0`),
    createdAt: moment('created_at').notNull(),
    releasedAt: moment('released_at'),
  },
  table => [
    index('wallet_hold_user_open').on(table.userId).where(sql`${table.releasedAt} is null`),
    uniqueIndex('wallet_hold_open').on(table.instanceId).where(sql`${table.releasedAt} is null`),
    check(
      'wallet_hold_amount',
      sql`${table.amountMicro} >= 0 and ${table.usedMicro} between 0 and ${table.amountMicro}`,
    ),
  ],
)

/** Top-ups: `created` before the platform is asked, then `settled` or `failed`, once. */
export const topup = pgTable(
  'topup',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    idempotencyKey: text('idempotency_key').notNull(),
    amountCents: integer('amount_cents').notNull(),
    currency: text('currency', { enum: ['USD', 'EUR'] }).notNull(),
    platformName: text('platform_name').notNull(),
    /** The driver's reference to what is charged, never a card number; emptied when the top-up is finished. */
    source: text('source'),
    /** For people: `Visa ending 4242`. */
    sourceLabel: text('source_label').notNull().default(''),
    state: text('state', { enum: ['created', 'settled', 'failed'] }).notNull(),
    chargeId: text('charge_id'),
    failure: text('failure'),
    createdAt: moment('created_at').notNull(),
    finishedAt: moment('finished_at'),
  },
  table => [
    uniqueIndex('topup_key').on(table.userId, table.idempotencyKey),
    index('topup_user').on(table.userId, table.createdAt),
    index('topup_open').on(table.createdAt).where(sql`${table.state} = 'created'`),
  ],
)

/** Credits given to a customer, with the reason. */
export const creditGrant = pgTable(
  'credit_grant',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    amountMicro: amount('amount_micro').notNull(),
    /** A key of the console's texts, such as `demo`. */
    reason: text('reason').notNull(),
    createdAt: moment('created_at').notNull(),
  },
  table => [index('credit_grant_user').on(table.userId, table.createdAt)],
)

/** A stretch of time in which an instance cost one rate. At most one is open for each instance. */
export const usageInterval = pgTable(
  'usage_interval',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    instanceId: text('instance_id').notNull(),
    usage: text('usage', { enum: ['compute', 'disk'] }).notNull(),
    rateMicroPerHour: amount('rate_micro_per_hour').notNull(),
    /** What the list says of it: names as they were, so that a rename changes no old receipt. */
    instanceName: text('instance_name').notNull(),
    gpuSpecName: text('gpu_spec_name').notNull(),
    gpuCount: integer('gpu_count').notNull(),
    startedAt: moment('started_at').notNull(),
    endedAt: moment('ended_at'),
    postedMicro: amount('posted_micro').notNull(),
    waivedMicro: amount('waived_micro').notNull(),
    postedAt: moment('posted_at'),
    /** How often it was posted; part of the transfers' keys. */
    postings: integer('postings').notNull().default(0),
  },
  table => [
    uniqueIndex('usage_interval_open').on(table.instanceId).where(sql`${table.endedAt} is null`),
    index('usage_interval_user').on(table.userId, table.startedAt),
    index('usage_interval_user_open').on(table.userId).where(sql`${table.endedAt} is null`),
    index('usage_interval_instance').on(table.instanceId),
    check('usage_interval_amounts', sql`${table.postedMicro} >= 0 and ${table.waivedMicro} >= 0`),
    check('usage_interval_order', sql`${table.endedAt} is null or ${table.endedAt} >= ${table.startedAt}`),
  ],
)
