import type { Currency } from '@berth/contract/limits'
import { and, asc, desc, eq, gt, inArray, sql } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Queryable, Transaction } from '../../../platform/database/database.ts'
import { statement } from '../../../platform/database/statement.ts'
import type { Ids } from '../../../platform/ids.ts'
import { least } from '../ledger/least.ts'
import { customerAccounts, openHouseAccount, postTransfer } from '../ledger/ledger.ts'
import { creditEnd, creditGrant, creditUse } from './tables.ts'

interface Deps {
  clock: Clock
  ids: Ids
}

/** What the books have left of one grant. */
export interface Lot {
  id: string
  modelsOnly: boolean
  restMicro: bigint
  endsAt: Date | null
  /** The books know that it has ended: what is left was set aside for something. */
  ended: boolean
}

/** The nearest end first, what has none last; then the oldest. */
const SPENDING_ORDER = [
  sql`${creditGrant.endsAt} asc nulls last`,
  asc(creditGrant.createdAt),
  asc(creditGrant.id),
]
const RETURN_ORDER = [
  sql`${creditGrant.endsAt} desc nulls first`,
  desc(creditGrant.createdAt),
  desc(creditGrant.id),
]

/** A customer's lots of which something is left, in the order in which they are spent (R3.8). */
export async function readLots(q: Pick<Queryable, 'select'>, userId: string): Promise<Lot[]> {
  return (await readLotsOfMany(q, [userId])).get(userId) ?? []
}

/** The same of many customers in one statement. @returns By user id; none of a customer who has none. */
export async function readLotsOfMany(
  q: Pick<Queryable, 'select'>,
  userIds: string[],
): Promise<Map<string, Lot[]>> {
  const { id, userId, modelsOnly, restMicro, endsAt, endedAt } = creditGrant
  const rows = await q
    .select({ id, userId, modelsOnly, restMicro, endsAt, endedAt })
    .from(creditGrant)
    .where(and(inArray(creditGrant.userId, userIds), gt(creditGrant.restMicro, 0n)))
    .orderBy(...SPENDING_ORDER)
  const lots = new Map<string, Lot[]>()
  for (const { id, userId, modelsOnly, restMicro, endsAt, endedAt } of rows) {
    const own = lots.get(userId) ?? []
    own.push({ id, modelsOnly, restMicro, endsAt, ended: endedAt !== null })
    lots.set(userId, own)
  }
  return lots
}

/** When the next lot ends; null where none does any more. */
export function nextEnd(lots: readonly Lot[]): Date | null {
  const ends = lots.flatMap(({ ended, endsAt }) => (ended || endsAt === null ? [] : [endsAt.getTime()]))
  return ends.length === 0 ? null : new Date(Math.min(...ends))
}

/** Takes from lots in their order, in memory alone. @returns What was taken of which. */
export function drawFrom(lots: Lot[], amountMicro: bigint): { grantId: string; micro: bigint }[] {
  let leftMicro = amountMicro
  return lots.flatMap(lot => {
    const micro = least(leftMicro, lot.restMicro)
    if (micro === 0n) return []
    leftMicro -= micro
    lot.restMicro -= micro
    return [{ grantId: lot.id, micro }]
  })
}

/** What a stretch used of a lot. */
export interface LotUse {
  intervalId: string
  grantId: string
  userId: string
  micro: bigint
}

/**
 * Writes down which stretches used which lots. The caller holds the wallets' locks and posts the entries.
 * @param uses One for each stretch and lot.
 */
export async function writeUses(tx: Transaction, uses: readonly LotUse[]): Promise<void> {
  if (uses.length === 0) return
  const taken = new Map<string, bigint>()
  for (const { grantId, micro } of uses) taken.set(grantId, (taken.get(grantId) ?? 0n) + micro)
  const changes = [...taken].map(([id, micro]) => ({ id, micro: `${micro}` }))
  const rows = uses.map(({ micro, ...use }) => ({ ...use, micro: `${micro}` }))
  await takeFromLots(tx, JSON.stringify(changes), JSON.stringify(rows))
}

const takeFromLots = statement(
  'credit_uses',
  `with lots as (
    update credit_grant g set rest_micro = g.rest_micro - taken.micro
    from json_to_recordset($1::json) as taken(id uuid, micro bigint)
    where g.id = taken.id
  )
  insert into credit_use (interval_id, grant_id, user_id, amount_micro)
  select "intervalId", "grantId", "userId", "micro"
  from json_to_recordset($2::json) as used("intervalId" uuid, "grantId" uuid, "userId" uuid, "micro" bigint)
  on conflict (interval_id, grant_id) do update set amount_micro = credit_use.amount_micro + excluded.amount_micro`,
)

