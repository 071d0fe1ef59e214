import { setTimeout as sleep } from 'node:timers/promises'
import { createApiKey } from '@berth/contract/api-keys'
import { getBalance } from '@berth/contract/billing'
import { and, eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { wallet } from '../src/domains/billing/ledger/tables.ts'
import { budget, budgetCrossing } from '../src/domains/budgets/tables.ts'
import { apiKeyDay, modelCall } from '../src/domains/models/tables.ts'
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

/** A cent, in micro-units. */
const MICRO_PER_CENT = 10_000n

test('[B10] of many that begin together only as many do as there is money for, and the books balance', async () => {
  const first = await models.customer(10_000)
  await ask(first)
  const { db } = models.gateway.database
  const [known] = await db.select().from(modelCall).where(eq(modelCall.userId, first.userId))
  const eachMicro = known?.mostMicro ?? 0n
  const cents = 2
  const room = Number((BigInt(cents) * MICRO_PER_CENT) / eachMicro)
  expect(room).toBeGreaterThan(1)
  expect(room).toBeLessThan(CALLS)
  const poor = await models.customer(cents)
  const held = Promise.withResolvers<void>()
  models.server.asked.length = 0
  models.server.answer(async (response, asked) => {
    await held.promise
    await says('Hello')(response, asked)
  })
  const all = await whileHeld(poor, async () => {
    const calls = Array.from({ length: CALLS }, () =>
      ask(poor).then(
        () => null,
        (error: { code?: string }) => error.code,
      ),
    )
    await expect.poll(countWaiting).toBe(1)
    return { calls }
  })
  await expect.poll(() => models.server.asked.length, { timeout: 30_000 }).toBe(room)
  models.server.answer(says('Hello'))
  held.resolve()
  const codes = await Promise.all(all.calls)
  expect(codes.filter(code => code === null)).toHaveLength(room)
  expect(codes.filter(code => code === 'insufficient_quota')).toHaveLength(CALLS - room)
  expect(await models.gateway.gateway.billing.checkBooks()).toEqual([])
})

test('[B10] [B3] of two that begin together by one key of idempotency one is asked', async () => {
  const customer = await models.customer()
  models.server.asked.length = 0
  const twice = await whileHeld(customer, async () => {
    // The first one is under way alone; the two after it begin together.
    const before = ask(customer)
    await expect.poll(countWaiting).toBe(1)
    const headers = { 'Idempotency-Key': 'one' }
    const calls = [1, 2].map(() => customer.client().chat.completions.create(QUESTION, { headers }))
    return { all: Promise.allSettled([before, ...calls]) }
  })
  const [, ...both] = await twice.all
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(models.server.asked).toHaveLength(2)
})

test('[B10] [B16] of ten that begin together only as many do as their key’s budget has room for, another key’s all do, and it is told once', async () => {
  const day = { amount: 1, period: 'day' } as const
  const customer = await models.customer(10_000, { spend_limit: day })
  const { key } = await models.gateway.data(
    createApiKey,
    { body: { name: 'other' } },
    { token: customer.token },
  )
  const { db } = models.gateway.database
  // Long enough that ten have no room in a cent.
  const question = { ...QUESTION, messages: [{ role: 'user' as const, content: 'x'.repeat(600) }] }
  const refused: unknown[] = []
  const codeOf = (call: Promise<unknown>) =>
    call.then(
      () => null,
      (error: { code?: string }) => {
        refused.push(error.code)
        return error.code
      },
    )
  const held = Promise.withResolvers<void>()
  models.server.asked.length = 0
  models.server.answer(async (response, asked) => {
    await held.promise
    await says('Hello')(response, asked)
  })
  const { first, all, others } = await whileHeld(customer, async () => {
    // The first one is under way alone; what comes after it begins together.
    const first = codeOf(customer.client().chat.completions.create(question))
    await expect.poll(countWaiting).toBe(1)
    const ten = Array.from({ length: 10 }, (_, at) => at)
    const all = Promise.all(ten.map(() => codeOf(customer.client().chat.completions.create(question))))
    const others = Promise.all(
      ten.map(() => codeOf(customer.client({ apiKey: key }).chat.completions.create(question))),
    )
    // They come to their turn meanwhile.
    await sleep(500)
    return { first, all, others }
  })
  await expect.poll(() => models.server.asked.length, { timeout: 30_000 }).toBeGreaterThan(11)
  const calls = await db.select().from(modelCall).where(eq(modelCall.keyId, customer.keyId))
  const room = Number(MICRO_PER_CENT / (calls[0]?.mostMicro ?? 0n)) - 1
  expect(room).toBeGreaterThan(1)
  expect(room).toBeLessThan(10)
  await expect.poll(() => models.server.asked.length, { timeout: 30_000 }).toBe(1 + room + 10)
  await expect.poll(() => refused).toEqual(Array.from({ length: 10 - room }, () => 'insufficient_quota'))
  models.server.answer(says('Hello'))
  held.resolve()
  expect(await first).toBeNull()
  expect((await all).filter(code => code === null)).toHaveLength(room)
  expect(await others).toEqual(Array.from({ length: 10 }, () => null))
  const ended = await db.select().from(modelCall).where(eq(modelCall.keyId, customer.keyId))
  const spentMicro = ended.reduce((sum, { costMicro }) => sum + costMicro, 0n)
  const [counted] = await db.select().from(apiKeyDay).where(eq(apiKeyDay.keyId, customer.keyId))
  expect(counted).toMatchObject({ heldMicro: 0n, spentMicro })
  const told = await db
    .select()
    .from(budgetCrossing)
    .innerJoin(budget, eq(budget.id, budgetCrossing.budgetId))
    .where(and(eq(budget.keyId, customer.keyId), eq(budgetCrossing.share, 100)))
  expect(told).toHaveLength(1)
})
