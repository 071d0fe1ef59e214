import type { NodePgDatabase } from 'drizzle-orm/node-postgres'

/** The pool, and the handle inside a transaction: inside one, only its handle is used. */
export type Database = NodePgDatabase
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0]

/** What a query that works in both takes. */
export type Queryable = Pick<
  Transaction,
  'select' | 'insert' | 'update' | 'delete' | 'execute' | 'selectDistinctOn'
>
