import { bigint, customType, timestamp } from 'drizzle-orm/pg-core'

/** A moment, kept with its zone, to the millisecond that JavaScript has. */
export const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'date' })

/** An amount of money in micro-units. */
export const amount = (name: string) => bigint(name, { mode: 'bigint' })

/** Bytes as they are. */
export const bytes = customType<{ data: Buffer }>({ dataType: () => 'bytea' })
