import { createApiKey } from '@berth/contract/api-keys'
import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import { modelCostMicro } from '@berth/contract/model-cost'
import { chat, chatCost, listModels } from '@berth/contract/models'
import { desc, eq } from 'drizzle-orm'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { modelCall } from '../src/domains/models/tables.ts'
import { at, hostedModel, PRICES } from './hosted-models.ts'
import { type ModelCustomer, type ModelGateway, startModelGateway } from './model-gateway.ts'
import { begins, type ModelServerDouble, refuses, says } from './model-server.ts'
import type { TestGateway } from './start-gateway.ts'

let models: ModelGateway
let gateway: TestGateway
let server: ModelServerDouble
let customer: ModelCustomer

beforeAll(async () => {
  models = await startModelGateway({
    more: ({ server }) => [hostedModel('painter', { kind: 'image', servers: [at(server)] })],
  })
  ;({ gateway, server } = models)
})
afterAll(() => models.stop())
beforeEach(async () => {
  customer = await models.customer()
  server.asked.length = 0
})

const QUESTION = { model: 'one', messages: [{ role: 'user' as const, content: 'How are you?' }] }
const USAGE = {
  prompt_tokens: 20,
  completion_tokens: 3,
  total_tokens: 23,
  prompt_tokens_details: { cached_tokens: 8 },
}
const COST = 12n * PRICES.input + 8n * PRICES.cached + 3n * PRICES.output