/** What of credits that a stretch gives back goes to which lot: to the one that was used last first. */
async function returnsOf(
  q: Pick<Queryable, 'select'>,
  intervalId: string,
  amountMicro: bigint,
): Promise<{ grantId: string; endsAt: Date | null; micro: bigint }[]> {
  const uses = await q
    .select({ grantId: creditUse.grantId, endsAt: creditGrant.endsAt, usedMicro: creditUse.amountMicro })
    .from(creditUse)
    .innerJoin(creditGrant, eq(creditGrant.id, creditUse.grantId))
    .where(and(eq(creditUse.intervalId, intervalId), gt(creditUse.amountMicro, 0n)))
    .orderBy(...RETURN_ORDER)
  let leftMicro = amountMicro
  return uses.map(({ grantId, endsAt, usedMicro }) => {
    const micro = least(leftMicro, usedMicro)
    leftMicro -= micro
    return { grantId, endsAt, micro }
  })
}

/**
 * What of credits that a stretch would give back ends at once, because its lot has; nothing changes.
 * @param now Which lots have ended.
 */
export async function endsAtOnceMicro(
  q: Pick<Queryable, 'select'>,
  intervalId: string,
  amountMicro: bigint,
  now: Date,
): Promise<bigint> {
  if (amountMicro === 0n) return 0n
  const returns = await returnsOf(q, intervalId, amountMicro)
  return returns.reduce((sum, { endsAt, micro }) => sum + (isPast(endsAt, now) ? micro : 0n), 0n)
}

/**
 * Puts credits that a stretch gives back into the lots that they came from; what comes back to a lot that has ended,
 * ends at once. The caller holds the wallet's lock, and has posted the entry that gives them back.
 * @param posting Of the stretch: its number, which makes the keys.
 */
export async function returnToLots(
  tx: Transaction,
  deps: Deps,
  stretch: { userId: string; intervalId: string; currency: Currency; posting: number },
  amountMicro: bigint,
): Promise<void> {
  const { userId, intervalId, currency, posting } = stretch
  const now = deps.clock.now()
  for (const { grantId, endsAt, micro } of await returnsOf(tx, intervalId, amountMicro)) {
    if (micro === 0n) continue
    await tx
      .update(creditUse)
      .set({ amountMicro: sql`${creditUse.amountMicro} - ${micro}` })
      .where(and(eq(creditUse.intervalId, intervalId), eq(creditUse.grantId, grantId)))
    await addToRest(tx, grantId, micro)
    if (!isPast(endsAt, now)) continue
    const key = `credit-end:${grantId}:${intervalId}:${posting}`
    await bookEnd(tx, deps, { userId, currency, grantId, amountMicro: micro, key, at: now })
  }
}

/**
 * Books the ends of lots at a moment. The caller holds the wallet's lock, and has posted what was used until then.
 * @param ends What of which lot ends; all lots whose end it is, also those of which nothing does.
 */
export async function writeEnds(
  tx: Transaction,
  deps: Deps,
  { userId, currency, at }: { userId: string; currency: Currency; at: Date },
  ends: { grantId: string; micro: bigint }[],
): Promise<void> {
  for (const { grantId, micro: amountMicro } of ends) {
    await tx.update(creditGrant).set({ endedAt: at }).where(eq(creditGrant.id, grantId))
    const key = `credit-end:${grantId}`
    if (amountMicro > 0n) await bookEnd(tx, deps, { userId, currency, grantId, amountMicro, key, at })
  }
}

/**
 * Ends what lots that have ended kept for something, when that is let go: at most what was left of it. The caller holds
 * the wallet's lock.
 */
export async function endKept(
  tx: Transaction,
  deps: Deps,
  hold: { userId: string; currency: Currency; holdId: string; leftMicro: bigint },
): Promise<void> {
  const { userId, currency, holdId } = hold
  let { leftMicro } = hold
  const at = deps.clock.now()
  for (const { id: grantId, restMicro, ended } of await readLots(tx, userId)) {
    const amountMicro = ended ? least(leftMicro, restMicro) : 0n
    if (amountMicro === 0n) continue
    leftMicro -= amountMicro
    const key = `credit-end:${grantId}:${holdId}`
    await bookEnd(tx, deps, { userId, currency, grantId, amountMicro, key, at })
  }
}

/** Books that a part of a lot has ended unused. */
async function bookEnd(
  tx: Transaction,
  deps: Deps,
  end: { userId: string; currency: Currency; grantId: string; amountMicro: bigint; key: string; at: Date },
): Promise<void> {
  const { userId, currency, grantId, amountMicro, key, at } = end
  const id = deps.ids.uuid()
  await addToRest(tx, grantId, -amountMicro)
  await tx.insert(creditEnd).values({ id, grantId, userId, amountMicro, createdAt: at })
  await postTransfer(tx, deps, {
    key,
    from: customerAccounts(userId).credits,
    to: await openHouseAccount(tx, 'promotions', currency),
    amountMicro,
    kind: 'credit_end',
    refId: id,
    userId,
    at,
  })
}

async function addToRest(tx: Transaction, grantId: string, micro: bigint): Promise<void> {
  await tx
    .update(creditGrant)
    .set({ restMicro: sql`${creditGrant.restMicro} + ${micro}` })
    .where(eq(creditGrant.id, grantId))
}

function isPast(endsAt: Date | null, now: Date): boolean {
  return endsAt !== null && endsAt <= now
}
