import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { getBill } from '@berth/contract/bills'
import { listInvoices } from '@berth/contract/invoices'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { triesOf } from './long-runs.ts'
import { type Reckoned, reckon } from './year/reckoning.ts'
import type { Person, World } from './year/world.ts'
import { liveThrough, type Span } from './year/year-run.ts'

/**
 * Goal: what a gateway charges, gives back, waives and invoices is what its price list and its rules say, to the
 * micro-unit, for as long as a year (B2, B4, B23). Method: customers do at random, over the API and a clock that is set, what
 * costs something; then a second reckoning, which shares nothing with the gateway's money and knows only fractions, is made
 * of the price list and of what was done, and each customer's months, balances and invoices are held against it.
 */

const CATALOGUE = resolve(import.meta.dirname, '../../../config/catalogue.yaml')
const CUSTOMERS = triesOf('year')
const isWhole = CUSTOMERS > 3
/** A year with its 29th of February, or the weeks around that and until clocks are put forward. */
const FROM = isWhole ? '2027-09-01' : '2028-02-20'
const UNTIL = isWhole ? '2028-09-02' : '2028-04-02'
const DEARER_FROM = isWhole ? '2028-03-05T13:07:00.250Z' : '2028-03-20T13:07:00.250Z'
/** What is done at least once in a year; of a few weeks not all can be asked for. */
const DEEDS = [
  ...([
    'top-up',
    'refund',
    'credits',
    'deploy',
    'stop',
    'start',
    'restart',
    'remove',
    'renew',
    'renewal',
  ] as const),
  ...(['subscribe', 'convert', 'counter', 'volume', 'grow', 'image', 'address', 'drop', 'prices'] as const),
]
const USAGES = ['compute', 'disk', 'traffic', 'volume', 'image', 'public_ip']
const TIMEOUT_MS = isWhole ? 7_200_000 : 600_000

const at = (text: string) => new Date(text).getTime()

/** The price list that ships, where one region asks for what is sent and addresses are many and of this test alone. */
function priceLists(): Span['priceLists'] {
  const shipped = readFileSync(CATALOGUE, 'utf8')
  const addresses = (net: number) => Array.from({ length: 20 }, (_, n) => `127.88.${net}.${n + 1}`).join(', ')
  const first = shipped
    .replace('[127.0.0.11, 127.0.0.12]', `[${addresses(1)}]`)
    .replace('[127.0.0.13]', `[${addresses(2)}]\n    traffic_gb: "0.0473"`)
  const dearer = first
    .replace('price_per_hour: "0.42"', 'price_per_hour: "0.447"')
    .replace('price_per_hour: "0.39"', 'price_per_hour: "0.3571"')
    .replace('disk_gb_hour: "0.00014"', 'disk_gb_hour: "0.000151"')
    .replace('volume_gb_day: "0.0016"', 'volume_gb_day: "0.001733"')
    .replace('image_gb_day: "0.0017"', 'image_gb_day: "0.001999"')
    .replace('public_ip_hour: "0.005"', 'public_ip_hour: "0.0043"')
    .replace('weekly: 10, monthly: 20', 'weekly: 7, monthly: 23')
    .replace('traffic_gb: "0.0473"', 'traffic_gb: "0.0511"')
  return [
    { from: at(FROM), text: first },
    { from: at(DEARER_FROM), text: dearer },
  ]
}

