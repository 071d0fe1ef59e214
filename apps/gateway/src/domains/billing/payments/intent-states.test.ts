import fc from 'fast-check'
import { expect, test } from 'vitest'
import { advance, type Known, type Told } from './intent-states.ts'

const CENTS = 2_500
const NEW: Known = {
  state: 'created',
  failure: null,
  nextUrl: null,
  refundsToldCents: 0,
  refundsFailedToldCents: 0,
  disputesToldCents: 0,
  disputesWonToldCents: 0,
}

const told: fc.Arbitrary<Told> = fc.record({
  status: fc.constantFrom(
    null,
    'created',
    'requires_action',
    'processing',
    'succeeded',
    'failed',
    'canceled',
  ),
  failure: fc.constant('card_declined' as const),
  refunded_cents: fc.constantFrom(0, 1, 1_000, CENTS, CENTS + 1, 2 * CENTS),
  refunds_failed_cents: fc.constantFrom(0, 0, 1, 1_000, CENTS, 2 * CENTS),
  disputed_cents: fc.constantFrom(0, 0, 1_000, CENTS, 2 * CENTS),
  disputes_won_cents: fc.constantFrom(0, 0, 1_000, CENTS, 2 * CENTS),
  next_url: fc.constant('/confirm'),
})

test('[B3] whatever is told, twice and in any order, comes to the same', () => {
  fc.assert(
    fc.property(fc.array(told, { maxLength: 8 }), fc.array(fc.nat(7)), (events, order) => {
      const end = events.reduce((known, event) => advance(known, event, CENTS), NEW)
      const shuffled = order.flatMap(at => events[at] ?? []).concat(events.toReversed())
      expect(shuffled.reduce((known, event) => advance(known, event, CENTS), NEW)).toEqual(end)
      const backCents = end.refundsToldCents - end.refundsFailedToldCents
      expect(backCents).toBeGreaterThanOrEqual(0)
      expect(backCents).toBeLessThanOrEqual(CENTS)
      const heldCents = end.disputesToldCents - end.disputesWonToldCents
      expect(heldCents).toBeGreaterThanOrEqual(0)
      expect(heldCents).toBeLessThanOrEqual(CENTS)
    }),
  )
})

test('a refund that is told before the success waits for it', () => {
  const refund: Told = {
    status: null,
    failure: null,
    refunded_cents: 1_000,
    refunds_failed_cents: 0,
    next_url: null,
  }
  const early = advance(NEW, refund, CENTS)
  expect(early).toMatchObject({ state: 'created', refundsToldCents: 1_000 })
  const paid = advance(early, { ...refund, status: 'succeeded', refunded_cents: 0 }, CENTS)
  expect(paid).toMatchObject({ state: 'partly_refunded', refundsToldCents: 1_000 })
  expect(advance(paid, { ...refund, refunded_cents: CENTS }, CENTS)).toMatchObject({ state: 'refunded' })
})

test('what is older than what is known moves nothing back; money that came counts after a failure', () => {
  const asked: Told = {
    status: 'requires_action',
    failure: null,
    refunded_cents: 0,
    refunds_failed_cents: 0,
    next_url: '/confirm',
  }
  const failed = advance(NEW, { ...asked, status: 'failed', failure: 'card_lost' }, CENTS)
  expect(advance(failed, asked, CENTS)).toEqual(failed)
  expect(failed).toMatchObject({ state: 'failed', failure: 'card_lost', nextUrl: null })
  expect(advance(failed, { ...asked, status: 'succeeded' }, CENTS)).toMatchObject({
    state: 'succeeded',
    failure: null,
  })
})

test('an address that was lost is taken again from whoever tells it; one that is known stays', () => {
  const asked: Told = {
    status: 'requires_action',
    failure: null,
    refunded_cents: 0,
    refunds_failed_cents: 0,
    next_url: '/confirm',
  }
  const lost = { ...advance(NEW, asked, CENTS), nextUrl: null }
  expect(advance(lost, asked, CENTS)).toMatchObject({ nextUrl: '/confirm' })
  expect(advance({ ...lost, nextUrl: '/first' }, asked, CENTS)).toMatchObject({ nextUrl: '/first' })
})
