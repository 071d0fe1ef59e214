import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { createApiKey } from '@berth/contract/api-keys'
import { getBalance, listTransactions } from '@berth/contract/billing'
import { listModels } from '@berth/contract/models'
import { listSessionLog } from '@berth/contract/session-log'
import { and, desc, eq, isNull, sql } from 'drizzle-orm'
import OpenAI, {
  type APIError,
  AuthenticationError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { walletHold } from '../src/domains/billing/ledger/tables.ts'
import { modelCall } from '../src/domains/models/tables.ts'
import { gateway as gatewayRow } from '../src/platform/gateways/tables.ts'
import { PRICES } from './hosted-models.ts'
import {
  ANSWER_MAX,
  type ModelCustomer,
  type ModelGateway,
  QUESTION,
  startModelGateway,
} from './model-gateway.ts'
import { begins, type ModelServerDouble, refuses, says } from './model-server.ts'
import type { TestGateway } from './start-gateway.ts'

const CONTEXT = 1_000

let models: ModelGateway
let gateway: TestGateway
let server: ModelServerDouble
let spare: ModelServerDouble
let customer: ModelCustomer
let client: OpenAI
let key: string

beforeAll(async () => {
  // Each call's own row is looked at; those of who calls often come together (model-allowances.test.ts).
  models = await startModelGateway({ oftenCalls: Number.POSITIVE_INFINITY })
  ;({ gateway, server, spare } = models)
})
afterAll(() => models.stop())
beforeEach(async () => {
  customer = await models.customer()
  key = customer.key
  client = customer.client()
  for (const one of [server, spare]) {
    one.asked.length = 0
    one.answer(says('Hello'))
  }
})

const lastCall = async () => {
  const [row] = await gateway.database.db
    .select()
    .from(modelCall)
    .where(eq(modelCall.userId, customer.userId))
    .orderBy(desc(modelCall.startedAt), desc(modelCall.id))
    .limit(1)
  return row
}
const openHolds = () =>
  gateway.database.db
    .select()
    .from(walletHold)
    .where(and(eq(walletHold.userId, customer.userId), isNull(walletHold.releasedAt)))

/** Until the last call has ended and nothing is set aside. */
async function settled(): Promise<NonNullable<Awaited<ReturnType<typeof lastCall>>>> {
  await expect.poll(async () => (await lastCall())?.status).not.toBe('running')
  const row = await lastCall()
  if (!row) throw new Error('no call was made')
  expect(await openHolds()).toEqual([])
  return row
}

describe('[B10] /v1', () => {
  test('lists models to guests of the console, and to clients with a key', async () => {
    const listed = await gateway.data(listModels, {})
    expect(listed.find(({ id }) => id === 'one')).toMatchObject({
      demo: false,
      input_micro_per_million: '2000000',
    })
    expect(listed.find(({ id }) => id === 'berth/demo-chat')).toMatchObject({ demo: true })
    const ids: string[] = []
    for await (const { id } of client.models.list()) ids.push(id)
    expect(ids).toEqual(listed.map(({ id }) => id))
  })

  test('an answer is passed on as it is, charged by what was used, and told in the log of calls', async () => {
    server.answer(
      says('Well, thanks', {
        prompt_tokens: 20,
        completion_tokens: 4,
        total_tokens: 24,
        prompt_tokens_details: { cached_tokens: 8 },
      }),
    )
    const { data, response } = await client.chat.completions
      .create({ ...QUESTION, max_tokens: 50, seed: 7 })
      .withResponse()
    expect(data.choices[0]?.message.content).toBe('Well, thanks')
    const [asked] = server.asked
    expect(asked).toMatchObject({ url: '/v1/chat/completions', authorization: 'Bearer their-key' })
    expect(asked?.body).toMatchObject({
      model: 'theirs',
      messages: QUESTION.messages,
      max_tokens: 50,
      seed: 7,
    })
    const cost = 12n * PRICES.input + 8n * PRICES.cached + 4n * PRICES.output
    expect(response.headers.get('x-berth-cost-micro')).toBe(String(cost))
    const row = await settled()
    expect(row).toMatchObject({
      id: response.headers.get('x-berth-call'),
      status: 'done',
      modelId: 'one',
      inputTokens: 20,
      cachedTokens: 8,
      outputTokens: 4,
      costMicro: cost,
    })
    const { items } = await gateway.data(
      listTransactions,
      { query: { type: 'usage' } },
      { token: customer.token },
    )
    expect(items).toMatchObject([
      {
        amount_micro: String(-cost),
        about: { usage: 'model', model_name: 'one', rate_micro_per_hour: null },
      },
    ])
  })

  test('a stream comes piece by piece; what was used at its end only where it was asked for', async () => {
    server.answer(says('one two three', { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 }))
    const heard = async (more: object = {}) => {
      const pieces: string[] = []
      let usage: unknown = null
      const stream = await client.chat.completions.create({ ...QUESTION, ...more, stream: true })
      for await (const chunk of stream) {
        pieces.push(chunk.choices[0]?.delta.content ?? '')
        usage = chunk.usage ?? usage
      }
      return { text: pieces.join(''), usage }
    }
    expect(await heard()).toEqual({ text: 'one two three', usage: null })
    expect(server.asked[0]?.body).toMatchObject({
      stream_options: { include_usage: true },
      max_tokens: ANSWER_MAX,
    })
    expect(await settled()).toMatchObject({
      status: 'done',
      inputTokens: 10,
      outputTokens: 3,
      streamed: true,
    })
    expect(await heard({ stream_options: { include_usage: true } })).toMatchObject({
      text: 'one two three',
      usage: { prompt_tokens: 10 },
    })
  })

  test('where a server does not say what was used, it is counted, and never beyond what was set aside', async () => {
    server.answer(says('a b c d', null))
    await (await client.chat.completions.create({ ...QUESTION, stream: true })).toReadableStream().cancel()
    await settled()
    for await (const _ of await client.chat.completions.create({ ...QUESTION, stream: true }));
    expect(await settled()).toMatchObject({ status: 'done', outputTokens: 4 })
    server.answer(says('x', { prompt_tokens: 1e9, completion_tokens: 1e9, total_tokens: 2e9 }))
    await client.chat.completions.create({ ...QUESTION, max_tokens: 10 })
    const { inputTokens, outputTokens } = await settled()
    expect(outputTokens).toBe(10)
    expect(inputTokens).toBeLessThan(CONTEXT)
  })

  test('who leaves ends the answer at its server, and pays for what had come', async () => {
    server.answer(begins(['one ', 'two '], 'hangs'))
    const stream = await client.chat.completions.create({ ...QUESTION, stream: true })
    let heard = 0
    for await (const _ of stream) {
      heard += 1
      if (heard === 3) break
    }
    await server.asked[0]?.left
    expect(await settled()).toMatchObject({ outputTokens: 2, costMicro: expect.any(BigInt) })
  })

  test('of what is left it is estimated what its words had, and the log says that; what a server says at first is believed', async () => {
    const escaped = { ...QUESTION, messages: [{ role: 'user' as const, content: '"\n\\'.repeat(40) }] }
    const leave = async () => {
      for await (const { choices } of await client.chat.completions.create({ ...escaped, stream: true }))
        if (choices[0]?.delta.content === 'two ') break
      return await settled()
    }
    server.answer(begins(['one ', 'two '], 'hangs'))
    // 120 letters and what a message has around them; as JSON they are twice as many.
    expect(await leave()).toMatchObject({ status: 'left', inputTokens: 34, outputTokens: 2, estimated: true })
    server.answer(begins(['one ', 'two '], 'hangs', { prompt_tokens: 77, completion_tokens: 0 }))
    expect(await leave()).toMatchObject({ inputTokens: 77, outputTokens: 2, estimated: true })
    server.answer(says('one two '))
    for await (const _ of await client.chat.completions.create({ ...escaped, stream: true }));
    expect(await settled()).toMatchObject({ status: 'done', inputTokens: 12, estimated: false })
    const { items } = await gateway.data(listSessionLog, { query: {} }, { token: customer.token })
    expect(items.map(({ estimated }) => estimated)).toEqual([false, true, true])
  })

  test('who leaves before the first byte pays nothing', async () => {
    server.answer(() => undefined)
    const leaving = new AbortController()
    const asking = client.chat.completions.create(QUESTION, { signal: leaving.signal })
    await expect.poll(() => server.asked.length).toBe(1)
    leaving.abort()
    await expect(asking).rejects.toThrow()
    await server.asked[0]?.left
    expect(await settled()).toMatchObject({ status: 'left', costMicro: 0n })
  })

  test('an answer that breaks off says so in the stream, and what had come is paid', async () => {
    server.answer(begins(['one ', 'two ', 'three '], 'breaks'))
    const stream = await client.chat.completions.create({ ...QUESTION, stream: true })
    const read = async () => {
      for await (const _ of stream);
    }
    await expect(read()).rejects.toThrow('The model call failed')
    expect(await settled()).toMatchObject({ status: 'failed', outputTokens: 3 })
  })

  test('another server is asked where one fails before its first byte', async () => {
    server.answer(refuses(503, 'busy'))
    spare.answer(says('from the spare one'))
    const { choices } = await client.chat.completions.create({ ...QUESTION, model: 'two' })
    expect(choices[0]?.message.content).toBe('from the spare one')
    expect(server.asked).toHaveLength(2)
    expect(spare.asked).toHaveLength(1)
    await settled()
    spare.answer(response => void response.destroy())
    const failing = client.chat.completions.create({ ...QUESTION, model: 'two' })
    await expect(failing).rejects.toBeInstanceOf(InternalServerError)
    expect(await settled()).toMatchObject({ status: 'failed', costMicro: 0n })
  })

  test('what a server refuses of a question is passed on in its words; what it refuses of our key is not', async () => {
    server.answer(refuses(400, 'This model has 1000 tokens of context.'))
    await expect(client.chat.completions.create(QUESTION)).rejects.toThrow(
      'This model has 1000 tokens of context.',
    )
    expect(await settled()).toMatchObject({ status: 'failed', costMicro: 0n })
    server.answer(refuses(400, 'wrong at http://10.0.0.7:8000/v1\u0000 with sk-secret-1234567890'))
    const told = await client.chat.completions.create(QUESTION).catch((error: APIError) => error)
    expect(told).toMatchObject({ status: 400, error: { message: 'wrong at … with …' } })
    server.answer(refuses(401, 'their-key is wrong'))
    const refused = await client.chat.completions.create(QUESTION).catch((error: APIError) => error)
    expect(refused).toMatchObject({ status: 502 })
    expect(String(refused)).not.toContain('their-key')
  })

  test('any number of calls at once spend no more than there is', async () => {
    const poor = await gateway.signUp()
    await gateway.grant(poor.userId, 1)
    const made = await gateway.data(createApiKey, { body: { name: 'test' } }, { token: poor.token })
    const theirs = new OpenAI({ apiKey: made.key, baseURL: `${gateway.origin}/v1`, maxRetries: 0 })
    // Each of them sets aside some 700 micro-units of the 10,000 that there are.
    server.answer(
      says('x '.repeat(ANSWER_MAX), { prompt_tokens: 100, completion_tokens: ANSWER_MAX, total_tokens: 200 }),
    )
    const calls = await Promise.allSettled(
      Array.from({ length: 40 }, () => theirs.chat.completions.create(QUESTION)),
    )
    const refused = calls.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
    expect(refused.length).toBeGreaterThan(0)
    for (const { reason } of refused) {
      expect(reason).toBeInstanceOf(RateLimitError)
      expect(reason).toMatchObject({ code: 'insufficient_quota' })
    }
    const rows = await gateway.database.db.select().from(modelCall).where(eq(modelCall.userId, poor.userId))
    const spent = rows.reduce((sum, { costMicro }) => sum + costMicro, 0n)
    expect(spent).toBeLessThanOrEqual(10_000n)
    const { account_balance } = await gateway.data(getBalance, {}, { token: poor.token })
    expect(account_balance.amount_available).toBeGreaterThanOrEqual(0)
    const { items } = await gateway.data(
      listTransactions,
      { query: { type: 'usage', page_size: 100 } },
      { token: poor.token },
    )
    expect(items.reduce((sum, one) => sum - BigInt(one.amount_micro), 0n)).toBe(spent)
  })

  test('[R3.8] credits for models alone are spent first, and by one call at a time', async () => {
    const { userId, token } = await gateway.signUp()
    await gateway.database.db.transaction(tx =>
      gateway.gateway.billing.grantCredit(tx, {
        id: crypto.randomUUID(),
        userId,
        amountMicro: 2_000n,
        kind: 'free',
        reason: 'test',
        modelsOnly: true,
      }),
    )
    const made = await gateway.data(createApiKey, { body: { name: 'test' } }, { token })
    const theirs = new OpenAI({ apiKey: made.key, baseURL: `${gateway.origin}/v1`, maxRetries: 0 })
    server.answer(says('x', { prompt_tokens: 100, completion_tokens: 100, total_tokens: 200 }))
    const calls = await Promise.allSettled(
      Array.from({ length: 10 }, () => theirs.chat.completions.create(QUESTION)),
    )
    expect(calls.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0)
    expect(calls.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0)
    const rows = await gateway.database.db.select().from(modelCall).where(eq(modelCall.userId, userId))
    expect(rows.reduce((sum, { costMicro }) => sum + costMicro, 0n)).toBeLessThanOrEqual(2_000n)
    const { items } = await gateway.data(listTransactions, { query: { type: 'usage' } }, { token })
    expect(items.reduce((sum, one) => sum - BigInt(one.bonus_amount_micro), 0n)).toBe(
      rows.reduce((sum, { costMicro }) => sum + costMicro, 0n),
    )
  })

  test('[R6.4] what is no key, or asks for what is not there, is refused as clients know it', async () => {
    const wrong = new OpenAI({
      apiKey: `${key.slice(0, -1)}!`,
      baseURL: `${gateway.origin}/v1`,
      maxRetries: 0,
    })
    await expect(wrong.models.list()).rejects.toBeInstanceOf(AuthenticationError)
    const unknown = client.chat.completions.create({ ...QUESTION, model: 'three' })
    await expect(unknown).rejects.toBeInstanceOf(NotFoundError)
    const raw = (body: string, headers: Record<string, string> = {}) =>
      fetch(`${gateway.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        body,
      })
    const said = async (response: Response) => ({
      status: response.status,
      ...((await response.json()) as object),
    })
    expect(await said(await raw('{'))).toMatchObject({ status: 400, error: { code: 'malformed_json' } })
    const bad: object[] = [
      { messages: [] },
      { messages: 'x' },
      { max_tokens: 0 },
      { max_tokens: 1.5 },
      { max_tokens: ANSWER_MAX + 1 },
      { n: 1_000 },
      { temperature: 3 },
      { stream: 'yes' },
    ]
    for (const part of bad) {
      const answer = await said(await raw(JSON.stringify({ ...QUESTION, ...part })))
      expect(answer, JSON.stringify(part)).toMatchObject({
        status: 400,
        error: { type: 'invalid_request_error', param: Object.keys(part)[0] },
      })
    }
    const korean = await raw('{', { 'accept-language': 'ko' })
    expect(await korean.text()).toMatch(/[가-힣]/)
    expect(server.asked).toHaveLength(0)
    expect(await lastCall()).toBeUndefined()
  })

  test('[R6.4] what is too long, and what there is none of, is refused as clients know it, too', async () => {
    const ask = async (path: string, body: string, authorization = `Bearer ${key}`) => {
      const response = await fetch(`${gateway.origin}/v1/${path}`, {
        method: 'POST',
        headers: { authorization },
        body,
      })
      return { status: response.status, ...((await response.json()) as object) }
    }
    const type = 'invalid_request_error'
    const long = await ask('chat/completions', 'x'.repeat(5_000_000))
    expect(long).toMatchObject({ status: 413, error: { type, code: 'body_too_large' } })
    expect(await ask('audio/speech', '{}')).toMatchObject({ status: 404, error: { type, code: 'not_found' } })
    expect(await ask('audio/speech', '{}', '')).toMatchObject({ status: 401 })
    // Nothing of a long body is read of who has no key.
    expect(await ask('chat/completions', 'x'.repeat(60_000_000), '')).toMatchObject({ status: 401 })
  })

  test('who is gone before the answer is read leaves nothing set aside, and no place taken', async () => {
    server.answer(begins(['one '], 'hangs'))
    const text = Buffer.from(JSON.stringify({ ...QUESTION, stream: true }))
    const leaving = new AbortController()
    const caller = { userId: customer.userId, keyId: null }
    const reply = await gateway.gateway.models.chat.chat(caller, { text, signal: leaving.signal })
    leaving.abort()
    if (reply.body instanceof Readable) reply.body.destroy()
    expect(await settled()).toMatchObject({ status: 'left', costMicro: 0n })
  })

  test('without a server, the demo answers by the same protocol and says that it is none', async () => {
    const stream = await client.chat.completions.create({
      model: 'berth/demo-chat',
      messages: QUESTION.messages,
      max_tokens: 5,
      stream: true,
    })
    let text = ''
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    expect(text).toBe('No model is connected to')
    expect(await settled()).toMatchObject({ outputTokens: 5 })
  })

  test('a call that is given up as lost gives back what was set aside, and costs nothing though it ends after all', async () => {
    const late = Promise.withResolvers<void>()
    server.answer(async (response, asked) => {
      await late.promise
      await says('late')(response, asked)
    })
    const asking = client.chat.completions.create(QUESTION)
    await expect.poll(async () => (await openHolds()).length).toBe(1)
    await gateway.database.db
      .update(modelCall)
      .set({ startedAt: new Date(Date.now() - 7_200_000) })
      .where(eq(modelCall.userId, customer.userId))
    await gateway.gateway.models.endLost(new AbortController().signal)
    expect(await lastCall()).toMatchObject({ status: 'lost', costMicro: 0n })
    expect(await openHolds()).toEqual([])
    late.resolve()
    await asking
    expect(await lastCall()).toMatchObject({ status: 'lost', costMicro: 0n })
    const { items } = await gateway.data(
      listTransactions,
      { query: { type: 'usage' } },
      { token: customer.token },
    )
    expect(items).toEqual([])
  })

  test('what a gateway has set aside that was killed is there again within minutes, and nothing of one that lives', async () => {
    const { db } = gateway.database
    const asking = new AbortController()
    server.answer(() => undefined)
    const call = client.chat.completions.create(QUESTION, { signal: asking.signal }).catch(() => null)
    await expect.poll(async () => (await openHolds()).length).toBe(1)
    const endLost = () => gateway.gateway.models.endLost(new AbortController().signal)
    // As if another gateway had begun it, which lives, then is not heard of for a while, then for longer.
    const id = randomUUID()
    const seenAgo = (seconds: number) => sql`now() - make_interval(secs => ${seconds})`
    await db.insert(gatewayRow).values({ id, address: '127.0.0.1:1', seenUntil: seenAgo(-10) })
    await db.update(modelCall).set({ gatewayId: id }).where(eq(modelCall.userId, customer.userId))
    for (const seconds of [-10, 30]) {
      await db
        .update(gatewayRow)
        .set({ seenUntil: seenAgo(seconds) })
        .where(eq(gatewayRow.id, id))
      await endLost()
      expect(await lastCall()).toMatchObject({ status: 'running' })
    }
    await db
      .update(gatewayRow)
      .set({ seenUntil: seenAgo(61) })
      .where(eq(gatewayRow.id, id))
    await endLost()
    expect(await lastCall()).toMatchObject({ status: 'lost', costMicro: 0n })
    expect(await openHolds()).toEqual([])
    asking.abort()
    await call
  })
})
