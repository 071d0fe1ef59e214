import { randomUUID } from 'node:crypto'
import type { Transaction } from '@berth/contract/billing'
import type { Invoice } from '@berth/contract/invoices'
import { LANGUAGES } from '@berth/contract/limits'
import { TRANSACTION_STATES, TRANSACTION_TYPES } from '@berth/contract/transaction-filters'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer, TOKENS } from '../../../../test/test-server.ts'
import { CSV_PAGE_ROWS } from '../../../platform/csv-file.ts'
import { type BillingFixture, createBillingFixture, topupRequest } from '../billing-fixture.ts'
import { billingRoutes } from '../routes.ts'
import { openTransactionFile } from './transaction-file.ts'

let fixture: BillingFixture
let server: TestServer
let methodId: string
/** Of the refund, a moment later than everything before it. */
let refundedAt: string
const userId = TOKENS.anna?.userId ?? ''

/**
 * Anna: demo credits, a top-up by a card that she keeps and half of it given back, one that was declined, one that waits for
 * her, a machine that ended and one that goes on. Ben has the same by another card.
 */
beforeAll(async () => {
  fixture = await createBillingFixture()
  const { billing, db, clock } = fixture
  const instances = { eventsBetween: async () => [], losesMachines: async () => false }
  server = await startTestServer(
    db,
    billingRoutes(billing, instances, english => english),
    { clock },
  )
  for (const one of Object.values(TOKENS)) {
    await db.transaction(tx => billing.openWallet(tx, { userId: one.userId, currency: 'USD' }))
  }
  for (const [owner, name] of [
    [TOKENS.ben?.userId ?? '', 'ben'],
    [userId, 'anna'],
  ] as const) {
    const credit = {
      id: randomUUID(),
      userId: owner,
      amountMicro: 1_000_000n,
      kind: 'coupon',
      reason: 'LAUNCH20',
    } as const
    await db.transaction(tx => billing.grantCredit(tx, credit))
    clock.advance(60)
    await billing.topUp(topupRequest(owner, { amountCents: 1_230 }))
    const { method } = await billing.methods.add(owner, {
      platformName: 'testcard',
      source: '4242424242424242',
    })
    methodId = method.id
    clock.advance(60)
    const declined = topupRequest(owner, { amountCents: 2_000, source: '4000000000000002' })
    await expect(billing.topUp(declined)).rejects.toMatchObject({ code: 'card_declined' })
    clock.advance(60)
    await billing.topUp(topupRequest(owner, { amountCents: 4_000, source: '4000002500003155' }))
    clock.advance(60)
    await fixture.open({ userId: owner, instanceId: `i-${name}`, instanceName: `=${name}_gpu` })
    clock.advance(5_400)
    await fixture.close({ userId: owner, instanceId: `i-${name}` })
    clock.advance(60)
    await fixture.open({ userId: owner, instanceId: `i-${name}-2`, rateMicroPerHour: 3_600n })
    clock.advance(67)
  }
  const [paid] = (await list({ type: 'topup', state: 'settled' })).items
  refundedAt = clock.now().toISOString()
  await billing.refunds.create({ id: 'half', paymentId: paid?.id ?? '', amountCents: 615 })
  clock.advance(60)
})
afterAll(async () => {
  await server.close(1_000)
  await fixture.database.drop()
})

test('[R3.10] each transaction is in exactly one state, and an attempt that took nothing is not charged', async () => {
  const all = await list({})
  expect(all.total).toBe(7)
  const found = await Promise.all(TRANSACTION_STATES.map(state => list({ state })))
  expect(found.flatMap(({ items }) => items.map(({ id }) => id)).sort()).toEqual(
    all.items.map(({ id }) => id).sort(),
  )
  expect(found.map(({ items }) => items.map(({ type }) => type))).toEqual([
    ['refund', 'usage', 'topup', 'credit'],
    ['usage', 'topup'],
    ['topup'],
    [],
  ])
  const [declined] = found[2]?.items ?? []
  expect(declined).toMatchObject({ status: 'failed', about: { failure: 'card_declined' } })
})

test.each([
  ['an amount as it is read', '12.30', ['topup']],
  ['an amount with its signs', '−$1.50', ['usage']],
  ['an amount of an attempt', '$20', ['topup']],
  ['what goes on, by what is due now', '0.000127', ['usage']],
  ['what was given back', '6.15', ['refund']],
  ['an amount that is nobody’s', '12.31', []],
  ['the code of a coupon', 'launch20', ['credit']],
  ['the name of a machine', 'ANNA_g', ['usage']],
  ['its GPU', 'rtx 4090', ['usage', 'usage']],
  ['its id', 'i-anna-2', ['usage']],
  ['another customer’s machine', 'i-ben', []],
  ['blanks alone', '   ', ['refund', 'usage', 'usage', 'topup', 'topup', 'topup', 'credit']],
] as const)('[R3.10] a search finds %s', async (_, search, types) => {
  const { items, total } = await list({ search })
  expect(items.map(({ type }) => type)).toEqual(types)
  expect(total).toBe(types.length)
})

