import { randomUUID } from 'node:crypto'
import { createApiKey, editApiKey, listApiKeys } from '@berth/contract/api-keys'
import { eq } from 'drizzle-orm'
import OpenAI, { APIError, PermissionDeniedError, RateLimitError } from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { apiKeyDay, modelCall } from '../src/domains/models/tables.ts'
import { createTokenRates } from '../src/domains/models/token-rates.ts'
import { systemClock } from '../src/platform/clock.ts'
import { createRateCounts } from '../src/platform/http/rate-counts.ts'
import { hostedModel } from './hosted-models.ts'
import {
  ANSWER_MAX,
  type ModelCustomer,
  type ModelGateway,
  QUESTION,
  startModelGateway,
} from './model-gateway.ts'
import { begins, refuses, says } from './model-server.ts'
import { shippedCatalogue } from './shipped-catalogue.ts'

const DAY_MS = 24 * 3_600_000
/** What each answer costs: 50 tokens in at 2 and 100 out at 5 micro-units. */
const COST_MICRO = 600n
const usage = { prompt_tokens: 50, completion_tokens: ANSWER_MAX, total_tokens: 150 }
const NO_LIMITS = { models: null, spend_limit: null, requests_per_minute: null, tokens_per_minute: null }

let models: ModelGateway
let aheadMs = 0

beforeAll(async () => {
  const plain = shippedCatalogue()
  const more = [hostedModel('vectors', { kind: 'embedding' }), hostedModel('drawn', { kind: 'image' })]
  const catalogue = { ...plain, models: [...plain.models, ...more] }
  models = await startModelGateway({ catalogue, clock: { now: () => new Date(Date.now() + aheadMs) } })
})
afterAll(() => models.stop())
beforeEach(() => {
  for (const server of [models.server, models.spare]) {
    server.asked.length = 0
    server.answer(says('x', usage))
  }
})

const callsOf = ({ userId }: ModelCustomer) =>
  models.gateway.database.db.select().from(modelCall).where(eq(modelCall.userId, userId))
const spentOf = async (customer: ModelCustomer) =>
  (await callsOf(customer)).reduce((sum, { costMicro }) => sum + costMicro, 0n)
const refusedOf = (call: Promise<unknown>): Promise<APIError> =>
  call.then(
    () => Promise.reject(new Error('it was not refused')),
    (error: unknown) => {
      if (!(error instanceof APIError)) throw error
      return error
    },
  )
/** The number of a question in the fields of its answer or refusal. */
const headerOf = (error: APIError, name: string) => error.headers?.get(name)

describe('[B10] which models a key may name', () => {
  test('others are refused as OpenAI does, and not listed', async () => {
    const customer = await models.customer(100, { models: ['two'] })
    const client = customer.client()
    await client.chat.completions.create({ ...QUESTION, model: 'two' })
    const refused = await refusedOf(client.chat.completions.create(QUESTION))
    expect(refused).toBeInstanceOf(PermissionDeniedError)
    expect(refused).toMatchObject({ status: 403, code: 'model_not_found' })
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['two'])
    expect(await callsOf(customer)).toHaveLength(1)
  })

  test('others are refused by whichever path they are called, and so is what a key may not spend', async () => {
    const bound = await models.customer(100, { models: ['two'] })
    const poor = await models.customer(100, { spend_limit: { amount: 1, period: 'day' } })
    await models.gateway.database.db.insert(apiKeyDay).values({
      keyId: poor.keyId,
      day: new Date(Date.now() + aheadMs).toISOString().slice(0, 10),
      spentMicro: 9_999n,
    })
    const ways: [string, (client: OpenAI) => Promise<unknown>][] = [
      ['chat', client => client.chat.completions.create(QUESTION)],
      ['completions', client => client.completions.create({ model: 'one', prompt: 'Once' })],
      ['embeddings', client => client.embeddings.create({ model: 'vectors', input: 'a harbour' })],
      ['images', client => client.images.generate({ model: 'drawn', prompt: 'a harbour' })],
    ]
    for (const [way, ask] of ways) {
      expect(await refusedOf(ask(bound.client())), way).toMatchObject({
        status: 403,
        code: 'model_not_found',
      })
      expect(await refusedOf(ask(poor.client())), way).toMatchObject({ code: 'insufficient_quota' })
    }
    expect(models.server.asked).toHaveLength(0)
    expect([await callsOf(bound), await callsOf(poor)]).toEqual([[], []])
  })

  test('a key is changed for its next call, and to models alone that there are', async () => {
    const { token, keyId, client } = await models.customer(100, { models: ['two'] })
    const edit = (body: object) =>
      models.gateway.call(
        editApiKey,
        { params: { id: keyId }, body: { name: 'test', ...NO_LIMITS, ...body } },
        { token },
      )
    expect((await edit({ models: ['one'] })).envelope).toMatchObject({ data: { id: keyId, models: ['one'] } })
    await client().chat.completions.create(QUESTION)
    expect((await edit({ models: ['three'] })).envelope).toMatchObject({
      code: 'validation_failed',
      fields: [{ path: 'models' }],
    })
    expect((await edit({ models: [] })).envelope).toMatchObject({ code: 'required_fields' })
    expect((await edit({ models: null, name: 'all of them' })).envelope).toMatchObject({
      data: { name: 'all of them', models: null },
    })
    await client().chat.completions.create({ ...QUESTION, model: 'two' })
    const stranger = await models.gateway.signUp()
    const theirs = await models.gateway.call(
      editApiKey,
      { params: { id: keyId }, body: { name: 'mine', ...NO_LIMITS } },
      { token: stranger.token },
    )
    expect(theirs.httpStatus).toBe(404)
  })
})

