import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import { chat, listModels } from '@berth/contract/models'
import { desc, eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { PATIENCE_MS } from '../../../scripts/test/patience-ms.ts'
import { modelCall } from '../src/domains/models/tables.ts'
import { at, hostedModel, PRICES } from './hosted-models.ts'
import { type ModelCustomer, type ModelGateway, startModelGateway } from './model-gateway.ts'
import type { ModelServerDouble } from './model-server.ts'
import type { TestGateway } from './start-gateway.ts'

/**
 * Goal: whatever a model's server does, a call ends, costs no more than was set aside, and holds nobody else up.
 * Method: a server does the worst that it can, and the official paths are gone through over HTTP.
 */

let models: ModelGateway
let gateway: TestGateway
let server: ModelServerDouble
let spare: ModelServerDouble
let customer: ModelCustomer

beforeAll(async () => {
  models = await startModelGateway({
    more: ({ server }) => [hostedModel('gift', { servers: [at(server)], free_calls_per_day: 1 })],
  })
  ;({ gateway, server, spare } = models)
})
afterAll(() => models.stop())
beforeEach(async () => {
  customer = await models.customer()
  server.asked.length = 0
  spare.asked.length = 0
})

const ask = (stream: boolean, model = 'one') =>
  fetch(`${gateway.origin}${GATEWAY_PREFIX}${chat.path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${customer.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'How are you?' }], stream }),
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
/** All that a call may cost: its body's bytes, and the longest answer. */
const MOST = 1_000n * PRICES.input + 100n * PRICES.output

type Answering = Parameters<ModelServerDouble['answer']>[0]
const streams =
  (...texts: string[]): Answering =>
  response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const text of texts) response.write(text)
    response.end()
  }
/** Sends the same for ever, as fast as it is read. */
const floods =
  (text: string): Answering =>
  response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const piece = Buffer.from(text)
    const write = () => {
      while (!response.destroyed && response.write(piece));
    }
    response.on('drain', write)
    write()
  }
const piece = (text: string) => `data: ${JSON.stringify({ choices: [{ delta: { content: text } }] })}\n\n`

describe('[B10] a server that', () => {
  test('sends millions of tiny events is cut off, pays for no more than was set aside, and holds nobody up', async () => {
    server.answer(floods(piece('a').repeat(1_000)))
    const answering = ask(true).then(response => response.text())
    await expect.poll(() => server.asked.length).toBe(1)
    const waits: number[] = []
    for (let times = 0; times < 5; times++) {
      const began = performance.now()
      await gateway.data(listModels, {})
      waits.push(performance.now() - began)
    }
    expect(Math.max(...waits)).toBeLessThan(PATIENCE_MS)
    expect(await answering).toContain('model_call_failed')
    await server.asked[0]?.left
    const row = await lastCall()
    expect(row).toMatchObject({ status: 'failed', outputTokens: 100 })
    expect(row?.costMicro).toBeLessThanOrEqual(MOST)
  })

  test('sends an event that never ends, or an answer that does not, is cut off', async () => {
    server.answer(floods('x'.repeat(65_536)))
    expect(await (await ask(true)).text()).toContain('model_call_failed')
    await server.asked[0]?.left
    expect(await lastCall()).toMatchObject({ status: 'failed', outputTokens: 0 })
    server.answer(floods(' '.repeat(65_536)))
    expect((await ask(false)).status).toBe(502)
    await server.asked[1]?.left
    expect(await lastCall()).toMatchObject({ status: 'failed', costMicro: 0n })
  })

  test('drips is read as it drips', async () => {
    server.answer(async response => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const byte of `${piece('slow')}data: [DONE]\n\n`) {
        response.write(byte)
        await new Promise(resolve => setImmediate(resolve))
      }
      response.end()
    })
    expect(await (await ask(true)).text()).toContain(piece('slow'))
    expect(await lastCall()).toMatchObject({ status: 'done', outputTokens: 1 })
  })

  test('sends what is no event, or ends in the midst of one, has said what it has said', async () => {
    server.answer(streams('data: {"choices":\n\n', 'nonsense\n\n', piece('good'), 'data: {"cho'))
    const text = await (await ask(true)).text()
    expect(text).toContain(piece('good'))
    expect(await lastCall()).toMatchObject({ status: 'done', outputTokens: 1 })
  })

  test.each([
    [{ prompt_tokens: -5, completion_tokens: 3 }],
    [{ prompt_tokens: '5', completion_tokens: 3 }],
    [{ prompt_tokens: 1e300, completion_tokens: 1e300 }],
    ['much'],
  ])('says that it used %j is not believed', async usage => {
    const said = `data: ${JSON.stringify({ choices: [], usage })}\n\n`
    server.answer(streams(piece('one'), piece('two'), said, 'data: [DONE]\n\n'))
    expect((await (await ask(true)).text()).endsWith('data: [DONE]\n\n')).toBe(true)
    const row = await lastCall()
    expect(row).toMatchObject({ status: 'done', outputTokens: 2 })
    expect(row?.costMicro).toBeLessThanOrEqual(MOST)
  })

  test('breaks off has given a call that costs nothing where a piece had come, and none where nothing had', async () => {
    const breaks =
      (...texts: string[]): Answering =>
      response => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.flushHeaders()
        for (const text of texts) response.write(text)
        setTimeout(() => response.destroy(), 50)
      }
    const isFree: unknown[] = []
    for (const texts of [[], [], [piece('one')], []]) {
      server.answer(breaks(...texts))
      expect(await (await ask(true, 'gift')).text()).toContain('model_call_failed')
      await expect.poll(async () => (await lastCall())?.status).toBe('failed')
      isFree.push((await lastCall())?.free)
    }
    expect(isFree).toEqual([true, true, true, false])
  })

  test('calls a function or a tool, or refuses, has said pieces of an answer', async () => {
    const delta = (part: object) => `data: ${JSON.stringify({ choices: [{ delta: part }] })}\n\n`
    const calls = [delta({ function_call: { name: 'look' } }), delta({ function_call: { arguments: '{}' } })]
    const tools = [delta({ tool_calls: [{ index: 0 }] }), delta({ tool_calls: [] })]
    const none = [delta({ function_call: null, tool_calls: null }), delta({ content: '' })]
    server.answer(streams(...calls, ...tools, ...none, delta({ refusal: 'No' }), 'data: [DONE]\n\n'))
    await (await ask(true)).text()
    expect(await lastCall()).toMatchObject({ status: 'done', outputTokens: 4 })
  })

  test('has too much to do is asked once, another one in its place; where all have, it is said when to ask again', async () => {
    const busy: Answering = response => void response.writeHead(429, { 'retry-after': '7' }).end('{}')
    server.answer(busy)
    const asked = async (model: string) => {
      const response = await ask(false, model)
      return { http: response.status, ...((await response.json()) as object) }
    }
    expect(await asked('two')).toMatchObject({ http: 200 })
    expect([server.asked.length, spare.asked.length]).toEqual([1, 1])
    expect(await asked('one')).toMatchObject({ http: 429, code: 'too_many_requests' })
    expect(await lastCall()).toMatchObject({ status: 'failed', costMicro: 0n })
  })

  test('hears within a moment that whoever asked has left', async () => {
    server.answer(response => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(piece('one'))
    })
    const leaving: number[] = []
    for (let times = 0; times < 5; times++) {
      const response = await ask(true)
      const reader = response.body?.getReader()
      await reader?.read()
      const leftAt = performance.now()
      await reader?.cancel()
      await server.asked.at(-1)?.left
      leaving.push(performance.now() - leftAt)
    }
    // The quickest: a machine that has little time holds some of them up.
    expect(Math.min(...leaving)).toBeLessThan(100)
  })
})
