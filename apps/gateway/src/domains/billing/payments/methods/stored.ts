import { and, desc, eq, inArray, notInArray } from 'drizzle-orm'
import type { Queryable, Transaction } from '../../../../platform/database/database.ts'
import type { Sealer } from '../../../../platform/sealer.ts'
import { OPEN_STATES } from '../intent-states.ts'
import { paymentIntent } from '../tables.ts'
import { paymentMethod } from './tables.ts'

/** What a customer names as source where the platform asks on a page of its own. */
export const CHECKOUT_SOURCE = 'checkout'

export type Method = typeof paymentMethod.$inferSelect

/** One that can be charged: the platform has it. */
type SavedMethod = Method & { platformMethodId: string }

/** Where the customer goes on; null while nobody waits for them. */
export function openNextUrl(
  { sealer }: { sealer: Sealer },
  { id, nextUrlBox: box, nextUrlKeyId: keyId }: Method,
): string | null {
  return box && keyId ? sealer.open({ box, keyId }, [id]) : null
}

/** What is stored of that address. @param id The row's, for which alone it is opened. */
export function sealNextUrl({ sealer }: { sealer: Sealer }, id: string, url: string | null) {
  if (url === null) return { nextUrlBox: null, nextUrlKeyId: null }
  const { box: nextUrlBox, keyId: nextUrlKeyId } = sealer.seal(url, [id])
  return { nextUrlBox, nextUrlKeyId }
}

/** Ids on the wire say what they are. */
const ID_PATTERN = /^m_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/** A method's id as the wire has it. */
export function methodWireId(id: string): string {
  return `m_${id}`
}

/** The row's id in an id of the wire; null when it is none of ours. */
export function methodRowId(id: string): string | null {
  return ID_PATTERN.exec(id)?.[1] ?? null
}

/** Whether the month is over, by UTC, until which a card can be charged. */
export function isExpired(
  { expiryMonth, expiryYear }: Pick<Method, 'expiryMonth' | 'expiryYear'>,
  now: Date,
): boolean {
  if (expiryMonth === null || expiryYear === null) return false
  return Date.UTC(expiryYear, expiryMonth) <= now.getTime()
}

/**
 * The condition that finds a customer's methods that are not on their way out: those that were refused are told for a day,
 * where nobody was told at once.
 */
export function isListedOf(userId: string) {
  return and(eq(paymentMethod.userId, userId), notInArray(paymentMethod.state, ['counted', 'removing']))
}

/** The condition that finds those that are kept, or may yet be. */
export function isKeptOf(userId: string) {
  return and(eq(paymentMethod.userId, userId), inArray(paymentMethod.state, ['saving', 'saved']))
}

/** The condition that finds those that can be charged. */
export function isSavedOf(userId: string) {
  return and(eq(paymentMethod.userId, userId), eq(paymentMethod.state, 'saved'))
}

/**
 * What would be charged: the method of that id, or the default. @param id A row's id; null: the default.
 * @returns Null where there is none, or the platform does not have it.
 */
export async function findSaved(
  q: Pick<Queryable, 'select'>,
  userId: string,
  id: string | null,
): Promise<SavedMethod | null> {
  const chosen = id === null ? eq(paymentMethod.isDefault, true) : eq(paymentMethod.id, id)
  const [row] = await q
    .select()
    .from(paymentMethod)
    .where(and(isSavedOf(userId), chosen))
  return row && row.platformMethodId !== null ? { ...row, platformMethodId: row.platformMethodId } : null
}

/** Makes the newest method the default where none is. Call it under the wallet's lock. */
export async function ensureDefault(tx: Transaction, userId: string): Promise<void> {
  const saved = await tx
    .select({ id: paymentMethod.id, isDefault: paymentMethod.isDefault })
    .from(paymentMethod)
    .where(isSavedOf(userId))
    .orderBy(desc(paymentMethod.createdAt), desc(paymentMethod.id))
  const newest = saved[0]
  if (!newest || saved.some(({ isDefault }) => isDefault)) return
  await tx.update(paymentMethod).set({ isDefault: true }).where(eq(paymentMethod.id, newest.id))
}

/** Whether a payment is under way that charges it: the platform must not forget it before. */
export async function isBeingCharged(q: Pick<Queryable, 'select'>, methodId: string): Promise<boolean> {
  const rows = await q
    .select({ id: paymentIntent.id })
    .from(paymentIntent)
    .where(and(eq(paymentIntent.methodId, methodId), inArray(paymentIntent.state, [...OPEN_STATES])))
    .limit(1)
  return rows.length > 0
}
