import type OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ModelGateway, QUESTION, startModelGateway } from './model-gateway.ts'
import { refuses, says } from './model-server.ts'

const LEFT_ALONE_MS = 15_000

let models: ModelGateway
let client: OpenAI
let aheadMs = 0

beforeAll(async () => {
  models = await startModelGateway({ clock: { now: () => new Date(Date.now() + aheadMs) } })
  client = (await models.customer(1_000)).client()
})
afterAll(() => models.stop())

const ask = async (model = 'two') =>
  (await client.chat.completions.create({ ...QUESTION, model })).choices[0]?.message.content
async function askTimes(times: number): Promise<void> {
  for (let asked = 0; asked < times; asked++) await ask()
}
/** How often each server is asked meanwhile. */
async function askedBy(run: () => Promise<unknown>): Promise<[number, number]> {
  const { server, spare } = models
  const [before, spareBefore] = [server.asked.length, spare.asked.length]
  await run()
  return [server.asked.length - before, spare.asked.length - spareBefore]
}

test('[B10] a server that fails again and again is left alone, then tried by one call at a time until it answers', async () => {
  const { server, spare } = models
  server.answer(refuses(503, 'busy'))
  spare.answer(says('from the spare one'))
  // Two tries each: the third call has the fifth failure.
  expect(await askedBy(() => askTimes(3))).toEqual([6, 3])
  expect(await askedBy(ask)).toEqual([0, 1])
  // It is the server that is left alone, not the model: where there is no other, it is still tried, once.
  expect(await askedBy(() => ask('one').catch(() => null))).toEqual([1, 0])

  aheadMs += LEFT_ALONE_MS
  const late = Promise.withResolvers<void>()
  server.answer(async (response, asked) => {
    await late.promise
    await refuses(503, 'still busy')(response, asked)
  })
  const atOnce = askedBy(async () => {
    const all = Promise.all(Array.from({ length: 8 }, () => ask()))
    await expect.poll(() => spare.asked.length).toBeGreaterThanOrEqual(11)
    late.resolve()
    await all
  })
  // One of them tried, and was answered by the other one after that.
  expect(await atOnce).toEqual([1, 8])
  expect(await askedBy(ask)).toEqual([0, 1])

  aheadMs += LEFT_ALONE_MS
  server.answer(says('well again'))
  expect(await ask()).toBe('well again')
  expect(await askedBy(() => askTimes(2))).toEqual([2, 0])
})

test('a caller who leaves while it tries a server leaves the next try to another one', async () => {
  const { server } = models
  server.answer(refuses(503, 'busy'))
  await askTimes(3)
  aheadMs += LEFT_ALONE_MS
  server.answer(() => undefined)
  const leaving = new AbortController()
  const left = client.chat.completions
    .create({ ...QUESTION, model: 'two' }, { signal: leaving.signal })
    .catch(() => null)
  const before = server.asked.length
  await expect.poll(() => server.asked.length).toBe(before + 1)
  leaving.abort()
  await left
  await server.asked.at(-1)?.left
  server.answer(says('well again'))
  await expect.poll(() => ask()).toBe('well again')
})
