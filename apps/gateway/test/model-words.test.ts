import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import { chat } from '@berth/contract/models'
import { desc, eq } from 'drizzle-orm'
import type OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { modelCall } from '../src/domains/models/tables.ts'
import { at, hostedModel, PRICES } from './hosted-models.ts'
import { type ModelCustomer, type ModelGateway, startModelGateway } from './model-gateway.ts'
import { type ModelServerDouble, says } from './model-server.ts'
import { jpegHead, pngHead } from './picture-heads.ts'
import type { TestGateway } from './start-gateway.ts'

let models: ModelGateway
let gateway: TestGateway
let server: ModelServerDouble
let customer: ModelCustomer
let client: OpenAI

beforeAll(async () => {
  models = await startModelGateway({
    more: ({ server }) => {
      const servers = [at(server)]
      const types = ['image/png' as const, 'image/gif' as const, 'image/jpeg' as const]
      const image_input = { count_max: 2, bytes_max: 6_000_000, types }
      return [
        hostedModel('seer', { kind: 'multimodal', servers, image_input, context_tokens: 10_000 }),
        hostedModel('vectors', { kind: 'embedding', servers }),
      ]
    },
  })
  ;({ gateway, server } = models)
})
afterAll(() => models.stop())
beforeEach(async () => {
  customer = await models.customer()
  client = customer.client()
  server.asked.length = 0
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
const answers =
  (body: object): Parameters<ModelServerDouble['answer']>[0] =>
  response => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  }

describe('[R5.10] pictures in a chat', () => {
  const PNG = Buffer.concat([pngHead(1_024, 1_024), Buffer.alloc(4_000_000, 7)])
  const url = (bytes: Buffer, type = 'image/png') => `data:${type};base64,${bytes.toString('base64')}`
  const picture = (address: unknown) => ({ type: 'image_url', image_url: { url: address } })
  const asking = (model: string, ...content: object[]) => ({
    model,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'What is that?' }, ...content] }],
  })
  const ask = (body: object) =>
    fetch(`${gateway.origin}${GATEWAY_PREFIX}${chat.path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${customer.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })

  test('[R7.6] reach the server as they came, and are charged as it counts them', async () => {
    server.answer(says('A harbour', { prompt_tokens: 1_500, completion_tokens: 2, total_tokens: 1_502 }))
    const body = asking(
      'seer',
      picture(url(PNG)),
      picture(url(Buffer.from('474946383961 8002 e001'.replaceAll(' ', ''), 'hex'), 'image/gif')),
    )
    const response = await ask(body)
    expect(response.status).toBe(200)
    expect(server.asked[0]?.body.messages).toEqual(body.messages)
    expect(await lastCall()).toMatchObject({
      inputTokens: 1_500,
      costMicro: 1_500n * PRICES.input + 2n * PRICES.output,
    })
  })

  test('where the server does not count, a picture counts by its pixels', async () => {
    server.answer(says('A harbour', null))
    expect((await ask(asking('seer', picture(url(PNG))))).status).toBe(200)
    const { inputTokens } = (await lastCall()) ?? { inputTokens: 0 }
    expect(inputTokens).toBeGreaterThan(1_338)
    expect(inputTokens).toBeLessThan(1_438)
  })

  test('too many, too large, of too many pixels, of another type, by address, or to a model of words alone are refused', async () => {
    const small = picture(url(Buffer.concat([pngHead(8, 8), Buffer.alloc(100)])))
    const large = Buffer.concat([PNG, Buffer.alloc(2_100_000)])
    const bad: [object, string][] = [
      [asking('seer', small, small, small), 'pictures_over'],
      [asking('seer', picture(url(large))), 'picture_too_large'],
      [asking('seer', picture(url(PNG, 'image/gif'))), 'picture_type'],
      [asking('seer', picture(url(pngHead(8_001, 10_000)))), 'picture_pixels'],
      [asking('seer', picture(url(pngHead(8, 8).subarray(0, 20)))), 'picture_pixels'],
      [asking('seer', picture(url(jpegHead(30_000, 30_000, 20), 'image/jpeg'))), 'picture_pixels'],
      [asking('seer', picture(url(PNG, 'image/svg+xml'))), 'picture_type'],
      [asking('seer', picture('http://169.254.169.254/latest')), 'picture_address'],
      [asking('seer', picture(7)), 'picture_address'],
      [asking('seer', { type: 'video_url', video_url: { url: 'http://10.0.0.1/' } }), 'not_allowed'],
      [asking('one', small), 'not_allowed'],
    ]
    for (const [body, rule] of bad) {
      const { code, fields } = (await (await ask(body)).json()) as {
        code: string
        fields: { rule: string }[]
      }
      expect({ code, rules: fields.map(one => one.rule) }).toEqual({
        code: 'validation_failed',
        rules: [rule],
      })
    }
    expect(server.asked).toEqual([])
    expect(await lastCall()).toBeUndefined()
  })

  test('[R6.4] content is text or a list of parts, and a part has nothing but its own', async () => {
    const small = picture(url(Buffer.concat([pngHead(8, 8), Buffer.alloc(100)])))
    const text = { type: 'text', text: 'x' }
    const address = { url: 'http://169.254.169.254/latest' }
    const bad: unknown[] = [
      { type: 'image_url', image_url: address },
      small,
      7,
      ['x'],
      [{ ...text, image_url: address }],
      [{ ...text, video_url: address }],
      [{ ...text, input_audio: { data: 'x' } }],
      [{ ...text, file: { file_data: 'x' } }],
      [{ ...small, video_url: address }],
      [{ type: 'image_url', image_url: { ...small.image_url, uri: address.url } }],
      [{ type: 'text', text: address }],
    ]
    for (const content of bad) {
      const response = await ask({ model: 'seer', messages: [{ role: 'user', content }] })
      const { code, fields } = (await response.json()) as { code: string; fields: { path: string }[] }
      expect(code, JSON.stringify(content)).toBe('validation_failed')
      expect(fields[0]?.path).toMatch(/^messages\.0\.content/)
    }
    expect(server.asked).toEqual([])
    server.answer(says('Good'))
    for (const content of ['x', null, [text, small]]) {
      expect((await ask({ model: 'seer', messages: [{ role: 'user', content }] })).status).toBe(200)
    }
  })

  test('words are held to 4 MB, however they are spread', async () => {
    const long = { type: 'text', text: 'x'.repeat(2_200_000) }
    const { code } = (await (await ask(asking('seer', long, long))).json()) as { code: string }
    expect(code).toBe('body_too_large')
    server.answer(says('Much'))
    expect((await ask(asking('seer', long))).status).toBe(200)
    expect(server.asked[0]?.body).toMatchObject({ messages: [{ content: [{}, long] }] })
  })
})

describe('[B10] fields of a question', () => {
  const ask = (path: string, body: object) =>
    fetch(`${client.baseURL}/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${client.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const messages = [{ role: 'user', content: 'x' }]

  test('[R6.4] that we do not know are refused by their names, wherever they stand', async () => {
    const address = 'http://169.254.169.254/'
    const unknown = {
      ...{ n_predict: 9e9, max_new_tokens: 9e9, max_length: 9e9, min_tokens: 9e9, n_cmpl: 9, best_of: 9 },
      ...{
        api_base: address,
        base_url: address,
        api_key: 'x',
        fallbacks: ['x'],
        extra_body: {},
        options: {},
      },
      ...{ service_tier: 'priority', priority: 1, num_retries: 9, mock_response: 'x', documents: [] },
      ...{ custom_llm_provider: 'x', web_search_options: {}, audio: {}, chat_template: '{{ x }}' },
    }
    const paramOf = async (path: string, body: object) => {
      const response = await ask(path, body)
      const { error } = (await response.json()) as { error: { param: string } }
      return [response.status, error.param]
    }
    for (const [name, value] of Object.entries(unknown)) {
      expect(await paramOf('chat/completions', { model: 'one', messages, [name]: value })).toEqual([
        400,
        name,
      ])
      if (name === 'best_of') continue
      expect(await paramOf('completions', { model: 'one', prompt: 'x', [name]: value })).toEqual([400, name])
    }
    const images = { role: 'user', content: 'x', images: [address] }
    expect(await paramOf('chat/completions', { model: 'one', messages: [images] })).toEqual([
      400,
      'messages.0.images',
    ])
    const tools = [{ type: 'mcp', server_url: address }]
    expect(await paramOf('chat/completions', { model: 'one', messages, tools })).toEqual([400, 'tools'])
    expect(server.asked).toEqual([])
  })

  test('that clients send are passed on as they came, but for what no server is to keep', async () => {
    server.answer(says('Good'))
    const kept = {
      ...{ seed: 7, stop: ['x'], user: 'me', top_k: 5, min_p: 0.1, repetition_penalty: 1.1, logprobs: true },
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } },
      tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }],
      ...{ tool_choice: 'auto', reasoning_effort: 'low', chat_template_kwargs: { enable_thinking: false } },
    }
    // An answer as official clients give it, sent back as it is.
    const call = { id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }
    const answer = { role: 'assistant', content: null, refusal: null, tool_calls: [call] }
    const result = { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'a harbour' }] }
    const response = await ask('chat/completions', {
      ...{ model: 'one', messages: [...messages, { ...answer, audio: null, annotations: [] }, result] },
      ...{ ...kept, store: true, metadata: { a: 'b' }, max_tokens: null },
    })
    expect(response.status).toBe(200)
    const sent = { ...kept, model: 'theirs', max_tokens: 100 }
    expect(server.asked[0]?.body).toEqual({
      ...sent,
      messages: [...messages, { ...answer, audio: null }, result],
    })
  })
})