describe('[B10] what a key may spend', () => {
  test('a thousand calls at once on two gateways spend no more than that, though there is more', async () => {
    const limit = { amount: 1, period: 'day' } as const
    const customer = await models.customer(10_000, { spend_limit: limit })
    const other = await models.another()
    // One gateway has 200 calls of a customer under way at the most; those beyond are refused for that and come again.
    const clients = [customer.client(), customer.client({ baseURL: `${other.origin}/v1` })]
    const ask = (at: number) =>
      clients[at % 2]?.chat.completions.create({ ...QUESTION, max_tokens: ANSWER_MAX })
    const codes = new Map<unknown, number>()
    for (let wave = 0; wave < 5; wave++) {
      const calls = await Promise.allSettled(Array.from({ length: 200 }, (_, at) => ask(at)))
      for (const call of calls) {
        const code = call.status === 'fulfilled' ? 'answered' : (call.reason as APIError).code
        codes.set(code, (codes.get(code) ?? 0) + 1)
      }
    }
    await other.stop()
    const spent = await spentOf(customer)
    expect(codes.get('answered')).toBe(Number(spent / COST_MICRO))
    expect([...codes.keys()].sort()).toEqual(['answered', 'insufficient_quota'])
    expect(spent).toBeLessThanOrEqual(10_000n)
    expect(spent).toBeGreaterThan(9_000n)
    const [day] = await models.gateway.database.db
      .select()
      .from(apiKeyDay)
      .where(eq(apiKeyDay.keyId, customer.keyId))
    expect(day).toMatchObject({ spentMicro: spent, heldMicro: 0n })
    const [key] = await models.gateway.data(listApiKeys, {}, { token: customer.token })
    expect(key?.spend_limit).toMatchObject({ ...limit, spent_micro: String(spent) })
  })

  test('what a key has spent is there again when its day is over, and refusals say when that is', async () => {
    const customer = await models.customer(100, { spend_limit: { amount: 1, period: 'day' } })
    const { token } = customer
    const free = await models.gateway.data(createApiKey, { body: { name: 'other' } }, { token })
    const client = customer.client()
    const ask = () => client.chat.completions.create(QUESTION)
    let refused: APIError | null = null
    while (refused === null) await ask().catch((error: APIError) => (refused = error))
    expect(refused).toBeInstanceOf(RateLimitError)
    expect(refused).toMatchObject({ code: 'insufficient_quota', type: 'insufficient_quota' })
    const seconds = Number(headerOf(refused, 'retry-after'))
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThanOrEqual(86_400)
    expect(headerOf(refused, 'x-should-retry')).toBe('false')
    const asked = models.server.asked.length
    aheadMs += seconds * 1_000 - 2_000
    await expect(ask()).rejects.toBeInstanceOf(RateLimitError)
    expect(models.server.asked).toHaveLength(asked)
    aheadMs += 3_000
    await ask()
    const limit = { amount: 1, period: 'month' } as const
    await models.gateway.data(
      editApiKey,
      { params: { id: customer.keyId }, body: { name: 'test', ...NO_LIMITS, spend_limit: limit } },
      { token: customer.token },
    )
    // What was spent yesterday is of this month, unless the month is over as well.
    if (new Date(Date.now() + aheadMs).getUTCDate() !== 1)
      await expect(ask()).rejects.toBeInstanceOf(RateLimitError)
    const others = new OpenAI({ apiKey: free.key, baseURL: `${models.gateway.origin}/v1`, maxRetries: 0 })
    await others.chat.completions.create(QUESTION)
  })

  test('a call counts on the day on which it began, and one that is lost takes nothing of it', async () => {
    const customer = await models.customer(100, { spend_limit: { amount: 1, period: 'day' } })
    const days = () =>
      models.gateway.database.db.select().from(apiKeyDay).where(eq(apiKeyDay.keyId, customer.keyId))
    const late = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
    const saysLate =
      (at: 0 | 1): ReturnType<typeof says> =>
      async (response, asked) => {
        await late[at].promise
        await says('late', usage)(response, asked)
      }
    models.server.answer(saysLate(0), saysLate(1))
    const ask = () => customer.client().chat.completions.create(QUESTION)
    const first = ask()
    await expect.poll(() => models.server.asked.length).toBe(1)
    const began = new Date(Date.now() + aheadMs).toISOString().slice(0, 10)
    aheadMs += DAY_MS
    late[0].resolve()
    await first
    expect(await days()).toMatchObject([{ day: began, spentMicro: COST_MICRO, heldMicro: 0n }])

    const second = ask()
    await expect.poll(() => models.server.asked.length).toBe(2)
    expect((await days()).map(({ heldMicro }) => heldMicro > 0n).sort()).toEqual([false, true])
    aheadMs += DAY_MS
    await models.gateway.gateway.models.endLost(new AbortController().signal)
    const left = (await days()).reduce((sum, { heldMicro }) => sum + heldMicro, 0n)
    expect(left).toBe(0n)
    late[1].resolve()
    await second
    expect((await days()).reduce((sum, { spentMicro }) => sum + spentMicro, 0n)).toBe(COST_MICRO)
  })

  test('a call that costs nothing after all takes nothing of it', async () => {
    const customer = await models.customer(100, { spend_limit: { amount: 1, period: 'month' } })
    models.server.answer(refuses(400, 'no'))
    for (let asked = 0; asked < 20; asked++) {
      const refused = await refusedOf(customer.client().chat.completions.create(QUESTION))
      expect(refused).toMatchObject({ status: 400 })
    }
    models.server.answer(says('x', usage))
    await customer.client().chat.completions.create(QUESTION)
    expect(await spentOf(customer)).toBe(COST_MICRO)
  })
})

