import { isDeepStrictEqual } from 'node:util'
import type { Language } from '@berth/contract/limits'
import { OFFER_WATCH_DAYS_MAX, OFFER_WATCHES_PER_USER_MAX } from '@berth/contract/limits'
import {
  type OfferWatch,
  type WatchOfferBody,
  offerWatch as watchEntity,
} from '@berth/contract/offer-watches'
import { and, count, desc, eq, lt } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Clock } from '../../platform/clock.ts'
import type { Say } from '../../platform/config/catalogue-words.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { notify, type OpenDatabase } from '../../platform/database/open-database.ts'
import { lockForUser } from '../../platform/database/user-lock.ts'
import type { Events } from '../../platform/events/events.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { wireOf } from '../../platform/http/wire.ts'
import type { Ids } from '../../platform/ids.ts'
import { createLoop } from '../../platform/loop.ts'
import { forCustomer } from '../customers/customers.ts'
import { accountDeleted } from '../identity/events.ts'
import type { Instances } from '../instances/instances.ts'
import { type Regions, STOCK_CHANNEL } from '../regions/regions.ts'
import { createLook } from './look.ts'
import { offerWatch } from './tables.ts'
import { isWaitingFor, type WatchRow } from './watch-rows.ts'

const DAY_MS = 86_400_000
/** The slow look, for what nobody was told of. */
const LOOK_MS = 15_000
/** Stock that several give back at once is looked at once. */
const GATHER_MS = 200
/** A moment that is due now is not asked for again at once. */
const DUE_MS_MIN = 100
/** Watches that have ended stand on the list for so long. */
const ENDED_SHOWN_DAYS = 7

const watchOf = wireOf(watchEntity)

export interface WatchesDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Logger
  /** This gateway: of several, one looks. */
  owner: string
  events: Pick<Events, 'emit' | 'on'>
  regions: Pick<Regions, 'offer' | 'specs' | 'stock'>
  instances: Pick<Instances, 'deploy'>
  isVerified(userId: string): Promise<boolean>
  listen: OpenDatabase['listen']
  say: Say
}

