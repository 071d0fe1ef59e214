import { sql } from 'drizzle-orm'
import { boolean, check, index, integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { moment } from '../../../../platform/database/columns.ts'

/** Auto top-up (R3.9) of customers who have ever set it, one row each, in cents of their wallet. */
export const autoTopup = pgTable(
  'auto_topup',
  {
    userId: uuid('user_id').primaryKey(),
    enabled: boolean('enabled').notNull(),
    thresholdCents: integer('threshold_cents').notNull(),
    amountCents: integer('amount_cents').notNull(),
    monthlyCapCents: integer('monthly_cap_cents').notNull(),
    /** The saved method that it charges; null: whichever is the default. */
    methodId: uuid('method_id'),
    /** Refusals since a charge succeeded, or since it was set. */
    declines: integer('declines').notNull().default(0),
    /** It tries nothing before; null: whenever the balance is below. */
    nextTryAt: moment('next_try_at'),
    /** What it waits for until then, or why it turned itself off; null where neither is. */
    halt: text('halt', { enum: ['declined', 'capped'] }),
    refusedAt: moment('refused_at'),
    refusedFor: text('refused_for'),
    refusedBrand: text('refused_brand'),
    refusedLast4: text('refused_last4'),
    updatedAt: moment('updated_at').notNull(),
  },
  table => [
    index('auto_topup_on').on(table.userId).where(sql`${table.enabled}`),
    check(
      'auto_topup_amounts',
      sql`${table.thresholdCents} > 0 and ${table.amountCents} > 0
        and ${table.monthlyCapCents} >= ${table.amountCents}`,
    ),
  ],
)
