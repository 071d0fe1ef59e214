import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import { getCallBody, getModelKeeping, setModelKeeping } from '@berth/contract/model-keeping'
import { chat } from '@berth/contract/models'
import { downloadSessionLog, listSessionLog } from '@berth/contract/session-log'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { KEPT_BYTES_MAX } from '../src/domains/models/kept/keeping.ts'
import { KEPT_CHARS_MAX } from '../src/domains/models/kept/recorder.ts'
import { modelCallBody, modelKeeping } from '../src/domains/models/tables.ts'
import { at, hostedModel } from './hosted-models.ts'
import { type ModelCustomer, type ModelGateway, QUESTION, startModelGateway } from './model-gateway.ts'
import { begins, refuses, says } from './model-server.ts'
import { pngHead } from './picture-heads.ts'

const DAY_MS = 24 * 3_600_000
let aheadMs = 0
let models: ModelGateway
let customer: ModelCustomer

beforeAll(async () => {
  models = await startModelGateway({
    clock: { now: () => new Date(Date.now() + aheadMs) },
    more: ({ server }) => [
      hostedModel('seer', {
        kind: 'multimodal',
        context_tokens: 10_000,
        servers: [at(server)],
        image_input: { count_max: 2, bytes_max: 5_000_000, types: ['image/png'] },
      }),
    ],
  })
})
afterAll(() => models.stop())
beforeEach(async () => {
  customer = await models.customer()
  models.server.answer(says('a very secret answer'))
})

const rowsOf = () =>
  models.gateway.database.db.select().from(modelCallBody).where(eq(modelCallBody.userId, customer.userId))
const set = (days: number | null) =>
  models.gateway.data(setModelKeeping, { body: { days } }, { token: customer.token })
const log = async () =>
  (await models.gateway.data(listSessionLog, { query: {} }, { token: customer.token })).items
const read = async (id: string, token = customer.token) =>
  (await models.gateway.call(getCallBody, { params: { id } }, { token })).envelope
const ask = (content = 'a very secret question') =>
  customer.client().chat.completions.create({ ...QUESTION, messages: [{ role: 'user', content }] })
const streamed = async () => {
  const asked = { ...QUESTION, stream: true as const }
  for await (const _ of await customer.client().chat.completions.create(asked));
}
const purge = () => models.gateway.gateway.models.keeping.purge(new AbortController().signal)
const settled = () => models.gateway.gateway.models.keeping.settle()

