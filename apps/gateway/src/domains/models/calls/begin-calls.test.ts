import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { hostedModel } from '../../../../test/hosted-models.ts'
import { systemIds } from '../../../platform/ids.ts'
import { type BillingFixture, createBillingFixture } from '../../billing/billing-fixture.ts'
import { createBudgets } from '../../budgets/budgets.ts'
import { createCallBook } from './call-book.ts'

const GIVEN_MICRO = 50_000_000n
const model = hostedModel('one', { output_tokens_max: 100 })
const most = { inputTokens: 100, outputTokens: 100 }

let fixture: BillingFixture
let userId: string
beforeAll(async () => {
  fixture = await createBillingFixture()
  userId = await fixture.customer()
  const given = {
    ...{ id: systemIds.uuid(), userId, amountMicro: GIVEN_MICRO },
    ...({ kind: 'bonus', reason: 'test' } as const),
  }
  await fixture.db.transaction(tx => fixture.billing.grantCredit(tx, given))
})
afterAll(() => fixture.database.drop())

test('[B2] [B10] a call that waits for the wallet sees what was set aside by another gateway meanwhile', async () => {
  const budgets = createBudgets({
    ...fixture,
    ...{ owner: 'test', lookMs: 60_000, stop: async () => undefined },
    ...{ instancesThere: async () => new Map(), keysThere: async () => new Map() },
    keysSpent: async () => new Map(),
  })
  const log = { error: vi.fn(), warn: vi.fn() }
  const owner = systemIds.uuid()
  const book = createCallBook({ ...fixture, log, budgets, owner, callsFolder: null })
  const waits = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  const begun = await fixture.db.transaction(async tx => {
    await fixture.billing.lockWallet(tx, userId)
    const beginning = book
      .begin({ userId, keyId: null }, model, { most, streamed: false })
      .catch(error => error)
    await expect.poll(async () => (await fixture.db.execute(waits)).rows.length).toBe(1)
    const purse = await fixture.billing.openModelPurse(tx, userId)
    purse.take(systemIds.uuid(), GIVEN_MICRO)
    await purse.write()
    return { beginning }
  })
  expect(await begun.beginning).toMatchObject({ code: 'insufficient_balance' })
})
