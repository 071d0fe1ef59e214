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
import { amount, bytes, moment } from '../../../platform/database/columns.ts'
import { INTENT_STATES } from './intent-states.ts'

/**
 * Payments: a row is made before the platform is asked, with its id as the platform's reference, and moves by
 * answers, webhooks and recovery alike (`intent-states.ts`).
 */
export const paymentIntent = pgTable(
  'payment_intent',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    amountCents: integer('amount_cents').notNull(),
    currency: text('currency', { enum: ['USD', 'EUR'] }).notNull(),
    platformName: text('platform_name').notNull(),
    /** The platform's id of it, as soon as the platform has it. */
    platformIntentId: text('platform_intent_id'),
    /** The driver's reference to what is charged, never a card number; emptied when nothing is charged any more. */
    source: text('source'),
    /** What people know it by, such as `Visa` and `4242`. */
    sourceBrand: text('source_brand').notNull(),
    sourceLast4: text('source_last4').notNull(),
    /** The saved method that is charged; null where something was entered for this payment. */
    methodId: uuid('method_id'),
    /** Whether what was entered is kept once it is paid. */
    savesMethod: boolean('saves_method').notNull().default(false),
    /** Who began it. */
    origin: text('origin', { enum: ['customer', 'auto'] })
      .notNull()
      .default('customer'),
    state: text('state', { enum: INTENT_STATES }).notNull(),
    failure: text('failure'),
    /** Where the customer goes on, sealed: whoever has it may confirm. Set only while an action is required. */
    nextUrlBox: bytes('next_url_box'),
    nextUrlKeyId: text('next_url_key_id'),
    /** Given back in all, as the platform says; more than what is booked while the success is not known yet. */
    refundsToldCents: integer('refunds_told_cents').notNull().default(0),
    /** The part of that which did not arrive, as the platform says. */
    refundsFailedToldCents: integer('refunds_failed_told_cents').notNull().default(0),
    /** Given back in all, as booked. */
    refundedCents: integer('refunded_cents').notNull().default(0),
    /** The part of that which did not arrive, as booked. */
    refundsFailedCents: integer('refunds_failed_cents').notNull().default(0),
    /** The same of what banks took for disputes: in all, and what of it they gave back; as told, then as booked. */
    disputesToldCents: integer('disputes_told_cents').notNull().default(0),
    disputesWonToldCents: integer('disputes_won_told_cents').notNull().default(0),
    disputedCents: integer('disputed_cents').notNull().default(0),
    disputesWonCents: integer('disputes_won_cents').notNull().default(0),
    /** When recovery asks the platform next; null when nothing is open. */
    lookAt: moment('look_at'),
    createdAt: moment('created_at').notNull(),
    finishedAt: moment('finished_at'),
  },
  table => [
    index('payment_intent_user').on(table.userId, table.createdAt),
    index('payment_intent_open')
      .on(table.lookAt)
      .where(sql`${table.state} in ('created', 'requires_action', 'processing')`),
    // Auto top-up has one payment at a time under way, whoever begins it.
    uniqueIndex('payment_intent_auto')
      .on(table.userId)
      .where(
        sql`${table.origin} = 'auto' and ${table.state} in ('created', 'requires_action', 'processing')`,
      ),
    index('payment_intent_method')
      .on(table.methodId)
      .where(
        sql`${table.methodId} is not null and ${table.state} in ('created', 'requires_action', 'processing')`,
      ),
    check(
      'payment_intent_refunded',
      sql`${table.refundedCents} between 0 and ${table.refundsToldCents}
        and ${table.refundsFailedCents} between 0 and ${table.refundsFailedToldCents}
        and ${table.refundsToldCents} - ${table.refundsFailedToldCents} between 0 and ${table.amountCents}`,
    ),
    check(
      'payment_intent_disputed',
      sql`${table.disputedCents} between 0 and ${table.disputesToldCents}
        and ${table.disputesWonCents} between 0 and ${table.disputesWonToldCents}
        and ${table.disputesToldCents} - ${table.disputesWonToldCents} between 0 and ${table.amountCents}`,
    ),
  ],
)

/**
 * Cards that customers have paid with or kept, as hashes of what tells them apart at their platform: by it two accounts of
 * one card are known to be one person's.
 */
export const cardSeen = pgTable(
  'card_seen',
  {
    userId: uuid('user_id').notNull(),
    cardHash: text('card_hash').notNull(),
    seenAt: moment('seen_at').notNull(),
  },
  table => [primaryKey({ columns: [table.userId, table.cardHash] })],
)

