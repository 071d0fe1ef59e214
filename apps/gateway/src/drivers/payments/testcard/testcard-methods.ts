import type { ErrorCode } from '@berth/contract/errors'
import { and, eq } from 'drizzle-orm'
import { type MethodRequest, PaymentRefused } from '../port.ts'
import { testcardMethod } from '../tables.ts'
import { intentIdOfPage } from './page-token.ts'
import { cardOf } from './test-cards.ts'
import { type BooksDeps, CardMistake } from './testcard-books.ts'

/** A card that the test platform keeps, or is asked to. */
export type CardMethod = typeof testcardMethod.$inferSelect

type MethodDeps = Pick<BooksDeps, 'db' | 'clock' | 'ids'>

/** Refusals that a card meets although nothing is charged. */
const REFUSED_UNCHARGED: ReadonlySet<ErrorCode> = new Set([
  'card_lost',
  'card_stolen',
  'card_expired',
  'card_incorrect_cvc',
])

/**
 * Keeps a card, once for its key; one whose bank asks waits for the customer.
 * @throws PaymentRefused when its bank says so without being asked to charge.
 */
export async function keepMethod(
  { db, clock, ids }: MethodDeps,
  {
    idempotency_key: idempotencyKey,
    source,
    return_url: returnUrl,
    was_paid: wasPaid = false,
  }: MethodRequest,
): Promise<CardMethod> {
  const card = cardOf(source)
  const refusal = card?.failure
  // A bank says so when it is asked whether there is such a card; that money is lacking it says of a charge alone.
  if (refusal && REFUSED_UNCHARGED.has(refusal)) throw new PaymentRefused('the card is not kept', refusal)
  const status = card?.asks && !wasPaid ? 'requires_action' : 'saved'
  const values = { methodId: `pm_${ids.uuid()}`, idempotencyKey, card: source, status, returnUrl } as const
  await db
    .insert(testcardMethod)
    .values({ ...values, createdAt: clock.now() })
    .onConflictDoNothing()
  const [row] = await db
    .select()
    .from(testcardMethod)
    .where(eq(testcardMethod.idempotencyKey, idempotencyKey))
  if (!row) throw new Error('a card was neither kept nor found')
  return row
}

/** A card as it is now. @throws PaymentRefused when there is none of that id. */
export async function readMethod({ db }: Pick<MethodDeps, 'db'>, methodId: string): Promise<CardMethod> {
  const [row] = await db.select().from(testcardMethod).where(eq(testcardMethod.methodId, methodId))
  if (row) return row
  throw new PaymentRefused(`there is no card ${methodId}`, 'payment_failed')
}

/** Ends the question for a card; one that is answered stays as it is. */
export async function endMethod(deps: Pick<MethodDeps, 'db'>, methodId: string): Promise<CardMethod> {
  await move(deps, methodId, { status: 'ended' })
  return await readMethod(deps, methodId)
}

/** The customer answers their bank's question, once. */
export async function answerMethod(
  deps: Pick<MethodDeps, 'db'>,
  { methodId, card }: CardMethod,
  isConfirmed: boolean,
): Promise<CardMethod> {
  const failure = isConfirmed ? (cardOf(card)?.failure ?? null) : 'payment_not_confirmed'
  await move(deps, methodId, { status: failure === null ? 'saved' : 'refused', failure })
  return await readMethod(deps, methodId)
}

/** The card whose bank asks on a page; null where nothing is asked there. */
export async function methodOfPage(
  deps: Pick<BooksDeps, 'db' | 'pageKey'>,
  token: string,
): Promise<CardMethod | null> {
  const methodId = intentIdOfPage(deps.pageKey(), token)
  if (methodId === null) return null
  const [row] = await deps.db.select().from(testcardMethod).where(eq(testcardMethod.methodId, methodId))
  return row && cardOf(row.card)?.asks ? row : null
}

/** The card that was saved under an id; null when it is no id of a saved card. */
export async function cardOfMethod({ db }: Pick<MethodDeps, 'db'>, source: string): Promise<string | null> {
  if (!source.startsWith('pm_')) return null
  const isSaved = and(eq(testcardMethod.methodId, source), eq(testcardMethod.status, 'saved'))
  const [row] = await db.select().from(testcardMethod).where(isSaved)
  if (!row) throw new CardMistake(`there is no saved card ${source}`)
  return row.card
}

async function move(
  { db }: Pick<MethodDeps, 'db'>,
  methodId: string,
  to: Pick<Partial<CardMethod>, 'status' | 'failure'>,
): Promise<void> {
  const isOpen = and(eq(testcardMethod.methodId, methodId), eq(testcardMethod.status, 'requires_action'))
  await db.update(testcardMethod).set(to).where(isOpen)
}
