import { OFFER_WATCH_HOLDS, OFFER_WATCH_STATES } from '@berth/contract/offer-watches'
import { sql } from 'drizzle-orm'
import { bigint, boolean, index, integer, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { amount, moment } from '../../platform/database/columns.ts'

/** Offers that customers watch. Whoever deploys for one, tells of it or ends it changes its row in that transaction. */
export const offerWatch = pgTable(
  'offer_watch',
  {
    id: uuid('id').primaryKey(),
    /** The order in which watches are served. */
    place: bigint('place', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    userId: uuid('user_id').notNull(),
    action: text('action', { enum: ['mail', 'deploy'] }).notNull(),
    regionCode: text('region_code').notNull(),
    gpuSpecId: text('gpu_spec_id').notNull(),
    gpuCount: integer('gpu_count').notNull(),
    /** Of the moment in which it was made; both as the catalogue has them in English. */
    regionName: text('region_name').notNull(),
    gpuSpecName: text('gpu_spec_name').notNull(),
    priceMaxMicroPerHour: amount('price_max_micro_per_hour'),
    instanceName: text('instance_name'),
    /** The rest of the deploy, as it was saved; a version to come may read it otherwise, so it is checked again. */
    setup: jsonb('setup').$type<Record<string, unknown>>(),
    until: moment('until').notNull(),
    state: text('state', { enum: OFFER_WATCH_STATES }).notNull().default('waiting'),
    /** Whether the next return of the stock is to be told of; only of a mail. */
    armed: boolean('armed').notNull(),
    heldBy: text('held_by', { enum: OFFER_WATCH_HOLDS }),
    /** What kept it from deploying and was told already. */
    heldTold: jsonb('held_told').$type<string[]>().notNull().default([]),
    toldAt: moment('told_at'),
    nextTryAt: moment('next_try_at').notNull(),
    endedAt: moment('ended_at'),
    instanceId: text('instance_id'),
    createdAt: moment('created_at').notNull(),
  },
  table => [
    index('offer_watch_user').on(table.userId, table.place),
    index('offer_watch_waiting')
      .on(table.regionCode, table.gpuSpecId, table.place)
      .where(sql`${table.state} = 'waiting'`),
  ],
)
