import { randomUUID } from 'node:crypto'
import { type SQL, sql } from 'drizzle-orm'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type BillingFixture, createBillingFixture, topupRequest, UNIT } from '../billing-fixture.ts'

let fixture: BillingFixture
let userId: string

/** Books with one of everything, and nothing wrong. */
beforeEach(async () => {
  fixture = await createBillingFixture()
  userId = await fixture.customer({ creditCents: 100 })
  await fixture.billing.topUp(topupRequest(userId))
  await fixture.billing.topUp(topupRequest(userId, { source: '4000000000000002' })).catch(() => {})
  await fixture.hold({ userId, instanceId: 'i-a', amountMicro: UNIT })
  await fixture.open({ userId, instanceId: 'i-a', rateMicroPerHour: 40n * UNIT })
  fixture.clock.advance(3_600)
  await fixture.close({ userId, instanceId: 'i-a' })
  await fixture.billing.topUp(topupRequest(userId))
  // A month ends.
  fixture.clock.advance(30 * 86_400)
  await fixture.billing.invoices.makeDue()
  expect(await fixture.billing.checkBooks()).toEqual([])
})
afterEach(() => fixture.database.drop())

const entry = (kind: string, from: string, to: string, owner: SQL, ref: SQL = sql`gen_random_uuid()`) => sql`
  insert into ledger_transfer (id, key, from_account, to_account, amount_micro, kind, ref_id, user_id, created_at)
  select gen_random_uuid(), gen_random_uuid()::text, ${from}, ${to}, 1, ${kind}, ${ref}, ${owner}, now()`

/** Invoices refuse every change: whoever damages them is past that. */
const onInvoices = (change: string) =>
  sql.raw(`alter table invoice disable trigger user; ${change}; alter table invoice enable trigger user`)

/** A refund, or what a bank took, of which nothing else is written down. */
const refundOf = (reason: 'refund' | 'dispute', user: string) => sql`
  insert into payment_refund (id, intent_id, user_id, reason, amount_cents, owed_micro, created_at)
  select gen_random_uuid(), id, ${user}, ${reason}, 100, 0, now() from payment_intent where state = 'succeeded' limit 1`

