import { randomUUID } from 'node:crypto'
import { listTransactions, receipt } from '@berth/contract/billing'
import type { TRANSACTION_TYPES } from '@berth/contract/transaction-filters'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BillingFixture, createBillingFixture, topupRequest, UNIT } from '../billing-fixture.ts'
import type { InstanceEventsReader } from './receipts.ts'

let fixture: BillingFixture
let userId: string
let stranger: string

/** The walk that most tests read: credit, top-up, a declined one, a stretch that ended, one that goes on. */
beforeAll(async () => {
  fixture = await createBillingFixture()
  stranger = await fixture.customer({ creditCents: 700 })
  userId = await fixture.customer({ creditCents: 100 })
  fixture.clock.advance(1)
  await fixture.billing.topUp(topupRequest(userId, { amountCents: 1_000 }))
  fixture.clock.advance(1)
  const declined = topupRequest(userId, { amountCents: 2_000, source: '4000000000000002' })
  await expect(fixture.billing.topUp(declined)).rejects.toMatchObject({ code: 'card_declined' })
  fixture.clock.advance(1)
  await fixture.open({ userId, instanceId: 'i-ended', rateMicroPerHour: UNIT, instanceName: 'llama_1' })
  fixture.clock.advance(1_800)
  await fixture.post()
  fixture.clock.advance(3_600)
  await fixture.post()
  await fixture.close({ userId, instanceId: 'i-ended' })
  fixture.clock.advance(1)
  await fixture.open({ userId, instanceId: 'i-open', rateMicroPerHour: 3_600n, instanceName: 'comfyX1' })
  fixture.clock.advance(60)
  await fixture.post()
  fixture.clock.advance(7.5)
})
afterAll(() => fixture.database.drop())

test('[R3.10] transactions are listed newest first, with their amounts signed for the customer', async () => {
  const { items, total } = listTransactions.data.parse(await list({}))
  expect(total).toBe(5)
  expect(items.map(({ type, status, amount_micro }) => [type, status, amount_micro])).toEqual([
    ['usage', 'pending', '-60'],
    ['usage', 'settled', '-1500000'],
    ['topup', 'failed', '20000000'],
    ['topup', 'settled', '10000000'],
    ['credit', 'settled', '1000000'],
  ])
  expect(
    items.map(item => [item.cash_amount_micro, item.bonus_amount_micro, item.pending_amount_micro]),
  ).toEqual([
    ['-60', '0', '-7'],
    ['-500000', '-1000000', '0'],
    ['0', '0', '0'],
    ['10000000', '0', '0'],
    ['0', '1000000', '0'],
  ])
  expect(items.map(({ about }) => about)).toMatchObject([
    { usage: 'compute', instance_id: 'i-open', seconds: 67, rate_micro_per_hour: '3600' },
    {
      usage: 'compute',
      instance_id: 'i-ended',
      instance_name: 'llama_1',
      gpu_spec_name: 'RTX 4090',
      gpu_count: 1,
      seconds: 5_400,
    },
    { card: { brand: 'Visa', last4: '0002' }, failure: 'card_declined', usage: null, seconds: null },
    { card: { brand: 'Visa', last4: '4242' }, failure: null },
    { card: null, credit_reason: 'demo' },
  ])
})

test('[R3.10] pages of the list neither overlap nor miss a row, also past the end', async () => {
  const whole = (await list({})).items.map(({ id }) => id)
  const pages = await Promise.all([1, 2, 3, 4].map(page => list({ page, page_size: 2 })))
  expect(pages.flatMap(({ items }) => items.map(({ id }) => id))).toEqual(whole)
  expect(pages.map(({ items }) => items.length)).toEqual([2, 2, 1, 0])
  expect(pages.map(({ total, page, page_size }) => [total, page, page_size])).toEqual([
    [5, 1, 2],
    [5, 2, 2],
    [5, 3, 2],
    [5, 4, 2],
  ])
})

test.each([
  ['topup', 2],
  ['usage', 2],
  ['credit', 1],
] as const)('[R3.10] the list is narrowed to %s', async (type, count) => {
  const { items, total } = await list({ type })
  expect(items.map(item => item.type)).toEqual(Array.from({ length: count }, () => type))
  expect(total).toBe(count)
})

test.each([
  ['LLAMA', 1],
  ['i-open', 1],
  ['ending 4242', 1],
  ['尾号 4242 的 Visa', 1],
  ['24', 1],
  ['visa', 2],
  ['demo', 1],
  // Literal characters, not wildcards; nor a way into the query.
  ['_', 1],
  ['%', 0],
  ['\\', 0],
  ["'", 0],
  ['nothing of this', 0],
])('[R3.10] searching for %s finds %i', async (search, count) => {
  const { items, total } = await list({ search })
  expect([items.length, total]).toEqual([count, count])
})

