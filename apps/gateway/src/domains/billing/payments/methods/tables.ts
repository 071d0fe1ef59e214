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
import { bytes, moment } from '../../../../platform/database/columns.ts'

/**
 * What customers keep to pay with again (R3.7). A row is written before the platform is asked to keep it, and goes
 * once the platform has forgotten it: what a killed gateway left is finished by recovery.
 */
export const paymentMethod = pgTable(
  'payment_method',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    platformName: text('platform_name').notNull(),
    /** Refused ones are `counted` where the list has nothing more to say of them. */
    state: text('state', { enum: ['saving', 'saved', 'refused', 'counted', 'removing'] }).notNull(),
    /** The driver's reference to what is to be kept, never a card number; emptied once it is kept. */
    source: text('source'),
    /** The visit by which the platform keeps it: to its own page, or to the bank's that asks; null where there is none. */
    platformPageId: text('platform_page_id'),
    /** Where the customer goes on, sealed: whoever has it may confirm. Set only while they are waited for. */
    nextUrlBox: bytes('next_url_box'),
    nextUrlKeyId: text('next_url_key_id'),
    /** It was paid with and is kept by that: its bank has nothing to ask any more. */
    wasPaid: boolean('was_paid').notNull().default(false),
    /** The platform's id of it, as soon as the platform has it. */
    platformMethodId: text('platform_method_id'),
    /** Set before the platform is asked to forget it: from then on nobody keeps it again. */
    isForgetting: boolean('is_forgetting').notNull().default(false),
    /** Tells a customer's cards apart, so that each is kept once. */
    fingerprint: text('fingerprint').notNull(),
    brand: text('brand').notNull(),
    last4: text('last4').notNull(),
    expiryMonth: integer('expiry_month'),
    expiryYear: integer('expiry_year'),
    isDefault: boolean('is_default').notNull().default(false),
    /** The last charge that was refused, until one succeeds; where it is `refused`, why it is not kept. */
    refusedAt: moment('refused_at'),
    refusedFor: text('refused_for'),
    /** When recovery takes it next; null where nothing is left to do. */
    lookAt: moment('look_at'),
    /** When a customer who waits for it had the platform asked last. */
    askedAt: moment('asked_at'),
    createdAt: moment('created_at').notNull(),
  },
  table => [
    index('payment_method_user').on(table.userId, table.createdAt),
    uniqueIndex('payment_method_default').on(table.userId).where(sql`${table.isDefault}`),
    uniqueIndex('payment_method_card')
      .on(table.userId, table.platformName, table.fingerprint)
      .where(sql`${table.state} in ('saving', 'saved')`),
    index('payment_method_open').on(table.lookAt).where(sql`${table.lookAt} is not null`),
    check(
      'payment_method_saved',
      sql`${table.state} <> 'saved' or (${table.platformMethodId} is not null and ${table.source} is null)`,
    ),
    check('payment_method_default_saved', sql`not ${table.isDefault} or ${table.state} = 'saved'`),
  ],
)

/** Customers whom platforms are to forget: written as the account is deleted, gone once the platform has. */
export const leavingCustomer = pgTable(
  'leaving_customer',
  {
    userId: uuid('user_id').notNull(),
    platformName: text('platform_name').notNull(),
    /** When recovery takes it next. */
    lookAt: moment('look_at').notNull(),
    createdAt: moment('created_at').notNull(),
  },
  table => [
    primaryKey({ columns: [table.userId, table.platformName] }),
    index('leaving_customer_due').on(table.lookAt),
  ],
)