/** One row for each way in which books can be wrong: what breaks them, and what the audit must say. */
const DAMAGES: [string, (userId: string) => SQL, RegExp][] = [
  [
    'a balance that no transfer explains',
    user =>
      sql`update ledger_account set balance_micro = balance_micro + 1 where id = ${`user:${user}:cash`}`,
    /balance is the sum of their transfers.*25000001 in the row, 25000000/,
  ],
  [
    'money from nowhere',
    user =>
      sql`update ledger_account set balance_micro = balance_micro + 1 where id = ${`user:${user}:cash`}`,
    /sum to zero: USD: 1/,
  ],
  [
    'usage without its interval',
    () => entry('usage', 'house:revenue:USD', 'house:promotions:USD', sql`gen_random_uuid()`),
    /stretch's sums.*without a stretch/,
  ],
  [
    'usage that was taken off the interval',
    () => sql`update usage_interval set cash_micro = 5`,
    /credits, 5 of cash and/,
  ],
  [
    'a write-off that the interval does not know',
    () => sql`update usage_interval set waived_micro = 5`,
    /of cash and 5 waived/,
  ],
  [
    'an interval that was charged too much',
    () => sql`update usage_interval set ended_at = ended_at - interval '1 second'`,
    /charged by the formula.*: .* is not 39988888/,
  ],
  [
    'usage that its days do not know',
    () => sql`update usage_day set amount_micro = amount_micro + 1 where part = 'cash'`,
    /sums by day .*25000000 by its entries/,
  ],
  ['usage without a receipt', () => sql`delete from usage_day`, /sums by day .*: 0 by the day, 1000000 by/],
  [
    'a total of a day that its stretches do not know',
    () => sql`update usage_total set cash_micro = cash_micro + 1`,
    /totals by day and kind .*, compute: \d+ of cash, \d+ of credits and \d+ waived, by its stretches/,
  ],
  [
    'usage that no total has',
    () => sql`delete from usage_total`,
    /totals by day and kind .*: without totals, 0 of cash/,
  ],
  [
    'usage that is counted as of another kind',
    () => sql`update usage_total set usage = 'disk'`,
    /totals by day and kind .*, disk: .* by its stretches 0, 0 and 0/,
  ],
  [
    'parts of a second that are left over and lost',
    () => sql`update usage_interval set rest_parts = 7 where subject_id = 'i-a'`,
    /what the wallet keeps for the next: .*: 0 kept, 7 left over/,
  ],
  [
    'a meter that another rate was charged for',
    () => sql`update usage_meter set quantity = 2`,
    /rate is that of its meters: .*: 40000000 in 3600 s/,
  ],
  [
    "money that is set aside for what is another customer's",
    user => sql`with running as (
        insert into usage_interval (id, user_id, subject_kind, subject_id, subject_name, charge, stops_when_empty,
          rate_micro, rate_seconds, started_at, credits_micro, cash_micro, waived_micro, posted_until)
        values (gen_random_uuid(), gen_random_uuid(), 'instance', 'i-b', '', 'by_time', true, 0, 3600, now(), 0, 0, 0,
          now())
      ) insert into wallet_hold (id, user_id, subject_kind, subject_id, amount_micro, created_at)
        values (gen_random_uuid(), ${user}, 'instance', 'i-b', 1, now())`,
    /held by its owner: instance i-b/,
  ],
  [
    'a settled top-up without its entry',
    () => sql`update payment_intent set state = 'succeeded'`,
    /succeeded, 0 entries of 0/,
  ],
  [
    'a failed top-up with an entry',
    () => sql`update payment_intent set state = 'failed', failure = 'card_declined'`,
    /failed, 1 entries of 25000000/,
  ],
  [
    'a finished top-up that still holds its source',
    () => sql`update payment_intent set source = 'visa_4242'`,
    /charged again/,
  ],
  [
    'a finished top-up that is still to be asked about',
    () => sql`update payment_intent set look_at = now()`,
    /charged again/,
  ],
  [
    'a top-up of another amount',
    () => sql`update payment_intent set amount_cents = 2400`,
    /1 entries of 25000000/,
  ],
  [
    'a credit without its entry',
    user => sql`insert into credit_grant (id, user_id, amount_micro, rest_micro, kind, reason, models_only, created_at)
      values (gen_random_uuid(), ${user}, 1, 0, 'bonus', '', false, now())`,
    /credit has its one entry/,
  ],
  ['a credit of another amount', () => sql`update credit_grant set amount_micro = 1`, /1 entries of 1000000/],
  [
    'more set aside than there is',
    user =>
      sql`insert into wallet_hold (id, user_id, subject_kind, subject_id, amount_micro, created_at)
          values (gen_random_uuid(), ${user}, 'instance', 'i-b', 26000000, now())`,
    /what is set aside is there: .* 26000000 held of 25000000/,
  ],
  [
    'an entry between two currencies',
    user => sql`with eur as (
        insert into ledger_account (id, kind, currency) values ('house:revenue:EUR', 'revenue', 'EUR') returning id
      ) ${entry('usage', 'house:revenue:EUR', 'house:revenue:USD', sql`${user}::uuid`)}`,
    /stays in one currency/,
  ],
  [
    "an entry on somebody else's account",
    user => entry('usage', `user:${user}:cash`, 'house:revenue:USD', sql`${randomUUID()}::uuid`),
    /nobody else's account/,
  ],
  [
    'a top-up without its invoice',
    () => onInvoices(`delete from invoice where kind = 'topup' and position = 1`),
    /settled top-up has its invoice.*: 2500 paid, 0 on its invoice/,
  ],
  [
    'an invoice of another amount',
    () => onInvoices(`update invoice set amount_cents = 2400 where position = 1`),
    /2500 paid, 2400 on its invoice[\s\S]*lines add up to its amount: .*: 2400, by its lines 2500/,
  ],
  [
    'a number that is not there',
    () => onInvoices(`delete from invoice where position = 1`),
    /have no gap: 2026-USD: 3 given, 2 there, the highest 3/,
  ],
  [
    'a number that was given and not counted',
    () => sql`update invoice_series set last = 2`,
    /have no gap: 2026-USD: 2 given, 3 there/,
  ],
  [
    'a month that was invoiced for what nobody used',
    () => onInvoices(`update invoice set to_micro = to_micro + 1 where kind = 'usage'`),
    /months' invoices add up/,
  ],
  [
    'a refund without its credit note',
    user => refundOf('refund', user),
    /refund has its credit note.*: 100 given back, of which 0 failed, 0 and 0 by its documents/,
  ],
  [
    'a refund without its entries',
    user => refundOf('refund', user),
    /a refund's sums are those of its entries: .*: 100, 0 given back, 0 owed, 0 repaid/,
  ],
  [
    'a refund that its payment does not know',
    user => refundOf('refund', user),
    /has the refunds that it says: .*: succeeded, 0 by the row, of which 0 failed, 100 by its refunds/,
  ],
  [
    'a payment that says more refunds than there are',
    () =>
      sql`update payment_intent set refunded_cents = 100, refunds_told_cents = 100 where state = 'succeeded'`,
    /has the refunds that it says: .*: succeeded, 100 by the row, of which 0 failed, 0 by its refunds/,
  ],
  [
    'a dispute that its payment does not know',
    user => refundOf('dispute', user),
    /has the disputes that it says: .*: 0 by the row, of which 0 won, 100 by its disputes/,
  ],
  [
    'time that is paid for twice in advance',
    user => sql`insert into usage_interval (id, user_id, subject_kind, subject_id, subject_name, charge, stops_when_empty,
        rate_micro, rate_seconds, started_at, ended_at, credits_micro, cash_micro, waived_micro, posted_until)
      select gen_random_uuid(), ${user}, 'instance', 'i-term', '', 'term', false, 0, 86400, began,
        began + interval '1 day', 0, 0, 0, began + interval '1 day'
      from (values ('2026-04-01T00:00Z'::timestamptz), ('2026-04-01T12:00Z'::timestamptz)) terms (began)`,
    /no time is paid for twice in advance: instance i-term from 2026-04-01 12:00/,
  ],
  [
    'an event that is set aside for six hours',
    () => sql`insert into payment_event_aside
      values ('testcard', 'evt_1', null, '{}', now(), 'list', 'Error: no', 3, now(), '2026-03-10T12:00Z')`,
    /tells is booked: testcard evt_1: set aside since 2026-03-10T12:00:00Z, tried 3 times, Error: no/,
  ],
  [
    'a wallet without accounts',
    () => sql`insert into wallet values (gen_random_uuid(), 'USD', now())`,
    /: 0 accounts/,
  ],
]

test.each(DAMAGES)('[B2] the audit finds %s', async (_name, damage, told) => {
  await fixture.db.execute(damage(userId))
  expect((await fixture.billing.checkBooks()).join('\n')).toMatch(told)
})

test('[B2] a wallet cannot be brought under its floor, whoever writes', async () => {
  const update = fixture.db.execute(
    sql`update ledger_account set balance_micro = -1 where user_id = ${userId}`,
  )
  await expect(update).rejects.toMatchObject({ cause: { constraint: 'ledger_account_floor' } })
})
