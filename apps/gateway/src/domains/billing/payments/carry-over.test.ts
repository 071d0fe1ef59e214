import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createOlderDatabase, type OlderDatabase } from '../../../../test/older-database.ts'
import { createTestEvents, type TestEvents } from '../../../../test/test-events.ts'
import { testSealer } from '../../../../test/test-sealer.ts'
import { createTestcardDriver } from '../../../drivers/payments/testcard/testcard-driver.ts'
import { migrate } from '../../../platform/database/migrate.ts'
import { openDatabase } from '../../../platform/database/open-database.ts'
import { createIds } from '../../../platform/ids.ts'
import { type Billing, createBilling } from '../billing.ts'
import { WEBHOOK_SECRET } from '../billing-fixture.ts'
import { topUpPaid } from '../events.ts'

/**
 * Goal: top-ups of the version before, when a charge was one answer, are payments whole (B2, B3). Method: a database
 * with the migrations up to then, filled as that version did, also where it was killed between two of its steps; what
 * customers could read is read by that version's query before, and through the domain after.
 */

const CARRIED_BY = 'payments_as_intents'
const START_MS = Date.parse('2026-05-04T22:00:00.123Z')
const HOUR_MS = 3_600_000

/** A top-up as the version before left it. */
interface Old {
  key: string
  /** Hours from the start. */
  at: number
  cents: number
  card: { reference: string; label: string; failure: string | null }
  /** What the test platform had done; `refused` is a card that it did not know. */
  platform: 'charged' | 'refused' | 'not_asked'
  /** Whether the answer was booked. */
  booked: boolean
}

const VISA = { reference: 'visa_4242', label: 'Visa ending 4242', failure: null }
const AMEX = { reference: 'american-express_0005', label: 'American Express ending 0005', failure: null }
const DECLINED = { reference: 'visa_0002', label: 'Visa ending 0002', failure: 'card_declined' }
const LOST = { reference: 'visa_9987', label: 'Visa ending 9987', failure: 'card_lost' }
const GONE = { reference: 'visa_1111', label: 'Visa ending 1111', failure: 'test_card_required' }

const done = { platform: 'charged', booked: true } as const
const CUSTOMERS: { currency: 'USD' | 'EUR'; topups: Old[] }[] = [
  {
    currency: 'USD',
    topups: [
      { key: 'first', at: 0, cents: 2_500, card: VISA, ...done },
      { key: 'refused', at: 1, cents: 1_000, card: DECLINED, ...done },
      { key: 'unknown', at: 30, cents: 1_000, card: GONE, platform: 'refused', booked: true },
      { key: 'next-day', at: 30, cents: 1_999, card: AMEX, ...done },
      // Killed after the platform had charged, and before it was asked at all.
      { key: 'charged', at: 50, cents: 700, card: VISA, platform: 'charged', booked: false },
      { key: 'asked-again', at: 51, cents: 800, card: AMEX, platform: 'charged', booked: false },
      { key: 'not-asked', at: 51, cents: 900, card: VISA, platform: 'not_asked', booked: false },
    ],
  },
  {
    currency: 'EUR',
    topups: [
      // A key is the customer's own.
      { key: 'first', at: 2, cents: 100_000, card: VISA, ...done },
      { key: 'declined', at: 49, cents: 600, card: LOST, platform: 'charged', booked: false },
    ],
  },
  { currency: 'USD', topups: [] },
]
let database: OlderDatabase
let userIds: string[]
/** The ids that customers see, by what the top-up is called here. */
const topupIds = new Map<string, string>()
let closeDatabase = async () => {}
beforeAll(async () => {
  database = await createOlderDatabase(CARRIED_BY)
  userIds = []
  for (const { currency, topups } of CUSTOMERS) {
    const userId = await addCustomer(currency)
    for (const topup of topups) await addTopup(userId, currency, topup)
    userIds.push(userId)
  }
})
afterAll(async () => {
  await closeDatabase()
  await database.drop()
})

test('[B2] [B3] top-ups of the version before are carried over: the list, the books, and open ones are finished once', async () => {
  const before: Listed[][] = []
  for (const userId of userIds) before.push(await readBefore(userId))
  expect(before.map(rows => rows.length)).toEqual(CUSTOMERS.map(({ topups }) => topups.length))
  await migrate(database.url)
  const { billing, events } = open()
  const lists = () => Promise.all(userIds.map(id => list(billing, id)))
  const balances = () => Promise.all(userIds.map(id => billing.balanceCents(id)))
  expect(await lists()).toEqual(before)
  await billing.invoices.makeDue()
  expect(await billing.checkBooks()).toEqual([])
  expect(await balances()).toEqual([4_499, 100_000, 0])

  // The customer's console asks again with the key of one that was left open; recovery finds the others.
  const answer = await billing.topUp({
    userId: userIds[0] ?? '',
    idempotencyKey: 'asked-again',
    amountCents: 800,
    currency: 'USD',
    platformName: 'testcard',
    source: '378282246310005',
  })
  expect(answer).toMatchObject({ transaction_id: topupIds.get('asked-again'), status: 'settled' })
  expect(await billing.recoverTopups()).toBe(3)
  expect(await billing.recoverTopups()).toBe(0)
  const ends = before.map(rows => rows.map(row => (row.status === 'pending' ? endOf(row) : row)))
  expect(await lists()).toEqual(ends)
  await billing.invoices.makeDue()
  expect(await billing.checkBooks()).toEqual([])
  expect(await balances()).toEqual([4_499 + 700 + 800 + 900, 100_000, 0])
  // Each was charged once, also where it was charged before; and a receipt tells what was booked only now.
  const charges = await database.run(
    `select c.intent_id from testcard_intent c
       left join payment_intent p on c.reference = p.id::text and c.intent_id = p.platform_intent_id
       where p.state = c.status and p.amount_cents = c.amount_cents and p.currency = c.currency`,
  )
  expect(charges).toHaveLength(8)
  expect(await database.run('select intent_id from testcard_intent')).toHaveLength(8)
  const receipts = events.told.filter(({ event }) => event === topUpPaid.name)
  const amounts = receipts.map(({ payload }) => topUpPaid.payload.parse(payload).amountCents)
  expect(amounts.toSorted()).toEqual([700, 800, 900])
})

