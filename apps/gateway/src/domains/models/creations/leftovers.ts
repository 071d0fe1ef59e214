import { asc, eq, lt } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { ModelServer } from '../../../drivers/models/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import type { Ids } from '../../../platform/ids.ts'
import type { Item } from './items.ts'
import { creationLeftover } from './tables.ts'

/** What a server has not heard within a day it is not told any more: it forgets by itself. */
const TOLD_MS_MAX = 86_400_000
const ROUND_MAX = 50

interface LeftoversDeps {
  db: Database
  clock: Clock
  ids: Pick<Ids, 'uuid'>
  log: Pick<Logger, 'warn'>
  servers: ReadonlyMap<string, readonly ModelServer[]>
}

/** Films at servers that nobody wants any more: stopped, failed, or kept here by now. Their servers are told. */
export function createLeftovers({ db, clock, ids, log, servers }: LeftoversDeps) {
  return {
    /** Notes that an item's film is not wanted at its server, where it has one. */
    async note(tx: Transaction, item: Pick<Item, 'modelId' | 'server' | 'serverId'>): Promise<void> {
      const { modelId, server, serverId } = item
      if (server === null || serverId === null) return
      await tx.insert(creationLeftover).values({ id: ids.uuid(), modelId, server, serverId, at: clock.now() })
    },

    /** Tells the servers. One that does not hear it is told again in the next round. */
    async tell(signal: AbortSignal): Promise<void> {
      await db
        .delete(creationLeftover)
        .where(lt(creationLeftover.at, new Date(clock.now().getTime() - TOLD_MS_MAX)))
      const rows = await db.select().from(creationLeftover).orderBy(asc(creationLeftover.at)).limit(ROUND_MAX)
      for (const { id, modelId, server, serverId } of rows) {
        if (signal.aborted) return
        const found = servers.get(modelId)?.find(one => one.name === server)
        try {
          await found?.films.remove(serverId, signal)
          await db.delete(creationLeftover).where(eq(creationLeftover.id, id))
        } catch (error) {
          log.warn({ err: error, server }, 'a model server was not told that a film is not wanted')
        }
      }
    },
  }
}
export type Leftovers = ReturnType<typeof createLeftovers>
