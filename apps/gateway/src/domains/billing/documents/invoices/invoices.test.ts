import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { testSealer } from '../../../../../test/test-sealer.ts'
import { openDatabase } from '../../../../platform/database/open-database.ts'
import { accountDeleted } from '../../../identity/events.ts'
import {
  type BillingFixture,
  createBillingFixture,
  SELLER,
  topupRequest,
  UNIT,
} from '../../billing-fixture.ts'
import { book } from '../../payments/intents.ts'
import { makeInvoice } from './make-invoice.ts'

/**
 * Goal: every settled top-up, every refund and every month of usage has its document, numbered without a gap and never
 * changed (B23, R3.10). Method: the domain on a database of its own.
 */

let fixture: BillingFixture
let userId: string
beforeEach(async () => {
  fixture = await createBillingFixture()
  userId = await fixture.customer()
})
afterEach(() => fixture.database.drop())

const DAY = 86_400
const everything = { page: 1, page_size: 100 }
const list = async (of = userId) => (await fixture.billing.invoices.list(of, everything)).items
const topUp = (changes = {}) => fixture.billing.topUp(topupRequest(userId, changes))

/** What the billing domain is made from. */
function deps() {
  const { db, clock, ids, log, driver, events } = fixture
  const publicUrl = () => 'http://127.0.0.1:8080'
  return {
    db,
    clock,
    ids,
    log,
    payments: [driver],
    events,
    sealer: testSealer,
    publicUrl,
    seller: () => SELLER,
  }
}

/** Books what a platform says of a payment. */
async function tell(transactionId: string, back: { refunded: number; failed?: number }): Promise<void> {
  const answer = {
    ...({ intent_id: '', status: 'succeeded', failure: null, next_url: null } as const),
    refunded_cents: back.refunded,
    refunds_failed_cents: back.failed ?? 0,
  }
  const id = transactionId.slice(2)
  const { rows } = await fixture.db.execute<{ id: string }>(
    sql`select platform_intent_id as id from payment_intent where id = ${id}`,
  )
  await book(deps(), { id, userId }, { ...answer, intent_id: rows[0]?.id ?? '' })
}

test('[B23] a settled top-up has its invoice, with what stood in the settings then; a declined one has none', async () => {
  const before = { name: 'Anna GmbH', address: 'Weg 1\nBerlin', tax_id: 'DE1' }
  await fixture.billing.invoices.setAddress(userId, before)
  const { transaction_id } = await topUp()
  await expect(topUp({ source: '4000000000000002' })).rejects.toThrow()
  await fixture.billing.invoices.setAddress(userId, { name: 'Other', address: '', tax_id: '' })
  const [row, ...more] = await list()
  expect(more).toEqual([])
  expect(row).toMatchObject({ number: '2026-USD-000001', kind: 'topup', amount: 2_500, transaction_id })
  const page = await fixture.billing.invoices.read(userId, row?.id ?? '')
  expect(page).toMatchObject({
    invoice: row,
    seller: SELLER,
    buyer: before,
    lines: [{ what: 'topup', amount: 2_500 }],
    card: { brand: 'Visa', last4: '4242' },
  })
  const { items } = await fixture.billing.transactions(userId, { ...everything, type: 'topup' })
  expect(items.map(({ invoice }) => invoice)).toEqual([null, row?.id])
})

test('[B23] numbers have no gap: not among many at once, nor where a transaction is undone', async () => {
  const others = await Promise.all(Array.from({ length: 6 }, () => fixture.customer()))
  await Promise.all(others.map(other => fixture.billing.topUp(topupRequest(other))))
  const draft = {
    key: 'x',
    userId,
    kind: 'topup',
    refId: randomUUID(),
    currency: 'USD',
    amountCents: 1,
  } as const
  const undone = fixture.db.transaction(async tx => {
    await makeInvoice(tx, deps(), { ...draft, lines: [] })
    throw new Error('undone')
  })
  await expect(undone).rejects.toThrow('undone')
  await topUp()
  const all = (await Promise.all([...others, userId].map(list))).flat()
  expect(all.map(({ number }) => number).sort()).toEqual(
    Array.from({ length: 7 }, (_, index) => `2026-USD-00000${index + 1}`),
  )
  const euros = await fixture.customer({ currency: 'EUR' })
  await fixture.billing.topUp(topupRequest(euros, { currency: 'EUR' }))
  expect((await list(euros)).map(({ number }) => number)).toEqual(['2026-EUR-000001'])
})

test('[B23] numbers begin anew with each year, by UTC', async () => {
  fixture.clock.advance((Date.UTC(2027, 0) - fixture.clock.now().getTime()) / 1_000 - 1)
  await topUp()
  fixture.clock.advance(1)
  await topUp()
  await topUp()
  const numbers = (await list()).map(({ number }) => number).toSorted()
  expect(numbers).toEqual(['2026-USD-000001', '2027-USD-000001', '2027-USD-000002'])
})

