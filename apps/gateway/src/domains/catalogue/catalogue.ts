import { and, desc, eq, gt, sql } from 'drizzle-orm'
import type { ModelServer } from '../../drivers/models/port.ts'
import type { Clock } from '../../platform/clock.ts'
import { type Catalogue, CatalogueError } from '../../platform/config/catalogue.ts'
import type { CatalogueChange } from '../../platform/config/catalogue-diff.ts'
import { changesForRestart, takeCatalogue } from '../../platform/config/catalogue-live.ts'
import type { Database } from '../../platform/database/database.ts'
import { notify, type OpenDatabase } from '../../platform/database/open-database.ts'
import { gateway, isStaying } from '../../platform/gateways/tables.ts'
import type { Logger } from '../../platform/log.ts'
import { createLoop } from '../../platform/loop.ts'
import { appliedCatalogue, heldCatalogue, regionDrain } from './tables.ts'

/** Told when a catalogue was applied. */
const CATALOGUE_CHANNEL = 'catalogue'
/** A gateway that was not told looks by itself. */
const LOOK_MS = 15_000
/** A told one is taken at once. */
const TOLD_MS = 0

/** A catalogue as a start of this gateway would have it: with the models that it found, and their servers. */
export interface ReadCatalogue {
  catalogue: Catalogue
  servers: ReadonlyMap<string, readonly ModelServer[]>
}

/** A gateway that runs, and what it goes by. */
export interface GatewayCatalogue {
  gatewayId: string
  /** Where other gateways reach it. */
  address: string
  /** YAML; null: it has not said, as those of a version before do not. */
  source: string | null
  /** The newest applied one that it has looked at. */
  version: number
  /** Why it did not take that one. */
  trouble: string | null
  /** Codes of regions that it lets drain. */
  drained: string[]
}

/** A change as a person reads it: `~ GPU l4  price_per_hour: $0.80 → $0.90`. */
export function changeLine({ kind, what, id, detail }: CatalogueChange): string {
  const name = id === '' ? what : `${what} ${id}`
  return kind === 'changed' ? `~ ${name}  ${detail}` : `${kind === 'added' ? '+' : '-'} ${name}`
}

export type Catalogues = ReturnType<typeof createCatalogues>

/**
 * The catalogue that operators apply to gateways that run (decision 0154). A gateway starts with its file; from there on it
 * takes each one that is applied, whole or not at all.
 * @param deps.held The catalogue that all domains of this gateway hold. @param deps.servers Who answers for each model, in the
 *   map that they hold. @param deps.read Reads a text as a start of this gateway would. @throws CatalogueError
 */
