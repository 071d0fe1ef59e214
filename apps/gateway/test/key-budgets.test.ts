import { editApiKey, listApiKeys, revokeApiKey } from '@berth/contract/api-keys'
import { addBudget, editBudget, listBudgets, removeBudget } from '@berth/contract/budgets'
import { eq } from 'drizzle-orm'
import { type APIError, RateLimitError } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { budget } from '../src/domains/budgets/tables.ts'
import { apiKey } from '../src/domains/models/tables.ts'
import { createMailboxDriver } from '../src/drivers/mail/mailbox.ts'
import { migrate } from '../src/platform/database/migrate.ts'
import {
  ANSWER_MAX,
  type ModelCustomer,
  type ModelGateway,
  QUESTION,
  startModelGateway,
} from './model-gateway.ts'
import { says } from './model-server.ts'
import { createOlderDatabase } from './older-database.ts'

/** What each answer costs: 50 tokens in at 2 and 100 out at 5 micro-units; before it is answered it may cost some more. */
const COST_MICRO = 600n
const usage = { prompt_tokens: 50, completion_tokens: ANSWER_MAX, total_tokens: 150 }
const DAY_MS = 24 * 3_600_000

let models: ModelGateway
let aheadMs = 0

beforeAll(async () => {
  models = await startModelGateway({ clock: { now: () => new Date(Date.now() + aheadMs) } })
  models.server.answer(says('x', usage))
})
afterAll(() => models.stop())

const budgets = () => models.gateway.gateway.budgets
const as = ({ token }: ModelCustomer) => ({ token })
const ask = (customer: ModelCustomer) => customer.client().chat.completions.create(QUESTION)
const budgetsOf = (customer: ModelCustomer) => models.gateway.data(listBudgets, {}, as(customer))
const keyOf = async (customer: ModelCustomer) =>
  (await models.gateway.data(listApiKeys, {}, as(customer))).find(({ id }) => id === customer.keyId)
const put = (
  customer: ModelCustomer,
  id: string,
  body: { period: 'day' | 'month'; amount: number; stops: boolean },
) => models.gateway.call(editBudget, { params: { id }, body }, as(customer))

/** Calls until one is refused. */
async function askUntilRefused(customer: ModelCustomer): Promise<APIError> {
  for (;;) {
    const refused = await ask(customer).then(
      () => null,
      (error: APIError) => error,
    )
    if (refused) return refused
  }
}

/** The mails about budgets that a customer got, oldest first, once there are so many: they come behind the answers. */
async function mailed(address: string, mails: number): Promise<{ subject: string; text: string }[]> {
  const { db } = models.gateway.database
  const mailbox = createMailboxDriver({ db, clock: { now: () => new Date() } })
  const read = async () =>
    (await mailbox.list())
      .filter(({ to, subject }) => to === address && subject.includes('budget'))
      .map(({ subject, text }) => ({ subject, text }))
      .reverse()
  await expect.poll(async () => (await read()).length).toBe(mails)
  return await read()
}