test('[B23] a refund has a credit note, and what of it comes back has an invoice again; each once', async () => {
  const { transaction_id } = await topUp()
  await tell(transaction_id, { refunded: 1_000 })
  await tell(transaction_id, { refunded: 1_000 })
  await tell(transaction_id, { refunded: 1_000, failed: 400 })
  await tell(transaction_id, { refunded: 1_000, failed: 1_000 })
  const all = await list()
  expect(all.map(({ kind, amount }) => [kind, amount])).toEqual([
    ['refund_failed', 600],
    ['refund_failed', 400],
    ['refund', -1_000],
    ['topup', 2_500],
  ])
  const note = await fixture.billing.invoices.read(userId, all[2]?.id ?? '')
  expect(note.corrects).toBe('2026-USD-000001')
  expect((await fixture.billing.invoices.read(userId, all[0]?.id ?? '')).corrects).toBe('2026-USD-000002')
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B23] what was made out is neither changed nor removed, whoever writes', async () => {
  await topUp()
  for (const change of ['update invoice set amount_cents = 1', 'delete from invoice', 'truncate invoice']) {
    await expect(fixture.db.execute(sql.raw(change))).rejects.toMatchObject({
      cause: { message: expect.stringContaining('invoices are not changed') },
    })
  }
})

test('[B23] [R3.10] a month ends by UTC, also on a database that is said to be in Tokyo', async () => {
  const { rows } = await fixture.db.execute<{ name: string }>(sql`select current_database() as name`)
  await fixture.db.execute(sql.raw(`alter database "${rows[0]?.name}" set timezone to 'Asia/Tokyo'`))
  const tokyo = openDatabase({ url: fixture.database.url, log: fixture.log, poolSize: 2 })
  await topUp()
  fixture.clock.advance((Date.UTC(2026, 3) - fixture.clock.now().getTime()) / 1_000 - 4 * 3_600)
  await fixture.open({ userId, instanceId: 'i-night' })
  fixture.clock.advance(4 * 3_600 + 1)
  await fixture.replica({ db: tokyo.db }).invoices.makeDue()
  await tokyo.close()
  const months = (await list()).filter(({ kind }) => kind === 'usage')
  expect(months).toMatchObject([{ month: '2026-03-01', amount: 400 }])
})

