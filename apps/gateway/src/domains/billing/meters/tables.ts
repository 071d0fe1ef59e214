import { USAGE_KINDS } from '@berth/contract/usage-kinds'
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  date,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { amount, moment } from '../../../platform/database/columns.ts'
import { SUBJECT_KINDS } from '../subject.ts'
import { UNIT_NAMES } from './units.ts'

/**
 * A stretch of what a subject costs: `by_time` while its meters run, at most one open for each subject; `term` paid
 * in advance until its end and given back in part where it ends early; `once` for what was counted.
 */
export const usageInterval = pgTable(
  'usage_interval',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    subjectKind: text('subject_kind', { enum: SUBJECT_KINDS }).notNull(),
    subjectId: text('subject_id').notNull(),
    /** What the lists say of it: names as they were, so that a rename changes no old receipt. */
    subjectName: text('subject_name').notNull(),
    subjectFacts: jsonb('subject_facts').$type<SubjectFacts>(),
    charge: text('charge', { enum: ['by_time', 'term', 'once'] }).notNull(),
    /** Whether its subject is stopped when nothing is left to pay for it; what goes on without is waived. */
    stopsWhenEmpty: boolean('stops_when_empty').notNull(),
    /** What all its meters cost together in that many seconds; of a term its price and length, of `once` the price. */
    rateMicro: amount('rate_micro').notNull(),
    rateSeconds: integer('rate_seconds').notNull(),
    startedAt: moment('started_at').notNull(),
    endedAt: moment('ended_at'),
    /**
     * What earlier stretches of the customer left over, in parts of a micro-unit (`PARTS_PER_MICRO`), and what this
     * one has left over at its end: so that no number of short stretches is free of its parts of a second.
     */
    carriedParts: amount('carried_parts').notNull().default(sql`0`),
    restParts: amount('rest_parts').notNull().default(sql`0`),
    /** What was taken of each account. */
    creditsMicro: amount('credits_micro').notNull(),
    cashMicro: amount('cash_micro').notNull(),
    /** Taken in all. */
    postedMicro: amount('posted_micro').notNull().generatedAlwaysAs(sql`credits_micro + cash_micro`),
    /** Due and not taken, because the wallet was empty. */
    waivedMicro: amount('waived_micro').notNull(),
    /** Up to when it is posted: posted + waived is what was due then. */
    postedUntil: moment('posted_until').notNull(),
    /** How often it was posted; part of the transfers' keys. */
    postings: integer('postings').notNull().default(0),
  },
  table => [
    uniqueIndex('usage_interval_open')
      .on(table.subjectKind, table.subjectId)
      .where(sql`${table.endedAt} is null`),
    index('usage_interval_user').on(table.userId, table.startedAt, table.id),
    index('usage_interval_user_open').on(table.userId).where(sql`${table.endedAt} is null`),
    index('usage_interval_subject').on(table.subjectKind, table.subjectId),
    // Whatever asks for a term, and however often: of two that begin at the same moment one is refused.
    uniqueIndex('usage_interval_term')
      .on(table.subjectKind, table.subjectId, table.startedAt)
      .where(sql`${table.charge} = 'term' and ${table.endedAt} > ${table.startedAt}`),
    check(
      'usage_interval_amounts',
      sql`${table.creditsMicro} >= 0 and ${table.cashMicro} >= 0 and ${table.waivedMicro} >= 0
        and ${table.rateMicro} >= 0 and ${table.rateSeconds} > 0
        and ${table.carriedParts} >= 0 and ${table.restParts} >= 0`,
    ),
    check('usage_interval_order', sql`${table.endedAt} is null or ${table.endedAt} >= ${table.startedAt}`),
    check('usage_interval_ends', sql`${table.charge} = 'by_time' or ${table.endedAt} is not null`),
  ],
)

export type Interval = typeof usageInterval.$inferSelect

/** What lists say of a subject beside its name; which keys are set depends on its kind. */
export interface SubjectFacts {
  gpu_spec_name?: string
  gpu_count?: number
  /** The instance that has an address. */
  instance_id?: string
  instance_name?: string
}

/** What ran in a stretch, the main one first. */
export const usageMeter = pgTable(
  'usage_meter',
  {
    intervalId: uuid('interval_id')
      .notNull()
      .references(() => usageInterval.id),
    position: smallint('position').notNull(),
    sku: text('sku').notNull(),
    label: text('label').notNull(),
    unit: text('unit', { enum: UNIT_NAMES }).notNull(),
    quantity: bigint('quantity', { mode: 'number' }).notNull(),
    rateMicro: amount('rate_micro').notNull(),
  },
  table => [
    primaryKey({ columns: [table.intervalId, table.position] }),
    check('usage_meter_amounts', sql`${table.quantity} >= 0 and ${table.rateMicro} >= 0`),
  ],
)

/**
 * The ledger's usage entries summed by stretch, UTC day, account and direction: what receipts and spending by day are
 * read from, without a look at each entry.
 */
export const usageDay = pgTable(
  'usage_day',
  {
    intervalId: uuid('interval_id')
      .notNull()
      .references(() => usageInterval.id),
    userId: uuid('user_id').notNull(),
    day: date('day', { mode: 'string' }).notNull(),
    part: text('part', { enum: ['credits', 'cash', 'write_off'] }).notNull(),
    /** Given back, not taken. */
    back: boolean('back').notNull(),
    entries: integer('entries').notNull(),
    amountMicro: amount('amount_micro').notNull(),
  },
  table => [
    primaryKey({ columns: [table.intervalId, table.day, table.part, table.back] }),
    // A bill as a file goes through it in this order, a page after another.
    index('usage_day_user').on(table.userId, table.day, table.intervalId),
    check('usage_day_amount', sql`${table.amountMicro} > 0 and ${table.entries} > 0`),
  ],
)

/**
 * The same summed by customer, day and kind of usage, what was given back taken off: what pages of many days are read
 * from, some rows a day however much was started and stopped. Triggers keep it with `usage_day`, whoever writes there:
 * a gateway of the version before that still runs as well.
 */
export const usageTotal = pgTable(
  'usage_total',
  {
    userId: uuid('user_id').notNull(),
    day: date('day', { mode: 'string' }).notNull(),
    usage: text('usage', { enum: USAGE_KINDS }).notNull(),
    cashMicro: amount('cash_micro').notNull(),
    creditsMicro: amount('credits_micro').notNull(),
    waivedMicro: amount('waived_micro').notNull(),
  },
  table => [primaryKey({ columns: [table.userId, table.day, table.usage] })],
)

/** What usage is paid from: a customer's accounts, or nobody. */
export type UsagePart = (typeof usageDay.$inferSelect)['part']
