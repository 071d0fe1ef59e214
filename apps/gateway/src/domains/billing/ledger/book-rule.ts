import type { SQL } from 'drizzle-orm'

/** One rule of the books: a query that gives a row of text, `problem`, for each place where it is broken. */
export interface Rule {
  name: string
  broken: SQL | ((now: Date) => SQL)
}