/** What becomes of a top-up that was left open. */
function endOf(row: Listed): Listed {
  const declined = row.id === topupIds.get('declined')
  if (declined) return { ...row, status: 'failed', pending: '0', failure: LOST.failure }
  return { ...row, status: 'settled', pending: '0', cash: row.amount }
}

interface Listed {
  id: string
  date: string
  status: string
  currency: string
  amount: string
  cash: string
  pending: string
  card: string | null
  failure: string | null
}

async function addCustomer(currency: string): Promise<string> {
  const userId = randomUUID()
  await database.run('insert into customer values ($1, $2)', [userId, at(0)])
  await database.run('insert into wallet values ($1, $2, $3)', [userId, currency, at(0)])
  await database.run(
    `insert into ledger_account values ('house:clearing:testcard:' || $1, 'clearing', null, $1, null)
     on conflict do nothing`,
    [currency],
  )
  await database.run(
    `insert into ledger_account values ($1, 'cash', $3, $4, 0), ($2, 'credits', $3, $4, 0)`,
    [`user:${userId}:cash`, `user:${userId}:credits`, userId, currency],
  )
  return userId
}

/** The rows that the version before wrote for a top-up, as far as it came. */
async function addTopup(userId: string, currency: string, topup: Old): Promise<void> {
  const { key, cents, card, platform, booked } = topup
  const id = randomUUID()
  topupIds.set(key, `t_${id}`)
  const charge = `ch_${randomUUID()}`
  const paid = booked && card.failure === null
  await database.run(
    `insert into topup (id, user_id, idempotency_key, amount_cents, currency, platform_name, source, source_label,
       state, charge_id, failure, created_at, finished_at)
     values ($1, $2, $3, $4, $5, 'testcard', $6, $7, $8, $9, $10, $11, $12)`,
    [
      id,
      userId,
      key,
      cents,
      currency,
      booked ? null : card.reference,
      card.label,
      booked ? (paid ? 'settled' : 'failed') : 'created',
      paid ? charge : null,
      booked ? card.failure : null,
      at(topup.at),
      booked ? at(topup.at) : null,
    ],
  )
  if (platform === 'charged') {
    await database.run('insert into testcard_charge values ($1, $2, $3, $4, $5, $6, $7, $8)', [
      id,
      charge,
      cents,
      currency,
      card.label,
      card.failure,
      { source: card.reference },
      at(topup.at),
    ])
  }
  if (!paid) return
  const cash = `user:${userId}:cash`
  const micro = cents * 10_000
  await database.run(
    `insert into ledger_transfer (id, key, from_account, to_account, amount_micro, kind, ref_id, user_id, created_at)
     values (gen_random_uuid(), $1, $2, $3, $4, 'topup', $5, $6, $7)`,
    [`topup:${id}`, `house:clearing:testcard:${currency}`, cash, micro, id, userId, at(topup.at)],
  )
  await database.run('update ledger_account set balance_micro = balance_micro + $2 where id = $1', [
    cash,
    micro,
  ])
}

/** What the version before listed of a customer's top-ups, newest first. */
async function readBefore(userId: string): Promise<Listed[]> {
  return await database.run<Listed>(
    `select 't_' || id as id, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as date,
       case state when 'created' then 'pending' else state end as status, currency,
       (amount_cents::bigint * 10000)::text as amount,
       case state when 'settled' then amount_cents::bigint * 10000 else 0 end::text as cash,
       case state when 'created' then amount_cents::bigint * 10000 else 0 end::text as pending,
       replace(source_label, ' ending ', ' ') as card, failure
     from topup where user_id = $1 order by created_at desc, topup.id desc`,
    [userId],
  )
}

/** The same, through the domain. */
async function list(billing: Billing, userId: string): Promise<Listed[]> {
  const { items, total } = await billing.transactions(userId, { page: 1, page_size: 100 })
  expect(total).toBe(items.length)
  expect(items.every(({ type }) => type === 'topup')).toBe(true)
  return items.map(({ id, date, status, currency, about, ...item }) => ({
    id,
    date,
    status,
    currency,
    amount: item.amount_micro,
    cash: item.cash_amount_micro,
    pending: item.pending_amount_micro,
    card: about.card && `${about.card.brand} ${about.card.last4}`,
    failure: about.failure,
  }))
}

function open(): { billing: Billing; events: TestEvents } {
  const log = pino({ level: 'silent' })
  const { db, close } = openDatabase({ url: database.url, log, poolSize: 4 })
  closeDatabase = close
  const clock = { now: () => new Date(START_MS + 52 * HOUR_MS) }
  const ids = createIds(clock)
  const driver = createTestcardDriver({
    db,
    clock,
    ids,
    log,
    webhook_secret: () => WEBHOOK_SECRET,
    offered: true,
  })
  const events = createTestEvents(db)
  const publicUrl = () => 'http://127.0.0.1:8080'
  const seller = () => ({ name: 'Berth', address: '', tax_id: '' })
  const deps = { db, clock, ids, log, payments: [driver], events, sealer: testSealer, publicUrl, seller }
  return { events, billing: createBilling(deps) }
}

function at(hours: number): string {
  return new Date(START_MS + hours * HOUR_MS).toISOString()
}