test('[R3.10] an id finds its transaction, and an invoice’s id or number what it is for', async () => {
  const { items } = await list({})
  for (const { id } of items) {
    for (const search of [id, id.slice(2), id.toUpperCase(), ` ${id} `]) {
      expect((await list({ search })).items.map(one => one.id)).toEqual([id])
    }
  }
  const invoices = (await ask<{ items: Invoice[] }>('invoice')).data.items
  expect(invoices.map(({ kind }) => kind)).toEqual(['refund', 'topup'])
  for (const { id, number, transaction_id } of invoices) {
    expect((await list({ search: id })).items.map(one => one.id)).toEqual([transaction_id])
    expect((await list({ search: number.toLowerCase() })).items.map(one => one.id)).toEqual([transaction_id])
  }
})

test('[R6.4] nothing finds what is another customer’s: no id, no invoice, no card', async () => {
  const theirs = (await list({}, 'ben')).items
  const { items: invoices } = (await ask<{ items: Invoice[] }>('invoice', {}, 'ben')).data
  const searches = [...theirs.map(({ id }) => id), ...invoices.flatMap(({ id, number }) => [id, number])]
  expect(searches.length).toBeGreaterThan(6)
  for (const search of searches) expect((await list({ search })).total).toBe(0)
  expect((await list({ method_id: methodId }, 'ben')).total).toBe(0)
  const { text } = await download({}, 'ben')
  for (const { id } of (await list({})).items) expect(text).not.toContain(id)
})

test('[R3.10] payments are found by their platform and by a card that is kept, with what was given back of them', async () => {
  const types = async (filter: Filter) => (await list(filter)).items.map(({ type }) => type)
  expect(await types({ platform_name: 'testcard' })).toEqual(['refund', 'topup', 'topup', 'topup'])
  expect(await types({ platform_name: 'other' })).toEqual([])
  expect(await types({ method_id: methodId })).toEqual(['refund', 'topup'])
  expect(await types({ method_id: 'm_none' })).toEqual([])
  expect(await types({ method_id: methodId, type: 'usage' })).toEqual([])
})

test('[R3.10] a period has its first moment and not its last', async () => {
  const until = (await list({ until: refundedAt })).items
  const from = (await list({ from: refundedAt })).items
  expect([until.length, from.map(({ type }) => type)]).toEqual([6, ['refund']])
  expect((await list({ from: refundedAt, until: refundedAt })).total).toBe(0)
})

test.each([
  ['state=lost', 'state', 'not_allowed'],
  ['type=all', 'type', 'not_allowed'],
  ['from=yesterday', 'from', 'not_allowed'],
  ['until=1999-12-31T00:00:00Z', 'until', 'not_allowed'],
  [`search=${'x'.repeat(101)}`, 'search', 'too_long'],
  [`platform_name=${'x'.repeat(51)}`, 'platform_name', 'too_long'],
  [`method_id=${'x'.repeat(81)}`, 'method_id', 'too_long'],
])('[R3.10] %s is refused at its field, in the list and in the file', async (query, path, rule) => {
  for (const call of ['transaction', 'transaction/download']) {
    const response = await send(`${call}?${query}`)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ code: 'validation_failed', fields: [{ path, rule }] })
  }
})

test('[R3.10] the file has the rows that the list shows, whatever they are narrowed by, in their order', async () => {
  const filters: Filter[] = [undefined, ...TRANSACTION_TYPES].flatMap(type =>
    [undefined, ...TRANSACTION_STATES].flatMap(state =>
      ['', '4242', 'gpu'].map(search => ({ ...(type && { type }), ...(state && { state }), search })),
    ),
  )
  filters.push({ method_id: methodId }, { from: refundedAt }, { until: refundedAt })
  for (const filter of filters) {
    const { items } = await list(filter)
    expect(receiptsOf((await download(filter)).text)).toEqual(items.map(({ id }) => id))
  }
})

