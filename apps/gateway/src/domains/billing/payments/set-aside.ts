import { and, asc, eq, inArray, lte } from 'drizzle-orm'
import { PaymentUnavailable, type PlatformEvent } from '../../../drivers/payments/port.ts'
import type { PaymentsDeps } from './intents.ts'
import { paymentEvent, paymentEventAside } from './tables.ts'

/**
 * Events whose booking fails: each is kept in the database with why, so that those behind it are booked and no gateway
 * that stops loses it, and is tried again after pauses that grow (decision 0131).
 */

export type Via = (typeof paymentEvent.$inferSelect)['via']

/** An event that is due to be tried again, and how. */
export interface Aside {
  event: PlatformEvent
  via: Via
  tries: number
}

/** What is kept of an event as JSON; the rest has columns. */
type KeptEvent = Omit<PlatformEvent, 'event_id' | 'reference' | 'occurred_at'>

/** The first pause is that of recovery's rounds; what a person has to mend is booked within an hour of that. */
const PAUSE_MS_MIN = 15_000
const PAUSE_MS_MAX = 3_600_000
/** 15 s doubled so often is more than the longest pause. */
const DOUBLINGS_MAX = 8
/** Of what a platform or the database says; it is for a line of the log and of the books. */
const REASON_CHARS_MAX = 500
/** Causes of causes that are looked through for the reason. */
const CAUSES_MAX = 5

/** How long an event that failed that many times is left alone. */
export function asidePauseMs(tries: number): number {
  return Math.min(PAUSE_MS_MIN * 2 ** Math.min(tries - 1, DOUBLINGS_MAX), PAUSE_MS_MAX)
}

/**
 * Keeps an event whose first try failed. One that another gateway booked or kept meanwhile stays as it is there.
 * @throws When the database cannot keep it: then it is to be told again.
 */
export async function setAside(
  deps: Pick<PaymentsDeps, 'db' | 'clock' | 'log'>,
  platformName: string,
  event: PlatformEvent,
  { via, error }: { via: Via; error: unknown },
): Promise<void> {
  const { db, clock } = deps
  const { event_id: eventId, reference, occurred_at: occurredAt, ...rest } = event
  const now = clock.now()
  await db.transaction(async tx => {
    const isThis = and(eq(paymentEvent.platformName, platformName), eq(paymentEvent.eventId, eventId))
    if ((await tx.$count(paymentEvent, isThis)) > 0) return
    // Whoever has the address may confirm; recovery asks for it again while the payment waits.
    const told = JSON.stringify({ ...rest, next_url: null } satisfies KeptEvent)
    await tx
      .insert(paymentEventAside)
      .values({
        ...{ platformName, eventId, reference, told, occurredAt, via },
        ...{ reason: reasonOf(error), tries: 1, setAsideAt: now },
        tryAt: new Date(now.getTime() + asidePauseMs(1)),
      })
      .onConflictDoNothing()
  })
  logAside(deps, { eventId, tries: 1, error })
}

/**
 * Takes the event of a platform that has waited longest to be tried again. It is due again after its next pause,
 * whatever becomes of the try, so that no other gateway tries it meanwhile; null where none is due.
 */
export async function takeDueAside(
  { db, clock }: Pick<PaymentsDeps, 'db' | 'clock'>,
  platformName: string,
): Promise<Aside | null> {
  return await db.transaction(async tx => {
    const now = clock.now()
    const [due] = await tx
      .select()
      .from(paymentEventAside)
      .where(and(eq(paymentEventAside.platformName, platformName), lte(paymentEventAside.tryAt, now)))
      .orderBy(asc(paymentEventAside.tryAt))
      .limit(1)
      .for('update', { skipLocked: true })
    if (!due) return null
    const tries = due.tries + 1
    const tryAt = new Date(now.getTime() + asidePauseMs(tries))
    await tx.update(paymentEventAside).set({ tries, tryAt }).where(isAside(platformName, due.eventId))
    const { eventId, reference, occurredAt, via } = due
    const rest = JSON.parse(due.told) as KeptEvent
    return { event: { ...rest, event_id: eventId, reference, occurred_at: occurredAt }, via, tries }
  })
}

/** An event is booked, or was by somebody else: it is set aside no more. */
export async function endAside(
  { db }: Pick<PaymentsDeps, 'db'>,
  platformName: string,
  eventId: string,
): Promise<void> {
  await db.delete(paymentEventAside).where(isAside(platformName, eventId))
}

/** Notes why a try failed; when it is tried again was said when it was taken. */
export async function noteStillAside(
  deps: Pick<PaymentsDeps, 'db' | 'log'>,
  platformName: string,
  { event: { event_id: eventId }, tries }: Aside,
  error: unknown,
): Promise<void> {
  logAside(deps, { eventId, tries, error })
  await deps.db
    .update(paymentEventAside)
    .set({ reason: reasonOf(error) })
    .where(isAside(platformName, eventId))
}

/** Which of these events of a platform are set aside. */
export async function asideAmong(
  { db }: Pick<PaymentsDeps, 'db'>,
  platformName: string,
  eventIds: string[],
): Promise<string[]> {
  const rows = await db
    .select({ eventId: paymentEventAside.eventId })
    .from(paymentEventAside)
    .where(
      and(eq(paymentEventAside.platformName, platformName), inArray(paymentEventAside.eventId, eventIds)),
    )
  return rows.map(({ eventId }) => eventId)
}

/** Events that were set aside before that and still are, the oldest first. */
export async function asideSince(
  { db }: Pick<PaymentsDeps, 'db'>,
  before: Date,
): Promise<Pick<typeof paymentEventAside.$inferSelect, 'platformName' | 'eventId' | 'tries' | 'reason'>[]> {
  return await db
    .select()
    .from(paymentEventAside)
    .where(lte(paymentEventAside.setAsideAt, before))
    .orderBy(asc(paymentEventAside.setAsideAt))
}

function isAside(platformName: string, eventId: string) {
  return and(eq(paymentEventAside.platformName, platformName), eq(paymentEventAside.eventId, eventId))
}

/** A platform that does not answer passes by itself; anything else is for a person. */
function logAside(
  { log }: Pick<PaymentsDeps, 'log'>,
  { eventId, tries, error }: { eventId: string; tries: number; error: unknown },
): void {
  const level = error instanceof PaymentUnavailable ? 'warn' : 'error'
  log[level]({ err: error, eventId, tries }, 'an event of a platform could not be booked, and is set aside')
}

/** The innermost cause: what lies about it, such as a query with all of its values, is for the log alone. */
function reasonOf(error: unknown): string {
  let current = error
  for (let depth = 0; depth < CAUSES_MAX; depth += 1) {
    if (!(current instanceof Error) || !(current.cause instanceof Error)) break
    current = current.cause
  }
  const words = current instanceof Error ? `${current.name}: ${current.message}` : String(current)
  return words.replaceAll('\0', '').slice(0, REASON_CHARS_MAX)
}
