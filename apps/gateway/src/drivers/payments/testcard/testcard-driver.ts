import { CURRENCIES } from '@berth/contract/limits'
import { eq } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import type { Ids } from '../../../platform/ids.ts'
import { type ChargeAnswer, type ChargeRequest, type PaymentDriver, PaymentUnavailable } from '../port.ts'
import { testcardCharge } from '../tables.ts'
import { cardLabel, cardReference, TEST_CARDS, type TestCard } from './test-cards.ts'

/**
 * A payment platform for one machine: no money moves, only test cards work, and a real number is refused before
 * anything of it is stored. It keeps books of its own, apart from the ledger, as a real platform does.
 * @param deps The database that holds those books; each charge is one transaction of its own.
 */
export function createTestcardDriver(deps: { db: Database; clock: Clock; ids: Ids }): PaymentDriver {
  return {
    name: 'testcard',
    display_name: 'Test card',
    test: true,
    currencies: CURRENCIES,
    identify(source) {
      const number = source.replaceAll(/\s/g, '')
      const card = TEST_CARDS.find(card => card.number === number)
      if (!card) return { accepted: false, failure: 'test_card_required' }
      return { accepted: true, reference: cardReference(card), label: cardLabel(card) }
    },
    charge: request => charge(deps, request),
  }
}

type Charge = typeof testcardCharge.$inferSelect

async function charge(
  deps: { db: Database; clock: Clock; ids: Ids },
  request: ChargeRequest,
): Promise<ChargeAnswer> {
  const card = TEST_CARDS.find(card => cardReference(card) === request.source)
  if (!card) return { charged: false, failure: 'test_card_required', label: '' }
  let booked: Charge
  try {
    booked = await book(deps, request, card)
  } catch (error) {
    throw new PaymentUnavailable('the books of the test-card platform cannot be reached', { cause: error })
  }
  const same =
    booked.amountCents === request.amount_cents &&
    booked.currency === request.currency &&
    booked.label === cardLabel(card)
  if (!same) throw new Error(`the key ${request.idempotency_key} was used for another charge`)
  return booked.failure === null
    ? { charged: true, charge_id: booked.chargeId, label: booked.label }
    : { charged: false, failure: card.failure ?? 'card_declined', label: booked.label }
}

/** Writes the charge under its key, or finds what the key did first. */
async function book(
  { db, clock, ids }: { db: Database; clock: Clock; ids: Ids },
  request: ChargeRequest,
  card: TestCard,
): Promise<Charge> {
  const key = request.idempotency_key
  const made = await db
    .insert(testcardCharge)
    .values({
      idempotencyKey: key,
      chargeId: `ch_${ids.uuid()}`,
      amountCents: request.amount_cents,
      currency: request.currency,
      label: cardLabel(card),
      failure: card.failure,
      request: { source: request.source },
      createdAt: clock.now(),
    })
    .onConflictDoNothing()
    .returning()
  const rows =
    made.length > 0
      ? made
      : await db.select().from(testcardCharge).where(eq(testcardCharge.idempotencyKey, key))
  const row = rows[0]
  if (!row) throw new Error('a charge was neither made nor found')
  return row
}
