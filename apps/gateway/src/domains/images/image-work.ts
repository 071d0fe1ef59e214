import { BUILD_MINUTES_MAX } from '@berth/contract/build-limits'
import {
  and,
  eq,
  inArray,
  isNotNull,
  isNull,
  lt,
  lte,
  min,
  ne,
  notInArray,
  or,
  type SQL,
  sql,
} from 'drizzle-orm'
import type { Logger } from 'pino'
import { answerInTime } from '../../drivers/compute/port/answer-in-time.ts'
import { ComputeError } from '../../drivers/compute/port/compute-error.ts'
import type { Engine } from '../../drivers/compute/port/engine.ts'
import { parseRegistryHost } from '../../drivers/compute/port/image-reference.ts'
import { lackOf, offered } from '../../drivers/compute/port/part.ts'
import type { RegistryAccess } from '../../drivers/compute/port/registry-access.ts'
import type { LayoutStore } from '../../drivers/image-store/port.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Queryable, Transaction } from '../../platform/database/database.ts'
import { unpaidStep } from '../../platform/unpaid.ts'
import type { Billing } from '../billing/billing.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Registries } from '../registries/registries.ts'
import { type BuildLogWriter, forgetBuildLog, openBuildLog } from './dockerfile/build-log.ts'
import type { GitFiles } from './dockerfile/git-files.ts'
import { failureOf, type MadeImage, makeImage } from './image-maker.ts'
import {
  changeImage,
  type ImageChange,
  type ImageChangeDeps,
  isBilled,
  type OwnImageRow,
  tellOfImage,
  UNPAID_IMAGES,
} from './image-states.ts'
import { communityImage, type ImageProgress, ownImage } from './tables.ts'

/** Tries of making one before it is given up, and the pauses between tries. */
const ATTEMPTS_MAX = 4
const BACKOFF_MS = [1_000, 5_000, 20_000, 60_000] as const
/** The store is asked again to forget one after so long. */
const FORGET_PAUSE_MS = 60_000
/** How long one try may take; then it is given up. */
const MAKE_MINUTES_MAX = 240
/** How long nobody may reach the engine of one that is to be made. */
const AWAY_MS_MAX = 600_000
/** Images that one gateway makes at a time: each is a stream of all its bytes. */
const AT_ONCE_MAX = 4
/** Of these, one customer's, so that nobody holds up the others. */
const AT_ONCE_PER_CUSTOMER_MAX = 2
/** A gateway that dies leaves its image to others after so long; one that lives says so more often. */
const LEASE_MS = 15_000
const BEAT_MS = 1_000
const ENGINE_MS = 60_000
const ROUND_ROWS_MAX = 100
const DETAIL_CHARS_MAX = 300

export interface ImageWorkDeps {
  db: Database
  clock: Clock
  log: Pick<Logger, 'warn' | 'error' | 'debug'>
  billing: ImageChangeDeps['billing'] & Pick<Billing, 'lockWallet' | 'exhaustedSubjects'>
  fleet: Pick<Fleet, 'selfId' | 'engine' | 'engines' | 'serves' | 'servedElsewhere' | 'isPaired'>
  events: ImageChangeDeps['events']
  store: LayoutStore
  customerAccess: (who: { userId: string; credentialId: string | null }) => RegistryAccess
  git: GitFiles
  registries: Pick<Registries, 'list'>
  /** An instance has no image made of it any more; it comes from the instances domain. */
  endBuild(
    tx: Transaction,
    instanceId: string,
    done: { imageId: string; isMade: boolean; at: Date },
  ): Promise<void>
  /** Of those images the ones that instances were made from which are not gone. */
  usedAmong(q: Queryable, imageIds: readonly string[]): Promise<Set<string>>
}

