import { randomUUID } from 'node:crypto'
import { usageDueMicro } from '@berth/contract/money'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createOlderDatabase, type OlderDatabase } from '../../../test/older-database.ts'
import { testSealer } from '../../../test/test-sealer.ts'
import { migrate } from '../../platform/database/migrate.ts'
import { openDatabase } from '../../platform/database/open-database.ts'
import { createIds } from '../../platform/ids.ts'
import { type Billing, createBilling } from './billing.ts'
import { UNIT } from './billing-fixture.ts'

/**
 * Goal: books that the version before has filled are carried over whole (B2). Method: a database with the migrations
 * up to then, filled as that version did, a posting a minute; what customers could read of it is read by that
 * version's queries before, and through the domain after.
 */

const CARRIED_BY = 'subjects_and_meters'
/** Two hours before midnight in UTC, so that what ran is of two days. */
const START_MS = Date.parse('2026-05-04T22:00:00.000Z')
const MINUTE_MS = 60_000

/** What a customer is given, and what runs for them: minutes from the start, and where its end is found too late. */
interface Life {
  creditCents: number
  cashCents: number
  heldMicro: bigint
  stretches: { rate: bigint; usage: string; from: number; to: number | null; foundDeadMinutes?: number }[]
}

const LIVES: Life[] = [
  // Enough of both, credits first; one has ended, one goes on over midnight.
  {
    creditCents: 100,
    cashCents: 2_500,
    heldMicro: UNIT,
    stretches: [
      { rate: 1_234_567n, usage: 'compute', from: 0, to: 150 },
      { rate: 14_001n, usage: 'disk', from: 150, to: null },
    ],
  },
  // Runs dry: the rest is waived, in the stretch that ended and in the one that goes on.
  {
    creditCents: 30,
    cashCents: 100,
    heldMicro: 0n,
    stretches: [
      { rate: 999_983n, usage: 'compute', from: 3, to: 170 },
      { rate: 7n, usage: 'disk', from: 170, to: null },
    ],
  },
  // Found dead: what was posted beyond its end was given back.
  {
    creditCents: 50,
    cashCents: 500,
    heldMicro: 0n,
    stretches: [{ rate: 2n * UNIT, usage: 'compute', from: 1, to: 200, foundDeadMinutes: 90 }],
  },
  // Has a stretch that costs nothing, and one that nothing was posted of yet.
  {
    creditCents: 0,
    cashCents: 100,
    heldMicro: 0n,
    stretches: [
      { rate: 0n, usage: 'compute', from: 0, to: 10 },
      { rate: UNIT, usage: 'compute', from: 240, to: null },
    ],
  },
]
const noEvents = async () => []
/** Where all of them are looked at. */
const LAST_MINUTE = 240

let database: OlderDatabase
let userIds: string[]
const closing: (() => Promise<void>)[] = []
beforeAll(async () => {
  database = await createOlderDatabase(CARRIED_BY)
  userIds = []
  for (const life of LIVES) userIds.push(await live(life))
})
afterAll(async () => {
  for (const close of closing) await close()
  await database.drop()
})

test('[B2] books of the version before are carried over: balances, receipts, spending by day, the audit', async () => {
  const before = await readBefore()
  expect(before.broken).toEqual([])
  await migrate(database.url)
  const nowMs = { now: START_MS + LAST_MINUTE * MINUTE_MS }
  const billing = openBilling(nowMs)
  await billing.invoices.makeDue()
  expect(await billing.checkBooks()).toEqual([])
  expect(await readAfter(billing)).toEqual(before.read)
  // What goes on is charged on by the same formula, from the same start.
  nowMs.now += 90 * MINUTE_MS
  await billing.postDue()
  await billing.invoices.makeDue()
  expect(await billing.checkBooks()).toEqual([])
  const [first = '', , , last = ''] = userIds
  expect((await usage(billing, first))[0]).toMatchObject({ about: { usage: 'disk', seconds: 180 * 60 } })
  const [open] = await usage(billing, last)
  const { interval } = await billing.receipt(last, open?.id ?? '', noEvents)
  expect(interval).toMatchObject({ due_micro: '1500000', posted_micro: '1000000' })
})

