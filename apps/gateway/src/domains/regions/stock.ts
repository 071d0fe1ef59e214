import { and, asc, count, eq, isNull, ne, or, sql } from 'drizzle-orm'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Queryable, Transaction } from '../../platform/database/database.ts'
import { notify } from '../../platform/database/open-database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { stock, stockClaim } from './tables.ts'

/** Told when there may be more of something: the payload is its region's code. */
export const STOCK_CHANNEL = 'stock'

/** A spec in a region. */
export interface StockKey {
  regionCode: string
  specId: string
}

/** What somebody wants, or has, of the stock. */
export interface Claim extends StockKey {
  subjectId: string
  /** GPUs, or machines for a CPU spec. */
  count: number
}

/** An engine, and GPUs of it. */
export interface Place {
  engineId: string
  gpuUuids: string[]
}

/** How much there is of a spec in a region. */
export interface Level {
  total: number
  taken: number
  /** What may still be taken; never below zero, also where the total has fallen below what is taken. */
  available: number
}

export type Stock = ReturnType<typeof createStock>

/**
 * The stock, which lives in the database alone: any number of gateways take from it and give back to it, each under
 * the lock of the row concerned. Locks of two rows are taken in the order of their keys.
 */
export function createStock({ db, clock }: { db: Database; clock: Clock }) {
  /**
   * Takes from the stock; what the subject had before is given back, and free for it. The transaction holds the
   * lock of the row from here on, so that it should come to its end soon.
   * @param places Engines to choose from: where GPUs are real the first that has enough free ones, else the one with
   *   the fewest claims.
   * @returns The engine chosen and the uuids of its GPUs: as many as the count where they are real, else none.
   * @throws ApiError `gpu_sold_out`.
   */
  async function take(tx: Transaction, wanted: Claim, places: readonly Place[]): Promise<Place> {
    const { subjectId, count: units } = wanted
    const [before] = await tx.select().from(stockClaim).where(eq(stockClaim.subjectId, subjectId))
    await lock(tx, before ? [wanted, { regionCode: before.regionCode, specId: before.gpuSpecId }] : [wanted])
    if (before) await giveBack(tx, subjectId)
    if ((await level(tx, wanted)).available < units) throw new ApiError('gpu_sold_out')
    const isReal = places.some(({ gpuUuids }) => gpuUuids.length > 0)
    const given = isReal ? await withFreeGpus(tx, wanted, places) : await leastTaken(tx, places)
    await tx
      .insert(stockClaim)
      .values({ ...columns(wanted), ...given, subjectId, count: units, takenAt: clock.now() })
    await tx
      .update(stock)
      .set({ taken: sql`${stock.taken} + ${units}` })
      .where(isKey(wanted))
    return given
  }

  /** Gives back what a subject took; nothing where it has nothing. */
  async function giveBack(tx: Transaction, subjectId: string): Promise<void> {
    const [gone] = await tx.delete(stockClaim).where(eq(stockClaim.subjectId, subjectId)).returning()
    if (!gone) return
    await tx
      .update(stock)
      .set({ taken: sql`${stock.taken} - ${gone.count}` })
      .where(isKey({ regionCode: gone.regionCode, specId: gone.gpuSpecId }))
    await notify(tx, STOCK_CHANNEL, gone.regionCode)
  }

  /** Gives an engine the claims of the version before: those on what was called `formerId`, and those on none yet. */
  async function adopt(tx: Transaction, engineId: string, formerId: string): Promise<void> {
    await tx
      .update(stockClaim)
      .set({ engineId })
      .where(or(eq(stockClaim.engineId, formerId), isNull(stockClaim.engineId)))
  }

  /** How much there is of one spec in one region, as the transaction or the database sees it. */
  async function level(q: Queryable, key: StockKey): Promise<Level> {
    const [row] = await q.select().from(stock).where(isKey(key))
    return toLevel(row ?? { total: 0, taken: 0 })
  }

  /** How much there is of everything; a spec that a region never had is absent. */
  async function levels(): Promise<(StockKey & Level)[]> {
    const rows = await db.select().from(stock)
    return rows.map(row => ({ regionCode: row.regionCode, specId: row.gpuSpecId, ...toLevel(row) }))
  }

  /**
   * Writes down what there is in all. What is taken stays as it is; a spec that is not named has none from now on.
   * Gateways that do this at the same time come one after the other.
   */
  async function seed(totals: (StockKey & { total: number })[]): Promise<void> {
    const rows = totals.map(({ total, ...key }) => ({ ...columns(key), total })).sort(byKey)
    await db.transaction(async tx => {
      await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('stock', 0))`)
      const known = await tx
        .select()
        .from(stock)
        .orderBy(asc(stock.regionCode), asc(stock.gpuSpecId))
        .for('update')
      const named = new Set(rows.map(keyText))
      const gone = known.filter(row => !named.has(keyText(row))).map(row => ({ ...row, total: 0 }))
      const all = [...rows, ...gone]
      if (all.length === 0) return
      await tx
        .insert(stock)
        .values(all)
        .onConflictDoUpdate({
          target: [stock.regionCode, stock.gpuSpecId],
          set: { total: sql`excluded.total` },
        })
      const before = new Map(known.map(row => [keyText(row), row.total]))
      const more = all.filter(row => row.total > (before.get(keyText(row)) ?? 0))
      for (const regionCode of new Set(more.map(row => row.regionCode)))
        await notify(tx, STOCK_CHANNEL, regionCode)
    })
  }

  /**
   * Whether the stock is sound: what is taken is the sum of the claims, the claims are those of the subjects named,
   * and no GPU is given twice.
   * @param holders Everybody who should have a claim, as the same transaction sees it.
   * @param leaving Who may still have one.
   * @returns A sentence for each thing that is wrong.
   */
  async function check(tx: Transaction, holders: Claim[], leaving: Claim[] = []): Promise<string[]> {
    const [rows, claims] = [await tx.select().from(stock), await tx.select().from(stockClaim)]
    const problems: string[] = []
    const sums = new Map<string, number>()
    for (const claim of claims) sums.set(keyText(claim), (sums.get(keyText(claim)) ?? 0) + claim.count)
    for (const row of rows) {
      const sum = sums.get(keyText(row)) ?? 0
      if (row.taken !== sum) problems.push(`${keyText(row)}: ${row.taken} taken, but claims of ${sum}`)
      sums.delete(keyText(row))
    }
    for (const key of sums.keys()) problems.push(`${key}: claims, but no stock`)
    const said = (claim: Claim) =>
      `${claim.subjectId} has ${claim.count} of ${claim.regionCode}/${claim.specId}`
    const are = new Set(claims.map(claim => said({ ...claim, specId: claim.gpuSpecId })))
    const should = new Set(holders.map(said))
    const may = new Set([...should, ...leaving.map(said)])
    for (const one of are) if (!may.has(one)) problems.push(`${one}, and should not`)
    for (const one of should) if (!are.has(one)) problems.push(`${one}, it should, and has not`)
    const uuids = claims.flatMap(({ gpuUuids }) => gpuUuids)
    if (new Set(uuids).size < uuids.length) problems.push('a GPU is given twice')
    return problems
  }

  return { take, giveBack, adopt, level, levels, seed, check }
}

async function lock(tx: Transaction, keys: StockKey[]): Promise<void> {
  await tx
    .select({ total: stock.total })
    .from(stock)
    .where(or(...keys.map(isKey)))
    .orderBy(asc(stock.regionCode), asc(stock.gpuSpecId))
    .for('update')
}

/**
 * GPUs that nobody else has a claim on. One GPU may be offered in two regions, or under two names: real ones are
 * taken one transaction at a time.
 */
async function withFreeGpus(tx: Transaction, wanted: Claim, places: readonly Place[]): Promise<Place> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('stock gpus', 0))`)
  const claims = await tx
    .select({ gpuUuids: stockClaim.gpuUuids })
    .from(stockClaim)
    .where(and(ne(stockClaim.subjectId, wanted.subjectId), sql`${stockClaim.gpuUuids} <> '[]'`))
  const inUse = new Set(claims.flatMap(({ gpuUuids }) => gpuUuids))
  for (const { engineId, gpuUuids } of places) {
    const free = gpuUuids.filter(uuid => !inUse.has(uuid))
    if (free.length >= wanted.count) return { engineId, gpuUuids: free.slice(0, wanted.count) }
  }
  throw new ApiError('gpu_sold_out')
}

/** The engine with the fewest claims; what others take meanwhile does not matter much. */
async function leastTaken(tx: Transaction, places: readonly Place[]): Promise<Place> {
  const [only] = places
  if (!only) throw new ApiError('gpu_sold_out')
  if (places.length === 1) return only
  const rows = await tx
    .select({ engineId: stockClaim.engineId, claims: count() })
    .from(stockClaim)
    .groupBy(stockClaim.engineId)
  const claims = new Map(rows.map(row => [row.engineId, row.claims]))
  const load = ({ engineId }: Place) => claims.get(engineId) ?? 0
  return places.reduce((best, place) => (load(place) < load(best) ? place : best), only)
}

function isKey({ regionCode, specId }: StockKey) {
  return and(eq(stock.regionCode, regionCode), eq(stock.gpuSpecId, specId))
}

function columns({ regionCode, specId }: StockKey) {
  return { regionCode, gpuSpecId: specId }
}

function keyText({ regionCode, gpuSpecId }: { regionCode: string; gpuSpecId: string }): string {
  return `${regionCode}/${gpuSpecId}`
}

function byKey(one: Parameters<typeof keyText>[0], other: Parameters<typeof keyText>[0]): number {
  return keyText(one) < keyText(other) ? -1 : 1
}

function toLevel({ total, taken }: { total: number; taken: number }): Level {
  return { total, taken, available: Math.max(0, total - taken) }
}
