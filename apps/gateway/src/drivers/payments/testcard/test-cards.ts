import type { ErrorCode } from '@berth/contract/errors'

/** A card that no bank issued, and what the test platform answers to it. */
export interface TestCard {
  number: string
  brand: string
  /** Null when the charge succeeds, else why it is refused. */
  failure: ErrorCode | null
}

/** The numbers that card platforms reserve for tests (R5.8). */
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
 * What a card is called for people.
 * @param card One of the list.
 * @returns Such as `Visa ending 4242`.
 */
export function cardLabel(card: TestCard): string {
  return `${card.brand} ending ${lastFour(card)}`
}

function lastFour(card: TestCard): string {
  return card.number.slice(-4)
}
