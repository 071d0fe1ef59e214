import { sql } from 'drizzle-orm'
import { check, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { moment } from './columns.ts'

/**
 * Spending calls by their key (B3), and nothing else remembers keys. A row is `running` under a lease while its call is
 * carried out; a lease that ran out (the gateway died) lets the next try take over, which finds in `result` what was
 * done before.
 */
export const idempotency = pgTable(
  'idempotency',
  {
    userId: text('user_id').notNull(),
    operation: text('operation').notNull(),
    key: text('key').notNull(),
    bodyHash: text('body_hash').notNull(),
    state: text('state', { enum: ['running', 'done'] }).notNull(),
    leaseUntil: moment('lease_until').notNull(),
    /** What finds again what the call did, such as an id; written in the transaction that did it (`once.ts`). */
    result: text('result'),
    httpStatus: integer('http_status'),
    /** The JSON text that was sent, so that a replay is equal byte by byte. */
    answer: text('answer'),
    createdAt: moment('created_at').notNull(),
  },
  table => [
    primaryKey({ columns: [table.userId, table.operation, table.key] }),
    check('idempotency_state', sql`${table.state} in ('running', 'done')`),
  ],
)

/** Calls of one class from one network address in the window that runs, over all gateways. */
export const rateCount = pgTable('rate_count', {
  /** A hash: addresses of people are not kept. */
  key: text('key').primaryKey(),
  count: integer('count').notNull(),
  /** By the database's clock. */
  endsAt: moment('ends_at').notNull(),
})

/** Leases by name: whichever replica holds one runs that loop. */
export const lease = pgTable('lease', {
  name: text('name').primaryKey(),
  owner: text('owner').notNull(),
  until: moment('until').notNull(),
})
