import { expect, test } from 'vitest'
import { homesAmong } from './homes.ts'
import { maskEmail } from './masked-email.ts'
import { quarterAfter, quarterAt, quarterNamed, quarterOfDay } from './quarters.ts'
import { standingOf } from './standing.ts'

test('a quarter is three months of UTC, from its first moment to that of the next', () => {
  const last = quarterAt(new Date('2026-12-31T23:59:59.999Z'))
  expect(last).toEqual({
    name: '2026-Q4',
    since: new Date('2026-10-01T00:00:00Z'),
    until: new Date('2027-01-01T00:00:00Z'),
  })
  expect(quarterAt(last.until).name).toBe('2027-Q1')
  expect(quarterNamed('2026-Q4')).toEqual(last)
  expect(quarterAfter('2026-Q4')).toBe('2027-Q1')
  expect(quarterOfDay('2028-02-29')).toBe('2028-Q1')
})

test.each([
  ['john@fastmail.com', 'j…@fastmail.com'],
  ['j@tuwien.ac.at', 'j…@tuwien.ac.at'],
  ['"a@b"@example.org', '"…@example.org'],
  ['gone@none.invalid', 'g…@none.invalid'],
  ['no address', 'n…'],
  ['', '…'],
])('an address is masked to its first character and its place: %s', (email, masked) => {
  expect(maskEmail(email)).toBe(masked)
})

test('[R4.9] of several reasons that a friend does not count the first is said', () => {
  const facts = { isVerified: true, sameCurrency: true, samePerson: false, paidMicro: 10n, hasReached: false }
  expect(standingOf(facts, 10n)).toEqual({ state: 'recharged', reason: null })
  expect(standingOf({ ...facts, paidMicro: 9n }, 10n)).toEqual({ state: 'not_recharged', reason: null })
  expect(standingOf({ ...facts, isVerified: false }, 10n)).toEqual({ state: 'not_activated', reason: null })
  expect(standingOf({ ...facts, paidMicro: 9n, hasReached: true }, 10n).reason).toBe('topup_returned')
  expect(standingOf({ ...facts, isVerified: null }, 10n).reason).toBe('account_deleted')
  expect(standingOf({ ...facts, isVerified: null, sameCurrency: false }, 10n).reason).toBe('other_currency')
  expect(standingOf({ ...facts, sameCurrency: false, samePerson: true }, 10n).reason).toBe('not_eligible')
})

test('what is earned late goes to the first quarter that is not closed, and is changed where it is not settled', () => {
  const now = new Date('2027-05-05T00:00:00Z')
  const homes = homesAmong(
    [
      { quarter: '2026-Q3', state: 'carried_over', carriedTo: '2026-Q4' },
      { quarter: '2026-Q4', state: 'choosing', carriedTo: null },
      { quarter: '2026-Q2', state: 'paid', carriedTo: null },
      { quarter: '2027-Q1', state: 'carried_over', carriedTo: null },
    ],
    now,
  )
  expect(homes.quarterFor('2026-11-01')).toBe('2027-Q2')
  expect(homes.quarterFor('2027-05-01')).toBe('2027-Q2')
  expect(homes.homeOf('2026-Q3')).toBe('2026-Q4')
  expect(homes.homeOf('2026-Q2')).toBeNull()
  expect(homes.homeOf('2027-Q1')).toBe('2027-Q2')
  expect(homes.homeOf('2027-Q2')).toBe('2027-Q2')
})
