import { and, asc, eq, gt, inArray, isNull, lte } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { statement } from '../../../platform/database/statement.ts'
import type { Ids } from '../../../platform/ids.ts'
import { writeEnds } from '../credits/lots.ts'
import { creditGrant } from '../credits/tables.ts'
import { wallet } from '../ledger/tables.ts'
import { readTotals, type WalletTotals } from '../ledger/wallet.ts'
import { notePostings } from './booking.ts'
import { createSheet, writeSheet } from './posting-sheet.ts'
import { endInPurse, type Purse, readPurse, readPurses } from './purse.ts'
import type { Interval } from './tables.ts'

interface Deps {
  clock: Clock
  ids: Ids
}

/** A wallet comes near its floor when what is available lasts no longer than this: several ticks. */
const NEAR_FLOOR_MS = 600_000

/**
 * Posts what is due by now on every open stretch of a customer. The caller holds the wallet's lock. Call it before
 * money comes in: what nobody could pay until then is waived, not taken from the new money.
 */
export async function postAll(tx: Transaction, deps: Deps, userId: string): Promise<void> {
  await endCredits(tx, deps, userId)
  await postOpen(tx, deps, userId, deps.clock.now())
}

/**
 * Books the ends of credits that have passed, each at its moment: what ran until then is posted first and uses them, so
 * that it is the same whoever looks first, and how late (R3.8). The caller holds the wallet's lock. Nothing that is
 * charged or given back may be posted before it.
 */
export async function endCredits(tx: Transaction, deps: Deps, userId: string): Promise<void> {
  const ends = await tx
    .selectDistinct({ at: creditGrant.endsAt })
    .from(creditGrant)
    .where(
      and(
        eq(creditGrant.userId, userId),
        gt(creditGrant.restMicro, 0n),
        isNull(creditGrant.endedAt),
        lte(creditGrant.endsAt, deps.clock.now()),
      ),
    )
    .orderBy(asc(creditGrant.endsAt))
  for (const { at } of ends) {
    if (at === null) continue
    await postOpen(tx, deps, userId, at)
    const purse = await readPurse(tx, userId)
    const ends = endInPurse(purse, at)
    const heldMicro = [...purse.holds.values()].reduce((sum, { leftMicro }) => sum + leftMicro, 0n)
    if (purse.keptMicro > heldMicro) throw new Error('credits ended that the account does not have')
    await writeEnds(tx, deps, { userId, currency: purse.currency, at }, ends)
  }
}

/** Customers' open stretches, each customer's in the order in which they are posted. */
export async function selectOpen(q: Transaction, userIds: string[]): Promise<Interval[]> {
  const rows = await readOpen(q, userIds)
  return rows.map(row => ({
    ...row,
    ...{
      rateMicro: BigInt(row.rateMicro),
      carriedParts: BigInt(row.carriedParts),
      restParts: BigInt(row.restParts),
    },
    ...{ creditsMicro: BigInt(row.creditsMicro), cashMicro: BigInt(row.cashMicro) },
    ...{ postedMicro: BigInt(row.postedMicro), waivedMicro: BigInt(row.waivedMicro) },
    ...{ startedAt: new Date(row.startedAt), endedAt: null, postedUntil: new Date(row.postedUntil) },
  }))
}

/** A row as the database sends it: of an open stretch there is no end. */
type OpenRow = {
  [Name in Exclude<keyof Interval, 'endedAt'>]: Interval[Name] extends bigint | Date ? string : Interval[Name]
}

const readOpen = statement<OpenRow>(
  'usage_open',
  `select id, user_id as "userId", subject_kind as "subjectKind", subject_id as "subjectId", subject_name as "subjectName",
    subject_facts as "subjectFacts", charge, stops_when_empty as "stopsWhenEmpty", rate_micro as "rateMicro",
    rate_seconds as "rateSeconds", started_at as "startedAt", carried_parts as "carriedParts", rest_parts as "restParts",
    credits_micro as "creditsMicro", cash_micro as "cashMicro", posted_micro as "postedMicro",
    waived_micro as "waivedMicro", posted_until as "postedUntil", postings
  from usage_interval where user_id = any($1::uuid[]) and ended_at is null
  order by started_at, id`,
)

/** Posts what is due at a moment on every open stretch of a customer, none before what is posted. */
async function postOpen(tx: Transaction, deps: Deps, userId: string, until: Date): Promise<void> {
  const open = await selectOpen(tx, [userId])
  if (open.length === 0) return
  const sheet = createSheet()
  notePostings(sheet, { purse: await readPurse(tx, userId), open, until, now: deps.clock.now() })
  await writeSheet(tx, deps, sheet)
}

/**
 * Posts what is due by now on every open stretch of many customers, as `postAll` does of one, with one set of statements
 * for all of them. It waits for nobody: left out are those whose wallet somebody else has locked, and those of whose
 * credits an end is to be booked first.
 * @returns Who was left out, for `postAll`.
 */
export async function postTogether(tx: Transaction, deps: Deps, userIds: string[]): Promise<string[]> {
  const locked = await tx
    .select({ userId: wallet.userId })
    .from(wallet)
    .where(inArray(wallet.userId, userIds))
    .orderBy(asc(wallet.userId))
    .for('update', { skipLocked: true })
  const now = deps.clock.now()
  const ids = locked.map(({ userId }) => userId)
  if (ids.length === 0) return userIds
  const purses = await readPurses(tx, ids)
  const openOf = Map.groupBy(await selectOpen(tx, ids), ({ userId }) => userId)
  const sheet = createSheet()
  for (const [userId, purse] of purses) {
    if (hasEnded(purse, now)) purses.delete(userId)
    else notePostings(sheet, { purse, open: openOf.get(userId) ?? [], until: now, now })
  }
  await writeSheet(tx, deps, sheet)
  return userIds.filter(userId => !purses.has(userId))
}

/** Whether the end of a lot has passed that the books do not know of. */
function hasEnded({ lots }: Purse, now: Date): boolean {
  return lots.some(({ ended, endsAt }) => !ended && endsAt !== null && endsAt <= now)
}

/**
 * Posts all where the wallet is near its floor: only there does the order of a posting and of what comes next matter.
 */
export async function postNearFloor(tx: Transaction, deps: Deps, userId: string): Promise<void> {
  if (isNearFloor(await readTotals(tx, deps.clock, userId))) await postAll(tx, deps, userId)
}

/** Whether something is due that a wallet can hardly pay, or cannot. */
export function isNearFloor(totals: WalletTotals): boolean {
  const { unpostedMicro, availableMicro, burnMicroPerHour } = totals
  return unpostedMicro > 0n && availableMicro * 3_600_000n <= burnMicroPerHour * BigInt(NEAR_FLOOR_MS)
}