/** What is done with images by itself: made and kept, forgotten, cleaned up after, paid for. */
export function createImageWork(deps: ImageWorkDeps) {
  const { db, clock, log, billing, fleet, store } = deps
  const underWay = new Map<string, { userId: string; stop: AbortController; done: Promise<void> }>()
  let wake = () => {}

  function notElsewhere(): SQL | undefined {
    const elsewhere = fleet.servedElsewhere()
    return elsewhere.length === 0 ? undefined : notInArray(ownImage.engineId, elsewhere)
  }

  /** Runs a change under both locks, if the row is as it was when the change was decided on. */
  async function withLocks<T>(
    row: Pick<OwnImageRow, 'id' | 'userId' | 'version'>,
    run: (tx: Transaction, row: OwnImageRow) => Promise<T>,
  ): Promise<T | null> {
    return db.transaction(async tx => {
      await billing.lockWallet(tx, row.userId)
      const [fresh] = await tx
        .select()
        .from(ownImage)
        .where(and(eq(ownImage.id, row.id), eq(ownImage.version, row.version), isNull(ownImage.deletedAt)))
        .for('update')
      return fresh ? run(tx, fresh) : null
    })
  }

  /** Ends the making of an image, in the transaction that also ends it for the instance. */
  const endMaking = (row: OwnImageRow, change: Omit<ImageChange, 'at'>) =>
    withLocks(row, async (tx, fresh) => {
      const at = clock.now()
      const changed = await changeImage(tx, deps, fresh, { ...change, at })
      if (fresh.sourceInstanceId) {
        const isMade = change.status === 'private'
        await deps.endBuild(tx, fresh.sourceInstanceId, { imageId: fresh.id, isMade, at })
      }
      return changed
    })

  async function claim(row: OwnImageRow): Promise<boolean> {
    const now = clock.now()
    const claimed = await db
      .update(ownImage)
      .set({ leaseOwner: fleet.selfId, leaseUntil: new Date(now.getTime() + LEASE_MS) })
      .where(
        and(
          eq(ownImage.id, row.id),
          eq(ownImage.version, row.version),
          or(
            isNull(ownImage.leaseUntil),
            lt(ownImage.leaseUntil, now),
            eq(ownImage.leaseOwner, fleet.selfId),
          ),
        ),
      )
      .returning({ id: ownImage.id })
    return claimed.length > 0
  }

  /**
   * Says again and again that somebody works on it, and how far that is. Whoever took it away meanwhile ends the work, and
   * so does a try that takes too long.
   */
  function beat(row: OwnImageRow, stop: AbortController) {
    const minutesMax = isOfDockerfile(row) ? BUILD_MINUTES_MAX : MAKE_MINUTES_MAX
    const begunAt = clock.now().getTime()
    let latest: ImageProgress | null = row.progress
    let busy: Promise<unknown> = Promise.resolve()
    const say = async () => {
      const until = new Date(clock.now().getTime() + LEASE_MS)
      const kept = await db
        .update(ownImage)
        .set({ progress: latest, leaseUntil: until })
        .where(
          and(
            eq(ownImage.id, row.id),
            eq(ownImage.version, row.version),
            eq(ownImage.leaseOwner, fleet.selfId),
          ),
        )
        .returning({ id: ownImage.id })
      if (kept.length === 0) stop.abort(new Error('it was given up, or somebody else makes it'))
    }
    const timer = setInterval(() => {
      if (clock.now().getTime() - begunAt > minutesMax * 60_000) stop.abort(new TookTooLong(minutesMax))
      busy = busy
        .then(say)
        .catch(error => log.debug({ err: error, image: row.id }, 'progress was not written'))
    }, BEAT_MS)
    return {
      note: (progress: ImageProgress) => {
        latest = progress
      },
      async end() {
        clearInterval(timer)
        await busy
      },
    }
  }

  async function make(row: OwnImageRow, stop: AbortController): Promise<void> {
    const beating = beat(row, stop)
    let made: MadeImage | null = null
    let told: BuildLogWriter | null = null
    try {
      const engine = engineOf(row)
      const writer = isOfDockerfile(row) ? await openBuildLog(deps, row.id) : null
      told = writer
      made = await makeImage(row, {
        ...{ engine, store, git: deps.git, signal: stop.signal },
        access: accessOf(row),
        onProgress: beating.note,
        onDigest: digest => noteDigest(row, digest),
        onLog: said => writer?.add(said),
      })
      await writer?.end()
    } catch (error) {
      await beating.end()
      if (error instanceof Error) told?.add(`\n${error.message}\n`)
      await told?.end()
      const why: unknown = stop.signal.aborted ? stop.signal.reason : error
      if (!stop.signal.aborted || why instanceof TookTooLong) await noteFailure(row, why)
      return
    }
    await beating.end()
    const { digest } = made
    const kept = await db.transaction(async tx => {
      await lockDigest(tx, digest)
      // Whoever is told to forget these bytes does so in a moment: then they are kept anew.
      if (await isBeingForgotten(tx, digest)) return null
      const [noted] = await tx
        .update(ownImage)
        .set({ digest })
        .where(and(eq(ownImage.id, row.id), eq(ownImage.version, row.version)))
        .returning()
      if (!noted) await noteLeftOver(tx, row, digest)
      return noted ?? null
    })
    if (!kept) {
      await retryLater(row, new Error('the store forgets the same bytes just now, or it was given up'))
      return
    }
    await endMaking(row, { status: 'private', patch: made })
  }

  /**
   * From here on the row names the bytes, so that they go with it whoever dies next. What an earlier try has kept of other
   * bytes is forgotten first.
   */
  async function noteDigest(row: OwnImageRow, digest: string): Promise<void> {
    if (row.digest !== null && row.digest !== digest) await forgetEarlier(row, row.digest)
    const isNoted = await db.transaction(async tx => {
      await lockDigest(tx, digest)
      if (await isBeingForgotten(tx, digest)) return false
      const noted = await tx
        .update(ownImage)
        .set({ digest, isRemoving: false })
        .where(and(eq(ownImage.id, row.id), eq(ownImage.version, row.version)))
        .returning({ id: ownImage.id })
      return noted.length > 0
    })
    if (!isNoted) throw new Error('the store forgets the same bytes just now, or it was given up')
  }

  async function forgetEarlier({ id }: OwnImageRow, digest: string): Promise<void> {
    const isLast = await db.transaction(async tx => {
      await lockDigest(tx, digest)
      if (await isWanted(tx, digest, id)) return false
      await tx.update(ownImage).set({ isRemoving: true }).where(eq(ownImage.id, id))
      return true
    })
    if (isLast) await inTime(store.remove(digest))
  }

  /** What may be shown to registries: a credential to its own, which for a Dockerfile may be one of several. */
  function accessOf({ userId, sourceCredentialId, ...row }: OwnImageRow): RegistryAccess {
    const of = (credentialId: string | null) => deps.customerAccess({ userId, credentialId })
    if (sourceCredentialId === null || row.sourceReference !== null) return of(sourceCredentialId)
    return async host => {
      const held = (await deps.registries.list(userId)).find(({ id }) => id === sourceCredentialId)
      const isIts = held !== undefined && parseRegistryHost(held.registry) === host
      return of(isIts ? sourceCredentialId : null)(host)
    }
  }

  /** Who gave an image up while its last bytes were kept knew no digest: from here on the store is told to forget it. */
  async function noteLeftOver(tx: Transaction, { id }: OwnImageRow, digest: string): Promise<void> {
    await tx
      .update(ownImage)
      .set({ digest })
      .where(
        and(eq(ownImage.id, id), inArray(ownImage.status, ['failed', 'deleting']), isNull(ownImage.digest)),
      )
  }

  function engineOf({ engineId }: OwnImageRow): Engine {
    const engine = fleet.engine(engineId)
    if (!engine) throw new ComputeError('engine_unavailable', 'no gateway reaches its engine')
    return engine
  }

  async function noteFailure(row: OwnImageRow, error: unknown): Promise<void> {
    const detail = (error instanceof Error ? error.message : String(error)).slice(0, DETAIL_CHARS_MAX)
    const { code, isFinal } =
      error instanceof TookTooLong
        ? ({ code: isOfDockerfile(row) ? 'build_too_long' : 'build_failed', isFinal: true } as const)
        : failureOf(error, row)
    log.warn({ err: error, image: row.id, engine: row.engineId, code }, 'an image could not be made')
    const isAway = code === 'engine_away'
    const waitedMs = clock.now().getTime() - row.statusSince.getTime()
    const isOver = isAway ? waitedMs > AWAY_MS_MAX : row.attempts + 1 >= ATTEMPTS_MAX
    if (!isFinal && !isOver) return retryLater(row, error)
    await endMaking(row, { status: 'failed', reason: { code, detail }, news: 'build_failed' })
    await cleanUp(row)
  }

  async function retryLater(row: OwnImageRow, error: unknown): Promise<void> {
    log.debug({ err: error, image: row.id }, 'an image is tried again')
    const pauseMs = BACKOFF_MS[Math.min(row.attempts, BACKOFF_MS.length - 1)] ?? 0
    await db
      .update(ownImage)
      .set({
        attempts: sql`${ownImage.attempts} + 1`,
        nextAttemptAt: new Date(clock.now().getTime() + pauseMs),
        leaseOwner: null,
        leaseUntil: null,
      })
      .where(and(eq(ownImage.id, row.id), eq(ownImage.version, row.version)))
  }

  /** Removes from an engine what was made of an image that failed. What cannot be removed now the next sweep removes. */
  async function cleanUp(row: OwnImageRow): Promise<void> {
    const engine = fleet.engine(row.engineId)
    if (!engine || lackOf(engine.images.own) !== null) return
    try {
      await inTime(offered(engine.images.own).delete(row.builtId))
    } catch (error) {
      log.warn({ err: error, image: row.id }, 'what was made of an image could not be removed yet')
    }
  }

  /** Customers of whose images so many are made here as may be at a time. */
  function fullCustomers(): string[] {
    const counts = Map.groupBy(underWay.values(), ({ userId }) => userId)
    return [...counts].flatMap(([userId, all]) => (all.length < AT_ONCE_PER_CUSTOMER_MAX ? [] : userId))
  }

  /** Begins to make what is to be made, as far as there is room; the work goes on beside the rounds. */
  async function beginMaking(signal: AbortSignal): Promise<void> {
    const now = clock.now()
    const rows = await db
      .select()
      .from(ownImage)
      .where(
        and(
          eq(ownImage.status, 'building'),
          lte(ownImage.nextAttemptAt, now),
          or(isNull(ownImage.leaseUntil), lt(ownImage.leaseUntil, now)),
          notElsewhere(),
        ),
      )
      .orderBy(ownImage.nextAttemptAt)
      .limit(ROUND_ROWS_MAX)
    for (const row of rows) {
      if (signal.aborted || underWay.size >= AT_ONCE_MAX) return
      if (underWay.has(row.id) || fullCustomers().includes(row.userId)) continue
      if (!(await claim(row))) continue
      const stop = new AbortController()
      const done = make(row, stop)
        .catch(error => log.error({ err: error, image: row.id }, 'an image that is made was left'))
        .finally(() => {
          underWay.delete(row.id)
          wake()
        })
      underWay.set(row.id, { userId: row.userId, stop, done })
    }
  }

  /** Forgets what is to be gone. */
  async function forget(signal: AbortSignal): Promise<void> {
    const own = await db
      .select()
      .from(ownImage)
      .where(
        and(
          eq(ownImage.status, 'deleting'),
          isNull(ownImage.deletedAt),
          lte(ownImage.nextAttemptAt, clock.now()),
        ),
      )
      .limit(ROUND_ROWS_MAX)
    for (const row of own) {
      if (signal.aborted) return
      await forgetOne(ownImage, row)
    }
    // They were kept in the moment in which they were given up.
    const given = await db
      .select()
      .from(ownImage)
      .where(
        and(or(eq(ownImage.status, 'failed'), isNotNull(ownImage.deletedAt)), isNotNull(ownImage.digest)),
      )
      .limit(ROUND_ROWS_MAX)
    for (const row of given) {
      if (signal.aborted) return
      await forgetOne(ownImage, row)
    }
    const withdrawn = await db
      .select()
      .from(communityImage)
      .where(and(isNotNull(communityImage.withdrawnAt), isNull(communityImage.deletedAt)))
      .limit(ROUND_ROWS_MAX)
    for (const row of withdrawn) {
      if (signal.aborted) return
      await forgetOne(communityImage, row)
    }
  }

  async function forgetOne(
    table: typeof ownImage | typeof communityImage,
    { id, digest, ...row }: { id: string; digest: string | null; status?: OwnImageRow['status'] },
  ): Promise<void> {
    const isFailed = row.status === 'failed'
    try {
      const isLast = await db.transaction(async tx => {
        if (digest === null) return false
        await lockDigest(tx, digest)
        if (await isWanted(tx, digest)) return false
        await tx.update(table).set({ isRemoving: true }).where(eq(table.id, id))
        return true
      })
      if (isLast && digest !== null) await inTime(store.remove(digest))
      if (!isFailed && table === ownImage) await forgetBuildLog(db, id)
      await db
        .update(table)
        .set({ isRemoving: false, digest: null, ...(isFailed ? {} : { deletedAt: clock.now() }) })
        .where(and(eq(table.id, id), eq(table.isRemoving, isLast), isGoing(table)))
    } catch (error) {
      log.warn({ err: error, image: id }, 'an image could not be removed from the store')
      if (table === ownImage) {
        const nextAttemptAt = new Date(clock.now().getTime() + FORGET_PAUSE_MS)
        await db.update(ownImage).set({ nextAttemptAt }).where(eq(ownImage.id, id))
      }
    }
  }

  /**
   * Removes from an engine what nobody needs there: images without a row, of which none is made, kept or run. One that a
   * machine is made from the engine keeps of itself.
   */
  async function sweep(engine: Engine): Promise<void> {
    const own = offered(engine.images.own)
    const there = (await inTime(own.list())).map(({ id }) => id)
    if (there.length === 0 || !(await fleet.isPaired(engine.id))) return
    const needed = await neededAmong(there)
    for (const id of there) {
      if (needed.has(id)) continue
      try {
        await inTime(own.delete(id))
      } catch (error) {
        log.debug(
          { err: error, image: id, engine: engine.id },
          'an image that nobody needs stays on its engine',
        )
      }
    }
  }

  /** Of ids on an engine those that a row wants, or that an instance was made from which is not gone. */
  async function neededAmong(builtIds: string[]): Promise<Set<string>> {
    const own = await db
      .select({
        id: ownImage.id,
        builtId: ownImage.builtId,
        status: ownImage.status,
        deletedAt: ownImage.deletedAt,
      })
      .from(ownImage)
      .where(inArray(ownImage.builtId, builtIds))
    const shared = await db
      .select({
        id: communityImage.id,
        builtId: communityImage.builtId,
        withdrawnAt: communityImage.withdrawnAt,
      })
      .from(communityImage)
      .where(inArray(communityImage.builtId, builtIds))
    const used = await deps.usedAmong(
      db,
      [...own, ...shared].map(({ id }) => id),
    )
    const needed = [
      ...own.filter(({ id, status }) => used.has(id) || status === 'building' || isBilled(status)),
      ...shared.filter(({ id, withdrawnAt }) => used.has(id) || withdrawnAt === null),
    ]
    return new Set(needed.map(({ builtId }) => builtId))
  }

  async function sweepAll(signal: AbortSignal): Promise<void> {
    for (const { id } of fleet.engines()) {
      const engine = fleet.serves(id) ? fleet.engine(id) : null
      if (signal.aborted) return
      if (!engine || lackOf(engine.images.own) !== null) continue
      try {
        await sweep(engine)
      } catch (error) {
        log.warn({ err: error, engine: id }, 'the images of an engine could not be looked at')
      }
    }
  }

  /** What follows from money that is missing, or has come. */
  async function settleUnpaid(signal: AbortSignal): Promise<void> {
    const rows = await db
      .select()
      .from(ownImage)
      .where(and(isNotNull(ownImage.unpaidSince), isNull(ownImage.deletedAt)))
    for (const row of rows) {
      if (signal.aborted) return
      await withLocks(row, async (tx, fresh) => {
        const unpaid = await billing.exhaustedSubjects(tx, fresh.userId)
        const isUnpaid = unpaid.some(({ kind, id }) => kind === 'image' && id === fresh.id)
        const at = clock.now()
        const step = unpaidStep(fresh, UNPAID_IMAGES, { now: at, isUnpaid })
        if (step === 'none') return
        if (step === 'paid') return note(tx, fresh, { unpaidSince: null, unpaidNoticeDay: null })
        if (step === 'delete') {
          const reason = { code: 'unpaid', detail: '' } as const
          await changeImage(tx, deps, fresh, { status: 'deleting', at, reason, news: 'deleted_unpaid' })
          return
        }
        await note(tx, fresh, { unpaidNoticeDay: step.tellDay })
        await tellOfImage(tx, deps, fresh, { news: 'unpaid_soon', at })
      })
    }
  }

  return {
    /** What begins a round when an image was made or given up. */
    onDone(next: () => void): void {
      wake = next
    },

    /**
     * Does all that is due. Any number of gateways may do so at once: each change is decided again under the locks.
     * @param signal Ends it between two images.
     */
    async run(signal: AbortSignal): Promise<void> {
      await beginMaking(signal)
      await forget(signal)
      await sweepAll(signal)
      await settleUnpaid(signal)
    },

    /** When the next try of something comes; null where nothing is under way that this gateway could do. */
    async nextDue(): Promise<Date | null> {
      // Whoever has one made says so until the lease, and what waits for room here is told when there is some.
      const dueAt = sql`greatest(${ownImage.nextAttemptAt}, coalesce(${ownImage.leaseUntil}, ${ownImage.nextAttemptAt}))`
      const waiting = fullCustomers()
      const couldBegin = and(
        eq(ownImage.status, 'building'),
        underWay.size < AT_ONCE_MAX ? undefined : sql`false`,
        underWay.size > 0 ? notInArray(ownImage.id, [...underWay.keys()]) : undefined,
        waiting.length > 0 ? notInArray(ownImage.userId, waiting) : undefined,
        notElsewhere(),
      )
      const [row] = await db
        .select({ at: min(dueAt).mapWith(ownImage.nextAttemptAt) })
        .from(ownImage)
        .where(and(isNull(ownImage.deletedAt), or(eq(ownImage.status, 'deleting'), couldBegin)))
      return row?.at ?? null
    },

    /** Ends an image that is made here, where it was given up. */
    giveUp(id: string): void {
      underWay.get(id)?.stop.abort(new Error('its customer gave it up'))
    },

    /** Gives back what a gateway worked on that is known to be dead: the next round goes on with it. */
    async forgetGateway(gatewayId: string): Promise<void> {
      await db
        .update(ownImage)
        .set({ leaseOwner: null, leaseUntil: null })
        .where(and(eq(ownImage.leaseOwner, gatewayId), isNull(ownImage.deletedAt)))
    },

    async noteEmptyBalance(userId: string): Promise<void> {
      const isPaid = and(
        eq(ownImage.userId, userId),
        inArray(ownImage.status, ['private', 'review', 'community', 'refused']),
        isNull(ownImage.unpaidSince),
        isNull(ownImage.deletedAt),
      )
      // Asked at each round of metering: the locks are for those who have something to lose.
      const [any] = await db.select({ id: ownImage.id }).from(ownImage).where(isPaid).limit(1)
      if (!any) return
      await db.transaction(async tx => {
        await billing.lockWallet(tx, userId)
        const unpaid = await billing.exhaustedSubjects(tx, userId)
        const ids = unpaid.flatMap(({ kind, id }) => (kind === 'image' ? id : []))
        if (ids.length === 0) return
        const at = clock.now()
        const rows = await tx
          .update(ownImage)
          .set({ unpaidSince: at, version: sql`${ownImage.version} + 1` })
          .where(and(isPaid, inArray(ownImage.id, ids)))
          .returning()
        for (const row of rows) await tellOfImage(tx, deps, row, { news: 'unpaid', at })
      })
    },

    /** Ends what is under way here; another gateway, or the next one, goes on with it. */
    async stop(): Promise<void> {
      const all = [...underWay.values()]
      for (const { stop } of all) stop.abort(new Error('the gateway stops'))
      await Promise.all(all.map(({ done }) => done))
    },
  }
}

