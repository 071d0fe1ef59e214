import { deployBody } from '@berth/contract/instances'
import { and, asc, eq, gt, lte, sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database/database.ts'
import type { Events } from '../../platform/events/events.ts'
import type { Instances } from '../instances/instances.ts'
import type { Regions } from '../regions/regions.ts'
import { failedDeployOf, NotNow } from './failed-deploy.ts'
import { offerWatch } from './tables.ts'
import { endWatch, holdWatch, isWaitingFor, tell, type WatchRow } from './watch-rows.ts'

/** A watch that could not deploy tries again after this long, if the stock is still there. */
const TRY_AGAIN_MS = 60_000
/** The same where a registry or an engine does not answer: asking takes seconds, for which others wait. */
const AWAY_MS = 5 * 60_000
/**
 * How stock that comes and goes is damped: after a mail, a watch is silent for so long, and until the offer was seen
 * sold out after that.
 */
const MAIL_PAUSE_MS = 6 * 3_600_000
/** Rows that one statement ends or tells of. */
const BATCH_ROWS_MAX = 200

export interface LookDeps {
  db: Database
  clock: Clock
  log: Pick<Logger, 'error'>
  events: Pick<Events, 'emit'>
  regions: Pick<Regions, 'specs' | 'stock'>
  instances: Pick<Instances, 'deploy'>
  /** Whether a customer's address is verified: nobody else deploys. */
  isVerified(userId: string): Promise<boolean>
}

/**
 * Looks at every offer that is watched: ends what is over, deploys for those who asked for it, the oldest first, and
 * tells the others. Gateways may do this at the same time: each watch is settled by whoever gets its row.
 */
export function createLook(deps: LookDeps) {
  const { db, clock, regions } = deps
  const telling = () => ({ events: deps.events, at: clock.now() })
  const inMs = (ms: number) => new Date(clock.now().getTime() + ms)

  async function endOverdue(): Promise<void> {
    const now = clock.now()
    const rows = await db
      .select({ id: offerWatch.id })
      .from(offerWatch)
      .where(and(sql`${offerWatch.state} = 'waiting'`, lte(offerWatch.until, now)))
      .limit(BATCH_ROWS_MAX)
    for (const { id } of rows) {
      await db.transaction(tx => endWatch(tx, id, { state: 'expired', ...telling() }))
    }
  }

  /** Deploys for a watch, or writes down why not. Returns whether it deployed. */
  async function attempt(row: WatchRow): Promise<boolean> {
    const hold = async (by: Parameters<typeof holdWatch>[2]['by']) => {
      await db.transaction(tx => holdWatch(tx, row.id, { by, nextTryAt: inMs(TRY_AGAIN_MS), ...telling() }))
      return false
    }
    if (!(await deps.isVerified(row.userId))) return await hold('not_verified')
    const refuse = async () => {
      await db.transaction(tx => endWatch(tx, row.id, { state: 'refused', ...telling() }))
      return false
    }
    const body = deployBody.safeParse({
      ...row.setup,
      region_code: row.regionCode,
      gpu_spec_id: row.gpuSpecId,
      gpu_count: row.gpuCount,
    })
    if (!body.success) return await refuse()
    try {
      await deps.instances.deploy({
        userId: row.userId,
        idempotencyKey: `watch ${row.id}`,
        body: body.data,
        async within(tx, { instanceId, runningMicroPerHour }) {
          if (runningMicroPerHour > (row.priceMaxMicroPerHour ?? 0n)) throw new NotNow('price_above')
          const ended = await endWatch(tx, row.id, { state: 'deployed', instanceId, ...telling() })
          if (!ended) throw new NotNow('ended')
        },
      })
      return true
    } catch (error) {
      const failed = failedDeployOf(error)
      if (failed.is === 'over') return false
      // Somebody was quicker: it is due as before, so that it has its turn as soon as there is more.
      if (failed.is === 'passing' && failed.because === 'taken') return false
      if (failed.is === 'refused') return await refuse()
      if (failed.is === 'held') return await hold(failed.by)
      if (failed.is === 'unknown') {
        deps.log.error({ err: error, watch: row.id }, 'a watch could not deploy; it tries again')
      }
      const isAway = failed.is === 'passing' && failed.because === 'away'
      const nextTryAt = inMs(isAway ? AWAY_MS : TRY_AGAIN_MS)
      await db.update(offerWatch).set({ nextTryAt }).where(eq(offerWatch.id, row.id))
      return false
    }
  }

  async function deployFor(offer: Watched, signal: AbortSignal): Promise<void> {
    const rows = await db
      .select()
      .from(offerWatch)
      .where(
        and(isWaitingFor(offer), eq(offerWatch.action, 'deploy'), lte(offerWatch.nextTryAt, clock.now())),
      )
      .orderBy(asc(offerWatch.place))
    // What comes back while this goes on is for the next look: of those here it would go to whoever happens to be next.
    let left = await availableOf(offer)
    for (const row of rows) {
      if (signal.aborted) return
      // One that wants more than there is holds up nobody who wants less: nothing is kept for it meanwhile.
      if (left < row.gpuCount) continue
      if (await attempt(row)) left -= row.gpuCount
      left = Math.min(left, await availableOf(offer))
    }
  }

  const availableOf = async ({ regionCode, gpuSpecId }: Watched) =>
    (await regions.stock.level(db, { regionCode, specId: gpuSpecId })).available

  async function mailFor(offer: Watched): Promise<void> {
    const available = await availableOf(offer)
    const now = clock.now()
    const isMail = and(isWaitingFor(offer), eq(offerWatch.action, 'mail'))
    await db
      .update(offerWatch)
      .set({ armed: true })
      .where(
        and(
          isMail,
          eq(offerWatch.armed, false),
          gt(offerWatch.gpuCount, available),
          sql`coalesce(${offerWatch.toldAt}, '-infinity') <= ${new Date(now.getTime() - MAIL_PAUSE_MS)}`,
        ),
      )
    await db.transaction(async tx => {
      const back = await tx
        .update(offerWatch)
        .set({ armed: false, toldAt: now })
        .where(and(isMail, eq(offerWatch.armed, true), lte(offerWatch.gpuCount, available)))
        .returning()
      for (const row of back) await tell(tx, row, { news: 'back', ...telling() })
    })
  }

  return {
    /** @param signal Aborts between two watches. */
    async look(signal: AbortSignal): Promise<void> {
      await endOverdue()
      const watched = await db
        .selectDistinct({ regionCode: offerWatch.regionCode, gpuSpecId: offerWatch.gpuSpecId })
        .from(offerWatch)
        .where(sql`${offerWatch.state} = 'waiting'`)
      if (watched.length === 0) return
      const specs = await regions.specs([...new Set(watched.map(({ regionCode }) => regionCode))])
      for (const offer of watched) {
        if (signal.aborted) return
        const spec = specs.find(
          ({ id, region_code }) => id === offer.gpuSpecId && region_code === offer.regionCode,
        )
        // What nobody can make now is not back, whatever its stock says.
        if (!spec?.stock_known) continue
        await deployFor(offer, signal)
        // What is left then.
        await mailFor(offer)
      }
    },

    /** When something is due by itself: a watch is over, or tries again; null where nothing waits. */
    async nextDue(): Promise<Date | null> {
      const [row] = await db
        .select({
          at: sql<Date | null>`least(min(${offerWatch.until}), min(${offerWatch.nextTryAt})
            filter (where ${offerWatch.nextTryAt} > ${clock.now()}))`.mapWith(offerWatch.until),
        })
        .from(offerWatch)
        .where(sql`${offerWatch.state} = 'waiting'`)
      return row?.at ?? null
    },
  }
}

type Watched = Pick<WatchRow, 'regionCode' | 'gpuSpecId'>