describe('[B10] how often a key may call', () => {
  test('a limit holds to the call over two gateways, and is said as OpenAI says it', async () => {
    const customer = await models.customer(1_000, { requests_per_minute: 5 })
    const other = await models.another()
    const first = await customer.client().chat.completions.create(QUESTION).withResponse()
    expect(first.response.headers.get('x-ratelimit-limit-requests')).toBe('5')
    expect(first.response.headers.get('x-ratelimit-remaining-requests')).toBe('4')
    expect(first.response.headers.get('x-ratelimit-reset-requests')).toMatch(/^\d+s$/)
    const clients = [customer.client(), customer.client({ baseURL: `${other.origin}/v1` })]
    const calls = await Promise.allSettled(
      Array.from({ length: 20 }, (_, at) => clients[at % 2]?.chat.completions.create(QUESTION)),
    )
    await other.stop()
    expect(calls.filter(({ status }) => status === 'fulfilled')).toHaveLength(4)
    const refused = await refusedOf(customer.client().chat.completions.create(QUESTION))
    expect(refused).toMatchObject({ status: 429, code: 'rate_limit_exceeded' })
    expect(headerOf(refused, 'x-ratelimit-limit-requests')).toBe('5')
    expect(headerOf(refused, 'x-ratelimit-remaining-requests')).toBe('0')
    expect(Number(headerOf(refused, 'retry-after'))).toBeGreaterThan(0)
    expect(headerOf(refused, 'x-should-retry')).toBeNull()
    expect(await callsOf(customer)).toHaveLength(5)
  })
})

