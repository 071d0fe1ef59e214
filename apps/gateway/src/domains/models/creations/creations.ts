import { CREATION_PICTURE_WAITS_HOURS, type Currency } from '@berth/contract/limits'
import { and, eq, lt, notExists, sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { ModelServer } from '../../../drivers/models/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { CatalogueModel } from '../../../platform/config/catalogue.ts'
import type { Database } from '../../../platform/database/database.ts'
import type { Events } from '../../../platform/events/events.ts'
import type { CountCall, RateCounts } from '../../../platform/http/rate-counts.ts'
import type { RawRoute } from '../../../platform/http/raw-routes.ts'
import type { Ids } from '../../../platform/ids.ts'
import { createLoop } from '../../../platform/loop.ts'
import type { Sealer } from '../../../platform/sealer.ts'
import type { Billing } from '../../billing/billing.ts'
import { accountDeleted } from '../../identity/events.ts'
import type { Desk } from '../calls/desk.ts'
import type { ServerHealth } from '../calls/server-health.ts'
import { createArchives } from './archive-route.ts'
import { createAskCreations } from './ask-creations.ts'
import { createCreationChanges } from './change-creations.ts'
import { createCreationWork } from './creation-work.ts'
import { createItemEnds } from './end-items.ts'
import { createFileAddresses } from './file-addresses.ts'
import { creationFileRoute } from './file-route.ts'
import { type Book, isOpenItem } from './items.ts'
import { createKeptFiles } from './kept-files.ts'
import { createKeyFilms } from './key-films.ts'
import { createLeftovers } from './leftovers.ts'
import { createCreationLists } from './list-creations.ts'
import { createFilmMaker, FILM_LIMITS, type FilmLimits } from './make-film.ts'
import { createPictureMaker } from './make-picture.ts'
import { createShow } from './show-creations.ts'
import { creation, creationItem, creationUpload } from './tables.ts'
import { createPictureUploads } from './upload-picture.ts'

const HOUR_MS = 3_600_000
/** Days are kept: minutes do not matter. */
const TIDY_MS = 300_000
/** A server that is told late goes on with a film that nobody wants. */
const TELL_MS = 60_000

export interface CreationsDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Pick<Logger, 'error' | 'warn'>
  events: Events
  billing: Pick<Billing, 'lockWallet' | 'totals'>
  models: readonly CatalogueModel[]
  servers: ReadonlyMap<string, readonly ModelServer[]>
  /** This gateway. */
  owner: string
  sealer: Sealer
  /** By it the addresses of files are made, the same on all gateways. */
  fileKey: Uint8Array
  countUpload: CountCall
  countOrders: ReturnType<RateCounts['within']>
  book: Book
  desk: Pick<Desk, 'model'>
  health: ServerHealth
  currencyOf(userId: string): Promise<Currency>
  /** Other than usual for tests. */
  limits?: Partial<FilmLimits> | undefined
}

/** Pictures and films that customers make with models and keep (decision 0140). */
export function createCreations(deps: CreationsDeps) {
  const { db, clock, ids, log, owner, servers, models, book, billing, events } = deps
  const files = createKeptFiles({ db, clock, ids })
  const addresses = createFileAddresses({ key: deps.fileKey, clock })
  const archives = createArchives({ db, files, addresses })
  const show = createShow({ models, addresses })
  const leftovers = createLeftovers({ db, clock, ids, log, servers })
  const ends = createItemEnds({
    ...{ clock, book, billing, events, models, files, leftovers },
    countOrders: deps.countOrders,
  })
  const telling = createLoop({
    ...{ name: 'models.leftovers', pauseMs: TELL_MS, lease: { db, clock, owner }, log, run: leftovers.tell },
  })
  const work = createCreationWork({
    ...{ db, clock, log, owner, models, files, ends, leftovers },
    pictures: createPictureMaker({ log, ids, health: deps.health, servers, files }),
    films: createFilmMaker({
      ...{ clock, log, health: deps.health, servers, files },
      limits: { ...FILM_LIMITS, ...deps.limits },
    }),
    onEnded: () => telling.wake(),
    lookMs: deps.limits?.lookMs,
  })
  const changes = createCreationChanges({
    ...{ db, book, billing, ends, files, show },
    onStopped(itemIds) {
      work.leave(itemIds)
      telling.wake()
    },
  })
  events.on(accountDeleted, 'creations', (tx, { userId }) => changes.forget(tx, userId))

  /** Removes what was kept long enough. What is under way is never as old. */
  let isLeft = false
  async function tidy(signal?: AbortSignal): Promise<void> {
    const now = clock.now()
    const open = db
      .select({ one: sql`1` })
      .from(creationItem)
      .where(and(eq(creationItem.creationId, creation.id), isOpenItem()))
    await db.delete(creation).where(and(lt(creation.keptUntil, now), notExists(open)))
    const waited = new Date(now.getTime() - CREATION_PICTURE_WAITS_HOURS * HOUR_MS)
    await db.delete(creationUpload).where(lt(creationUpload.at, waited))
    isLeft = await files.removeUnused(signal)
  }
  const tidying = createLoop({
    ...{ name: 'models.creations-kept', pauseMs: TIDY_MS, lease: { db, clock, owner }, log, run: tidy },
    dueInMs: () => (isLeft ? 0 : null),
  })

  return {
    ...createAskCreations({
      ...{ db, clock, ids, book, desk: deps.desk, billing, countOrders: deps.countOrders },
      wake: work.wake,
    }),
    ...createCreationLists({ db, clock, sealer: deps.sealer, show, currencyOf: deps.currencyOf }),
    ...changes,
    files,
    tidy,
    forgetGateway: work.forgetGateway,
    /** Tells servers of films that are not wanted any more. */
    tellServers: leftovers.tell,
    ...createPictureUploads({ db, clock, billing, files, show, countUpload: deps.countUpload }),
    ids,
    films: createKeyFilms({ db, show }),
    archive: archives.archive,
    rawRoutes: [creationFileRoute(files, addresses), archives.route] as RawRoute[],
    start(): void {
      work.start()
      telling.start()
      tidying.start()
    },
    async stop(): Promise<void> {
      await Promise.all([work.stop(), telling.stop(), tidying.stop()])
    },
  }
}
export type Creations = ReturnType<typeof createCreations>
