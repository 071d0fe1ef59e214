import { and, asc, eq, lt, lte, type SQL, sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import { FilmRefused, type ModelServer } from '../../../drivers/models/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import type { Ids } from '../../../platform/ids.ts'
import type { Item } from './items.ts'
import { creationLeftover } from './tables.ts'

/** What a server has not heard within a day it is not told any more: it forgets by itself. */
const TOLD_MS_MAX = 86_400_000
/** What one server is told in a round, and how long it has for that. */
const SERVER_ROUND_MAX = 50
const SERVER_ROUND_MS_MAX = 30_000
const ANSWER_MS_MAX = 10_000
/** What was not heard is told again after as long as it has waited, but for these. */
const AGAIN_SECONDS_MIN = 60
const AGAIN_SECONDS_MAX = 3_600
/** That nothing is there, or that nothing is ever removed. */
const NEVER: readonly number[] = [404, 405, 410, 501]

interface LeftoversDeps {
  db: Database
  clock: Clock
  ids: Pick<Ids, 'uuid'>
  log: Pick<Logger, 'warn'>
  servers: ReadonlyMap<string, readonly ModelServer[]>
  /** How long a server may take to answer: other than usual for tests. */
  answerMs?: number
}

type Place = Pick<typeof creationLeftover.$inferSelect, 'modelId' | 'server'>

/** Films at servers that nobody wants any more: stopped, failed, or kept here by now. Their servers are told. */
export function createLeftovers({ db, clock, ids, log, servers, answerMs = ANSWER_MS_MAX }: LeftoversDeps) {
  /** Some of a server's are told later: the longer they have waited, the later. */
  async function postpone(which: SQL | undefined): Promise<void> {
    const now = clock.now()
    const waited = sql`${now}::timestamptz - ${creationLeftover.at}`
    const pause = sql`greatest(make_interval(secs => ${AGAIN_SECONDS_MIN}), least(make_interval(secs => ${AGAIN_SECONDS_MAX}), ${waited}))`
    await db
      .update(creationLeftover)
      .set({ nextAt: sql`${now}::timestamptz + ${pause}` })
      .where(which)
  }

  async function tellOne({ modelId, server }: Place, signal: AbortSignal): Promise<void> {
    const found = servers.get(modelId)?.find(one => one.name === server)
    const isDue = and(
      eq(creationLeftover.modelId, modelId),
      eq(creationLeftover.server, server),
      lte(creationLeftover.nextAt, clock.now()),
    )
    // The catalogue names it no more.
    if (!found) {
      await db.delete(creationLeftover).where(isDue)
      return
    }
    const rows = await db
      .select()
      .from(creationLeftover)
      .where(isDue)
      .orderBy(asc(creationLeftover.nextAt), asc(creationLeftover.id))
      .limit(SERVER_ROUND_MAX)
    const round = AbortSignal.any([signal, AbortSignal.timeout(SERVER_ROUND_MS_MAX)])
    for (const { id, serverId } of rows) {
      const own = eq(creationLeftover.id, id)
      try {
        await found.films.remove(serverId, AbortSignal.any([round, AbortSignal.timeout(answerMs)]))
        await db.delete(creationLeftover).where(own)
      } catch (error) {
        if (signal.aborted) return
        log.warn({ err: error, server }, 'a model server was not told that a film is not wanted')
        if (!(error instanceof FilmRefused)) return await postpone(isDue)
        // One that knows no such call will not know it later.
        await (NEVER.includes(error.status) ? db.delete(creationLeftover).where(own) : postpone(own))
      }
    }
  }

  return {
    /** Notes that an item's film is not wanted at its server, where it has one. */
    async note(tx: Transaction, item: Pick<Item, 'modelId' | 'server' | 'serverId'>): Promise<void> {
      const { modelId, server, serverId } = item
      if (server === null || serverId === null) return
      const at = clock.now()
      await tx.insert(creationLeftover).values({ id: ids.uuid(), modelId, server, serverId, at, nextAt: at })
    },

    /**
     * Tells the servers, each beside the others and some films at a time. What one does not hear it is told again, later
     * and later; one that gives no answer is left alone with all of its films.
     */
    async tell(signal: AbortSignal): Promise<void> {
      const now = clock.now()
      await db.delete(creationLeftover).where(lt(creationLeftover.at, new Date(now.getTime() - TOLD_MS_MAX)))
      const { modelId, server } = creationLeftover
      const due = await db
        .selectDistinct({ modelId, server })
        .from(creationLeftover)
        .where(lte(creationLeftover.nextAt, now))
      await Promise.all(due.map(place => tellOne(place, signal)))
    },
  }
}
export type Leftovers = ReturnType<typeof createLeftovers>
