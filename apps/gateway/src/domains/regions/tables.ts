import { sql } from 'drizzle-orm'
import { check, index, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { moment } from '../../platform/database/columns.ts'

/** What a region has of a spec and how much of it is taken. Whoever takes or gives back holds this row's lock. */
export const stock = pgTable(
  'stock',
  {
    regionCode: text('region_code').notNull(),
    gpuSpecId: text('gpu_spec_id').notNull(),
    /** GPUs (machines for a CPU spec) in all, as the catalogue or the engines say; it may fall below what is taken. */
    total: integer('total').notNull(),
    /** The sum of the claims. */
    taken: integer('taken').notNull().default(0),
  },
  table => [
    primaryKey({ columns: [table.regionCode, table.gpuSpecId] }),
    check('stock_taken', sql`${table.taken} >= 0`),
  ],
)

/** Who took what: at most one claim each. A row goes when what it stands for is given back. */
export const stockClaim = pgTable(
  'stock_claim',
  {
    /** What took it, such as an instance by its id. */
    subjectId: text('subject_id').primaryKey(),
    regionCode: text('region_code').notNull(),
    gpuSpecId: text('gpu_spec_id').notNull(),
    count: integer('count').notNull(),
    /** The engine that it is on. */
    engineId: text('engine_id'),
    /** The real GPUs among it; empty where they are simulated, or none are. */
    gpuUuids: jsonb('gpu_uuids').$type<string[]>().notNull(),
    takenAt: moment('taken_at').notNull(),
  },
  table => [
    index('stock_claim_of').on(table.regionCode, table.gpuSpecId),
    check('stock_claim_count', sql`${table.count} > 0`),
  ],
)