/** Offers that customers watch (B15): told of when they are back, or deployed by themselves. */
export function createWatches(deps: WatchesDeps) {
  const { db, clock, ids, regions } = deps
  deps.events.on(accountDeleted, 'watches', async (tx, { userId }) => {
    await tx.delete(offerWatch).where(eq(offerWatch.userId, userId))
  })
  const { look, nextDue } = createLook(deps)
  let dueAt: Date | null = null
  const loop = createLoop({
    name: 'watches',
    pauseMs: LOOK_MS,
    lease: deps,
    log: deps.log,
    dueInMs: () => dueAt && Math.max(DUE_MS_MIN, dueAt.getTime() - clock.now().getTime()),
    async run(signal) {
      await look(signal)
      dueAt = await nextDue()
    },
  })
  let unlisten = () => {}

  const entityOf = (row: WatchRow, language: Language): OfferWatch =>
    watchOf({
      ...row,
      regionName: deps.say(row.regionName, language),
      gpuSpecName: deps.say(row.gpuSpecName, language),
    })

  return {
    /** Looks at all that is watched, as the loop does. */
    look,

    /**
     * Watches an offer; asked for again while it waits, it is the same watch. What it is to deploy has been
     * checked by its schema, and is checked here as far as that lasts.
     * @throws ApiError `region_not_supported`, `gpu_spec_unknown`, `validation_failed` or `offer_watch_limit`.
     */
    async add(userId: string, body: WatchOfferBody, language: Language): Promise<OfferWatch> {
      const { spec, region } = regions.offer(body.region_code, body.gpu_spec_id)
      if (!spec.counts.includes(body.gpu_count)) throw fault('gpu_count', 'not_allowed')
      const now = clock.now()
      const until = new Date(body.until)
      requireUntil(until, now)
      if (body.deploy) requireLasting(body.deploy.setup, until)
      const row = await db.transaction(async tx => {
        await forCustomer(tx, userId)
        await lockForUser(tx, 'offer_watch', userId)
        const same = await findSame(tx, userId, body)
        if (same) return same
        await requireRoom(tx, userId)
        const { available } = await regions.stock.level(tx, { regionCode: region.code, specId: spec.id })
        const [made] = await tx
          .insert(offerWatch)
          .values({
            id: ids.uuid(),
            userId,
            action: body.deploy ? 'deploy' : 'mail',
            regionCode: region.code,
            gpuSpecId: spec.id,
            gpuCount: body.gpu_count,
            regionName: region.name,
            gpuSpecName: spec.name,
            priceMaxMicroPerHour: body.deploy ? BigInt(body.deploy.price_max_micro_per_hour) : null,
            instanceName: body.deploy?.setup.name ?? null,
            setup: body.deploy?.setup ?? null,
            until,
            // What is there already is no return.
            armed: available < body.gpu_count,
            nextTryAt: now,
            createdAt: now,
          })
          .returning()
        if (!made) throw new Error('an insert gave no row')
        // Whoever looks has to know when this one is over.
        await notify(tx, STOCK_CHANNEL, region.code)
        return made
      })
      return entityOf(row, language)
    },

    /** A customer's watches, newest first; those that have ended for a week. */
    async list(userId: string, language: Language): Promise<OfferWatch[]> {
      const rows = await db
        .select()
        .from(offerWatch)
        .where(eq(offerWatch.userId, userId))
        .orderBy(desc(offerWatch.place))
      const shownFrom = clock.now().getTime() - ENDED_SHOWN_DAYS * DAY_MS
      return rows
        .filter(({ endedAt }) => endedAt === null || endedAt.getTime() > shownFrom)
        .map(row => entityOf(row, language))
    },

    /**
     * Ends a watch and forgets it; what it has deployed stays.
     * @throws ApiError `not_found`.
     */
    async cancel(userId: string, id: string): Promise<void> {
      await db.transaction(async tx => {
        await forCustomer(tx, userId)
        const gone = await tx
          .delete(offerWatch)
          .where(and(eq(offerWatch.userId, userId), eq(offerWatch.id, id)))
          .returning({ id: offerWatch.id })
        if (gone.length === 0) throw new ApiError('not_found')
      })
    },

    /** Forgets watches that are on no list any more. */
    async purge(): Promise<void> {
      const before = new Date(clock.now().getTime() - ENDED_SHOWN_DAYS * DAY_MS)
      await db.delete(offerWatch).where(lt(offerWatch.endedAt, before))
    },

    async start(): Promise<void> {
      const wake = () => loop.wake(GATHER_MS)
      unlisten = await deps.listen(STOCK_CHANNEL, wake, wake)
      loop.start()
      loop.wake()
    },

    async stop(): Promise<void> {
      unlisten()
      await loop.stop()
    },
  }

  async function requireRoom(tx: Transaction, userId: string): Promise<void> {
    const [held] = await tx
      .select({ watches: count() })
      .from(offerWatch)
      .where(and(eq(offerWatch.userId, userId), eq(offerWatch.state, 'waiting')))
    if ((held?.watches ?? 0) >= OFFER_WATCHES_PER_USER_MAX) {
      throw new ApiError('offer_watch_limit', { values: { limit: OFFER_WATCHES_PER_USER_MAX } })
    }
  }
}
export type Watches = ReturnType<typeof createWatches>

/** The watch that waits for just that already: a call that was sent again must not deploy twice. */
async function findSame(tx: Transaction, userId: string, body: WatchOfferBody): Promise<WatchRow | null> {
  const rows = await tx
    .select()
    .from(offerWatch)
    .where(
      and(
        eq(offerWatch.userId, userId),
        isWaitingFor({ regionCode: body.region_code, gpuSpecId: body.gpu_spec_id }),
        eq(offerWatch.gpuCount, body.gpu_count),
        eq(offerWatch.action, body.deploy ? 'deploy' : 'mail'),
      ),
    )
  const isSame = (row: WatchRow) =>
    body.deploy === null ||
    (row.priceMaxMicroPerHour === BigInt(body.deploy.price_max_micro_per_hour) &&
      isDeepStrictEqual(row.setup, body.deploy.setup))
  return rows.find(isSame) ?? null
}

function requireUntil(until: Date, now: Date): void {
  const aheadMs = until.getTime() - now.getTime()
  if (aheadMs <= 0) throw fault('until', 'moment_past')
  if (aheadMs > OFFER_WATCH_DAYS_MAX * DAY_MS) throw fault('until', 'moment_far')
}

/** What would be refused on the last day is refused now. */
function requireLasting(setup: NonNullable<WatchOfferBody['deploy']>['setup'], until: Date): void {
  // A term is paid at once, whose price no limit by the hour bounds.
  if (setup.billing_type !== 'postpay') throw fault('deploy.setup.billing_type', 'not_allowed')
  if (setup.stop_at !== null && new Date(setup.stop_at) <= until) {
    throw fault('deploy.setup.stop_at', 'moment_past')
  }
}

function fault(path: string, rule: 'not_allowed' | 'moment_past' | 'moment_far'): ApiError {
  return new ApiError('validation_failed', { fields: [{ path, rule }] })
}