test('[B23] [R3.10] months of usage have an invoice each, which add up; nothing used, no invoice', async () => {
  await topUp({ amountCents: 50_000 })
  // From the 10th of March: 7 micro-units an hour below a cent, so that months have parts of a cent.
  await fixture.open({ userId, instanceId: 'i-a', rateMicroPerHour: 100_007n })
  fixture.clock.advance(40 * DAY)
  await fixture.billing.invoices.makeDue()
  // Whole as soon as its month is over, though nothing at all was posted by then, for nobody.
  expect((await list())[0]).toMatchObject({
    month: '2026-03-01',
    amount: Math.floor((516 * 100_007) / 10_000),
  })
  await fixture.billing.invoices.makeDue()
  fixture.clock.advance(12 * DAY)
  await fixture.close({ userId, instanceId: 'i-a' })
  fixture.clock.advance(120 * DAY)
  await Promise.all([fixture.billing.invoices.makeDue(), fixture.billing.invoices.makeDue()])
  const usage = (await list()).filter(({ kind }) => kind === 'usage').reverse()
  expect(usage.map(({ month }) => month)).toEqual(['2026-03-01', '2026-04-01', '2026-05-01'])
  // A month has what is for its usage, whenever that was made, and what was paid in it.
  const ofMonth = async (month: string) => {
    const { items, total } = await fixture.billing.invoices.list(userId, { ...everything, month })
    return [total, ...items.map(({ kind, month: of }) => [kind, of])]
  }
  expect(await ofMonth('2026-03')).toEqual([2, ['usage', '2026-03-01'], ['topup', null]])
  expect(await ofMonth('2026-04')).toEqual([1, ['usage', '2026-04-01']])
  expect(await ofMonth('2026-06')).toEqual([0])
  const { rows } = await fixture.db.execute<{ micro: string }>(
    sql`select sum(amount_micro) as micro from usage_day where not back`,
  )
  const cents = usage.reduce((sum, { amount }) => sum + amount, 0)
  expect(cents).toBe(Number(BigInt(rows[0]?.micro ?? 0) / 10_000n))
  // 21 and a half days of March.
  expect(usage[0]?.amount).toBe(Math.floor((516 * 100_007) / 10_000))
  expect((await fixture.billing.invoices.read(userId, usage[0]?.id ?? '')).lines).toEqual([
    { what: 'instance', amount: usage[0]?.amount },
  ])
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B23] [R3.10] a month of two kinds of usage has a line of each, and they add up to the cent', async () => {
  await topUp({ amountCents: 50_000 })
  await fixture.open({ userId, instanceId: 'i-a', rateMicroPerHour: 100_007n })
  const subject = { kind: 'network_volume', id: randomUUID() } as const
  await fixture.db.transaction(tx =>
    fixture.billing.openMeters(tx, {
      ...{ userId, subject, name: 'datasets', stopsWhenEmpty: false, at: fixture.clock.now() },
      meters: [{ sku: 'volume', label: '10 GB', unit: 'hour', quantity: 1, rateMicro: 20_015n }],
    }),
  )
  fixture.clock.advance(3_600)
  await fixture.post()
  fixture.clock.advance(40 * DAY)
  await fixture.billing.invoices.makeDue()
  const invoice = (await list()).find(({ kind }) => kind === 'usage')
  const { lines } = await fixture.billing.invoices.read(userId, invoice?.id ?? '')
  // 21 and a half days: 5,160.36 and 1,032.77 cents, whose parts are more than a cent together.
  expect(lines).toEqual([
    { what: 'instance', amount: 5_160 },
    { what: 'network_volume', amount: 1_033 },
  ])
  expect(invoice).toMatchObject({ month: '2026-03-01', amount: 6_193 })
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B23] what an empty balance could not pay is on no invoice', async () => {
  const poor = await fixture.customer({ creditCents: 100 })
  await fixture.open({ userId: poor, instanceId: `i-${poor}`, rateMicroPerHour: UNIT })
  fixture.clock.advance(3 * 3_600)
  await fixture.close({ userId: poor, instanceId: `i-${poor}` })
  fixture.clock.advance(30 * DAY)
  await fixture.billing.invoices.makeDue()
  expect((await list(poor)).map(({ kind, amount }) => [kind, amount])).toEqual([['usage', 100]])
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B23] one customer whose invoice cannot be made holds up nobody, and has it at the next round', async () => {
  const other = await fixture.customer({ creditCents: 500 })
  await topUp()
  for (const owner of [userId, other]) {
    await fixture.open({ userId: owner, instanceId: `i-${owner}`, rateMicroPerHour: UNIT })
  }
  fixture.clock.advance(3_600)
  for (const owner of [userId, other]) await fixture.close({ userId: owner, instanceId: `i-${owner}` })
  fixture.clock.advance(30 * DAY)
  await fixture.db.execute(sql.raw(`alter table invoice add constraint broken check (user_id <> '${other}')`))
  await fixture.billing.invoices.makeDue()
  const kinds = async (of: string) => (await list(of)).map(({ kind }) => kind)
  expect([await kinds(userId), await kinds(other)]).toEqual([['usage', 'topup'], []])
  await fixture.db.execute(sql`alter table invoice drop constraint broken`)
  await fixture.billing.invoices.makeDue()
  expect(await kinds(other)).toEqual(['usage'])
  const [row] = await list(other)
  expect((await fixture.billing.invoices.read(other, row?.id ?? '')).credits).toBe(100)
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B23] payments of a version that made no invoices get theirs, once, with the day of the payment', async () => {
  const { transaction_id } = await topUp()
  await tell(transaction_id, { refunded: 1_000, failed: 300 })
  await fixture.db.execute(
    sql.raw(`alter table invoice disable trigger user; delete from invoice; delete from invoice_series;
      alter table invoice enable trigger user`),
  )
  fixture.clock.advance(3 * DAY)
  expect(await fixture.billing.checkBooks()).not.toEqual([])
  await Promise.all([fixture.billing.invoices.makeDue(), fixture.billing.invoices.makeDue()])
  const all = (await list()).reverse()
  expect(all.map(({ number, kind, amount }) => [number, kind, amount])).toEqual([
    ['2026-USD-000001', 'topup', 2_500],
    ['2026-USD-000002', 'refund', -1_000],
    ['2026-USD-000003', 'refund_failed', 300],
  ])
  expect(all[0]?.date.slice(0, 10)).toBe('2026-03-13')
  const { paid_at } = await fixture.billing.invoices.read(userId, all[0]?.id ?? '')
  expect(paid_at?.slice(0, 10)).toBe('2026-03-10')
  expect(await fixture.billing.checkBooks()).toEqual([])
  await tell(transaction_id, { refunded: 1_000, failed: 1_000 })
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B23] a refund that a version without credit notes booked beside this one gets its own', async () => {
  const { transaction_id } = await topUp()
  await tell(transaction_id, { refunded: 1_000 })
  await fixture.db.execute(
    sql.raw(`alter table invoice disable trigger user; delete from invoice where kind = 'refund';
      alter table invoice enable trigger user`),
  )
  await fixture.billing.invoices.makeDue()
  expect((await list()).map(({ kind }) => kind)).toEqual(['refund', 'topup'])
})

test("[R6.4] another customer's document and an unknown one are not found; a deleted account's address is forgotten", async () => {
  await topUp()
  const [row] = await list()
  const other = await fixture.customer()
  const { invoices } = fixture.billing
  for (const id of [row?.id ?? '', `inv_${randomUUID()}`, 'inv_x']) {
    await expect(invoices.read(other, id)).rejects.toMatchObject({ code: 'not_found' })
    await expect(invoices.pdfLink(other, id, 'en')).rejects.toMatchObject({ code: 'not_found' })
  }
  await invoices.setAddress(userId, { name: 'Anna', address: '', tax_id: '' })
  await fixture.events.hear(accountDeleted, { userId })
  expect(await invoices.address(userId)).toEqual({ name: '', address: '', tax_id: '' })
})
