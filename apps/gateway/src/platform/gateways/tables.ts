import { ne, sql } from 'drizzle-orm'
import { index, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { moment } from '../database/columns.ts'

/** Gateways of this installation that run now, one row a process. */
export const gateway = pgTable(
  'gateway',
  {
    id: uuid('id').primaryKey(),
    /** Where the other gateways reach it, as `host:port`; empty where it is about to go, and nothing new is opened to it. */
    address: text('address').notNull(),
    startedAt: moment('started_at').notNull().default(sql`now()`),
    /** By the database's clock; renewed while the process lives. */
    seenUntil: moment('seen_until').notNull(),
  },
  table => [index('gateway_seen_until').on(table.seenUntil)],
)

/** Holds for gateways that are not about to go. */
export const isStaying = ne(gateway.address, '')