export function createCatalogues(deps: {
  db: Database
  clock: Clock
  log: Pick<Logger, 'info' | 'warn' | 'error'>
  listen: OpenDatabase['listen']
  selfId: string
  held: Catalogue
  servers: Map<string, readonly ModelServer[]>
  read(source: string): ReadCatalogue
}) {
  const { db, clock, log, held, servers, selfId } = deps
  const followers: ((held: Catalogue) => unknown)[] = []
  /** The newest that was looked at; null before the first look. */
  let version: number | null = null
  let trouble: string | null = null
  let drained: string[] = []
  /** The catalogue is another, and not all who follow have heard it. */
  let isUntold = false
  /** Regions as the catalogue has them, whether they drain or not. */
  let listed = held.regions
  let unlisten = () => {}

  async function applied(): Promise<{ version: number; source: string; appliedAt: Date } | null> {
    const [row] = await db.select().from(appliedCatalogue).orderBy(desc(appliedCatalogue.version)).limit(1)
    return row ?? null
  }

  /** @throws CatalogueError, having changed nothing, where it cannot be taken here. */
  function take(source: string): void {
    const before = deps.read(held.source)
    const after = deps.read(source)
    const left = changesForRestart(before.catalogue, after.catalogue)
    if (left.length > 0) throw new CatalogueError(`wants a restart: ${left.map(changeLine).join('; ')}`)
    const asked = new Map(held.models.map(model => [model.id, JSON.stringify(model.servers)]))
    const kept = after.catalogue.models.flatMap(({ id, servers: those }) => {
      // Who is asked already stays: calls and films are under way there.
      const same = asked.get(id) === JSON.stringify(those) ? servers.get(id) : undefined
      return [[id, same ?? after.servers.get(id) ?? []] as const]
    })
    takeCatalogue(held, after.catalogue)
    listed = held.regions
    servers.clear()
    for (const [id, those] of kept) servers.set(id, those)
  }

  async function drains(): Promise<{ regionCode: string; since: Date }[]> {
    return await db.select().from(regionDrain).orderBy(regionDrain.regionCode)
  }

  /** Closes the regions that drain, and opens those again that do no more. */
  function letDrain(): void {
    held.regions = listed.map(region => ({
      ...region,
      enabled: region.enabled && !drained.includes(region.code),
    }))
  }

  /** Says once, at the start, that the file is not what was applied last. */
  function compare(newest: Awaited<ReturnType<typeof applied>>): void {
    if (newest === null || newest.source === held.source) return
    log.warn(
      { version: newest.version, appliedAt: newest.appliedAt },
      'the catalogue that was applied last is not the file that this gateway has started with, and goes by: ' +
        '`catalogue diff` says what differs',
    )
  }

  /** Takes an applied one, or notes why it cannot. */
  function tryToTake(newest: { version: number; source: string }): void {
    trouble = null
    try {
      take(newest.source)
      log.info({ version: newest.version }, 'an applied catalogue was taken')
    } catch (error) {
      if (!(error instanceof CatalogueError)) throw error
      trouble = error.message
      log.error({ version: newest.version, err: error }, 'an applied catalogue was not taken')
    }
  }

  /** Takes what was applied since the last look, and lets drain what is to. */
  async function look(): Promise<void> {
    const [newest, draining] = await Promise.all([applied(), drains()])
    const codes = draining.map(({ regionCode }) => regionCode)
    const isNew = version !== null && newest !== null && newest.version > version
    isUntold ||= isNew || codes.join() !== drained.join()
    drained = codes
    if (version === null) compare(newest)
    if (isNew) tryToTake(newest)
    letDrain()
    if (isUntold) for (const hear of followers) await hear(held)
    isUntold = false
    version = newest?.version ?? 0
    const row = { source: held.source, version, trouble, drained }
    await db
      .insert(heldCatalogue)
      .values({ gatewayId: selfId, ...row })
      .onConflictDoUpdate({ target: heldCatalogue.gatewayId, set: row })
  }

  const loop = createLoop({ name: 'catalogue', pauseMs: LOOK_MS, errorPauseMs: 1_000, log, run: look })

  return {
    /** What was applied last; null: nothing ever was. */
    applied,

    /** The gateways that run and stay, those that started first before others. */
    async gateways(): Promise<GatewayCatalogue[]> {
      const rows = await db
        .select({
          gatewayId: gateway.id,
          address: gateway.address,
          source: heldCatalogue.source,
          version: sql<number>`coalesce(${heldCatalogue.version}, 0)`,
          trouble: heldCatalogue.trouble,
          drained: sql<string[]>`coalesce(${heldCatalogue.drained}, '{}')`,
        })
        .from(gateway)
        .leftJoin(heldCatalogue, eq(heldCatalogue.gatewayId, gateway.id))
        .where(and(isStaying, gt(gateway.seenUntil, sql`now()`)))
        .orderBy(gateway.startedAt, gateway.id)
      return rows
    },

    /**
     * Has every gateway take a catalogue.
     * @param source YAML that is good, and that each of them can take. @returns Its version.
     */
    async apply(source: string): Promise<number> {
      return await db.transaction(async tx => {
        await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('applied_catalogue', 0))`)
        const gone = await tx.delete(appliedCatalogue).returning({ version: appliedCatalogue.version })
        const next = Math.max(0, ...gone.map(row => row.version)) + 1
        await tx.insert(appliedCatalogue).values({ version: next, source, appliedAt: clock.now() })
        await notify(tx, CATALOGUE_CHANNEL, String(next))
        return next
      })
    },

    /** Regions that drain, and since when. */
    drains,

    /** Whether this gateway has a region drain. */
    isDraining: (regionCode: string): boolean => drained.includes(regionCode),

    /** Has a region drain: nothing new is placed there from now on, and what runs goes on. Again it does nothing. */
    async drain(regionCode: string): Promise<void> {
      await db.transaction(async tx => {
        await tx.insert(regionDrain).values({ regionCode, since: clock.now() }).onConflictDoNothing()
        await notify(tx, CATALOGUE_CHANNEL, '')
      })
    },

    /** Opens a region again that drains, where the catalogue has it open. */
    async undrain(regionCode: string): Promise<void> {
      await db.transaction(async tx => {
        await tx.delete(regionDrain).where(eq(regionDrain.regionCode, regionCode))
        await notify(tx, CATALOGUE_CHANNEL, '')
      })
    },

    /** @param hear Called each time after the catalogue became another; where it fails, it is called again. */
    onTaken(hear: (held: Catalogue) => unknown): void {
      followers.push(hear)
    },

    /** Says what this gateway goes by, and takes from here on what is applied. */
    async start(): Promise<void> {
      const told = () => loop.wake(TOLD_MS)
      unlisten = await deps.listen(CATALOGUE_CHANNEL, told, told)
      await look()
      loop.start()
    },

    async stop(): Promise<void> {
      unlisten()
      await loop.stop()
    },
  }
}
