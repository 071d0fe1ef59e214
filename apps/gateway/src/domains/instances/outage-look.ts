import { and, asc, eq, gt, inArray, isNull, lte } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database/database.ts'
import type { Billing } from '../billing/billing.ts'
import { FAULT_STATUSES, outageOf } from './outage.ts'
import { instance } from './tables.ts'

/** What an outage has come to is credited so often while it lasts. */
const OUTAGE_PART_MS = 24 * 3_600_000
const PAGE = 200

/** What the look needs of others. */
interface OutageLookDeps {
  db: Database
  clock: Clock
  log: Pick<Logger, 'error'>
  billing: Pick<Billing, 'lockWallet' | 'creditOutage' | 'outageCreditedUntil'>
}

/**
 * Looks at outages that go on, and credits those of a day or more by parts (B17): one that never ends gives what one gives
 * that ends, and needs nobody who stops or removes the instance.
 */
export function createOutageLook({ db, clock, log, billing }: OutageLookDeps) {
  async function credit(id: string, userId: string): Promise<void> {
    await db.transaction(async tx => {
      await billing.lockWallet(tx, userId)
      const [row] = await tx.select().from(instance).where(eq(instance.id, id)).for('update')
      // It may have ended since, and was credited by whoever ended it.
      const outage = row && !row.terminatedAt ? outageOf(row, clock.now()) : null
      if (!row || !outage) return
      const from =
        (await billing.outageCreditedUntil(tx, { instanceId: id, since: outage.since })) ?? outage.since
      if (outage.until.getTime() - from.getTime() < OUTAGE_PART_MS) return
      await billing.creditOutage(tx, { userId, instance: row, ...outage })
    })
  }

  return async (signal?: AbortSignal): Promise<void> => {
    let after = ''
    for (;;) {
      const page: { id: string; userId: string }[] = await db
        .select({ id: instance.id, userId: instance.userId })
        .from(instance)
        .where(
          and(
            inArray(instance.status, FAULT_STATUSES),
            isNull(instance.terminatedAt),
            lte(instance.statusSince, new Date(clock.now().getTime() - OUTAGE_PART_MS)),
            gt(instance.id, after),
          ),
        )
        .orderBy(asc(instance.id))
        .limit(PAGE)
      for (const { id, userId } of page) {
        if (signal?.aborted) return
        after = id
        try {
          await credit(id, userId)
        } catch (error) {
          log.error(
            { err: error, instance: id },
            'an outage could not be credited; the next look tries again',
          )
        }
      }
      if (page.length < PAGE) return
    }
  }
}
