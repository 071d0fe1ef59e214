import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listApiKeys, revokeApiKey } from '@berth/contract/api-keys'
import { getBalance, listTransactions } from '@berth/contract/billing'
import { addBudget } from '@berth/contract/budgets'
import { listSessionLog } from '@berth/contract/session-log'
import { and, eq, isNull } from 'drizzle-orm'
import type { APIError } from 'openai'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { wallet, walletHold } from '../src/domains/billing/ledger/tables.ts'
import { suspendCustomer } from '../src/domains/customers/customers.ts'
import { apiKey, modelAllowance, modelCall } from '../src/domains/models/tables.ts'
import { gateway } from '../src/platform/gateways/tables.ts'
import { systemIds } from '../src/platform/ids.ts'
import {
  ANSWER_MAX,
  type ModelCustomer,
  type ModelGateway,
  QUESTION,
  startModelGateway,
} from './model-gateway.ts'
import { begins, pauses, refuses, says } from './model-server.ts'
import type { TestGateway } from './start-gateway.ts'

/**
 * Goal: who calls often is answered without the database, is charged for every call once, and is stopped as soon as they are
 * to be (decision 0157).
 * Method: money is set aside ahead from the first call on; the wallet is held where nothing may wait for it.
 */

const COST_MICRO = 600n
const usage = { prompt_tokens: 50, completion_tokens: ANSWER_MAX, total_tokens: 150 }

let models: ModelGateway
let other: TestGateway
let customer: ModelCustomer
const folder = mkdtempSync(join(tmpdir(), 'berth-calls-'))

beforeAll(async () => {
  models = await startModelGateway({ oftenCalls: 1, callsFolder: folder })
  other = await models.another()
})
afterAll(async () => {
  await other.stop()
  await models.stop()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  models.server.answer(says('Hello', usage))
  customer = await models.customer(10_000)
})
afterEach(async () => {
  expect(await models.gateway.gateway.billing.checkBooks()).toEqual([])
})

const db = () => models.gateway.database.db
const ask = (who = customer, more: object = {}) =>
  who.client().chat.completions.create({ ...QUESTION, ...more })
const askAt = ({ origin }: TestGateway, who = customer) =>
  who.client({ baseURL: `${origin}/v1` }).chat.completions.create(QUESTION)
const refusalOf = (asking: Promise<unknown>) =>
  asking.then(
    () => null,
    ({ status, code }: APIError) => ({ status, code }),
  )
const allowances = (who = customer) => db().$count(modelAllowance, eq(modelAllowance.userId, who.userId))
const settled = () => models.gateway.gateway.models.desk.settle()
const rowsOf = (who = customer) => db().select().from(modelCall).where(eq(modelCall.userId, who.userId))
const spentOf = async () => (await rowsOf()).reduce((sum, { costMicro }) => sum + costMicro, 0n)

/** Calls until an allowance pays for the next one. */
async function allow(who = customer, at = models.gateway): Promise<void> {
  const before = await allowances(who)
  await askAt(at, who)
  await expect.poll(() => allowances(who)).toBe(before + 1)
  // It is known to its gateway once the transaction has answered it.
  await at.gateway.models.desk.settle()
}

async function whileHeld<T>(work: () => Promise<T>): Promise<T> {
  return await db().transaction(async tx => {
    await tx.select().from(wallet).where(eq(wallet.userId, customer.userId)).for('update')
    return await work()
  })
}

