import { sql } from 'drizzle-orm'
import { integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { moment } from '../../platform/database/columns.ts'
import { gateway } from '../../platform/gateways/tables.ts'

/** The catalogue that an operator applied last: one row, which each of them replaces. */
export const appliedCatalogue = pgTable('applied_catalogue', {
  version: integer('version').primaryKey(),
  /** YAML, as it stood in the file. */
  source: text('source').notNull(),
  appliedAt: moment('applied_at').notNull(),
})

/** What each gateway that runs goes by. */
export const heldCatalogue = pgTable('held_catalogue', {
  gatewayId: uuid('gateway_id')
    .primaryKey()
    .references(() => gateway.id, { onDelete: 'cascade' }),
  /** YAML. */
  source: text('source').notNull(),
  /** The newest applied one that it has looked at, whether it took it or not; 0: none. */
  version: integer('version').notNull(),
  /** Why it did not take that one, in words. */
  trouble: text('trouble'),
  /** Codes of regions that it lets drain. */
  drained: text('drained').array().notNull().default(sql`'{}'`),
})

/** Regions that drain: whatever catalogues say, nothing new is placed there. */
export const regionDrain = pgTable('region_drain', {
  regionCode: text('region_code').primaryKey(),
  since: moment('since').notNull(),
})
