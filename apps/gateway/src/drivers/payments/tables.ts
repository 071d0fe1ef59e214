import { sql } from 'drizzle-orm'
import { check, index, integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { moment } from '../../platform/database/columns.ts'

/** The embedded test-card platform's own books: what it was asked to charge, and what became of it. */
export const testcardIntent = pgTable(
  'testcard_intent',
  {
    intentId: text('intent_id').primaryKey(),
    /** Who asked calls it so; also the key of its making. */
    reference: text('reference').notNull(),
    amountCents: integer('amount_cents').notNull(),
    currency: text('currency').notNull(),
    /** Names one of the test cards, such as `visa_4242`. */
    card: text('card').notNull(),
    status: text('status', {
      enum: ['created', 'requires_action', 'processing', 'succeeded', 'failed', 'canceled'],
    }).notNull(),
    failure: text('failure'),
    /** Given back in all, and what of it did not arrive. */
    refundedCents: integer('refunded_cents').notNull().default(0),
    refundsFailedCents: integer('refunds_failed_cents').notNull().default(0),
    /** Taken by the bank because somebody disputes it, and what of it the bank gave back. */
    disputedCents: integer('disputed_cents').notNull().default(0),
    disputesWonCents: integer('disputes_won_cents').notNull().default(0),
    returnUrl: text('return_url'),
    /** When it moves by itself: a card that settles late, is refunded or disputed later, or whose refund fails later. */
    movesAt: moment('moves_at'),
    createdAt: moment('created_at').notNull(),
  },
  table => [
    uniqueIndex('testcard_intent_reference').on(table.reference),
    index('testcard_intent_moves').on(table.movesAt).where(sql`${table.movesAt} is not null`),
    check(
      'testcard_intent_refunded',
      sql`${table.refundsFailedCents} between 0 and ${table.refundedCents}
        and ${table.refundedCents} - ${table.refundsFailedCents} <= ${table.amountCents}`,
    ),
    check(
      'testcard_intent_disputed',
      sql`${table.disputesWonCents} between 0 and ${table.disputedCents}
        and ${table.disputedCents} - ${table.disputesWonCents} <= ${table.amountCents}`,
    ),
  ],
)

/** Refunds by their key, so that one key gives back once. */
export const testcardRefund = pgTable('testcard_refund', {
  idempotencyKey: text('idempotency_key').primaryKey(),
  intentId: text('intent_id').notNull(),
  amountCents: integer('amount_cents').notNull(),
  createdAt: moment('created_at').notNull(),
})

/** Cards that the test platform keeps for later. */
export const testcardMethod = pgTable(
  'testcard_method',
  {
    methodId: text('method_id').primaryKey(),
    idempotencyKey: text('idempotency_key').notNull(),
    card: text('card').notNull(),
    /** A bank may want the customer first. */
    status: text('status', { enum: ['saved', 'requires_action', 'refused', 'ended'] })
      .notNull()
      .default('saved'),
    failure: text('failure'),
    /** Where its page leads back to. */
    returnUrl: text('return_url'),
    createdAt: moment('created_at').notNull(),
  },
  table => [uniqueIndex('testcard_method_key').on(table.idempotencyKey)],
)

/** Which customer is which at Stripe. */
export const stripeCustomer = pgTable('stripe_customer', {
  userId: uuid('user_id').primaryKey(),
  customerId: text('customer_id').notNull(),
  /** How often it was made anew, because the one before was deleted there: part of the key of its making. */
  generation: integer('generation').notNull(),
  createdAt: moment('created_at').notNull(),
})

/** What the test platform tells by webhook, until it was taken. */
export const testcardEvent = pgTable(
  'testcard_event',
  {
    eventId: text('event_id').primaryKey(),
    intentId: text('intent_id').notNull(),
    /** The JSON text that is signed and sent. */
    body: text('body').notNull(),
    occurredAt: moment('occurred_at').notNull(),
    /** When it is sent next; null when it was taken as often as it should be, or given up. */
    deliverAt: moment('deliver_at'),
    /** Sends that are still to be taken: more than one for a card whose events come twice. */
    copies: integer('copies').notNull(),
    tries: integer('tries').notNull().default(0),
  },
  table => [
    index('testcard_event_due').on(table.deliverAt).where(sql`${table.deliverAt} is not null`),
    index('testcard_event_occurred').on(table.occurredAt, table.eventId),
  ],
)