describe('[B10] who calls often', () => {
  test('is answered while nobody gets at their wallet, and each call is in the log and charged once', async () => {
    await allow()
    const costs = await whileHeld(async () => {
      const asked = Array.from({ length: 8 }, () =>
        customer.client().chat.completions.create(QUESTION).withResponse(),
      )
      const answers = await Promise.all(asked)
      return answers.map(({ response }) => response.headers.get('x-berth-cost-micro'))
    })
    expect(costs).toEqual(Array.from({ length: 8 }, () => String(COST_MICRO)))
    const { items, totals } = await models.gateway.data(
      listSessionLog,
      { query: {} },
      { token: customer.token },
    )
    expect(items).toHaveLength(9)
    expect(totals).toMatchObject({ calls: 9, failed: 0, cost_micro: String(9n * COST_MICRO) })
    const { items: paid } = await models.gateway.data(
      listTransactions,
      { query: { type: 'usage', page_size: 100 } },
      { token: customer.token },
    )
    expect(paid).toHaveLength(9)
    expect(paid.reduce((sum, one) => sum - BigInt(one.amount_micro), 0n)).toBe(9n * COST_MICRO)
    const [key] = await models.gateway.data(listApiKeys, {}, { token: customer.token })
    expect(key?.last_used_at).not.toBeNull()
  })

  test('sees what is set aside as set aside, a quarter of what there is at the most, and has it again', async () => {
    const balance = async () =>
      (await models.gateway.data(getBalance, {}, { token: customer.token })).account_balance
    await allow()
    const { amount, amount_available, amount_freeze } = await balance()
    expect(amount_freeze).toBeGreaterThan(0)
    expect(amount_freeze).toBeLessThanOrEqual(amount / 4)
    expect(amount_available + amount_freeze).toBe(amount)
    models.gateway.gateway.models.changed(customer.userId)
    await expect.poll(async () => (await balance()).amount_freeze, { timeout: 10_000 }).toBe(0)
    expect(await allowances()).toBe(0)
  })

  test('pays for what came of a stream that they leave or that breaks off, and for nothing that failed', async () => {
    await allow()
    const heard = async (how: 'hangs' | 'breaks') => {
      models.server.answer(begins(['one ', 'two ', 'three '], how))
      const stream = await customer.client().chat.completions.create({ ...QUESTION, stream: true })
      for await (const { choices } of stream)
        if (how === 'hangs' && choices[0]?.delta.content === 'two ') break
    }
    await heard('hangs')
    await expect(heard('breaks')).rejects.toThrow('The model call failed')
    models.server.answer(refuses(400, 'Not this.'))
    expect(await refusalOf(ask())).toMatchObject({ status: 400 })
    const ended = async () => {
      await settled()
      return (await rowsOf()).slice(1).map(({ status, outputTokens, estimated, costMicro }) => ({
        status,
        outputTokens,
        estimated,
        free: costMicro === 0n,
      }))
    }
    await expect.poll(async () => (await ended()).length).toBe(3)
    expect(await ended()).toEqual(
      expect.arrayContaining([
        { status: 'left', outputTokens: expect.any(Number), estimated: true, free: false },
        { status: 'failed', outputTokens: 3, estimated: true, free: false },
        { status: 'failed', outputTokens: 0, estimated: false, free: true },
      ]),
    )
  })

  test('sees a call that goes on in the log', async () => {
    await allow()
    models.server.answer(begins(['one '], 'hangs'))
    const leaving = new AbortController()
    const stream = await customer
      .client()
      .chat.completions.create({ ...QUESTION, stream: true }, { signal: leaving.signal })
    await expect
      .poll(async () => (await rowsOf()).map(({ status }) => status), { timeout: 15_000 })
      .toContain('running')
    leaving.abort()
    await expect
      .poll(async () => {
        await settled()
        return (await rowsOf()).map(({ status }) => status)
      })
      .toContain('left')
    stream.controller.abort()
  })

  test('[B3] asks once what has a key of idempotency', async () => {
    await allow()
    const headers = { 'Idempotency-Key': 'one' }
    const client = customer.client()
    await client.chat.completions.create(QUESTION, { headers })
    const again = client.chat.completions.create(QUESTION, { headers })
    expect(await refusalOf(again)).toMatchObject({ status: 409, code: 'idempotent_replayed' })
  })

  test('[R3.8] spends credits for models alone first, which are set aside as well', async () => {
    const who = await models.customer(100)
    const { userId } = who
    await db().transaction(tx =>
      models.gateway.gateway.billing.grantCredit(tx, {
        ...{ id: crypto.randomUUID(), userId, amountMicro: 400_000n, kind: 'free', reason: 'test' },
        modelsOnly: true,
      }),
    )
    await allow(who)
    const [held] = await db()
      .select()
      .from(walletHold)
      .where(and(eq(walletHold.userId, userId), isNull(walletHold.releasedAt)))
    expect(held).toMatchObject({ amountMicro: 0n, freeMicro: expect.any(BigInt) })
    await Promise.all(Array.from({ length: 12 }, () => ask(who)))
    await settled()
    const spent = (await rowsOf(who)).reduce((sum, { costMicro }) => sum + costMicro, 0n)
    expect(spent).toBe(13n * COST_MICRO)
    const { items } = await models.gateway.data(
      listTransactions,
      { query: { type: 'usage', page_size: 100 } },
      { token: who.token },
    )
    expect(items.reduce((sum, one) => sum - BigInt(one.bonus_amount_micro), 0n)).toBe(spent)
    // What was used of them is set aside no more.
    const [row] = await db().select().from(modelAllowance).where(eq(modelAllowance.userId, userId))
    const [after] = await db()
      .select()
      .from(walletHold)
      .where(and(eq(walletHold.userId, userId), isNull(walletHold.releasedAt)))
    expect(after?.freeMicro).toBe((row?.amountMicro ?? 0n) - (row?.usedMicro ?? 0n))
  })
})

