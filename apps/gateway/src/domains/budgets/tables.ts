import { BUDGET_PERIODS } from '@berth/contract/budgets'
import { sql } from 'drizzle-orm'
import {
  boolean,
  check,
  integer,
  pgTable,
  primaryKey,
  smallint,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { moment } from '../../platform/database/columns.ts'

/** What customers mean to spend in a day or a month (B16). */
export const budget = pgTable(
  'budget',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    /** Null without a key too: all that the account spends. */
    instanceId: text('instance_id'),
    /** The API key whose calls it is for. */
    keyId: uuid('key_id'),
    period: text('period', { enum: BUDGET_PERIODS }).notNull(),
    amountCents: integer('amount_cents').notNull(),
    /** Whether what it covers is stopped, or refused, when it is used up. */
    stops: boolean('stops').notNull(),
    createdAt: moment('created_at').notNull(),
  },
  table => [
    // Also how a customer's are found.
    unique('budget_scope').on(table.userId, table.instanceId, table.keyId, table.period).nullsNotDistinct(),
    uniqueIndex('budget_key').on(table.keyId).where(sql`${table.keyId} is not null`),
    check('budget_of_one', sql`${table.instanceId} is null or ${table.keyId} is null`),
    check('budget_amount', sql`${table.amountCents} > 0`),
  ],
)

/** Shares of budgets that were passed and told, so that each is told once in a period. */
export const budgetCrossing = pgTable(
  'budget_crossing',
  {
    budgetId: uuid('budget_id')
      .notNull()
      .references(() => budget.id, { onDelete: 'cascade' }),
    /** When the day or month began in which it was. */
    since: moment('since').notNull(),
    /** Percent. */
    share: smallint('share').notNull(),
    at: moment('at').notNull(),
  },
  table => [primaryKey({ columns: [table.budgetId, table.since, table.share] })],
)
