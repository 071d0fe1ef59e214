import { integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { moment } from '../../platform/database/columns.ts'

/** The embedded test-card platform's own books: what it charged under which key. */
export const testcardCharge = pgTable('testcard_charge', {
  idempotencyKey: text('idempotency_key').primaryKey(),
  chargeId: text('charge_id').notNull(),
  amountCents: integer('amount_cents').notNull(),
  currency: text('currency').notNull(),
  label: text('label').notNull(),
  /** Null when it was charged, else the error code. */
  failure: text('failure'),
  request: jsonb('request').notNull(),
  createdAt: moment('created_at').notNull(),
})