/** One customer's life as the version before wrote it down. */
async function live({ creditCents, cashCents, heldMicro, stretches }: Life): Promise<string> {
  const userId = randomUUID()
  const [cash, credits] = [`user:${userId}:cash`, `user:${userId}:credits`]
  const left = { credits: BigInt(creditCents) * 10_000n, cash: BigInt(cashCents) * 10_000n }
  const at = (minute: number) => new Date(START_MS + minute * MINUTE_MS).toISOString()
  await run(`insert into wallet values ($1, 'USD', $2)`, [userId, at(0)])
  for (const kind of ['revenue', 'promotions', 'write_off', 'clearing']) {
    const id = kind === 'clearing' ? 'house:clearing:testcard:USD' : `house:${kind}:USD`
    await run(`insert into ledger_account values ($1, $2, null, 'USD', null) on conflict do nothing`, [
      id,
      kind,
    ])
  }
  await run(`insert into ledger_account values ($1, 'cash', $3, 'USD', 0), ($2, 'credits', $3, 'USD', 0)`, [
    cash,
    credits,
    userId,
  ])
  const entry = (
    key: string,
    from: string,
    to: string,
    micro: bigint,
    kind: string,
    ref: string,
    minute: number,
  ) =>
    run(
      `insert into ledger_transfer (id, key, from_account, to_account, amount_micro, kind, ref_id, user_id, created_at)
       values (gen_random_uuid(), $1, $2, $3, $4, $5, $6, $7, $8)`,
      [key, from, to, micro, kind, ref, userId, at(minute)],
    )
  if (creditCents > 0) {
    const id = randomUUID()
    await run(`insert into credit_grant values ($1, $2, $3, 'demo', $4)`, [id, userId, left.credits, at(0)])
    await entry(`credit:${id}`, 'house:promotions:USD', credits, left.credits, 'credit', id, 0)
  }
  const topup = randomUUID()
  await run(
    `insert into topup (id, user_id, idempotency_key, amount_cents, currency, platform_name, source_label, state,
       created_at, finished_at) values ($1, $2, 'k', $3, 'USD', 'testcard', 'Visa ending 4242', 'settled', $4, $4)`,
    [topup, userId, cashCents, at(0)],
  )
  await entry(`topup:${topup}`, 'house:clearing:testcard:USD', cash, left.cash, 'topup', topup, 0)
  let usedMicro = 0n
  for (const { rate, usage, from, to, foundDeadMinutes } of stretches) {
    const id = randomUUID()
    const sums = { credits: 0n, cash: 0n, write_off: 0n, postings: 0 }
    const moveTo = async (minute: number, end = minute) => {
      const due = usageDueMicro((end - from) * MINUTE_MS, rate)
      const delta = due - sums.credits - sums.cash - sums.write_off
      if (delta === 0n) return
      sums.postings += 1
      const split = delta > 0n ? take(left, delta) : giveBack(sums, -delta)
      for (const part of ['credits', 'cash', 'write_off'] as const) {
        const micro = split[part]
        if (micro === 0n) continue
        const payer = part === 'write_off' ? 'house:write_off:USD' : part === 'cash' ? cash : credits
        const revenue = 'house:revenue:USD'
        const kind = part === 'write_off' ? 'write_off' : 'usage'
        const key = `usage:${id}:${sums.postings}:${part}`
        if (micro > 0n) await entry(key, payer, revenue, micro, kind, id, minute)
        else await entry(key, revenue, payer, -micro, kind, id, minute)
        sums[part] += micro
        if (part !== 'write_off') left[part] -= micro
      }
    }
    // Ticks came between whole minutes, and a stretch that has just begun has none.
    for (let minute = from + 1; minute < (to ?? LAST_MINUTE); minute++) await moveTo(minute)
    if (to !== null) await moveTo(to, to - (foundDeadMinutes ?? 0))
    const endedAt = to === null ? null : at(to - (foundDeadMinutes ?? 0))
    const posted = sums.credits + sums.cash
    usedMicro += posted
    await run(
      `insert into usage_interval (id, user_id, instance_id, usage, rate_micro_per_hour, instance_name, gpu_spec_name,
         gpu_count, started_at, ended_at, posted_micro, waived_micro, posted_at, postings)
       values ($1, $2, $3, $4, $5, 'llama', 'RTX 4090', 2, $6, $7, $8, $9, $10, $11)`,
      [
        id,
        userId,
        `i-${userId}`,
        usage,
        rate,
        at(from),
        endedAt,
        posted,
        sums.write_off,
        sums.postings > 0 ? at(to ?? LAST_MINUTE - 1) : null,
        sums.postings,
      ],
    )
  }
  await run(`update ledger_account set balance_micro = $2 where id = $1`, [cash, left.cash])
  await run(`update ledger_account set balance_micro = $2 where id = $1`, [credits, left.credits])
  const used = usedMicro < heldMicro ? usedMicro : heldMicro / 2n
  await run(
    `insert into wallet_hold (id, user_id, instance_id, amount_micro, used_micro, created_at)
     values (gen_random_uuid(), $1, $2, $3, $4, $5)`,
    [userId, `i-${userId}`, heldMicro, used, at(0)],
  )
  return userId
}

/** Credits before cash; the rest is waived. */
function take(left: { credits: bigint; cash: bigint }, due: bigint) {
  const least = (a: bigint, b: bigint) => (a < b ? a : b)
  const credits = least(due, left.credits)
  const cash = least(due - credits, left.cash)
  return { credits, cash, write_off: due - credits - cash }
}