test('[B2] usage opens to a receipt: line, interval, state changes', async () => {
  const asked: unknown[] = []
  const instanceEvents: InstanceEventsReader = async (_, input) => {
    asked.push(input)
    return [{ at: input.from, status: 'running', code: 'ready', detail: '' }]
  }
  const [transaction] = (await list({ type: 'usage', page: 2, page_size: 1 })).items
  const opened = receipt.parse(await fixture.billing.receipt(userId, transaction?.id ?? '', instanceEvents))
  expect(opened.transaction).toEqual(transaction)
  expect(opened.interval).toMatchObject({
    started_at: transaction?.date,
    seconds: 5_400,
    rate_micro_per_hour: '1000000',
    due_micro: '1500000',
    posted_micro: '1500000',
    waived_micro: '0',
  })
  expect(
    opened.lines.map(line => [line.from_account, line.to_account, line.entries, line.amount_micro]),
  ).toEqual([
    ['credits', 'revenue', 2, '1000000'],
    ['cash', 'revenue', 1, '500000'],
  ])
  expect(opened.events).toEqual([{ at: transaction?.date, status: 'running', code: 'ready', detail: '' }])
  expect(asked).toEqual([
    {
      userId,
      instanceId: 'i-ended',
      from: new Date(opened.interval?.started_at ?? ''),
      to: new Date(opened.interval?.ended_at ?? ''),
    },
  ])
})

test('[B2] an interval that goes on opens to what is due now', async () => {
  const [transaction] = (await list({ type: 'usage', page_size: 1 })).items
  const { interval } = await fixture.receipt(userId, transaction?.id ?? '')
  expect(interval).toMatchObject({ ended_at: null, seconds: 67, due_micro: '67', posted_micro: '60' })
})

test('[B2] top-ups and credits open to their ledger entries; a failed one has none', async () => {
  const lines = []
  for (const { id } of (await list({})).items.filter(({ type }) => type !== 'usage')) {
    const opened = receipt.parse(await fixture.receipt(userId, id))
    expect([opened.interval, opened.events]).toEqual([null, []])
    lines.push(opened.lines.map(line => [line.from_account, line.to_account, line.amount_micro]))
  }
  expect(lines).toEqual([[], [['clearing', 'cash', '10000000']], [['promotions', 'credits', '1000000']]])
})

test('[B2] what was waived shows in the receipt as the write-off that it is', async () => {
  const broke = await fixture.customer({ creditCents: 100 })
  await fixture.open({ userId: broke, instanceId: 'i-broke', rateMicroPerHour: 4n * UNIT })
  fixture.clock.advance(1_800)
  await fixture.close({ userId: broke, instanceId: 'i-broke' })
  const [transaction] = (await fixture.billing.transactions(broke, { page: 1, page_size: 1, type: 'usage' }))
    .items
  const { interval, lines } = await fixture.receipt(broke, transaction?.id ?? '')
  expect(interval).toMatchObject({ due_micro: '2000000', posted_micro: '1000000', waived_micro: '1000000' })
  expect(lines.map(line => [line.from_account, line.to_account, line.amount_micro])).toEqual([
    ['credits', 'revenue', '1000000'],
    ['write_off', 'revenue', '1000000'],
  ])
  fixture.clock.advance(-1_800)
})

test("[R6.4] another customer's transaction, an unknown one and nonsense are equally not found", async () => {
  const [foreign] = (await fixture.billing.transactions(stranger, { page: 1, page_size: 1 })).items
  const ids = [foreign?.id ?? '', `t_${randomUUID()}`, `x_${randomUUID()}`, randomUUID(), 't_', "t_'; --"]
  for (const id of ids) {
    const error = await fixture.receipt(userId, id).catch(error => error)
    expect(error).toMatchObject({ code: 'not_found', values: {}, fields: [] })
  }
})

test('[R6.4] a list has nothing of other customers', async () => {
  const { items } = await fixture.billing.transactions(stranger, { page: 1, page_size: 100 })
  expect(items.map(({ amount_micro }) => amount_micro)).toEqual(['7000000'])
})

test('spending is told by UTC day, with its zeros, and without what was waived', async () => {
  const { billing, clock } = fixture
  const spender = await fixture.customer({ creditCents: 100 })
  // Two hours before midnight in UTC, so that the two hours after it are another day.
  clock.advance((new Date('2026-03-20T22:00:00Z').getTime() - clock.now().getTime()) / 1_000)
  await fixture.open({ userId: spender, instanceId: 'i-night', rateMicroPerHour: 400_000n })
  // What is not posted yet is there as well, whether a tick saw the end of the day or not.
  const seen = []
  for (let half = 0; half < 8; half++) {
    clock.advance(1_800)
    if (half % 3 === 0) await billing.postDue()
    seen.push(
      (await billing.spend(spender, 3)).days.slice(-2).map(({ amount_micro }) => Number(amount_micro)),
    )
  }
  expect(seen).toEqual([
    [0, 200_000],
    [0, 400_000],
    [0, 600_000],
    [800_000, 0],
    [800_000, 200_000],
    [800_000, 200_000],
    [800_000, 200_000],
    [800_000, 200_000],
  ])
  await fixture.close({ userId: spender, instanceId: 'i-night' })
  expect(await billing.spend(spender, 3)).toEqual({
    currency: 'USD',
    days: [
      { date: '2026-03-19', amount_micro: '0', kinds: [] },
      {
        date: '2026-03-20',
        amount_micro: '800000',
        kinds: [{ usage: 'compute', amount_micro: '800000' }],
      },
      {
        date: '2026-03-21',
        amount_micro: '200000',
        kinds: [{ usage: 'compute', amount_micro: '200000' }],
      },
    ],
  })
})

function list(query: {
  page?: number
  page_size?: number
  search?: string
  type?: (typeof TRANSACTION_TYPES)[number]
}) {
  return fixture.billing.transactions(userId, { page: 1, page_size: 20, ...query })
}