const isOfDockerfile = ({ sourceDockerfile, sourceGit }: OwnImageRow): boolean =>
  sourceDockerfile !== null || sourceGit !== null

/** A try was given up that took longer than any may. */
class TookTooLong extends Error {
  constructor(minutes: number) {
    super(`it took more than ${minutes / 60} hours`)
  }
}

/** Of those who begin to count on bytes of the store, and those who have them forgotten, one comes after the other. */
async function lockDigest(tx: Transaction, digest: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${digest}, 0))`)
}

async function isBeingForgotten(tx: Transaction, digest: string): Promise<boolean> {
  for (const table of [ownImage, communityImage]) {
    const [row] = await tx
      .select({ id: table.id })
      .from(table)
      .where(and(eq(table.digest, digest), eq(table.isRemoving, true)))
      .limit(1)
    if (row) return true
  }
  return false
}

/** Whether anybody still counts on bytes of the store, but for one image. */
async function isWanted(tx: Transaction, digest: string, exceptId = ''): Promise<boolean> {
  const [own] = await tx
    .select({ id: ownImage.id })
    .from(ownImage)
    .where(
      and(
        eq(ownImage.digest, digest),
        ne(ownImage.id, exceptId),
        notInArray(ownImage.status, ['deleting', 'failed']),
      ),
    )
    .limit(1)
  if (own) return true
  const [shared] = await tx
    .select({ id: communityImage.id })
    .from(communityImage)
    .where(and(eq(communityImage.digest, digest), isNull(communityImage.withdrawnAt)))
    .limit(1)
  return shared !== undefined
}

function isGoing(table: typeof ownImage | typeof communityImage): SQL | undefined {
  return 'withdrawnAt' in table ? isNotNull(table.withdrawnAt) : inArray(table.status, ['deleting', 'failed'])
}

async function note(
  tx: Transaction,
  { id }: OwnImageRow,
  patch: Partial<Pick<OwnImageRow, 'unpaidSince' | 'unpaidNoticeDay'>>,
): Promise<void> {
  await tx
    .update(ownImage)
    .set({ ...patch, version: sql`${ownImage.version} + 1` })
    .where(eq(ownImage.id, id))
}

const inTime = <T>(asking: Promise<T>): Promise<T> => answerInTime(asking, ENGINE_MS)