/** The last that was taken first. */
function giveBack(sums: { cash: bigint; write_off: bigint }, micro: bigint) {
  const least = (a: bigint, b: bigint) => (a < b ? a : b)
  const waived = least(micro, sums.write_off)
  const cash = least(micro - waived, sums.cash)
  return { write_off: -waived, cash: -cash, credits: -(micro - waived - cash) }
}

/** What the version before answered, by its own queries; and what its audit found. */
async function readBefore() {
  const read = []
  for (const userId of userIds) {
    const stretches = await run(
      `select id, usage, instance_id, instance_name, gpu_spec_name, gpu_count, rate_micro_per_hour as rate,
         posted_micro as posted, waived_micro as waived
       from usage_interval where user_id = $1 order by started_at desc, id desc`,
      [userId],
    )
    const lines = await run(
      `select ref_id, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD') as date, from_account, to_account,
         count(*)::int as entries, sum(amount_micro)::text as amount
       from ledger_transfer where user_id = $1 and kind in ('usage', 'write_off') group by 1, 2, 3, 4`,
      [userId],
    )
    const days = await run(
      `select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD') as date,
         sum(case when from_account like 'user:%' then amount_micro else -amount_micro end)::text as amount
       from ledger_transfer where user_id = $1 and kind = 'usage' group by 1 order by 1`,
      [userId],
    )
    const [held] = await run(
      `select (select sum(balance_micro) from ledger_account where user_id = $1)::text as total,
         sum(amount_micro - used_micro)::text as held from wallet_hold where user_id = $1`,
      [userId],
    )
    read.push({
      stretches,
      lines: stretches.map(({ id }) =>
        lines
          .filter(({ ref_id }) => ref_id === id)
          .map(line =>
            [
              line.date,
              accountName(line.from_account ?? ''),
              accountName(line.to_account ?? ''),
              line.entries,
              line.amount,
            ].join(),
          )
          .toSorted(),
      ),
      days,
      held,
    })
  }
  const broken = await run(`
    select a.id from ledger_account a where a.user_id is not null and a.balance_micro <>
      coalesce((select sum(amount_micro) from ledger_transfer where to_account = a.id), 0)
      - coalesce((select sum(amount_micro) from ledger_transfer where from_account = a.id), 0)
    union all select id::text from usage_interval where ended_at is not null and posted_micro + waived_micro <>
      div(floor(extract(epoch from ended_at - started_at)) * rate_micro_per_hour, 3600)`)
  return { read, broken }
}

/** The same, through the domain. */
async function readAfter(billing: Billing) {
  const read = []
  for (const userId of userIds) {
    const items = await usage(billing, userId)
    const receipts = await Promise.all(items.map(({ id }) => billing.receipt(userId, id, noEvents)))
    const [held] = await run(
      `select (select sum(balance_micro) from ledger_account where user_id = $1)::text as total,
         sum(amount_micro - used_micro)::text as held from wallet_hold
       where user_id = $1 and subject_kind = 'instance' and subject_id = 'i-' || $1`,
      [userId],
    )
    const days = await run(
      `select to_char(day, 'YYYY-MM-DD') as date, sum(case when back then -amount_micro else amount_micro end)::text
         as amount from usage_day where user_id = $1 and part <> 'write_off' group by 1 order by 1`,
      [userId],
    )
    read.push({
      stretches: items.map(({ id, about, amount_micro }, at) => ({
        id: id.slice(2),
        usage: about.usage,
        instance_id: about.instance_id,
        instance_name: about.instance_name,
        gpu_spec_name: about.gpu_spec_name,
        gpu_count: about.gpu_count,
        rate: about.rate_micro_per_hour,
        posted: (-BigInt(amount_micro)).toString(),
        waived: receipts[at]?.interval?.waived_micro,
      })),
      lines: receipts.map(({ lines }) =>
        lines
          .map(line =>
            [line.date, line.from_account, line.to_account, line.entries, line.amount_micro].join(),
          )
          .toSorted(),
      ),
      days,
      held,
    })
  }
  return read
}

async function usage(billing: Billing, userId: string) {
  return (await billing.transactions(userId, { page: 1, page_size: 100, type: 'usage' })).items
}

function accountName(id: string): string {
  return id.startsWith('user:') ? (id.split(':')[2] ?? '') : (id.split(':')[1] ?? '')
}

function openBilling(time: { now: number }): Billing {
  const log = pino({ level: 'silent' })
  const { db, close } = openDatabase({ url: database.url, log, poolSize: 4 })
  closing.push(close)
  const clock = { now: () => new Date(time.now) }
  return createBilling({
    db,
    clock,
    ids: createIds(clock),
    log,
    payments: [],
    events: { emit: async () => {}, on: () => {} },
    publicUrl: () => '',
    seller: () => ({ name: 'Berth', address: '', tax_id: '' }),
    sealer: testSealer,
  })
}

function run(text: string, values?: unknown[]): Promise<Record<string, string>[]> {
  return database.run(text, values)
}
