import type { Card } from '@berth/contract/billing'
import type { ErrorCode } from '@berth/contract/errors'

/** A card that no bank issued, and what the test platform does with it. */
export interface TestCard {
  number: string
  brand: string
  /** Null when the charge succeeds, else why it is refused. */
  failure: ErrorCode | null
  /** The customer confirms on a page of the platform first. */
  asks?: true
  /** It is `processing` for a while before it is known. */
  late?: true
  /** The platform gives it back by itself, a while after it succeeded. */
  refunded_later?: true
  /** What is given back of it does not arrive, and comes back to the platform a while later. */
  refunds_fail?: true
  /** Somebody disputes it a while after it succeeded: the bank keeps the money, or gives it back a while later. */
  disputed_later?: 'lost' | 'won'
  /** Its events are sent twice each, the older ones after the newer. */
  disorderly?: true
}

/**
 * The numbers that card platforms reserve for tests (R5.8). What is refused, confirmed, refunded or disputed later
 * does so by the number that is known for it; Discover and Diners Club stand for what no number is known for.
 */
export const TEST_CARDS: readonly TestCard[] = [
  { number: '4242424242424242', brand: 'Visa', failure: null },
  { number: '4000056655665556', brand: 'Visa', failure: null },
  { number: '5555555555554444', brand: 'Mastercard', failure: null },
  { number: '378282246310005', brand: 'American Express', failure: null },
  { number: '4000000000000002', brand: 'Visa', failure: 'card_declined' },
  { number: '4000000000009995', brand: 'Visa', failure: 'card_insufficient_funds' },
  { number: '4000000000009987', brand: 'Visa', failure: 'card_lost' },
  { number: '4000000000009979', brand: 'Visa', failure: 'card_stolen' },
  { number: '4000000000000069', brand: 'Visa', failure: 'card_expired' },
  { number: '4000000000000127', brand: 'Visa', failure: 'card_incorrect_cvc' },
  { number: '4000000000000119', brand: 'Visa', failure: 'card_processing_error' },
  { number: '4000002500003155', brand: 'Visa', failure: null, asks: true },
  { number: '4000008400001629', brand: 'Visa', failure: 'card_declined', asks: true },
  { number: '4000000000007726', brand: 'Visa', failure: null, refunded_later: true },
  { number: '4000000000005126', brand: 'Visa', failure: null, refunded_later: true, refunds_fail: true },
  { number: '4000000000000259', brand: 'Visa', failure: null, disputed_later: 'lost' },
  { number: '4000000000002685', brand: 'Visa', failure: null, disputed_later: 'won' },
  { number: '6011111111111117', brand: 'Discover', failure: null, late: true },
  { number: '3056930009020004', brand: 'Diners Club', failure: null, late: true, disorderly: true },
]

/**
 * What is stored of a card: brand and last four digits, which tell the test cards apart.
 * @param card One of the list.
 * @returns Such as `visa_4242`.
 */
export function cardReference(card: TestCard): string {
  return `${card.brand.toLowerCase().replaceAll(' ', '-')}_${lastFour(card)}`
}

/**
 * The card of a reference.
 * @returns Null when it names none.
 */
export function cardOf(reference: string): TestCard | null {
  return TEST_CARDS.find(card => cardReference(card) === reference) ?? null
}

/** What people know a card by. */
export function faceOf(card: TestCard): Card {
  return { brand: card.brand, last4: lastFour(card) }
}

/** @returns The last four digits of a card's number. */
function lastFour(card: TestCard): string {
  return card.number.slice(-4)
}