describe('[B16] the budget of an API key', () => {
  test('is one and the same where keys are and where budgets are', async () => {
    const customer = await models.customer(100, { spend_limit: { amount: 500, period: 'month' } })
    const [one, ...more] = await budgetsOf(customer)
    expect(more).toEqual([])
    expect(one).toMatchObject({
      ...{ key_id: customer.keyId, key_name: 'test', instance_id: null },
      ...{ period: 'month', amount: 500, stops: true, spent_micro: '0' },
    })
    await ask(customer)
    expect((await budgetsOf(customer))[0]?.spent_micro).toBe(String(COST_MICRO))
    await put(customer, one?.id ?? '', { period: 'day', amount: 700, stops: false })
    expect((await keyOf(customer))?.spend_limit).toMatchObject({ period: 'day', amount: 700, stops: false })

    const body = { name: 'test', models: null, requests_per_minute: null, tokens_per_minute: null }
    await models.gateway.data(
      editApiKey,
      { params: { id: customer.keyId }, body: { ...body, spend_limit: { amount: 900, period: 'month' } } },
      as(customer),
    )
    expect(await budgetsOf(customer)).toMatchObject([
      { id: one?.id, period: 'month', amount: 900, stops: true },
    ])
    await models.gateway.data(removeBudget, { params: { id: one?.id ?? '' } }, as(customer))
    expect((await keyOf(customer))?.spend_limit).toBeNull()
    const made = await models.gateway.data(
      addBudget,
      { body: { key_id: customer.keyId, period: 'day', amount: 300, stops: true } },
      as(customer),
    )
    expect((await keyOf(customer))?.spend_limit).toMatchObject({ period: 'day', amount: 300, stops: true })
    expect(made.spent_micro).toBe(String(COST_MICRO))
  })

  test('a key has one, of one customer’s own, and of nothing else beside it', async () => {
    const customer = await models.customer(100, { spend_limit: { amount: 500, period: 'month' } })
    const add = (who: ModelCustomer, body: object) =>
      models.gateway.call(
        addBudget,
        { body: { key_id: customer.keyId, period: 'day', amount: 300, stops: true, ...body } },
        as(who),
      )
    expect((await add(customer, {})).envelope).toMatchObject({ code: 'budget_exists' })
    const stranger = await models.customer(0)
    expect(await add(stranger, {})).toMatchObject({ httpStatus: 404 })
    expect(await add(customer, { key_id: crypto.randomUUID() })).toMatchObject({ httpStatus: 404 })
    expect((await add(customer, { instance_id: 'i-7q2m9x' })).envelope).toMatchObject({
      code: 'validation_failed',
      fields: [{ path: 'key_id' }],
    })
    // It stops calls of the key, and no instance.
    expect(await budgets().hasRoom(customer.userId)).toBe(true)
  })

  test('warns at 50 and 80 %, then stops the key and says so, once each', async () => {
    const customer = await models.customer(100, { spend_limit: { amount: 1, period: 'day' } })
    for (let asked = 0; asked < 9; asked++) await ask(customer)
    await budgets().look()
    expect((await mailed(customer.email, 1)).map(({ subject }) => subject)).toEqual([
      'Berth: 50 % of the daily budget of test is spent',
    ])
    for (let asked = 0; asked < 5; asked++) await ask(customer)
    await budgets().look()
    await budgets().look()
    const refused = await askUntilRefused(customer)
    expect(refused).toBeInstanceOf(RateLimitError)
    expect(refused).toMatchObject({ code: 'insufficient_quota' })
    await expect(ask(customer)).rejects.toBeInstanceOf(RateLimitError)
    await budgets().look()
    const mails = await mailed(customer.email, 3)
    expect(mails.map(({ subject }) => subject)).toEqual(
      [50, 80, 100].map(share => `Berth: ${share} % of the daily budget of test is spent`),
    )
    expect(mails.at(-1)?.text).toContain('your API key “test”')
    expect(mails.at(-1)?.text).toContain('that may cost more than what is left are refused')

    // With the day it begins anew, and so do its warnings.
    aheadMs += DAY_MS
    for (let asked = 0; asked < 9; asked++) await ask(customer)
    await budgets().look()
    expect((await mailed(customer.email, 4)).map(({ subject }) => subject.slice(7, 9))).toEqual([
      ...['50', '80', '10', '50'],
    ])
  })

  test('that only warns refuses nothing, and tells of 100 % when all of it is spent', async () => {
    const customer = await models.customer(100, { spend_limit: { amount: 1, period: 'day', stops: false } })
    for (let asked = 0; asked < 18; asked++) await ask(customer)
    // Nothing stops it, so that its calls are written down together.
    await models.gateway.gateway.models.desk.settle()
    await budgets().look()
    const mails = await mailed(customer.email, 1)
    expect(mails[0]?.subject).toContain('100 %')
    expect(mails[0]?.text).toContain('It only warns')
  })

  test('ends with the key: at once when it is revoked, at the next look when it has expired', async () => {
    const limit = { spend_limit: { amount: 500, period: 'month' } } as const
    const revoked = await models.customer(100, limit)
    await models.gateway.data(revokeApiKey, { params: { id: revoked.keyId } }, as(revoked))
    expect(await budgetsOf(revoked)).toEqual([])
    const { db } = models.gateway.database
    expect(await db.select().from(budget).where(eq(budget.userId, revoked.userId))).toEqual([])

    const expired = await models.customer(100, { ...limit, expires_in_days: 1 })
    const { expiresAt } = (await db.select().from(apiKey).where(eq(apiKey.id, expired.keyId)))[0] ?? {}
    expect(expiresAt).toBeInstanceOf(Date)
    aheadMs += DAY_MS
    expect(await budgetsOf(expired)).toEqual([])
    await budgets().look()
    expect(await db.select().from(budget).where(eq(budget.userId, expired.userId))).toEqual([])
  })
})

test('[B16] what a key might spend before there were budgets of keys is its budget, which stops', async () => {
  const database = await createOlderDatabase('key_budgets')
  try {
    const key = (id: string, more: string) =>
      `insert into api_key (id, user_id, name, prefix, hash, created_at, spend_limit_cents, spend_period, revoked_at)
       values ('01890000-0000-7000-8000-00000000000${id}', '01890000-0000-7000-8000-0000000000aa', 'key', 'bk-${id}',
         'hash-${id}', '2026-03-01T00:00:00Z', ${more})`
    await database.run(key('1', `500, 'month', null`))
    await database.run(key('2', `null, null, null`))
    await database.run(key('3', `700, 'day', '2026-03-02T00:00:00Z'`))
    await migrate(database.url)
    expect(await database.run('select key_id, instance_id, period, amount_cents, stops from budget')).toEqual(
      [
        {
          ...{ key_id: '01890000-0000-7000-8000-000000000001', instance_id: null },
          ...{ period: 'month', amount_cents: 500, stops: true },
        },
      ],
    )
  } finally {
    await database.drop()
  }
})
