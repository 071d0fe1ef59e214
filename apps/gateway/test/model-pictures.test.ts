import { createHash } from 'node:crypto'
import { listTransactions } from '@berth/contract/billing'
import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import { generateImage } from '@berth/contract/models'
import { and, desc, eq, isNull } from 'drizzle-orm'
import { decode, encode } from 'fast-png'
import type OpenAI from 'openai'
import { toFile } from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { walletHold } from '../src/domains/billing/ledger/tables.ts'
import { modelCall } from '../src/domains/models/tables.ts'
import { at, hostedModel, PRICES } from './hosted-models.ts'
import { type ModelCustomer, type ModelGateway, startModelGateway } from './model-gateway.ts'
import { type ModelServerDouble, refuses } from './model-server.ts'
import { pngHead } from './picture-heads.ts'
import type { TestGateway } from './start-gateway.ts'

let models: ModelGateway
let gateway: TestGateway
let server: ModelServerDouble
let customer: ModelCustomer
let client: OpenAI

beforeAll(async () => {
  models = await startModelGateway({
    // Each call's own row is looked at.
    oftenCalls: Number.POSITIVE_INFINITY,
    more: ({ server }) => {
      const servers = [at(server)]
      const image_input = { count_max: 1, bytes_max: 40_000_000, types: ['image/png' as const] }
      return [
        hostedModel('painter', { kind: 'image', servers, image_input }),
        hostedModel('plain', { kind: 'image', servers }),
        hostedModel('drawn', { kind: 'image', free_calls_per_day: 2 }),
        hostedModel('drawn-too', { kind: 'image', free_calls_per_day: 1 }),
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

const paints =
  (...pictures: object[]): Parameters<ModelServerDouble['answer']>[0] =>
  response => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ created: 1, data: pictures }))
  }
const ask = (body: unknown, token = customer.token) =>
  fetch(`${gateway.origin}${GATEWAY_PREFIX}${generateImage.path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      ...(!(body instanceof FormData) && { 'content-type': 'application/json' }),
    },
    body: body instanceof FormData ? body : JSON.stringify(body),
  })
const lastCall = async () => {
  const [row] = await gateway.database.db
    .select()
    .from(modelCall)
    .where(eq(modelCall.userId, customer.userId))
    .orderBy(desc(modelCall.startedAt), desc(modelCall.id))
    .limit(1)
  const holds = await gateway.database.db
    .select()
    .from(walletHold)
    .where(and(eq(walletHold.userId, customer.userId), isNull(walletHold.releasedAt)))
  expect(holds).toEqual([])
  return row
}
const refused = async (response: Response) => ({
  http: response.status,
  ...((await response.json()) as { code: string; fields?: { path: string; rule: string }[] }),
})

/** A picture of noise: as large a file as its pixels. */
function noise(side: number): Buffer {
  const bytes = createHash('shake256', { outputLength: side * side * 3 })
    .update('noise')
    .digest()
  return Buffer.from(encode({ width: side, height: side, data: bytes, channels: 3, depth: 8 }))
}
const dataUrl = (bytes: Buffer, type = 'image/png') => `data:${type};base64,${bytes.toString('base64')}`

describe('[R7.6] [B10] pictures', () => {
  test('[R7.8] are passed on as they come, and those that came are paid for', async () => {
    server.answer(paints({ b64_json: 'AAAA' }, { b64_json: 'BBBB' }, {}))
    const { data, response } = await client.images
      .generate({ model: 'painter', prompt: 'a harbour', n: 3, size: '256x256' })
      .withResponse()
    expect(data.data).toEqual([{ b64_json: 'AAAA' }, { b64_json: 'BBBB' }, {}])
    expect(response.headers.get('x-berth-cost-micro')).toBe(String(2n * PRICES.image))
    expect(server.asked).toMatchObject([
      {
        url: '/v1/images/generations',
        authorization: 'Bearer their-key',
        body: { model: 'theirs', prompt: 'a harbour', n: 3, size: '256x256' },
      },
    ])
    expect(await lastCall()).toMatchObject({ status: 'done', images: 2, costMicro: 2n * PRICES.image })
    const query = { query: { type: 'usage' } } as const
    const { items } = await gateway.data(listTransactions, query, { token: customer.token })
    expect(items).toMatchObject([{ amount_micro: String(-2n * PRICES.image) }])
  })

  test('[R7.8] more than were asked for are not paid for', async () => {
    const more = Array.from({ length: 4 }, () => ({ b64_json: 'AAAA' }))
    server.answer(paints(...more))
    await client.images.generate({ model: 'painter', prompt: 'a harbour', n: 1 })
    expect(await lastCall()).toMatchObject({ status: 'done', images: 1, costMicro: PRICES.image })
  })

  test('the console gets them in the answer, and the same from the same words, seed and size', async () => {
    const order = { model: 'drawn', prompt: 'a harbour at dawn', seed: 7, size: '512x256', n: 2 }
    const pictures = async (part: object = {}) => {
      const response = await ask({ ...order, ...part })
      const { data } = (await response.json()) as { data: { b64_json: string }[] }
      return data.map(({ b64_json }) => Buffer.from(b64_json, 'base64'))
    }
    const first = await pictures()
    expect(first).toHaveLength(2)
    const { width, height, text } = decode(first[0] ?? Buffer.alloc(0))
    expect({ width, height }).toEqual({ width: 512, height: 256 })
    expect(text.Comment).toMatch(/no model is connected/)
    expect(first[0]?.equals(first[1] ?? Buffer.alloc(0))).toBe(false)
    expect(await pictures()).toEqual(first)
    for (const part of [{ seed: 8 }, { prompt: 'a harbour at dusk' }, { negative_prompt: 'boats' }]) {
      expect((await pictures({ ...part, n: 1 }))[0]?.equals(first[0] ?? Buffer.alloc(0))).toBe(false)
    }
  })

  test('so many calls of a day cost nothing, however many are made at once, and those that fail do not count', async () => {
    const poor = await gateway.signUp()
    const draw = async () => (await ask({ model: 'drawn', prompt: 'x' }, poor.token)).status
    expect((await Promise.all([draw(), draw(), draw(), draw()])).toSorted()).toEqual([200, 200, 402, 402])
    await gateway.database.db
      .update(modelCall)
      .set({ status: 'failed' })
      .where(and(eq(modelCall.userId, poor.userId), eq(modelCall.free, true)))
    // Their pictures had come.
    expect(await draw()).toBe(402)
    await gateway.database.db.update(modelCall).set({ images: 0 }).where(eq(modelCall.userId, poor.userId))
    expect(await draw()).toBe(200)
    await gateway.database.db
      .update(modelCall)
      .set({ startedAt: new Date(Date.now() - 86_400_000), status: 'done' })
      .where(eq(modelCall.userId, poor.userId))
    expect([await draw(), await draw(), await draw()]).toEqual([200, 200, 402])
  })

  test('calls that cost nothing are there again at midnight of UTC, and are counted by model', async () => {
    const poor = await gateway.signUp()
    const draw = async (model = 'drawn') => (await ask({ model, prompt: 'x' }, poor.token)).status
    expect([await draw(), await draw(), await draw()]).toEqual([200, 200, 402])
    const other = [await draw('drawn-too'), await draw('drawn-too')]
    expect(other).toEqual([200, 402])
    const midnight = new Date().setUTCHours(0, 0, 0, 0)
    const madeAt = (ms: number) =>
      gateway.database.db
        .update(modelCall)
        .set({ startedAt: new Date(ms) })
        .where(and(eq(modelCall.userId, poor.userId), eq(modelCall.modelId, 'drawn')))
    await madeAt(midnight)
    expect(await draw()).toBe(402)
    await madeAt(midnight - 1)
    expect([await draw(), await draw(), await draw()]).toEqual([200, 200, 402])
  })

  test('a long prompt comes to its server as it was written, and one that is too long is refused', async () => {
    server.answer(paints({ b64_json: 'AAAA' }))
    const prompt = 'a "harbour"\n'.repeat(2_600)
    const style = { words: 'x'.repeat(20_000) }
    const order = { model: 'painter', prompt, negative_prompt: prompt, style }
    expect((await ask(order)).status).toBe(200)
    expect(server.asked[0]?.body).toMatchObject({ prompt, negative_prompt: prompt, style })
    expect((await ask({ ...order, image: dataUrl(noise(128)) })).status).toBe(200)
    // A form ends its lines as forms do.
    const words = (server.asked[1]?.text ?? '').replaceAll('\r\n', '\n')
    expect(words).toContain(`name="prompt"\n\n${prompt}`)
    expect(words).toContain(JSON.stringify(style))
    const form = new FormData()
    form.set('model', 'painter')
    form.set('prompt', 'x'.repeat(32_001))
    const tooLong: [unknown, string][] = [
      [{ ...order, prompt: 'x'.repeat(32_001) }, 'prompt'],
      [{ ...order, prompt: 'x'.repeat(5_000_000) }, ''],
      [{ ...order, negative_prompt: 'x'.repeat(32_001) }, 'negative_prompt'],
      [form, 'prompt'],
    ]
    for (const [body, path] of tooLong) {
      const refusal = await refused(await ask(body))
      if (path === '') expect(refusal).toMatchObject({ http: 413, code: 'body_too_large' })
      else expect(refusal).toMatchObject({ code: 'validation_failed', fields: [{ path, rule: 'too_long' }] })
    }
    expect(server.asked).toHaveLength(2)
  })

  test('[B3] one Idempotency-Key is of one address: at another, the same body is another question', async () => {
    server.answer(paints({ b64_json: 'AAAA' }))
    const order = { model: 'painter', prompt: 'x' }
    const once = { headers: { 'Idempotency-Key': 'first' } }
    await client.images.generate(order, once)
    const code = (asking: Promise<unknown>) => asking.then(String, (error: { code: unknown }) => error.code)
    expect(await code(client.images.generate(order, once))).toBe('idempotent_replayed')
    expect(await code(client.post('/images/edits', { body: order, ...once }))).toBe('idempotency_key_reused')
    expect(server.asked).toHaveLength(1)
  })

  test('the console is given them as bytes, whatever form it asks for, and a key in the form that it asks for', async () => {
    server.answer(paints({ b64_json: 'AAAA' }))
    const order = { model: 'painter', prompt: 'x', response_format: 'url' } as const
    expect((await ask(order)).status).toBe(200)
    await client.images.generate(order)
    expect(server.asked.map(({ body }) => body.response_format)).toEqual(['b64_json', 'url'])
  })

  test('[R5.10] one may be made after another, which is sent on as a form', async () => {
    server.answer(paints({ b64_json: 'AAAA' }))
    const picture = noise(64)
    expect((await ask({ model: 'painter', prompt: 'as this', image: dataUrl(picture) })).status).toBe(200)
    await client.images.edit({
      model: 'painter',
      prompt: 'as this',
      n: 1,
      image: await toFile(picture, 'a.png', { type: 'image/png' }),
    })
    expect(server.asked).toHaveLength(2)
    for (const { url, text } of server.asked) {
      expect(url).toBe('/v1/images/edits')
      expect(text).toMatch(/name="model"\r\n\r\ntheirs/)
      expect(text).toMatch(/name="prompt"\r\n\r\nas this/)
      expect(text).toContain(picture.toString('latin1'))
    }
  })

  test('[R5.10] one of 40 MB is taken, and a larger one, one of more than 80 million pixels, another type or two of them are not', async () => {
    server.answer(paints({ b64_json: 'AAAA' }))
    const large = Buffer.concat([noise(8), Buffer.alloc(39_990_000)])
    const form = new FormData()
    form.set('model', 'painter')
    form.set('prompt', 'x')
    form.set('image', new Blob([large], { type: 'image/png' }), 'a.png')
    expect((await ask(form)).status).toBe(200)
    expect((await ask({ model: 'painter', prompt: 'x', image: dataUrl(large) })).status).toBe(200)
    const rules = async (part: object) =>
      (await refused(await ask({ model: 'painter', prompt: 'x', ...part }))).fields?.map(({ rule }) => rule)
    const larger = Buffer.concat([large, Buffer.alloc(20_000)])
    expect(await rules({ image: dataUrl(larger) })).toEqual(['picture_too_large'])
    expect(await rules({ image: dataUrl(Buffer.from('GIF89a')) })).toEqual(['picture_type'])
    expect(await rules({ image: dataUrl(noise(8), 'image/svg+xml') })).toEqual(['picture_type'])
    expect(await rules({ image: dataUrl(pngHead(30_000, 30_000)) })).toEqual(['picture_pixels'])
    expect(await rules({ image: 'http://127.0.0.1/x.png' })).toEqual(['picture_address'])
    for (const field of ['image_url', 'mask', 'images', 'api_base'])
      expect(await rules({ [field]: 'http://127.0.0.1/x.png' }), field).toEqual(['not_allowed'])
    expect(await rules({ model: 'plain', image: dataUrl(noise(8)) })).toEqual(['not_allowed'])
    const huge = new FormData()
    for (const name of ['model', 'prompt']) huge.set(name, String(form.get(name)))
    huge.set('image', new Blob([pngHead(30_000, 30_000)], { type: 'image/png' }), 'a.png')
    expect((await refused(await ask(huge))).fields).toMatchObject([{ path: 'image', rule: 'picture_pixels' }])
    form.append('image', new Blob([noise(8)], { type: 'image/png' }), 'b.png')
    expect(await refused(await ask(form))).toMatchObject({ code: 'validation_failed' })
    expect(await lastCall()).toMatchObject({ status: 'done' })
  })

  test('[R6.4] what is wrong is refused before anything is asked or set aside', async () => {
    const bad: [object, string][] = [
      [{ size: '1x1' }, 'validation_failed'],
      [{ n: 5 }, 'validation_failed'],
      [{ n: 0 }, 'validation_failed'],
      [{ prompt: '' }, 'validation_failed'],
      [{ stream: true }, 'validation_failed'],
      [{ model: 'one' }, 'model_kind'],
      [{ model: 'none' }, 'model_unknown'],
    ]
    for (const [part, code] of bad) {
      expect(await refused(await ask({ model: 'painter', prompt: 'x', ...part })), code).toMatchObject({
        code,
      })
    }
    const broken = new FormData()
    broken.set('x'.repeat(200), 'y')
    expect(await refused(await ask(broken))).toMatchObject({ code: 'validation_failed' })
    const poor = await gateway.signUp()
    const answer = await refused(await ask({ model: 'painter', prompt: 'x' }, poor.token))
    expect(answer).toMatchObject({ http: 402, code: 'insufficient_balance' })
    expect(server.asked).toEqual([])
    expect(await lastCall()).toBeUndefined()
  })

  test('a server that refuses, says nonsense or breaks off costs nothing', async () => {
    server.answer(refuses(400, 'Not this prompt.'))
    const order = { model: 'painter', prompt: 'x' }
    expect(await refused(await ask(order))).toMatchObject({ http: 400, code: 'model_refused' })
    const wrong: Parameters<ModelServerDouble['answer']> = [
      response => void response.end('<html>'),
      response => void response.end('{"data":"many"}'),
      // Words in the place of pictures, which are not parsed.
      response => void response.end(`{"data":[{"b64_json":"AAAA"}],"x":[${'"",'.repeat(1_500_000)}""]}`),
      response => {
        response.writeHead(200, { 'content-length': '1000' })
        response.write('{"data":[')
        setTimeout(() => response.destroy(), 20)
      },
      // More than any answer is: it is left in the midst.
      response => {
        const piece = Buffer.alloc(1_000_000, '[')
        const write = () => {
          while (!response.destroyed && response.write(piece));
        }
        response.on('drain', write)
        write()
      },
    ]
    for (const how of wrong) {
      server.answer(how)
      expect(await refused(await ask(order))).toMatchObject({ http: 502, code: 'model_call_failed' })
      expect(await lastCall()).toMatchObject({ status: 'failed', costMicro: 0n, images: 0 })
    }
  })

  test('who leaves ends the work at its server, and pays nothing', async () => {
    server.answer(() => undefined)
    const leaving = new AbortController()
    const asking = client.images.generate({ model: 'painter', prompt: 'x' }, { signal: leaving.signal })
    await expect.poll(() => server.asked.length).toBe(1)
    leaving.abort()
    await expect(asking).rejects.toThrow()
    await server.asked[0]?.left
    await expect.poll(async () => (await lastCall())?.status).toBe('left')
    expect(await lastCall()).toMatchObject({ costMicro: 0n })
  })
})
