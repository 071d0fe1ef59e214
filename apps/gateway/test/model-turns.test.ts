import { getBalance } from '@berth/contract/billing'
import { and, eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { wallet } from '../src/domains/billing/ledger/tables.ts'
import { modelCall } from '../src/domains/models/tables.ts'
import { type ModelCustomer, type ModelGateway, QUESTION, startModelGateway } from './model-gateway.ts'
import { says } from './model-server.ts'

/**
 * Goal: a customer who calls models many times at once takes few connections to the database from everybody else.
 * Method: the wallet is held while the calls come, so that whatever waits for it does so for as long as the test wants.
 */

const CALLS = 60

let models: ModelGateway
beforeAll(async () => {
  models = await startModelGateway()
})
afterAll(() => models.stop())

const ask = (customer: ModelCustomer) => customer.client().chat.completions.create(QUESTION)
const askMany = (customer: ModelCustomer) => Promise.all(Array.from({ length: CALLS }, () => ask(customer)))

/** Statements that wait for a lock: each has a connection of the pool. */
async function countWaiting(): Promise<number> {
  const { rows } = await models.gateway.database.db.execute<{ waiting: number }>(
    sql`select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows[0]?.waiting ?? 0
}

/** Holds a customer's wallet while something goes on. */
async function whileHeld<T>({ userId }: ModelCustomer, work: () => Promise<T>): Promise<T> {
  return await models.gateway.database.db.transaction(async tx => {
    await tx.select().from(wallet).where(eq(wallet.userId, userId)).for('update')
    return await work()
  })
}

/** That few connections wait for the wallet that is held, and that somebody else notices nothing of it. */
async function expectRoom(other: ModelCustomer): Promise<void> {
  await expect.poll(countWaiting).toBe(1)
  await ask(other)
  await models.gateway.data(getBalance, {}, { token: other.token })
  expect(await countWaiting()).toBe(1)
}

test('[B10] sixty calls of a customer at once begin in turn, and none of them is refused', async () => {
  const [many, other] = [await models.customer(10_000), await models.customer()]
  const { asked } = models.server
  const { calls } = await whileHeld(many, async () => {
    const calls = askMany(many)
    calls.catch(() => undefined)
    await expectRoom(other)
    // Only the other's.
    expect(asked).toHaveLength(1)
    return { calls }
  })
  expect(await calls).toHaveLength(CALLS)
  expect(asked).toHaveLength(CALLS + 1)
})

test('[B10] sixty of them that end at once end in turn, and each does', async () => {
  const [many, other] = [await models.customer(10_000), await models.customer()]
  const { server } = models
  server.asked.length = 0
  const held = Promise.withResolvers<void>()
  server.answer(async (response, asked) => {
    await held.promise
    await says('Hello')(response, asked)
  })
  const calls = askMany(many)
  calls.catch(() => undefined)
  await expect.poll(() => server.asked.length, { timeout: 30_000 }).toBe(CALLS)
  await whileHeld(many, async () => {
    server.answer(says('Hello'))
    held.resolve()
    await expectRoom(other)
  })
  expect(await calls).toHaveLength(CALLS)
  const isDone = and(eq(modelCall.userId, many.userId), eq(modelCall.status, 'done'))
  expect(await models.gateway.database.db.$count(modelCall, isDone)).toBe(CALLS)
})
