import { sql } from 'drizzle-orm'
import { boolean, check, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { amount, moment } from '../../platform/database/columns.ts'

/** Why ports of an address are closed: codes by `tcp 22`; those that are open are absent. */
export type PortTroubles = Record<string, 'not_permitted' | 'taken'>

/**
 * Addresses that instances may have for themselves, who has each, and which gateway listens there. Whoever gives one to
 * an instance or takes it back holds its row's lock.
 */
export const publicIp = pgTable(
  'public_ip',
  {
    /** What customers reach. */
    address: text('address').primaryKey(),
    /** The address of the gateway's computer that it leads to. */
    listen: text('listen').notNull(),
    regionCode: text('region_code').notNull(),
    /** Whether the catalogue has it; what it has no more stays with whoever has it, and goes to nobody then. */
    offered: boolean('offered').notNull(),

    /** What it is given back by, anew each time that it is given; null while nobody has it, as are the next five. */
    id: uuid('id'),
    instanceId: text('instance_id'),
    userId: uuid('user_id'),
    /** What it costs whoever has it, as it was when it was given. */
    microPerHour: amount('micro_per_hour'),
    boundAt: moment('bound_at'),
    /** Since when it costs; null while its instance was never ready. */
    costsFrom: moment('costs_from'),
    /** Since when nothing is left to pay for it, and the day before it goes back that was last told. */
    unpaidSince: moment('unpaid_since'),
    unpaidNoticeDay: integer('unpaid_notice_day'),
    /** When it was last given back: the one that lies fallow for the longest is given next. */
    freedAt: moment('freed_at'),

    /** The gateway that listens there, as long as it says so by the database's clock. */
    servedBy: text('served_by'),
    servedUntil: moment('served_until'),
    troubles: jsonb('troubles').$type<PortTroubles>().notNull().default({}),
  },
  table => [
    uniqueIndex('public_ip_id').on(table.id),
    uniqueIndex('public_ip_instance').on(table.instanceId),
    index('public_ip_region').on(table.regionCode),
    check(
      'public_ip_bound',
      sql`(${table.id} is null) = (${table.instanceId} is null) and (${table.id} is null) = (${table.userId} is null)
        and (${table.id} is null) = (${table.microPerHour} is null) and (${table.id} is null) = (${table.boundAt} is null)
        and (${table.id} is not null or ${table.costsFrom} is null)`,
    ),
  ],
)
