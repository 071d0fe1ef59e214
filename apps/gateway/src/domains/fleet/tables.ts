import { sql } from 'drizzle-orm'
import { index, jsonb, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import type { Capability } from '../../drivers/compute/port/capability.ts'
import type { ComputeCapabilities, EngineSize, MachineKind } from '../../drivers/compute/port/engine.ts'
import { moment } from '../../platform/database/columns.ts'

/** What an engine last said of itself. */
export interface EngineFacts {
  kinds: MachineKind[]
  size: EngineSize
  capabilities: ComputeCapabilities
  /** Regions whose machines it makes, as the catalogue of the gateway that reaches it says. */
  region_codes: string[]
  /** What it offers of volumes, and of those of a fixed size; null where it has none, and left out by a gateway of the version before. */
  volumes?: { shared: boolean; size_enforced: boolean; fixed_size?: Capability; objects?: true } | null
  /** Whether it builds Dockerfiles; left out by a gateway of the version before. */
  builds_dockerfiles?: boolean
}

/** What owns machines. A row stays when its engine is gone: instances may still be on it. */
export const engine = pgTable('engine', {
  id: text('id').primaryKey(),
  driver: text('driver').notNull(),
  /** Null for an engine of the version before, which has not been seen again yet. */
  facts: jsonb('facts').$type<EngineFacts>(),
  firstSeenAt: moment('first_seen_at').notNull().default(sql`now()`),
  /** When it was last found, after it was not, or was found to be other than before. */
  lastSeenAt: moment('last_seen_at').notNull().default(sql`now()`),
  /** Since when its machines are known to be those of this database; null while that is not decided. */
  pairedAt: moment('paired_at'),
})

/** Which gateways reach which engines, until when at least; times are the database's. */
export const engineReach = pgTable(
  'engine_reach',
  {
    engineId: text('engine_id').notNull(),
    gatewayId: uuid('gateway_id').notNull(),
    seenUntil: moment('seen_until').notNull(),
  },
  table => [
    primaryKey({ columns: [table.engineId, table.gatewayId] }),
    index('engine_reach_until').on(table.seenUntil),
  ],
)
