import { sql } from 'drizzle-orm'
import { check, date, integer, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { moment } from '../../platform/database/columns.ts'

/** Days on which customers took the free credit: one row for each account and day, so that there is no second. */
export const checkIn = pgTable(
  'check_in',
  {
    userId: uuid('user_id').notNull(),
    /** By the calendar of the zone that it was taken in. */
    day: date('day', { mode: 'string' }).notNull(),
    timeZone: text('time_zone').notNull(),
    at: moment('at').notNull(),
    /** Days in a row, with this one. */
    streak: integer('streak').notNull(),
    /** The credit that came of it. */
    grantId: uuid('grant_id').notNull(),
  },
  table => [
    primaryKey({ columns: [table.userId, table.day] }),
    check('check_in_streak', sql`${table.streak} > 0`),
  ],
)
