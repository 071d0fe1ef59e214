import { expect, test } from 'vitest'
import { createFileAddresses } from './file-addresses.ts'

const HOUR_MS = 3_600_000
const FILE = '01890000-0000-7000-8000-000000000009.01890000-0000-7000-8000-000000000001'
const OTHER = '01890000-0000-7000-8000-000000000008.01890000-0000-7000-8000-000000000001'

/** Addresses by a clock that is set. */
function madeAt(key = 1) {
  const clock = { at: Date.parse('2026-03-01T05:59:59Z'), now: () => new Date(clock.at) }
  return { clock, addresses: createFileAddresses({ key: new Uint8Array(32).fill(key), clock }) }
}
const ticketOf = (url: string) => url.split('/').at(-1) ?? ''

test('a ticket opens its own file of its own customer alone, and none that is made up or of another installation does', () => {
  const { addresses } = madeAt()
  const ticket = ticketOf(addresses.urlOf(FILE))
  expect(addresses.isGood(FILE, ticket)).toBe(true)
  expect(addresses.isGood(OTHER, ticket)).toBe(false)
  expect(
    addresses.isGood(
      FILE,
      ticket.replace(/.$/, last => (last === 'A' ? 'B' : 'A')),
    ),
  ).toBe(false)
  expect(addresses.isGood(FILE, ticket.replace(/^\d/, '9'))).toBe(false)
  expect(addresses.isGood(FILE, '')).toBe(false)
  expect(madeAt(2).addresses.isGood(FILE, ticket)).toBe(false)
})

test('an address is the same for hours, is good for six at least, and ends', () => {
  const { addresses, clock } = madeAt()
  const url = addresses.urlOf(FILE)
  const ticket = ticketOf(url)
  clock.at += 1_000
  expect(addresses.urlOf(FILE)).not.toBe(url)
  const next = addresses.urlOf(FILE)
  clock.at += 5 * HOUR_MS
  expect(addresses.urlOf(FILE)).toBe(next)
  expect(addresses.isGood(FILE, ticket)).toBe(true)
  clock.at += HOUR_MS
  expect(addresses.isGood(FILE, ticket)).toBe(false)
  expect(addresses.isGood(FILE, ticketOf(next))).toBe(true)
})
