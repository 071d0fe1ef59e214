import { CREDIT_KINDS } from '@berth/contract/credits'
import { sql } from 'drizzle-orm'
import {
  boolean,
  check,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { amount, moment } from '../../../platform/database/columns.ts'
import { usageInterval } from '../meters/tables.ts'

/**
 * Credits given to a customer: each grant is a lot, which is spent by itself and may have an end. What is left of all
 * of a customer's lots is the balance of their account `credits`.
 */
export const creditGrant = pgTable(
  'credit_grant',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    amountMicro: amount('amount_micro').notNull(),
    /** What the books have left of it; what is due and not posted is not taken off here. */
    restMicro: amount('rest_micro').notNull(),
    kind: text('kind', { enum: CREDIT_KINDS }).notNull(),
    /** A key of the console's texts, such as `demo`; of one that a coupon gave, its code. */
    reason: text('reason').notNull(),
    /** Only what models cost may be paid from it. */
    modelsOnly: boolean('models_only').notNull(),
    createdAt: moment('created_at').notNull(),
    /** From this moment on it is not available; null where it has no end. */
    endsAt: moment('ends_at'),
    /**
     * Since when the books know of its end; null before. What is left of it from then on was set aside for something
     * when it ended, and pays for that alone.
     */
    endedAt: moment('ended_at'),
  },
  table => [
    index('credit_grant_user').on(table.userId, table.createdAt),
    index('credit_grant_left').on(table.userId, table.endsAt).where(sql`${table.restMicro} > 0`),
    index('credit_grant_ending')
      .on(table.endsAt)
      .where(sql`${table.restMicro} > 0 and ${table.endedAt} is null and ${table.endsAt} is not null`),
    check('credit_grant_rest', sql`${table.restMicro} between 0 and ${table.amountMicro}`),
  ],
)

/** What a credit for an outage is for (B17): the instance's events of that time are its receipt. */
export const outageCredit = pgTable('outage_credit', {
  grantId: uuid('grant_id')
    .primaryKey()
    .references(() => creditGrant.id),
  instanceId: text('instance_id').notNull(),
  /** As it was called then. */
  instanceName: text('instance_name').notNull(),
  startedAt: moment('started_at').notNull(),
  endedAt: moment('ended_at').notNull(),
})

/** Which stretch was paid from which lot, and with how much of it; what was given back to the lot is taken off again. */
export const creditUse = pgTable(
  'credit_use',
  {
    intervalId: uuid('interval_id')
      .notNull()
      .references(() => usageInterval.id),
    grantId: uuid('grant_id')
      .notNull()
      .references(() => creditGrant.id),
    userId: uuid('user_id').notNull(),
    amountMicro: amount('amount_micro').notNull(),
  },
  table => [
    primaryKey({ columns: [table.intervalId, table.grantId] }),
    index('credit_use_user').on(table.userId),
    index('credit_use_grant').on(table.grantId),
    check('credit_use_amount', sql`${table.amountMicro} >= 0`),
  ],
)

/** What of a lot nobody had used when it ended, or came back to it later: the house has it again. */
export const creditEnd = pgTable(
  'credit_end',
  {
    id: uuid('id').primaryKey(),
    grantId: uuid('grant_id')
      .notNull()
      .references(() => creditGrant.id),
    userId: uuid('user_id').notNull(),
    amountMicro: amount('amount_micro').notNull(),
    createdAt: moment('created_at').notNull(),
  },
  table => [
    index('credit_end_user').on(table.userId, table.createdAt),
    index('credit_end_grant').on(table.grantId),
    check('credit_end_amount', sql`${table.amountMicro} > 0`),
  ],
)

/** That a customer was told so many days before it that a lot is about to end: once for each. */
export const creditEndNotice = pgTable(
  'credit_end_notice',
  {
    grantId: uuid('grant_id')
      .notNull()
      .references(() => creditGrant.id),
    days: integer('days').notNull(),
    toldAt: moment('told_at').notNull(),
  },
  table => [primaryKey({ columns: [table.grantId, table.days] })],
)

/** What operators give codes out for: whoever redeems one gets a lot of credits. */
export const coupon = pgTable(
  'coupon',
  {
    id: uuid('id').primaryKey(),
    /** In upper case; customers may type it in any. */
    code: text('code').notNull(),
    currency: text('currency', { enum: ['USD', 'EUR'] }).notNull(),
    amountMicro: amount('amount_micro').notNull(),
    /** Whether its credits pay for models alone. */
    modelsOnly: boolean('models_only').notNull(),
    startsAt: moment('starts_at').notNull(),
    /** From this moment on it cannot be redeemed; null where it has no end. */
    endsAt: moment('ends_at'),
    perCustomerMax: integer('per_customer_max').notNull(),
    /** By all customers together; null where nothing limits it. */
    totalMax: integer('total_max'),
    /** How often it was redeemed; its row is the lock of whoever redeems it. */
    redeemed: integer('redeemed').notNull().default(0),
    /** Only for a customer who has topped up once and not again, while anything of that has not gone back. */
    firstTopupOnly: boolean('first_topup_only').notNull(),
    /** What a customer must have paid in before, less what went back to them; 0 where nothing is asked. */
    paidMinMicro: amount('paid_min_micro').notNull(),
    /** For how many days its credits are there once it is redeemed; null where they have no end. */
    creditDays: integer('credit_days'),
    createdAt: moment('created_at').notNull(),
  },
  table => [
    uniqueIndex('coupon_code').on(table.code),
    check(
      'coupon_limits',
      sql`${table.amountMicro} > 0 and ${table.perCustomerMax} > 0 and ${table.redeemed} >= 0
        and (${table.totalMax} is null or ${table.redeemed} <= ${table.totalMax}) and ${table.paidMinMicro} >= 0
        and (${table.creditDays} is null or ${table.creditDays} > 0)`,
    ),
  ],
)

/** One redemption: a customer's first, second … of a coupon, and the lot that came of it. */
export const couponRedemption = pgTable(
  'coupon_redemption',
  {
    couponId: uuid('coupon_id')
      .notNull()
      .references(() => coupon.id),
    userId: uuid('user_id').notNull(),
    nth: integer('nth').notNull(),
    grantId: uuid('grant_id')
      .notNull()
      .references(() => creditGrant.id),
    createdAt: moment('created_at').notNull(),
  },
  table => [
    primaryKey({ columns: [table.couponId, table.userId, table.nth] }),
    index('coupon_redemption_user').on(table.userId, table.createdAt),
    uniqueIndex('coupon_redemption_grant').on(table.grantId),
  ],
)
