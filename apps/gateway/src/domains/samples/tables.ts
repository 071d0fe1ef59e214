import { index, pgTable, primaryKey, real, smallint, text } from 'drizzle-orm/pg-core'
import { moment } from '../../platform/database/columns.ts'

/**
 * What an instance used over one step of time: means, null where its engine does not tell. Rows are narrow, since there
 * are many. No foreign key: they are cleared when they are old, and when their instance is gone.
 */
const columns = () => ({
  instanceId: text('instance_id').notNull(),
  /** How long the step is, in seconds: a tier of `steps.ts`. */
  step: smallint('step').notNull(),
  /** When it began. */
  at: moment('at').notNull(),
  /** Percent of the processors that it has. */
  cpu: real('cpu'),
  memoryMb: real('memory_mb'),
  diskMb: real('disk_mb'),
  /** Bytes in a second. */
  networkIn: real('network_in'),
  networkOut: real('network_out'),
  /** Percent, GPU by GPU. */
  gpuLoad: real('gpu_load').array(),
  gpuMemoryMb: real('gpu_memory_mb').array(),
})

/**
 * The fine steps, kept for an hour and less. The migration makes it unlogged: what is lost with a database that dies is a
 * gap of its graphs.
 */
export const sampleFine = pgTable('sample_fine', columns(), table => [
  primaryKey({ columns: [table.instanceId, table.step, table.at] }),
  index('sample_fine_at').on(table.step, table.at),
])

/** The coarse steps, thinned from the fine ones and kept for up to thirty days. */
export const sampleCoarse = pgTable('sample_coarse', columns(), table => [
  primaryKey({ columns: [table.instanceId, table.step, table.at] }),
  index('sample_coarse_at').on(table.step, table.at),
])
