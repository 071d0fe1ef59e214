import type { Language } from '@berth/contract/limits'
import { type Model, model as modelEntity } from '@berth/contract/models'
import type { ModelServer } from '../../drivers/models/port.ts'
import type { Catalogue, CatalogueModel } from '../../platform/config/catalogue.ts'
import type { OpenDatabase } from '../../platform/database/open-database.ts'
import { wireOf } from '../../platform/http/wire.ts'
import { createLoop } from '../../platform/loop.ts'
import type { Sealer } from '../../platform/sealer.ts'
import { createApiKeys } from './api-keys.ts'
import { type CallBookDeps, createCallBook } from './calls/call-book.ts'
import { createChat } from './calls/chat.ts'
import { createDesk } from './calls/desk.ts'
import { createServerHealth } from './calls/server-health.ts'
import { createWholeCalls } from './calls/whole-calls.ts'
import { type CreationsDeps, createCreations } from './creations/creations.ts'
import { createDays } from './figures/days.ts'
import { createFigures } from './figures/figures.ts'
import { createKeeping } from './kept/keeping.ts'
import { createKnownKeys } from './known-keys.ts'
import { openLogFile } from './session-log/log-file.ts'
import { createSessionLog, type LogFilter, type SayName } from './session-log/session-log.ts'
import { MODEL_CALLER_CHANNEL } from './tables.ts'

const modelOf = wireOf(modelEntity)
/** What a gateway that was killed has set aside is there again within minutes. */
const LOST_LOOK_MS = 60_000
const FIGURES_MS = 60_000
const DAYS_MS = 600_000
/** What is kept is deleted within minutes of its day. */
const PURGE_MS = 300_000

/** The models that customers call, and the keys that they call them by. */
export type Models = ReturnType<typeof createModels>

export interface ModelsDeps extends CallBookDeps {
  events: CreationsDeps['events']
  /** Hears of changes, so that nobody believes what was read before. */
  listen: OpenDatabase['listen']
  catalogue: Pick<Catalogue, 'models'>
  /** Who answers for each model, by its id. */
  servers: ReadonlyMap<string, readonly ModelServer[]>
  /** Seals where pages of the log begin. */
  sealer: Sealer
  /** By it the addresses of kept pictures and films are made. */
  fileKey: Uint8Array
  /** Counts pictures that customers send, over all gateways. */
  countUpload: CreationsDeps['countUpload']
  /** Counts pictures and films that customers have made. */
  countOrders: CreationsDeps['countOrders']
  /** How films are waited for: other than usual for tests. */
  filmLimits?: CreationsDeps['limits']
  /** Seals what is kept of calls. */
  bodySealer: Sealer
}

/** What customers are told of the pictures that a model takes. */
function picturesOf({ count_max, bytes_max, types }: NonNullable<Model['image_input']>) {
  return { count_max, bytes_max, types }
}

/** Makes the domain; nothing runs until `start`. */
export function createModels(deps: ModelsDeps) {
  const { db, clock, log, ids, owner, servers } = deps
  const { models } = deps.catalogue
  const book = createCallBook(deps)
  const lost = createLoop({
    name: 'models.lost',
    pauseMs: LOST_LOOK_MS,
    lease: { db, clock, owner },
    log,
    run: book.endLost,
  })
  /** What this computer's gateways have left that were killed; each has a folder of its own, so no other one takes it. */
  const recovering = createLoop({
    name: 'models.recover',
    pauseMs: LOST_LOOK_MS,
    atOnce: true,
    log,
    run: book.allowances.recover,
  })
  const currencyOf = async (userId: string) => (await deps.billing.totals(db, userId)).currency
  const figures = createFigures({ db, clock, models })
  const figuring = createLoop({
    name: 'models.figures',
    pauseMs: FIGURES_MS,
    lease: { db, clock, owner },
    log,
    run: figures.measure,
  })
  const days = createDays({ db, clock, models })
  const counting = createLoop({
    name: 'models.days',
    pauseMs: DAYS_MS,
    lease: { db, clock, owner },
    log,
    run: days.measure,
  })
  const known = createKnownKeys(deps)
  const { allowances } = book
  let unlisten: Promise<() => void> | null = null
  /** Nothing is believed any more of what was read of a customer. */
  const changed = (userId: string | null) => {
    known.forget(userId)
    allowances.forget(userId)
  }
  const hear = (does: boolean) => {
    known.hear(does)
    allowances.hear(does)
  }
  const keeping = createKeeping(deps)
  const purging = createLoop({
    name: 'models.kept',
    pauseMs: PURGE_MS,
    lease: { db, clock, owner },
    log,
    run: keeping.purge,
  })
  const desk = createDesk({ log, book, models })
  const parts = { log, ids, book, desk, keeping, servers, health: createServerHealth(clock) }
  const chat = createChat(parts)
  const creations = createCreations({
    ...deps,
    ...{ models, book, desk, health: parts.health, currencyOf, limits: deps.filmLimits },
  })
  const sessionLog = createSessionLog({ ...deps, currencyOf })
  const listed = (one: CatalogueModel): Model =>
    modelOf({
      ...one,
      contextTokens: one.context_tokens,
      outputTokensMax: one.output_tokens_max,
      inputMicroPerMillion: one.input_micro_per_million,
      cachedMicroPerMillion: one.cached_micro_per_million,
      outputMicroPerMillion: one.output_micro_per_million,
      imageMicro: one.image_micro,
      imagesMax: one.images_max,
      videoMicroPerSecond: one.video_micro_per_second,
      videoSeconds: one.video_seconds,
      imageInput: one.image_input && picturesOf(one.image_input),
      freeCallsPerDay: one.free_calls_per_day,
      demo: one.servers.length === 0,
    })

  return {
    apiKeys: createApiKeys({ ...deps, known: { ...known, forget: changed } }),
    chat,
    whole: createWholeCalls(parts),
    /** Pictures and films that are kept. */
    creations,
    desk,
    /** Forgets what was read of a customer, as if a change of theirs were told. */
    changed,
    /** Every model of the catalogue, in its order. */
    list: (): readonly Model[] => models.map(listed),
    /** Lets go what was set aside for calls whose gateway has ended. */
    endLost: book.endLost,
    /** What was asked and answered, of those who have it kept. */
    keeping,
    /** How fast and how reliably they have answered. */
    figures,
    /** How reliably they have answered day by day. */
    days,
    /** What a customer has called (R1.5), and the same as a file. */
    log: {
      ...sessionLog,
      /** What has ended here is in it. */
      page: async (...asked: Parameters<typeof sessionLog.page>) => {
        await allowances.settle(asked[0])
        return await sessionLog.page(...asked)
      },
      file: async (
        userId: string,
        filter: LogFilter,
        { language, say }: { language: Language; say: SayName },
      ) => openLogFile(deps, userId, filter, { language, say, currency: await currencyOf(userId) }),
    },
    start(): void {
      unlisten = deps
        .listen(MODEL_CALLER_CHANNEL, changed, () => changed(null))
        .then(stop => {
          hear(true)
          return stop
        })
      allowances.start()
      recovering.start()
      lost.start()
      figuring.start()
      creations.start()
      purging.start()
      counting.start()
    },
    /** Ends the loops, and waits until what has ended is written down. */
    async stop(): Promise<void> {
      const loops = [lost, figuring, purging, counting, creations, recovering]
      await Promise.all(loops.map(loop => loop.stop()))
      await desk.settle()
      await allowances.stop()
      hear(false)
      ;(await unlisten)?.()
      await keeping.settle()
    },
  }
}