describe('[B10] texts that are gone on with', () => {
  test('come whole and as a stream, by the official client, with the protocol’s own sixteen tokens', async () => {
    server.answer(
      answers({ choices: [{ text: ' upon a time' }], usage: { prompt_tokens: 1, completion_tokens: 3 } }),
    )
    const { choices } = await client.completions.create({ model: 'one', prompt: 'Once' })
    expect(choices[0]?.text).toBe(' upon a time')
    expect(server.asked[0]).toMatchObject({
      url: '/v1/completions',
      body: { model: 'theirs', prompt: 'Once', max_tokens: 16 },
    })
    expect(await lastCall()).toMatchObject({ costMicro: PRICES.input + 3n * PRICES.output })
    let text = ''
    const stream = await client.completions.create({
      model: 'berth/demo-chat',
      prompt: ['Once', 'Twice'],
      max_tokens: 5,
      stream: true,
    })
    for await (const chunk of stream) text += chunk.choices[0]?.text ?? ''
    expect(text).toBe('No model is connected to')
    await expect(client.completions.create({ model: 'one', prompt: [] })).rejects.toMatchObject({
      status: 400,
    })
    await expect(client.completions.create({ model: 'vectors', prompt: 'x' })).rejects.toMatchObject({
      code: 'model_kind',
    })
  })

  test('each of several is paid for, and none beyond what was set aside', async () => {
    const usage = { prompt_tokens: 1_000_000, completion_tokens: 1_000_000 }
    server.answer(answers({ choices: [{ text: 'x' }], usage }))
    await client.completions.create({ model: 'one', prompt: ['a', 'b', 'c'], max_tokens: 7, n: 2 })
    expect(await lastCall()).toMatchObject({ outputTokens: 3 * 2 * 7 })
  })
})