describe('[B10] how many tokens a key may use in a minute', () => {
  const ask = (customer: ModelCustomer, max_tokens: number, baseURL?: string) =>
    customer
      .client(baseURL ? { baseURL } : {})
      .chat.completions.create({ ...QUESTION, max_tokens })
      .withResponse()

  test('a limit holds to the token over two gateways, by what was used, and is said as OpenAI says it', async () => {
    // A question of these counts as eight tokens and its longest answer until it is over, and then as 15.
    models.server.answer(says('x', { prompt_tokens: 5, completion_tokens: 10, total_tokens: 15 }))
    const customer = await models.customer(1_000, { tokens_per_minute: 100 })
    const other = await models.another()
    const { response } = await ask(customer, 50)
    expect(response.headers.get('x-ratelimit-limit-tokens')).toBe('100')
    expect(Number(response.headers.get('x-ratelimit-remaining-tokens'))).toBeLessThan(50)
    expect(response.headers.get('x-ratelimit-reset-tokens')).toMatch(/^\d+s$/)
    // What was set aside for it and not used is there again.
    for (let call = 1; call < 5; call++) await ask(customer, 15, `${other.origin}/v1`)
    const refused = await vi.waitFor(async () => {
      const one = await refusedOf(ask(customer, 50))
      // What a call did not use is counted back once its answer is out.
      expect(headerOf(one, 'x-ratelimit-remaining-tokens')).toBe('25')
      return one
    })
    await other.stop()
    expect(refused).toMatchObject({ status: 429, code: 'rate_limit_exceeded' })
    expect(headerOf(refused, 'x-ratelimit-limit-tokens')).toBe('100')
    expect(Number(headerOf(refused, 'retry-after'))).toBeGreaterThan(0)
    // What was refused has used nothing.
    await ask(customer, 10)
    expect(await callsOf(customer)).toHaveLength(6)
  })

  test('many calls at once pass no limit, and one that is larger than it is asked alone', async () => {
    models.server.answer(says('x', usage))
    const customer = await models.customer(1_000, { tokens_per_minute: 120 })
    const calls = await Promise.allSettled(Array.from({ length: 20 }, () => ask(customer, 100)))
    expect(calls.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    // What its answer had beyond counts too.
    await refusedOf(ask(customer, 1))
  })

  test('those of an account count together, whichever key and page they come from', async () => {
    const counts = createRateCounts({ db: models.gateway.database.db, clock: systemClock })
    const rates = createTokenRates(counts, { accountMax: 100 })
    const userId = randomUUID()
    const told: Record<string, string> = {}
    const [one, two, three] = [randomUUID(), randomUUID(), null].map(keyId =>
      rates.of({ userId, keyId, tokensPerMinute: null }, told),
    )
    await one?.onAsked?.(60)
    await expect(two?.onAsked?.(60)).rejects.toMatchObject({ code: 'too_many_requests' })
    expect(told).toMatchObject({ 'x-ratelimit-limit-tokens': '100', 'x-ratelimit-remaining-tokens': '40' })
    one?.onUsed?.(30)
    await two?.onAsked?.(60)
    await expect(three?.onAsked?.(11)).rejects.toMatchObject({ code: 'too_many_requests' })
    await rates.of({ userId: randomUUID(), keyId: null, tokensPerMinute: null }).onAsked?.(100)
  })
})

describe('[B3] [B10] a call with an Idempotency-Key', () => {
  const once = (key: string) => ({ headers: { 'Idempotency-Key': key } })

  test('is asked and charged once: again it says which call it was and what that has cost', async () => {
    const customer = await models.customer()
    const ask = (key: string, more: object = {}) =>
      customer.client().chat.completions.create({ ...QUESTION, ...more }, once(key))
    const { response } = await ask('first').withResponse()
    const callId = response.headers.get('x-berth-call')
    expect(response.headers.get('x-request-id')).toBe(callId)
    const again = await refusedOf(ask('first'))
    expect(again).toMatchObject({ status: 409, code: 'idempotent_replayed', requestID: callId })
    expect(headerOf(again, 'x-berth-call')).toBe(callId)
    expect(headerOf(again, 'x-berth-cost-micro')).toBe(String(COST_MICRO))
    expect(headerOf(again, 'x-should-retry')).toBe('false')
    expect(again.message).toContain('$0.000600')
    expect(await refusedOf(ask('first', { seed: 1 }))).toMatchObject({
      status: 409,
      code: 'idempotency_key_reused',
    })
    expect(models.server.asked).toHaveLength(1)
    expect(await spentOf(customer)).toBe(COST_MICRO)
    await ask('second')
    // Another key of the account has keys of its own, and a day later none is remembered.
    const { token } = customer
    const { key: apiKeyText } = await models.gateway.data(
      createApiKey,
      { body: { name: 'other' } },
      { token },
    )
    await customer.client({ apiKey: apiKeyText }).chat.completions.create(QUESTION, once('first'))
    expect(await spentOf(customer)).toBe(3n * COST_MICRO)
    aheadMs += DAY_MS
    await ask('first')
    expect(await spentOf(customer)).toBe(4n * COST_MICRO)
  })

  test('holds for pictures and vectors, too', async () => {
    const customer = await models.customer(1_000)
    const client = customer.client()
    const paint = () => client.images.generate({ model: 'drawn', prompt: 'a harbour' }, once('picture'))
    const embed = () => client.embeddings.create({ model: 'vectors', input: 'a harbour' }, once('vector'))
    for (const ask of [paint, embed]) {
      await ask()
      expect(await refusedOf(ask())).toMatchObject({ status: 409, code: 'idempotent_replayed' })
    }
    expect(await callsOf(customer)).toHaveLength(2)
  })

  test('many at once are asked once, and those that come meanwhile are told to wait', async () => {
    const customer = await models.customer()
    const late = Promise.withResolvers<void>()
    models.server.answer(async (response, asked) => {
      await late.promise
      await says('late', usage)(response, asked)
    })
    const calls = Array.from({ length: 20 }, () =>
      customer.client().chat.completions.create(QUESTION, once('race')),
    )
    const settled = Promise.allSettled(calls)
    await expect.poll(() => models.server.asked.length).toBe(1)
    const waiting = await refusedOf(customer.client().chat.completions.create(QUESTION, once('race')))
    expect(waiting).toMatchObject({ status: 409, code: 'idempotency_in_progress' })
    expect(headerOf(waiting, 'retry-after')).toBe('1')
    late.resolve()
    const answered = (await settled).filter(({ status }) => status === 'fulfilled')
    expect(answered).toHaveLength(1)
    expect(models.server.asked).toHaveLength(1)
    expect(await spentOf(customer)).toBe(COST_MICRO)
  })

  test('may be asked again where nothing was answered and nothing charged', async () => {
    const customer = await models.customer()
    models.server.answer(response => void response.destroy())
    const failed = await refusedOf(customer.client().chat.completions.create(QUESTION, once('again')))
    expect(failed.status).toBe(502)
    const [row] = await callsOf(customer)
    expect(failed.requestID).toBe(row?.id)
    models.server.answer(says('x', usage))
    await customer.client().chat.completions.create(QUESTION, once('again'))
    expect(await spentOf(customer)).toBe(COST_MICRO)

    models.server.answer(begins(['one '], 'breaks'))
    const stream = await customer
      .client()
      .chat.completions.create({ ...QUESTION, stream: true }, once('paid-in-part'))
    const read = async () => {
      for await (const _ of stream);
    }
    await expect(read()).rejects.toThrow()
    await expect
      .poll(async () => (await callsOf(customer)).map(({ status }) => status))
      .not.toContain('running')
    const paid = customer
      .client()
      .chat.completions.create({ ...QUESTION, stream: true }, once('paid-in-part'))
    expect(await refusedOf(paid)).toMatchObject({ code: 'idempotent_replayed' })
  })

  test('says so where it is no key, and leaves nothing of what was asked in the database', async () => {
    const customer = await models.customer()
    const refused = await refusedOf(
      customer.client().chat.completions.create(QUESTION, once('x'.repeat(201))),
    )
    expect(refused).toMatchObject({ status: 400, param: 'Idempotency-Key' })
    await customer.client().chat.completions.create(QUESTION, once('a-client-key'))
    const rows = JSON.stringify(await callsOf(customer), (_, value) =>
      typeof value === 'bigint' ? '' : value,
    )
    expect(rows).not.toContain('a-client-key')
    expect(rows).not.toContain('How are you')
  })
})
