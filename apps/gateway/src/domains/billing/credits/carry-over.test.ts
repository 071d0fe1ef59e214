import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createOlderDatabase, type OlderDatabase } from '../../../../test/older-database.ts'
import { testSealer } from '../../../../test/test-sealer.ts'
import { migrate } from '../../../platform/database/migrate.ts'
import { openDatabase } from '../../../platform/database/open-database.ts'
import { createIds } from '../../../platform/ids.ts'
import { createBilling } from '../billing.ts'

/**
 * Goal: credits of the version before, which were one pot, are lots without an end that come to the same (R3.8). Method:
 * a database with the migrations up to then, filled as that version did, and read through the domain after.
 */

const CARRIED_BY = 'credit_lots'
const START_MS = Date.parse('2026-05-04T10:00:00.000Z')
const HOUR_MS = 3_600_000
const at = (hours: number) => new Date(START_MS + hours * HOUR_MS).toISOString()

/** What was given, hours from the start, and what stretches used of it by the hour that they ran. */
interface Life {
  grants: { hour: number; micro: bigint; reason: string }[]
  stretches: { hour: number; hours: number; micro: bigint }[]
  /** What is left of each grant. */
  rests: bigint[]
}

const LIVES: Life[] = [
  { grants: [], stretches: [], rests: [] },
  { grants: [{ hour: 0, micro: 100n, reason: 'demo' }], stretches: [], rests: [100n] },
  // The second stretch used up the first grant and begins the second; the third begins and ends within it.
  {
    grants: [
      { hour: 0, micro: 100n, reason: 'demo' },
      { hour: 1, micro: 50n, reason: 'sorry' },
      { hour: 2, micro: 7n, reason: 'sorry' },
    ],
    stretches: [
      { hour: 3, hours: 1, micro: 60n },
      { hour: 4, hours: 1, micro: 60n },
      { hour: 5, hours: 2, micro: 20n },
    ],
    rests: [0n, 10n, 7n],
  },
  {
    grants: [{ hour: 0, micro: 5n, reason: 'x' }],
    stretches: [{ hour: 1, hours: 1, micro: 5n }],
    rests: [0n],
  },
]

let database: OlderDatabase
let userIds: string[]
let close = async () => {}
beforeAll(async () => {
  database = await createOlderDatabase(CARRIED_BY)
  await house('promotions')
  await house('revenue')
  userIds = []
  for (const life of LIVES) userIds.push(await live(life))
})
afterAll(async () => {
  await close()
  await database.drop()
})

test('[R3.8] [B2] credits of the version before are lots without an end, with what is left of them', async () => {
  await migrate(database.url)
  const log = pino({ level: 'silent' })
  const { db, close: closeDatabase } = openDatabase({ url: database.url, log, poolSize: 4 })
  close = closeDatabase
  const clock = { now: () => new Date(START_MS + 100 * HOUR_MS) }
  const billing = createBilling({
    ...{ db, clock, ids: createIds(clock), log, payments: [], sealer: testSealer },
    events: { emit: async () => {}, on: () => {} },
    seller: () => ({ name: 'Berth', address: '', tax_id: '' }),
    publicUrl: () => '',
  })
  expect(await billing.checkBooks()).toEqual([])
  for (const [index, { grants, rests }] of LIVES.entries()) {
    const userId = userIds[index] ?? ''
    const { items } = await billing.credits(userId, { page: 1, page_size: 100 })
    const inTime = items.toSorted((a, b) => a.effect_date.localeCompare(b.effect_date))
    expect(inTime.map(({ left_micro }) => BigInt(left_micro))).toEqual(rests)
    expect(inTime.map(({ kind, reason }) => [kind, reason])).toEqual(
      grants.map(({ reason }) => [reason === 'demo' ? 'demo' : 'bonus', reason]),
    )
    expect(items.filter(({ expiration_date }) => expiration_date !== null)).toEqual([])
    expect((await billing.totals(db, userId)).creditsMicro).toBe(rests.reduce((sum, rest) => sum + rest, 0n))
  }
})

/** One customer's life as the version before wrote it down. */
async function live({ grants, stretches }: Life): Promise<string> {
  const userId = randomUUID()
  const credits = `user:${userId}:credits`
  await database.run(`insert into wallet (user_id, currency, created_at) values ($1, 'USD', $2)`, [
    userId,
    at(0),
  ])
  for (const kind of ['cash', 'credits']) {
    await database.run(`insert into ledger_account values ($1, $2, $3, 'USD', 0)`, [
      `user:${userId}:${kind}`,
      kind,
      userId,
    ])
  }
  const move = async (
    [from, to]: [from: string, to: string],
    entry: { micro: bigint; kind: string; ref: string; hour: number },
  ) => {
    await database.run(
      `insert into ledger_transfer (id, key, from_account, to_account, amount_micro, kind, ref_id, user_id, created_at)
       values (gen_random_uuid(), gen_random_uuid()::text, $1, $2, $3, $4, $5, $6, $7)`,
      [from, to, entry.micro, entry.kind, entry.ref, userId, at(entry.hour)],
    )
    const sign = to === credits ? '+' : '-'
    await database.run(`update ledger_account set balance_micro = balance_micro ${sign} $2 where id = $1`, [
      credits,
      entry.micro,
    ])
  }
  for (const { hour, micro, reason } of grants) {
    const ref = randomUUID()
    await database.run(
      `insert into credit_grant (id, user_id, amount_micro, reason, created_at) values ($1, $2, $3, $4, $5)`,
      [ref, userId, micro, reason, at(hour)],
    )
    await move(['house:promotions:USD', credits], { micro, kind: 'credit', ref, hour })
  }
  for (const { hour, hours, micro } of stretches) {
    const ref = randomUUID()
    await database.run(
      `insert into usage_interval (id, user_id, subject_kind, subject_id, subject_name, charge, stops_when_empty,
         rate_micro, rate_seconds, started_at, ended_at, credits_micro, cash_micro, waived_micro, posted_until, postings)
       values ($1, $2, 'instance', $1::uuid::text, '', 'by_time', true, $3, 3600, $4, $5, $6, 0, 0, $5, 1)`,
      [ref, userId, micro / BigInt(hours), at(hour), at(hour + hours), micro],
    )
    await database.run(
      `insert into usage_meter (interval_id, position, sku, label, unit, quantity, rate_micro)
       values ($1, 0, 'sku', '', 'hour', 1, $2)`,
      [ref, micro / BigInt(hours)],
    )
    const end = hour + hours
    await move([credits, 'house:revenue:USD'], { micro, kind: 'usage', ref, hour: end })
    await database.run(
      `insert into usage_day (interval_id, user_id, day, part, back, entries, amount_micro)
       values ($1, $2, $3, 'credits', false, 1, $4)`,
      [ref, userId, at(end).slice(0, 10), micro],
    )
  }
  return userId
}

async function house(kind: string) {
  await database.run(`insert into ledger_account values ($1, $2, null, 'USD', null)`, [
    `house:${kind}:USD`,
    kind,
  ])
}
