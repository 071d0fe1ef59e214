import { describe, expect, test } from 'vitest'
import { readConfig } from '../../platform/config/config.ts'
import { servesThisComputerOnly } from '../../platform/http/hosts.ts'
import { paymentsShown } from './payments-shown.ts'
import { offersStripe } from './stripe/offers-stripe.ts'
import { offersTestCards } from './testcard/offers-test-cards.ts'

const HERE = {}
const PUBLIC_ADDRESS = { BERTH_PUBLIC_URL: 'https://gpu.example.com' }
const ALL_INTERFACES = { BERTH_HOST: '0.0.0.0' }
const ONE_INTERFACE = { BERTH_HOST: '192.0.2.7' }
const IN_PLAIN_WORDS = { BERTH_TEST_CARDS: 'no-money-here-is-real' }
const OFF = { BERTH_TEST_CARDS: 'off' }
const STRIPE_TEST = {
  BERTH_STRIPE_SECRET_KEY: 'sk_test_0123456789',
  BERTH_STRIPE_PUBLISHABLE_KEY: 'pk_test_0123456789',
  BERTH_STRIPE_WEBHOOK_SECRET: 'whsec_0123456789',
}
const STRIPE_LIVE = {
  BERTH_STRIPE_SECRET_KEY: 'rk_live_0123456789',
  BERTH_STRIPE_PUBLISHABLE_KEY: 'pk_live_0123456789',
  BERTH_STRIPE_WEBHOOK_SECRET: 'whsec_0123456789',
}

/** What the pages of a gateway with these settings say of payments. */
function shownBy(environment: Record<string, string>) {
  const config = readConfig(environment)
  const testCards = { test: true, offered: offersTestCards(config) }
  return paymentsShown([testCards], servesThisComputerOnly(config))
}

describe('test cards', () => {
  test.each([
    ['on this computer alone', HERE, 'offered'],
    ['on this computer alone, in plain words', { ...HERE, ...IN_PLAIN_WORDS }, 'offered'],
    ['on this computer alone, off', { ...HERE, ...OFF }, 'none'],
    ['with a public address', PUBLIC_ADDRESS, 'none'],
    ['with a public address, in plain words', { ...PUBLIC_ADDRESS, ...IN_PLAIN_WORDS }, 'test'],
    ['with a public address, off', { ...PUBLIC_ADDRESS, ...OFF }, 'none'],
    ['on all interfaces', ALL_INTERFACES, 'none'],
    ['on all interfaces, in plain words', { ...ALL_INTERFACES, ...IN_PLAIN_WORDS }, 'test'],
    ['on one interface', ONE_INTERFACE, 'none'],
    ['on one interface, in plain words', { ...ONE_INTERFACE, ...IN_PLAIN_WORDS }, 'test'],
  ])('%s', (_, environment, shown) => {
    expect(shownBy(environment)).toBe(shown)
  })

  test.each(['on', 'true', 'yes', '1'])('are not let to strangers by %j', value => {
    expect(() => readConfig({ ...PUBLIC_ADDRESS, BERTH_TEST_CARDS: value })).toThrow(
      /BERTH_TEST_CARDS takes auto, off or no-money-here-is-real/,
    )
  })
})

describe('Stripe', () => {
  test.each([
    ['real money, with a public address', { ...PUBLIC_ADDRESS, ...STRIPE_LIVE }, true, false],
    ['real money, on this computer alone', STRIPE_LIVE, true, false],
    ['test keys, on this computer alone', STRIPE_TEST, true, false],
    ['test keys, on this computer alone, test cards off', { ...STRIPE_TEST, ...OFF }, true, false],
    ['test keys, with a public address', { ...PUBLIC_ADDRESS, ...STRIPE_TEST }, false, false],
    ['test keys, in plain words', { ...PUBLIC_ADDRESS, ...STRIPE_TEST, ...IN_PLAIN_WORDS }, true, true],
    ['no keys', HERE, false, true],
  ])('%s', (_, environment, stripe, testCards) => {
    const config = readConfig(environment)
    expect([offersStripe(config), offersTestCards(config)]).toEqual([stripe, testCards])
  })
})

test('a way to pay whose money is real is shown as such to everybody', () => {
  const real = { test: false, offered: true }
  expect(paymentsShown([real, { test: true, offered: false }], false)).toBe('offered')
  expect(paymentsShown([real, { test: true, offered: true }], false)).toBe('test')
})
