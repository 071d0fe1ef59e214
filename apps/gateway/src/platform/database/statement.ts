import type { Transaction } from './database.ts'

/** Where a statement may be run: a transaction, or the pool. */
export type Preparing = Pick<Transaction, '_'>

/**
 * A statement whose text is always the same, for what runs many times a second: it is not put together anew each time, and
 * a connection has it planned once. It takes several values as one, as JSON or as an array, so that its text does not depend on
 * how many there are.
 * @param name No other statement's.
 * @param text With `$1` and so on in place of values.
 * @returns Runs it, and gives its rows as the database sends them: amounts and moments are texts.
 */
export function statement<Row = never>(
  name: string,
  text: string,
): (q: Preparing, ...values: unknown[]) => Promise<Row[]> {
  return async (q, ...values) => {
    // Drizzle's own are sent by the next microtask: of those that begin together the order holds, and so does that of locks.
    await null
    const query = { sql: text, params: values }
    type Answer = { execute: { rows: Row[] }; all: never; values: never }
    const prepared = q._.session.prepareQuery<Answer>(query, undefined, name, false)
    return (await prepared.execute()).rows
  }
}