test('[R3.10] the file is exact, says what took nothing apart, and no cell of it is a formula', async () => {
  const { headers, text } = await download({})
  expect(headers.get('content-type')).toBe('text/csv; charset=utf-8')
  expect(headers.get('content-disposition')).toContain('filename="transactions-2026-03-10.csv"')
  const rows = linesOf(text).map(line => line.split(','))
  const { data: balance } = await ask<Balance>('balance')
  const sum = rows.reduce((all, cells) => all + BigInt((cells[12] ?? '').replace('.', '')), 0n)
  expect(Number(sum / 10_000n)).toBe(balance.account_balance.amount)
  expect(rows.map(([, type, state]) => `${type} ${state}`)).toEqual([
    'refund settled',
    'usage pending',
    'usage settled',
    'topup pending',
    'topup not_charged',
    'topup settled',
    'credit settled',
  ])
  expect(rows[4]?.slice(7, 18)).toEqual([
    'Visa 0002',
    'customer',
    'card_declined',
    '',
    '',
    ...['0.000000', '0.000000', '0.000000', '0.000000'],
    '20.000000',
    'USD',
  ])
  expect(rows[2]?.slice(3, 7)).toEqual(['compute', "'=anna_gpu", 'i-anna', '1× RTX 4090'])
  expect(rows[5]?.[18]).toMatch(/^2026-USD-\d{6}$/)
  const heads = await Promise.all(
    LANGUAGES.map(async language => (await download({}, 'anna', language)).text),
  )
  expect(new Set(heads.map(file => file.split('\r\n')[0])).size).toBe(LANGUAGES.length)
})

test('[R6.1] a guest is refused the file', async () => {
  const response = await fetch(`${server.origin}/gateway/api/bill/transaction/download`)
  expect(response.status).toBe(401)
})

test('[R3.10] a file of many pages has each row once, of one moment each or of the same, and is read as it is taken', async () => {
  const { db, billing } = fixture
  const owner = TOKENS.idle?.userId ?? ''
  const count = 3 * CSV_PAGE_ROWS
  // A third of them at the same moment, so that pages end within it.
  await db.execute(sql`
    insert into usage_interval (id, user_id, subject_kind, subject_id, subject_name, charge, stops_when_empty, rate_micro,
        rate_seconds, started_at, ended_at, credits_micro, cash_micro, waived_micro, posted_until)
      select gen_random_uuid(), ${owner}, 'instance', 'i-' || n, 'one', 'by_time', true, 1, 1, at, at, 0, 1, 0, at
      from (select n, timestamptz '2026-01-01' + make_interval(secs => least(n, ${2 * CSV_PAGE_ROWS})) as at
        from generate_series(1, ${count}::int) n) made`)
  const { text } = await download({}, 'idle')
  const receipts = receiptsOf(text)
  expect([receipts.length, new Set(receipts).size]).toEqual([count, count])
  const dates = linesOf(text).map(line => line.split(',')[0] ?? '')
  expect(dates).toEqual([...dates].sort().reverse())
  // Whoever takes one page has had at most one more read.
  let reads = 0
  const counting = new Proxy(db, {
    get: (target, name, self) => {
      if (name === 'execute') reads += 1
      return Reflect.get(target, name, self)
    },
  })
  const reader = { language: 'en', said: (row: Transaction) => row } as const
  const { body } = await openTransactionFile({ db: counting, clock: fixture.clock }, owner, {}, reader)
  await body.iterator().next()
  expect(reads).toBeLessThanOrEqual(2)
  body.destroy()
  expect((await billing.transactions(owner, { page: 151, page_size: 20 })).items).toEqual([])
})

type Filter = Partial<
  Record<'type' | 'state' | 'search' | 'platform_name' | 'method_id' | 'from' | 'until', string>
>
interface Balance {
  account_balance: { amount: number }
}

function linesOf(text: string): string[] {
  return text.trimEnd().split('\r\n').slice(1)
}

function receiptsOf(text: string): string[] {
  return linesOf(text).map(line => line.split(',').at(-1) ?? '')
}

function send(path: string, token = 'anna', language = 'en'): Promise<Response> {
  const headers = { 'accept-language': language, authorization: `Bearer ${token}` }
  return fetch(`${server.origin}/gateway/api/bill/${path}`, { headers })
}

async function ask<Data>(call: string, query: object = {}, token = 'anna'): Promise<{ data: Data }> {
  const response = await send(`${call}?${new URLSearchParams({ ...query })}`, token)
  expect(response.status).toBe(200)
  return (await response.json()) as { data: Data }
}

async function list(filter: Filter, token = 'anna'): Promise<{ items: Transaction[]; total: number }> {
  const query = { page_size: '100', ...filter }
  return (await ask<{ items: Transaction[]; total: number }>('transaction', query, token)).data
}

async function download(filter: Filter, token = 'anna', language = 'en') {
  const response = await send(`transaction/download?${new URLSearchParams(filter)}`, token, language)
  return { headers: response.headers, text: await response.text() }
}