/** What platforms told, each event once, however often and by whichever way it came. */
export const paymentEvent = pgTable(
  'payment_event',
  {
    platformName: text('platform_name').notNull(),
    eventId: text('event_id').notNull(),
    /** Null for what is about none of our intents. */
    intentId: uuid('intent_id'),
    status: text('status'),
    refundedCents: integer('refunded_cents').notNull(),
    refundsFailedCents: integer('refunds_failed_cents').notNull().default(0),
    disputedCents: integer('disputed_cents').notNull().default(0),
    disputesWonCents: integer('disputes_won_cents').notNull().default(0),
    via: text('via', { enum: ['webhook', 'list'] }).notNull(),
    /** Whether it told anything that was not known yet. */
    moved: boolean('moved').notNull(),
    occurredAt: moment('occurred_at').notNull(),
    receivedAt: moment('received_at').notNull(),
  },
  table => [
    primaryKey({ columns: [table.platformName, table.eventId] }),
    index('payment_event_intent').on(table.intentId),
    index('payment_event_received').on(table.receivedAt),
  ],
)

/**
 * What platforms told and could not be booked: each waits here, apart from those behind it, and is tried again
 * (`set-aside.ts`). A row goes once its event is booked.
 */
export const paymentEventAside = pgTable(
  'payment_event_aside',
  {
    platformName: text('platform_name').notNull(),
    eventId: text('event_id').notNull(),
    /** The payment that it names, as the platform says it; null where the platform is still to be asked. */
    reference: text('reference'),
    /** The event as JSON, without the address on which its customer confirms. Text takes what `jsonb` refuses. */
    told: text('told').notNull(),
    occurredAt: moment('occurred_at').notNull(),
    via: text('via', { enum: ['webhook', 'list'] }).notNull(),
    /** Why the last try failed, for operators. */
    reason: text('reason').notNull(),
    tries: integer('tries').notNull(),
    tryAt: moment('try_at').notNull(),
    setAsideAt: moment('set_aside_at').notNull(),
  },
  table => [
    primaryKey({ columns: [table.platformName, table.eventId] }),
    index('payment_event_aside_due').on(table.platformName, table.tryAt),
    check('payment_event_aside_tries', sql`${table.tries} > 0`),
  ],
)

/** How far each platform's list of events has been read. */
export const paymentFeed = pgTable('payment_feed', {
  platformName: text('platform_name').primaryKey(),
  readTo: moment('read_to').notNull(),
})

/** Refunds and disputes as booked: what was taken from the wallet, and what was spent already and is owed. */
export const paymentRefund = pgTable(
  'payment_refund',
  {
    id: uuid('id').primaryKey(),
    intentId: uuid('intent_id')
      .notNull()
      .references(() => paymentIntent.id),
    userId: uuid('user_id').notNull(),
    /** Whether it was given back, or a bank took it because somebody disputes the payment. */
    reason: text('reason', { enum: ['refund', 'dispute'] })
      .notNull()
      .default('refund'),
    amountCents: integer('amount_cents').notNull(),
    /** The part that did not arrive, or that the bank gave back, and went back to where it was. */
    failedCents: integer('failed_cents').notNull().default(0),
    /** What the wallet could not give, less what of it did not arrive. */
    owedMicro: amount('owed_micro').notNull(),
    /** What later money has paid of it. */
    repaidMicro: amount('repaid_micro').notNull().default(sql`0`),
    createdAt: moment('created_at').notNull(),
  },
  table => [
    index('payment_refund_intent').on(table.intentId),
    index('payment_refund_user').on(table.userId, table.createdAt),
    index('payment_refund_owed').on(table.userId).where(sql`${table.repaidMicro} < ${table.owedMicro}`),
    check(
      'payment_refund_amounts',
      sql`${table.amountCents} > 0 and ${table.failedCents} between 0 and ${table.amountCents}
        and ${table.repaidMicro} between 0 and ${table.owedMicro}`,
    ),
  ],
)

/** Refunds that an operator asked for: written before the platform is asked, so that one is finished after a crash. */
export const refundRequest = pgTable(
  'refund_request',
  {
    /** The operator's, and the platform's key: the same again refunds nothing more. */
    id: text('id').primaryKey(),
    intentId: uuid('intent_id')
      .notNull()
      .references(() => paymentIntent.id),
    userId: uuid('user_id').notNull(),
    amountCents: integer('amount_cents').notNull(),
    state: text('state', { enum: ['asked', 'done', 'refused'] }).notNull(),
    /** What the platform said of one that it refused. */
    failure: text('failure'),
    /** When recovery asks again; null when it is decided. */
    lookAt: moment('look_at'),
    createdAt: moment('created_at').notNull(),
    finishedAt: moment('finished_at'),
  },
  table => [
    index('refund_request_intent').on(table.intentId),
    index('refund_request_user').on(table.userId),
    index('refund_request_created').on(table.createdAt, table.id),
    index('refund_request_open').on(table.lookAt).where(sql`${table.state} = 'asked'`),
    check(
      'refund_request_state',
      sql`${table.amountCents} > 0 and (${table.state} = 'asked') = (${table.lookAt} is not null)
        and (${table.state} = 'asked') = (${table.finishedAt} is null)`,
    ),
  ],
)
