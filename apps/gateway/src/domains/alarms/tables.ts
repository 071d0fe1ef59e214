import { doublePrecision, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { moment } from '../../platform/database/columns.ts'

/** What each alarm said when it was looked at last, and since when it is raised. */
export const alarm = pgTable(
  'alarm',
  {
    code: text('code').notNull(),
    /** The computer that it is about; empty for what is about the whole installation. */
    place: text('place').notNull(),
    /** How many things are wrong. */
    value: doublePrecision('value').notNull(),
    /** The first of them by name, for operators. */
    about: jsonb('about').$type<string[]>().notNull(),
    readAt: moment('read_at').notNull(),
    /** Since when the value is above zero; null: it is not. */
    since: moment('since'),
    /** When operators were last told that it is raised; null: not since then. */
    toldAt: moment('told_at'),
    /** When they were last told that it is over; null: never. */
    overAt: moment('over_at'),
  },
  table => [primaryKey({ columns: [table.code, table.place] })],
)
