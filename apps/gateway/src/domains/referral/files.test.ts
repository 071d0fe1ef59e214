import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createReferralFixture, type ReferralFixture } from './referral-fixture.ts'

// Goal: a file has the rows of the list with the same filters, each of them (R3.13).
// Method: friends who differ in all that is filtered by; each filter alone and all together, the file beside the list.

const PAGE = { page: 1, page_size: 100 }
const CASH = 100_000_000n

let fixture: ReferralFixture
let mira: string
beforeAll(async () => {
  fixture = await createReferralFixture()
  await fixture.passTo('2031-01-05T00:00:00Z')
  mira = await fixture.person()
  const { code } = await fixture.referral.summary(mira)
  const friend = async (email: string, cents: number) => {
    const userId = await fixture.person({ email })
    await fixture.captureBy(userId, code)
    if (cents > 0) return { userId, payment: await fixture.pay(userId, cents) }
    return { userId, payment: '' }
  }
  const { userId: spends } = await friend('ada@alpha.example', 60_000)
  const { userId: stops } = await friend('ben@beta.example', 60_000)
  await friend('cleo@gamma.example', 0)
  const { payment } = await friend('dan@delta.example', 1_000)
  await fixture.spend(spends, CASH)
  await fixture.spend(stops, CASH)
  await fixture.passTo('2031-04-05T00:00:00Z')
  await fixture.spend(spends, CASH)
  await fixture.referral.settle()
  // Their quarter is closed and waits: what they brought is taken off it.
  await fixture.giveBack(payment, 1_000)
  expect((await fixture.referral.records(mira, PAGE)).items.map(({ state }) => state)).toEqual([
    'invalid',
    'not_recharged',
    'recharged',
    'recharged',
  ])
})
afterAll(() => fixture.database.drop())

/** A file's rows by the names of its columns, as those stand in English. */
async function rowsOf(file: Promise<{ body: Readable }>): Promise<Record<string, string>[]> {
  const csv = await text((await file).body)
  const [head = '', ...lines] = csv.split('\r\n').filter(line => line !== '')
  const names = head.split(',')
  return lines.map(line => Object.fromEntries(line.split(',').map((cell, at) => [names[at] ?? '', cell])))
}

const RECORDS = [
  ['nothing', {}, 4],
  ['a state', { state: 'recharged' }, 2],
  ['a text', { search: 'delta' }, 1],
  ['a quarter, which leaves nobody out', { quarter: '2031-Q1' }, 4],
  ['all at once', { state: 'recharged', search: 'BETA', quarter: '2031-Q1' }, 1],
] as const

test.each(RECORDS)(
  '[R3.13] invited users by %s: the file has the rows of the list',
  async (_, filter, count) => {
    const { items } = await fixture.referral.records(mira, { ...filter, ...PAGE })
    expect(items).toHaveLength(count)
    const rows = await rowsOf(fixture.referral.recordFile(mira, filter, 'en'))
    expect(rows.map(row => [row.User, row.State, row.Reason, micro(row['Rebate in the quarter'])])).toEqual(
      items.map(one => [one.user_email, one.state, one.state_reason ?? '', one.rebate_amount_micro]),
    )
    expect(new Set(rows.map(row => row.Quarter))).toEqual(
      new Set(['quarter' in filter ? filter.quarter : '2031-Q2']),
    )
  },
)

test('[R3.13] each friend has what they spent and what came of it, in the quarter that is asked for and in all of them', async () => {
  const of = async (quarter: string) =>
    (await fixture.referral.records(mira, { quarter, ...PAGE })).items
      .map(one => [
        one.user_email?.[0],
        one.cash_payment_amount_micro,
        one.rebate_amount_micro,
        one.total_rebate_amount_micro,
      ])
      .sort()
  expect(await of('2031-Q1')).toEqual([
    ['a', '95000000', '4750000', '9750000'],
    ['b', '95000000', '4750000', '4750000'],
    ['c', '0', '0', '0'],
    ['d', '0', '0', '0'],
  ])
  expect(await of('2031-Q2')).toEqual([
    ['a', '100000000', '5000000', '9750000'],
    ['b', '0', '0', '4750000'],
    ['c', '0', '0', '0'],
    ['d', '0', '0', '0'],
  ])
})

const ORDERS = [
  ['nothing', {}, 5],
  ['a kind', { kind: 'rebate' }, 3],
  ['a quarter', { quarter: '2031-Q2' }, 1],
  ['a state', { state: 'recharged' }, 5],
  ['another state', { state: 'invalid' }, 0],
  ['a text', { search: 'alpha' }, 3],
  ['all at once', { kind: 'rebate', quarter: '2031-Q1', state: 'recharged', search: 'Beta' }, 1],
] as const

test.each(ORDERS)(
  '[R3.13] order rewards by %s: the file has the rows of the list',
  async (_, filter, count) => {
    const { items, total } = await fixture.referral.orders(mira, { ...filter, ...PAGE })
    expect(items).toHaveLength(count)
    expect(total).toBe(count)
    const rows = await rowsOf(fixture.referral.orderFile(mira, filter, 'en'))
    expect(rows.map(row => [row.User, row.Kind, row.Quarter, row.State, micro(row.Rebate)])).toEqual(
      items.map(one => [one.user_email, one.kind, one.quarter, one.state, one.rebate_amount_micro]),
    )
  },
)

/** An amount as the file has it, in micro-units. */
function micro(amount = ''): string {
  const [whole = '', part = ''] = amount.split('.')
  return String(BigInt(whole) * 1_000_000n + BigInt(part.padEnd(6, '0')))
}