describe('[B10] who is to call no more', () => {
  const soon = { timeout: 2_000, interval: 20 }

  test('by a key that is revoked is stopped at once, on other gateways as soon as they are told', async () => {
    await allow()
    await allow(customer, other)
    const { keyId, token } = customer
    await models.gateway.data(revokeApiKey, { params: { id: keyId } }, { token })
    expect(await refusalOf(ask())).toMatchObject({ status: 401 })
    await expect.poll(() => refusalOf(askAt(other)), soon).toMatchObject({ status: 401 })
  })

  test('by a key that names the model no more is stopped as soon', async () => {
    await allow(customer, other)
    await db()
      .update(apiKey)
      .set({ models: ['two'] })
      .where(eq(apiKey.id, customer.keyId))
    await expect
      .poll(() => refusalOf(askAt(other)), soon)
      .toMatchObject({ status: 403, code: 'model_not_found' })
  })

  test('since the operator keeps them out is stopped as soon, and let in again', async () => {
    await allow(customer, other)
    const input = { userId: customer.userId, at: new Date(), reason: 'test', machinesUntil: new Date() }
    await db().transaction(tx => suspendCustomer(tx, input))
    await expect.poll(() => refusalOf(askAt(other)), soon).toMatchObject({ status: 403 })
  })

  test('[B16] by the budget of the account, or of a key, is stopped by it to the call', async () => {
    await allow(customer, other)
    await settled()
    const { token, keyId } = customer
    const body = { period: 'day', amount: 1, stops: true } as const
    await models.gateway.data(addBudget, { body: { ...body, key_id: keyId } }, { token })
    let refused = null
    while (refused === null) refused = await refusalOf(askAt(other))
    expect(refused).toMatchObject({ code: 'insufficient_quota' })
    await other.gateway.models.desk.settle()
    expect(await spentOf()).toBeLessThanOrEqual(10_000n)
  }, 60_000)
})

test('[B2] [B10] a gateway that ends in good order answers what it has begun, and nobody takes that for lost', async () => {
  const gatewayId = systemIds.uuid()
  const leaving = await models.another({ gatewayId, graceMs: 30_000 })
  const isListed = async () => (await db().$count(gateway, eq(gateway.id, gatewayId))) > 0
  const toTheEnd = Promise.withResolvers<void>()
  models.server.answer(pauses(['to ', 'the end'], toTheEnd.promise, usage))
  const client = customer.client({ baseURL: `${leaving.origin}/v1` })
  const stream = await client.chat.completions.create({ ...QUESTION, stream: true })
  let said = ''
  const heard = (async () => {
    for await (const { choices } of stream) said += choices[0]?.delta.content ?? ''
  })()
  await expect.poll(() => said).toBe('to ')
  const ended = leaving.stop()
  await expect.poll(() => fetch(leaving.origin).catch(() => null)).toBeNull()
  await other.gateway.models.endLost(new AbortController().signal)
  expect(await isListed()).toBe(true)
  toTheEnd.resolve()
  await heard
  expect(said).toBe('to the end')
  await ended
  expect(await isListed()).toBe(false)
  await other.gateway.models.endLost(new AbortController().signal)
  expect((await rowsOf()).map(({ costMicro }) => costMicro)).toEqual([COST_MICRO])
}, 60_000)

describe('[B2] a gateway that is killed', () => {
  test('has left its calls in its folder, and they are charged once, whoever writes them down', async () => {
    await allow()
    const kept = () =>
      readdirSync(folder)
        .map(name => readFileSync(join(folder, name), 'utf8'))
        .join('')
    const left = await whileHeld(async () => {
      await Promise.all(Array.from({ length: 5 }, () => ask()))
      return kept()
    })
    expect(left.trim().split('\n')).toHaveLength(5)
    await settled()
    expect(kept()).toBe('')
    expect(await spentOf()).toBe(6n * COST_MICRO)
    // As it is found by the next gateway on that folder.
    const found = mkdtempSync(join(tmpdir(), 'berth-calls-'))
    writeFileSync(join(found, 'before-0.jsonl'), `${left}{"id":"cut`)
    const next = await models.another({ callsFolder: found })
    await expect.poll(() => readdirSync(found), { timeout: 10_000 }).toEqual([])
    expect(await spentOf()).toBe(6n * COST_MICRO)
    await next.stop()
    rmSync(found, { recursive: true })
  }, 30_000)

  test('had nothing set aside for long: others let it go', async () => {
    await allow()
    const unknown = crypto.randomUUID()
    await db()
      .update(modelAllowance)
      .set({ gatewayId: unknown })
      .where(eq(modelAllowance.userId, customer.userId))
    await other.gateway.models.endLost(new AbortController().signal)
    expect(await allowances()).toBe(0)
    const isOpen = and(eq(walletHold.userId, customer.userId), isNull(walletHold.releasedAt))
    expect(await db().$count(walletHold, isOpen)).toBe(0)
    // Where it only slept it is told, and begins nothing more by it; what it had not written down it may still charge.
    const exact = async () => {
      await ask()
      await settled()
      return (await rowsOf()).filter(({ mostMicro }) => mostMicro > 0n).length
    }
    await expect.poll(exact, { timeout: 5_000 }).toBe(2)
    expect(await spentOf()).toBe(BigInt((await rowsOf()).length) * COST_MICRO)
  })
})
