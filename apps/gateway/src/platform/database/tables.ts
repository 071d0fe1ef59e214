import { sql } from 'drizzle-orm'
import { check, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { moment } from './columns.ts'

/**
 * Answers of spending calls by their key (B3). A row is `running` under a lease while its call is carried out;
 * a lease that ran out (the gateway died) lets the next try take over.
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

/** Leases by name: whichever replica holds one runs that loop. */
export const lease = pgTable('lease', {
  name: text('name').primaryKey(),
  owner: text('owner').notNull(),
  until: moment('until').notNull(),
})