describe('[R1.5] what models are asked and answer', () => {
  test('is not kept where nobody has turned that on', async () => {
    await ask()
    await settled()
    expect(await rowsOf()).toEqual([])
    const [call] = await log()
    expect(call?.kept).toBe(false)
    expect(await read(call?.id ?? '')).toMatchObject({ code: 'not_found' })
    const kept = await models.gateway.data(getModelKeeping, {}, { token: customer.token })
    expect(kept).toEqual({ days: null, calls: 0, bytes: 0 })
  })

  test('is kept of keys and of the console alike, sealed, and read by its customer alone; no file has it', async () => {
    await set(7)
    await ask()
    await streamed()
    const response = await fetch(`${models.gateway.origin}${GATEWAY_PREFIX}${chat.path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${customer.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...QUESTION, stream: true }),
    })
    await response.text()
    await expect.poll(async () => (await rowsOf()).length).toBe(3)
    const calls = await log()
    expect(calls.map(({ kept }) => kept)).toEqual([true, true, true])
    for (const { id } of calls) {
      const { data } = (await read(id)) as { data: { question: string; answer: string } }
      expect(data).toMatchObject({ answer: 'a very secret answer', cut: false })
      expect(JSON.parse(data.question)).toMatchObject({ model: 'one' })
    }
    const stranger = await models.customer()
    expect(await read(calls[0]?.id ?? '', stranger.token)).toMatchObject({ code: 'not_found' })
    for (const { box } of await rowsOf()) expect(box.toString('latin1')).not.toContain('secret')
    const url = `${models.gateway.origin}${GATEWAY_PREFIX}${downloadSessionLog.path}`
    const file = await fetch(url, { headers: { authorization: `Bearer ${customer.token}` } })
    expect(await file.text()).not.toContain('secret')
  })

  test('is kept as far as it came, and short: without pictures, and cut where it is long', async () => {
    await set(1)
    models.server.answer(begins(['one ', 'two '], 'breaks'))
    await streamed().catch(() => null)
    models.server.answer(refuses(400, 'no'))
    await ask().catch(() => null)
    models.server.answer(says('x'.repeat(KEPT_CHARS_MAX + 1)))
    const png = Buffer.concat([pngHead(640, 480), Buffer.alloc(100_000, 7)])
    const url = `data:image/png;base64,${png.toString('base64')}`
    await customer.client().chat.completions.create({
      model: 'seer',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'w'.repeat(20_000) },
            { type: 'image_url', image_url: { url } },
          ],
        },
      ],
    })
    await expect.poll(async () => (await rowsOf()).length).toBe(3)
    const [seen, refused, broken] = await log()
    expect(await read(broken?.id ?? '')).toMatchObject({ data: { answer: 'one two ' } })
    expect(await read(refused?.id ?? '')).toMatchObject({ data: { answer: '' } })
    const { data } = (await read(seen?.id ?? '')) as {
      data: { question: string; answer: string; cut: boolean }
    }
    expect(data.cut).toBe(true)
    expect(data.answer).toHaveLength(KEPT_CHARS_MAX)
    expect(data.question).toContain('w'.repeat(20_000))
    expect(data.question).not.toContain(png.toString('base64', 1_000, 1_040))
  })

  test('is deleted on the day that its customer chose, and not read from then on', async () => {
    await set(3)
    await ask()
    await settled()
    const [call] = await log()
    aheadMs = 3 * DAY_MS - 60_000
    await purge()
    expect(await rowsOf()).toHaveLength(1)
    aheadMs = 3 * DAY_MS + 1
    const { token } = await models.gateway.signUp()
    expect(token).toBeTruthy()
    await expect(
      models.gateway.gateway.models.keeping.read(customer.userId, call?.id ?? ''),
    ).rejects.toMatchObject({
      code: 'not_found',
    })
    await purge()
    aheadMs = 0
    expect(await rowsOf()).toEqual([])
    const kept = await models.gateway.data(getModelKeeping, {}, { token: customer.token })
    expect(kept).toEqual({ days: 3, calls: 0, bytes: 0 })
  })

  test('is gone at once where it is turned off, and other gateways keep no more of it', async () => {
    const other = await models.another()
    await set(30)
    await ask()
    await settled()
    // The gateway that was asked knows for some seconds that it is on.
    await other.data(setModelKeeping, { body: { days: null } }, { token: customer.token })
    expect(await rowsOf()).toEqual([])
    await ask()
    await settled()
    await other.stop()
    expect(await rowsOf()).toEqual([])
    expect((await log()).map(({ kept }) => kept)).toEqual([false, false])
  })

  test('takes no more room than an account has: the oldest goes first', async () => {
    await set(90)
    await ask('first')
    await settled()
    const [first] = await rowsOf()
    await models.gateway.database.db
      .update(modelKeeping)
      .set({ bytes: KEPT_BYTES_MAX })
      .where(eq(modelKeeping.userId, customer.userId))
    await ask('second')
    await settled()
    const rows = await rowsOf()
    expect(rows).toHaveLength(1)
    expect(rows[0]?.callId).not.toBe(first?.callId)
  })

  test('a time that is none, or longer than ninety days, is refused', async () => {
    for (const days of [0, 91, 1.5, 'x', undefined]) {
      const { envelope } = await models.gateway.call(setModelKeeping, { body: { days } } as never, {
        token: customer.token,
      })
      expect(envelope).toMatchObject({ code: 'validation_failed' })
    }
  })
})