const seed = Number(process.env.BERTH_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
let world: World
let reckoned: Map<string, Reckoned>
beforeAll(async () => {
  // Wherever the gateway's computer stands, its months are those of UTC.
  vi.stubEnv('TZ', 'America/New_York')
  process.stdout.write(`The year of billing has the seed ${seed}: BERTH_TEST_SEED=${seed} makes it again.\n`)
  world = await liveThrough(seed, {
    ...{ from: at(FROM), until: at(UNTIL), customers: CUSTOMERS },
    ...{ actsADay: 0.5, priceLists: priceLists() },
  })
  reckoned = reckon(world.log)
  const done = Object.entries(Object.groupBy(world.log, ({ kind }) => kind))
  const counts = done.map(([kind, entries]) => `${entries?.length} ${kind}`)
  process.stdout.write(`What was done: ${counts.join(', ')}.\n`)
}, TIMEOUT_MS)
afterAll(async () => {
  vi.unstubAllEnvs()
  await world?.stop()
})

/** All pages of a bill that one page holds. */
const PAGE = { page: 1, page_size: 100 }

test('[B2] [R4.7] [R9.5] [R9.6] each month charges each thing what its price list and its time come to', async () => {
  for (const person of world.people) {
    const { months } = ofPerson(person)
    const expected = new Map<string, unknown>()
    const found = new Map<string, unknown>()
    for (const [month, { cash, credits, waived, lines }] of months) {
      const named = [...lines].map(
        ([name, line]) => [name, shareOf(line.amount, line.waived, waived > 0n)] as const,
      )
      expected.set(month, { cash, credits, waived, lines: sorted(named) })
      found.set(month, await billOf(person, month))
    }
    expect(found, `seed ${seed}, customer ${person.userId}`).toEqual(expected)
  }
})

test('[R3.6] [R3.8] each month begins with the balance that is left of what was paid in and given', async () => {
  for (const { userId } of world.people) {
    const expected = ofPerson({ userId }).balances
    expect(world.balances.get(userId), `seed ${seed}, customer ${userId}`).toEqual(expected)
    const shown = [...expected].map(([month, { cash, credits, held }]) => [
      month,
      [(cash + credits - held) / 10_000n, held / 10_000n].map(Number),
    ])
    expect([...(world.shown.get(userId) ?? [])], `seed ${seed}, customer ${userId}`).toEqual(shown)
  }
})

test('[B23] each month is invoiced by what all usage in cents has grown by', async () => {
  for (const person of world.people) {
    const listed = await world.ask(person, listInvoices, { query: PAGE })
    const found = (listed?.items ?? [])
      .filter(({ kind }) => kind === 'usage')
      .map(({ month, amount }) => [month?.slice(0, 7) ?? '', BigInt(amount)] as const)
    expect(sorted(found), `seed ${seed}, customer ${person.userId}`).toEqual(
      sorted([...ofPerson(person).invoices]),
    )
  }
})

test('something of everything was done, and cost something', () => {
  const kinds = new Set(world.log.map(({ kind }) => kind))
  if (isWhole) expect(DEEDS.filter(kind => !kinds.has(kind))).toEqual([])
  const lines = [...reckoned.values()].flatMap(({ months }) =>
    [...months.values()].flatMap(month => [...month.lines]),
  )
  for (const usage of USAGES) {
    expect(
      lines.filter(([name, { amount }]) => name.endsWith(usage) && amount > 0n),
      usage,
    ).not.toEqual([])
  }
  // Somebody ran out of money.
  expect(lines.filter(([, { waived }]) => waived > 0n)).not.toEqual([])
})

const ofPerson = ({ userId }: { userId: string }): Reckoned => {
  const one = reckoned.get(userId)
  if (!one) throw new Error(`${userId} did nothing`)
  return one
}

const sorted = <Value>(entries: (readonly [string, Value])[]): Record<string, Value> =>
  Object.fromEntries(entries.toSorted(([one], [other]) => one.localeCompare(other)))

/**
 * What a line is compared by: what was charged. Which of several things the last money of a balance pays depends on when
 * each was posted, and only what all of them come to is a rule: where something was waived, it is what was used.
 */
const shareOf = (amount: bigint, waived: bigint, isShort: boolean) =>
  isShort ? `${amount + waived} used` : `${amount} charged`

/** A month's bill as the gateway has it, as a month is reckoned. */
async function billOf(person: Person, month: string) {
  const lines: [string, string][] = []
  let sum = { cash_micro: '0', credits_micro: '0', waived_micro: '0' }
  for (let page = 1; ; page++) {
    const bill = await world.ask(person, getBill, { query: { ...PAGE, month, group: 'resource', page } })
    if (!bill) throw new Error('a bill was refused')
    sum = bill.sum
    for (const { subject, parts } of bill.items) {
      for (const { usage, amount_micro, waived_micro } of parts) {
        if (amount_micro === '0' && waived_micro === '0') continue
        const share = shareOf(BigInt(amount_micro), BigInt(waived_micro), BigInt(bill.sum.waived_micro) > 0n)
        lines.push([`${subject?.kind} ${subject?.id} ${usage}`, share])
      }
    }
    if (bill.items.length < PAGE.page_size) break
  }
  const { cash_micro: cash, credits_micro: credits, waived_micro: waived } = sum
  return { cash: BigInt(cash), credits: BigInt(credits), waived: BigInt(waived), lines: sorted(lines) }
}
