import { CREATION_KINDS } from '@berth/contract/creations'
import { and, eq, sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { FilmSeen, ModelPicture } from '../../../drivers/models/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { CatalogueModel } from '../../../platform/config/catalogue.ts'
import type { Database } from '../../../platform/database/database.ts'
import { createLoop } from '../../../platform/loop.ts'
import { claimItems, ITEM_LEASE_MS } from './claim-items.ts'
import type { ItemEnds } from './end-items.ts'
import { changeItem, type Item, isOpenItem, NotMade, type Run } from './items.ts'
import type { KeptFiles } from './kept-files.ts'
import type { Leftovers } from './leftovers.ts'
import type { createFilmMaker, FilmAt } from './make-film.ts'
import type { createPictureMaker } from './make-picture.ts'
import { creation, creationItem } from './tables.ts'

/** What other gateways were asked for, or left behind, is found within that. */
const LOOK_MS = 2_000
/** A picture takes seconds. */
const PICTURE_MS_MAX = 10 * 60_000
/** So often somebody begins with one: then it is not begun again, whatever ended those gateways. */
const ATTEMPTS_MAX = 5

interface WorkDeps {
  db: Database
  clock: Clock
  log: Pick<Logger, 'error' | 'warn'>
  /** This gateway. */
  owner: string
  models: readonly CatalogueModel[]
  files: KeptFiles
  pictures: ReturnType<typeof createPictureMaker>
  films: ReturnType<typeof createFilmMaker>
  ends: ItemEnds
  leftovers: Leftovers
  /** Films that nobody wants any more are there to be told of. */
  onEnded(): void
  lookMs?: number | undefined
}

/**
 * Makes what customers have asked for. Each item is one gateway's at a time, by a lease in its row; one that ends leaves it
 * to the others, which go on with the film where its server has got to.
 */
export function createCreationWork(deps: WorkDeps) {
  const { db, clock, log, owner, models, files, pictures, films, ends, leftovers } = deps
  /** By their ids. */
  const working = new Map<string, { kind: Item['kind']; leaving: AbortController; done: Promise<void> }>()
  let isStopping = false

  /** Says that an item is still worked on. @returns False where it is no more ours, or has ended. */
  async function renew(id: string): Promise<boolean> {
    const leasedUntil = new Date(clock.now().getTime() + ITEM_LEASE_MS)
    const rows = await db
      .update(creationItem)
      .set({ leasedUntil })
      .where(and(eq(creationItem.id, id), eq(creationItem.owner, owner), isOpenItem()))
      .returning({ id: creationItem.id })
    return rows.length > 0
  }

  async function pictureOf(fileId: string | null): Promise<ModelPicture | null> {
    if (fileId === null) return null
    const file = await files.find(fileId)
    if (!file) throw new Error(`the file ${fileId} of a run is gone`)
    return { type: file.type, bytes: await files.readWhole(fileId, file.bytes) }
  }

  async function makePicture(item: Item, run: Run, leaving: AbortSignal): Promise<void> {
    const picture = await pictureOf(run.imageFileId)
    await changeItem(db, mine(item), 'rendering', { renderingAt: clock.now() })
    const late = AbortSignal.timeout(PICTURE_MS_MAX)
    const file = await pictures
      .make(item, run, picture, AbortSignal.any([leaving, late]))
      .catch((error: unknown) => {
        leaving.throwIfAborted()
        throw late.aborted ? new NotMade('model_too_slow') : error
      })
    await changeItem(db, mine(item), 'encoding', { encodingAt: clock.now() })
    await ends.saved(item, file, { images: 1 })
  }

  /** Has a film begun, and writes down where: so whoever comes next goes on with it. Null where nobody wants it any more. */
  async function beginFilm(item: Item, run: Run, leaving: AbortSignal): Promise<FilmAt | null> {
    const { prompt, negativePrompt, seed, size } = run
    const order = {
      ...{ prompt, negativePrompt, seed, size, seconds: run.seconds ?? 0 },
      image: await pictureOf(run.imageFileId),
      lastImage: await pictureOf(run.lastImageFileId),
    }
    const { server, serverId, askedAt } = await films.begin(item.modelId, order, leaving)
    const begun = { ...item, server, serverId, askedAt }
    const [noted] = await db
      .update(creationItem)
      .set({ server, serverId, askedAt })
      .where(and(eq(creationItem.id, item.id), eq(creationItem.owner, owner), isOpenItem()))
      .returning({ id: creationItem.id })
    if (noted) return begun
    await db.transaction(tx => leftovers.note(tx, begun))
    return null
  }

  /** Writes down how far a film is; what goes backwards is not believed. */
  async function note(item: Item, seen: FilmSeen, last: { text: string }): Promise<void> {
    const { percent, frame, frames } = seen
    const text = JSON.stringify([percent, frame, frames])
    if (seen.status !== 'in_progress' || text === last.text) return
    last.text = text
    await changeItem(db, mine(item), 'rendering', {
      renderingAt: sql`coalesce(${creationItem.renderingAt}, ${clock.now()})`,
      percent: sql`greatest(${creationItem.percent}, ${percent ?? 0})`,
      frame: frame !== null && frames !== null ? Math.min(frame, frames) : null,
      frames,
    })
  }

  async function makeFilm(item: Item, run: Run, leaving: AbortSignal): Promise<void> {
    const { server, serverId, askedAt } = item
    const at =
      server !== null && serverId !== null && askedAt !== null
        ? { server, serverId, askedAt }
        : await beginFilm(item, run, leaving)
    if (!at) return
    const last = { text: '' }
    const ready = await films.follow(item.modelId, at, {
      ...{ signal: leaving, onSeen: seen => note(item, seen, last) },
    })
    await changeItem(db, mine(item), 'encoding', { percent: 100, encodingAt: clock.now() })
    const file = await films.fetch(item.modelId, at, leaving)
    const seconds = run.seconds ?? 0
    // A server that says that it is longer is not believed; one that says that it is shorter is.
    await ends.saved(item, file, { videoSeconds: Math.min(seconds, ready.seconds ?? seconds) })
  }

  async function make(item: Item, leaving: AbortSignal): Promise<void> {
    const [run] = await db.select().from(creation).where(eq(creation.id, item.creationId))
    if (!run) return
    if (!models.some(({ id }) => id === item.modelId)) throw new NotMade('model_unknown')
    if (item.attempts > ATTEMPTS_MAX) throw new NotMade('model_call_failed')
    await (item.kind === 'image' ? makePicture(item, run, leaving) : makeFilm(item, run, leaving))
  }

  /** Leaves an item to whoever takes it next. */
  async function release(id: string): Promise<void> {
    await db
      .update(creationItem)
      .set({ owner: null, leasedUntil: null, attempts: sql`greatest(0, ${creationItem.attempts} - 1)` })
      .where(and(eq(creationItem.id, id), eq(creationItem.owner, owner), isOpenItem()))
  }

  async function work(item: Item, leaving: AbortController): Promise<void> {
    const renewal = setInterval(() => {
      renew(item.id).then(
        isOurs => isOurs || leaving.abort(new Error('it is not ours any more')),
        // The database is away: the next one will tell.
        () => {},
      )
    }, ITEM_LEASE_MS / 3)
    try {
      await make(item, leaving.signal)
    } catch (error) {
      if (isStopping) await release(item.id)
      else if (!leaving.signal.aborted) {
        const { code, reason } = error instanceof NotMade ? error : new NotMade('internal')
        log.warn({ err: error, item: item.id, code }, 'a picture or film was not made')
        await ends.failed(item, { code, reason })
      }
    } finally {
      clearInterval(renewal)
    }
  }

  function begin(item: Item): void {
    const leaving = new AbortController()
    const done = work(item, leaving)
      .catch(error =>
        log.error({ err: error, item: item.id }, 'the end of a picture or film was not written down'),
      )
      .finally(() => {
        working.delete(item.id)
        deps.onEnded()
        loop.wake()
      })
    working.set(item.id, { kind: item.kind, leaving, done })
  }

  /** Takes as much as there is room for. */
  async function round(): Promise<void> {
    for (const kind of CREATION_KINDS) {
      const own = [...working.values()].filter(one => one.kind === kind).length
      const modelsOfKind = models.filter(one => one.kind === kind).length
      for (const item of await claimItems(db, { clock, owner, kind, working: own, modelsOfKind })) {
        if (isStopping) await release(item.id)
        else begin(item)
      }
    }
  }

  const mine = ({ id }: Item) => ({ id, owner })

  const loop = createLoop({ name: 'models.creations', pauseMs: deps.lookMs ?? LOOK_MS, log, run: round })

  return {
    start: loop.start,
    wake: () => loop.wake(),
    /** Ends at once what was stopped here; another gateway sees it within seconds. */
    leave(itemIds: readonly string[]): void {
      for (const id of itemIds) working.get(id)?.leaving.abort(new Error('it was stopped'))
    },
    /** Lets go what a gateway had that is dead, so that nobody waits for its leases. */
    async forgetGateway(gatewayId: string): Promise<void> {
      await db
        .update(creationItem)
        .set({ owner: null, leasedUntil: null })
        .where(and(eq(creationItem.owner, gatewayId), isOpenItem()))
    },
    /** Leaves all to the other gateways. */
    async stop(): Promise<void> {
      isStopping = true
      await loop.stop()
      for (const { leaving } of working.values()) leaving.abort(new Error('the gateway stops'))
      await Promise.all([...working.values()].map(({ done }) => done))
    },
  }
}
