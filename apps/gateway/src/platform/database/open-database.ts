import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { Pool, type PoolClient } from 'pg'
import type { Logger } from 'pino'
import type { Database, Queryable, Transaction } from './database.ts'
import { createListener, type Listener } from './listener.ts'
import { isDatabaseUnavailable } from './unavailable.ts'

/** Connections of one gateway: PostgreSQL's own default allows 100 for all replicas and the embedded one. */
const POOL_SIZE = 20
/** A database that does not answer makes calls fail rather than hang. */
const CONNECT_TIMEOUT_MS = 3_000
const STATEMENT_TIMEOUT_MS = 10_000
/** Ours comes so long after the server's, which cancels cleanly; it is for a server that is frozen. */
const ANSWER_AFTER_MS = 2_000
const IDLE_TRANSACTION_TIMEOUT_MS = 30_000

export interface OpenDatabase {
  db: Database
  pool: Pool
  /** Listens to a PostgreSQL channel; survives a restart of the server. Returns the way to stop. */
  listen: Listener['listen']
  close(): Promise<void>
}

interface DatabaseOptions {
  url: string
  log: Pick<Logger, 'warn' | 'info'>
  poolSize?: number
  connectTimeoutMs?: number
  statementTimeoutMs?: number
}

/**
 * Opens a pool on a PostgreSQL. Nothing is connected until the first query.
 * @param options.url A `postgresql://` address; a folder as `?host=` means a Unix socket.
 * @param options.connectTimeoutMs How long a query waits for a connection, one of the pool's or a new one.
 * @param options.statementTimeoutMs How long one may take, unless its transaction was allowed longer (`allowLonger`).
 */
export function openDatabase({
  url,
  log,
  poolSize = POOL_SIZE,
  connectTimeoutMs = CONNECT_TIMEOUT_MS,
  statementTimeoutMs = STATEMENT_TIMEOUT_MS,
}: DatabaseOptions): OpenDatabase {
  const pool = new Pool({
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + ANSWER_AFTER_MS,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_TIMEOUT_MS,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    // Statements of one transaction that begin together are sent together: the server still takes them in their order.
    pipeline: true,
    application_name: 'berth',
    // Days and months of what was used are those of UTC, whatever a server that somebody else looks after says of itself.
    options: '-c timezone=UTC',
  })
  // An idle connection that breaks is replaced by the pool; unheard, the event would end the process.
  pool.on('error', error => log.warn({ err: error }, 'a database connection broke'))
  // The pool hears only of idle connections. One that breaks inside a transaction fails its query, and also emits.
  pool.on('connect', client => {
    client.on('error', error => log.warn({ err: error }, 'a database connection broke while it was in use'))
  })
  const listener = createListener({ url, log })
  return {
    db: withSafeTransactions(drizzle({ client: pool }), pool),
    pool,
    listen: listener.listen,
    async close() {
      await listener.close()
      await pool.end()
    },
  }
}

/** What a client of `pg` waits by, which its types leave out. */
type Waiting = PoolClient & { connectionParameters: { query_timeout: number } }

/** The connection of each transaction that runs. */
const clients = new WeakMap<Transaction, Waiting>()

/**
 * Lets each statement of a transaction take longer than those of calls, for work that nobody waits for. Both the server and we
 * go by it: a server that may take two minutes is not given up after twelve seconds.
 * @param tx As `db.transaction` gives it, none inside another one.
 * @param ms A whole number, for one statement.
 */
export async function allowLonger(tx: Transaction, ms: number): Promise<void> {
  await tx.execute(sql.raw(`set local statement_timeout = ${ms}`))
  const client = clients.get(tx)
  if (client) client.connectionParameters.query_timeout = ms + ANSWER_AFTER_MS
}

/** What ends a transaction, as Drizzle says it. */
const ENDS: ReadonlySet<string> = new Set(['commit', 'rollback'])

/** Somebody goes on with a transaction that is over: what they say would be outside of any, or in another one's. */
class TransactionOver extends Error {
  constructor() {
    super('the transaction is over')
  }
}

/**
 * Takes statements of one transaction, until that is about to end. Of what goes on side by side in it the first that fails ends
 * it, while the others may still have something to say.
 */
function untilOver(client: PoolClient) {
  let isOver = false
  const query = (config: { text: string }, values: unknown[]) =>
    isOver && !ENDS.has(config.text) ? Promise.reject(new TransactionOver()) : client.query(config, values)
  return {
    client: { query } as unknown as PoolClient,
    end() {
      isOver = true
    },
  }
}

/**
 * Drizzle takes a connection for a transaction before its `try`, so that one whose `begin` fails is never given
 * back: a database that restarts under load would use up the pool for good. Here it is given back in any case.
 */
function withSafeTransactions(db: Database, pool: Pool): Database {
  db.transaction = async (run, config) => {
    const client = (await pool.connect()) as Waiting
    const { query_timeout } = client.connectionParameters
    let broken = false
    const own = untilOver(client)
    try {
      return await drizzle({ client: own.client }).transaction(async tx => {
        clients.set(tx, client)
        try {
          return await run(tx)
        } finally {
          own.end()
        }
      }, config)
    } catch (error) {
      // A server that stopped answering may still owe this connection an answer to the last query.
      broken = isDatabaseUnavailable(error)
      throw error
    } finally {
      client.connectionParameters.query_timeout = query_timeout
      client.release(broken)
    }
  }
  return db
}

/**
 * Tells every listener of a channel, when the transaction that `q` belongs to has committed.
 * @param channel Lower-case letters and underscores.
 * @param payload At most 8,000 bytes.
 */
export async function notify(q: Queryable, channel: string, payload: string): Promise<void> {
  await q.execute(sql`select pg_notify(${channel}, ${payload})`)
}