describe('[B10] vectors', () => {
  test('come as the server gives them, and are paid for by what was asked', async () => {
    const data = [{ object: 'embedding', index: 0, embedding: [0.6, 0.8] }]
    server.answer(
      answers({ object: 'list', data, model: 'theirs', usage: { prompt_tokens: 9, total_tokens: 9 } }),
    )
    const made = await client.embeddings.create({
      model: 'vectors',
      input: 'a harbour',
      encoding_format: 'float',
    })
    expect(made.data).toEqual(data)
    expect(server.asked[0]).toMatchObject({
      url: '/v1/embeddings',
      body: { model: 'theirs', input: 'a harbour' },
    })
    expect(await lastCall()).toMatchObject({ status: 'done', inputTokens: 9, costMicro: 9n * PRICES.input })
    server.answer(answers({ object: 'list', data }))
    await client.embeddings.create({ model: 'vectors', input: 'a harbour', encoding_format: 'float' })
    expect((await lastCall())?.inputTokens).toBe(3)
    await expect(client.embeddings.create({ model: 'one', input: 'x' })).rejects.toMatchObject({
      code: 'model_kind',
    })
    const besides = { messages: [{ role: 'user', content: 'look at http://169.254.169.254/' }] }
    const both = { model: 'vectors', input: 'x', ...besides }
    await expect(client.embeddings.create(both)).rejects.toMatchObject({ status: 400 })
    await expect(client.embeddings.create({ model: 'vectors', input: '' })).rejects.toMatchObject({
      status: 400,
    })
  })

  test('of the demo have length one, are the same for the same text, and nearer for texts that share words', async () => {
    const of = async (...input: string[]) =>
      (await client.embeddings.create({ model: 'berth/demo-embedding', input })).data.map(
        one => one.embedding,
      )
    const [boats, ships, tax, again] = await of('red boats', 'red ships', 'income tax', 'red boats')
    const dot = (a: number[] = [], b: number[] = []) => a.reduce((sum, one, i) => sum + one * (b[i] ?? 0), 0)
    expect(boats).toEqual(again)
    expect(dot(boats, boats)).toBeCloseTo(1, 4)
    expect(dot(boats, ships)).toBeGreaterThan(dot(boats, tax) + 0.2)
  })
})
