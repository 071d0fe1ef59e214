import { integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'

/** What a region has of a spec, as the catalogue says; its row is the lock of the stock. */
export const gpuStock = pgTable(
  'gpu_stock',
  {
    regionCode: text('region_code').notNull(),
    gpuSpecId: text('gpu_spec_id').notNull(),
    total: integer('total').notNull(),
  },
  table => [primaryKey({ columns: [table.regionCode, table.gpuSpecId] })],
)