/** Asks as the console does. */
const ask = (body: unknown, token: string | null = customer.token, headers: Record<string, string> = {}) =>
  fetch(`${gateway.origin}${GATEWAY_PREFIX}${chat.path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
const refused = async (response: Response) => ({
  http: response.status,
  ...((await response.json()) as { code: string; msg: string }),
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
const eventsOf = (text: string) =>
  text
    .split('\n\n')
    .filter(Boolean)
    .map(event => event.replace('data: ', ''))

describe('[R7.6] a chat by the session', () => {
  test('[R7.8] is answered as the model answers, with what it cost beside it', async () => {
    server.answer(says('Well, thanks', USAGE))
    const response = await ask(QUESTION)
    expect(await response.json()).toMatchObject({ choices: [{ message: { content: 'Well, thanks' } }] })
    expect(response.headers.get('x-berth-cost-micro')).toBe(String(COST))
    const row = await lastCall()
    expect(row).toMatchObject({ keyId: null, status: 'done', costMicro: COST })
    expect(response.headers.get('x-berth-call')).toBe(row?.id)
    const model = (await gateway.data(listModels, {})).find(({ id }) => id === 'one')
    if (!model) throw new Error('it is listed')
    const used = { inputTokens: 20, cachedTokens: 8, outputTokens: 3 }
    expect(modelCostMicro(model, used)).toBe(COST)
  })

  test('a stream says at its end what it cost, before the mark that clients end at, and only here', async () => {
    server.answer(says('one two', USAGE))
    const heard = eventsOf(await (await ask({ ...QUESTION, stream: true })).text())
    expect(heard.at(-1)).toBe('[DONE]')
    const last = JSON.parse(heard.at(-2) ?? '') as { choices: unknown[]; berth: unknown }
    expect(last.choices).toEqual([])
    expect(chatCost.parse(last.berth)).toEqual({
      call_id: (await lastCall())?.id,
      cost_micro: String(COST),
      input_tokens: 20,
      cached_tokens: 8,
      output_tokens: 3,
    })
    expect(heard.filter(event => event.includes('"usage"'))).toEqual([])

    // A client that knows nothing of it is not hurt.
    const client = new OpenAI({
      apiKey: customer.token,
      baseURL: `${gateway.origin}${GATEWAY_PREFIX}/api/model-verse`,
      maxRetries: 0,
      fetch: (url, init) => fetch(String(url).replace('/chat/completions', '/chat'), init),
    })
    let text = ''
    for await (const { choices } of await client.chat.completions.create({ ...QUESTION, stream: true })) {
      text += choices[0]?.delta.content ?? ''
    }
    expect(text).toBe('one two')

    const { key } = await gateway.data(createApiKey, { body: { name: 'x' } }, { token: customer.token })
    const byKey = await fetch(`${gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ ...QUESTION, stream: true }),
    })
    expect(await byKey.text()).not.toContain('berth')
  })

  test('a stream that breaks off says so, and what it cost', async () => {
    server.answer(begins(['one ', 'two '], 'breaks'))
    const heard = eventsOf(await (await ask({ ...QUESTION, stream: true })).text())
    expect(JSON.parse(heard.at(-2) ?? '')).toMatchObject({ error: { code: 'model_call_failed' } })
    expect(JSON.parse(heard.at(-1) ?? '')).toMatchObject({ berth: { output_tokens: 2 } })
    expect(await lastCall()).toMatchObject({ status: 'failed', outputTokens: 2 })
  })

  test('who leaves ends the answer at its server, and pays for what had come', async () => {
    server.answer(begins(['one ', 'two '], 'hangs'))
    const response = await ask({ ...QUESTION, stream: true })
    const reader = response.body?.getReader()
    await reader?.read()
    const leftAt = performance.now()
    await reader?.cancel()
    await server.asked[0]?.left
    expect(performance.now() - leftAt).toBeLessThan(1_000)
    await expect.poll(async () => (await lastCall())?.status).toBe('left')
    expect(await lastCall()).toMatchObject({ outputTokens: 2 })
  })

  test('[R8.1] [R7.8] what is refused comes in the envelope, in the language of whoever asks', async () => {
    server.answer(refuses(400, "This model's maximum context length is 1000 tokens."))
    expect(await refused(await ask(QUESTION))).toMatchObject({ http: 400, code: 'context_length_exceeded' })
    const numbers = "This model's maximum context length is 1000 tokens. However, you requested 1234 tokens."
    server.answer(refuses(400, numbers))
    expect(await refused(await ask(QUESTION))).toMatchObject({
      http: 400,
      code: 'context_length_over',
      msg: 'The answer exceeds the context length limit: 1234 tokens were asked of a model that takes 1000, 234 too many',
    })
    server.answer(refuses(400, 'No tools here.'))
    expect(await refused(await ask(QUESTION))).toMatchObject({
      http: 400,
      code: 'model_refused',
      msg: 'The model refused the call: No tools here.',
    })
    server.answer(refuses(401, 'their-key is wrong'))
    const failed = await refused(await ask(QUESTION))
    expect(failed).toMatchObject({ http: 502, code: 'model_call_failed' })
    expect(failed.msg).not.toContain('their-key')
    const answers = [
      [{ ...QUESTION, model: 'three' }, 404, 'model_unknown'],
      [{ ...QUESTION, model: 'painter' }, 400, 'model_kind'],
      [{ ...QUESTION, max_tokens: 101 }, 400, 'validation_failed'],
      ['{', 400, 'malformed_json'],
      [`{"model":"one","model":"two","messages":[{"role":"user"}]}`, 400, 'duplicate_key'],
      [`{"model":"one","messages":[{"role":"user"}],"x":${'['.repeat(100_000)}`, 400, 'validation_failed'],
    ] as const
    for (const [body, http, code] of answers) {
      expect(await refused(await ask(body)), code).toMatchObject({ http, code })
    }
    const korean = await refused(await ask('{', customer.token, { 'accept-language': 'ko' }))
    expect(korean.msg).toMatch(/[가-힣]/)
    const long = await refused(await ask('x'.repeat(5_000_000)))
    expect(long).toMatchObject({ http: 413, code: 'body_too_large' })
    const other = await refused(await ask('a=b', customer.token, { 'content-type': 'text/plain' }))
    expect(other).toMatchObject({ http: 415, code: 'unsupported_media_type' })
  })

  test('[R6.1] [R6.3] neither a guest nor an empty balance has one', async () => {
    expect(await refused(await ask(QUESTION, null))).toMatchObject({ http: 401, code: 'login_required' })
    const poor = await gateway.signUp()
    const answer = await refused(await ask(QUESTION, poor.token))
    expect(answer).toMatchObject({ http: 402, code: 'insufficient_balance' })
    expect(server.asked).toEqual([])
  })
})
