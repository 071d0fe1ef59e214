import { listModelFigures } from '@berth/contract/model-figures'
import type OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { CALLS_MIN } from '../src/domains/models/figures/figures.ts'
import { modelCall } from '../src/domains/models/tables.ts'
import { ANSWER_MAX, type ModelGateway, QUESTION, startModelGateway } from './model-gateway.ts'
import { begins, refuses, says, speaks } from './model-server.ts'

const DAY_MS = 24 * 3_600_000

let models: ModelGateway
let client: OpenAI
let aheadMs = 0

beforeAll(async () => {
  models = await startModelGateway({ clock: { now: () => new Date(Date.now() + aheadMs) } })
})
afterAll(() => models.stop())
beforeEach(async () => {
  await models.gateway.database.db.delete(modelCall)
  client = (await models.customer(1_000)).client()
})

const question = { ...QUESTION, max_tokens: ANSWER_MAX }

async function streamed(): Promise<void> {
  for await (const _ of await client.chat.completions.create({ ...question, stream: true }));
}
async function figuresOf(modelId: string) {
  const { models: domain } = models.gateway.gateway
  await expect
    .poll(async () => (await models.gateway.database.db.select().from(modelCall)).map(({ status }) => status))
    .not.toContain('running')
  await domain.figures.measure(new AbortController().signal)
  return (await models.gateway.data(listModelFigures, {})).find(({ model_id }) => model_id === modelId)
}
async function times(count: number, run: () => Promise<unknown>): Promise<void> {
  for (let done = 0; done < count; done++) await run()
}

test('[R1.5] guests see how fast a model has answered here, once it was measured often enough', async () => {
  // Twenty tokens in three fifths of a second: long enough to be a speed where a busy computer bunches them.
  models.server.answer(speaks(20, 30))
  await Promise.all(Array.from({ length: CALLS_MIN - 1 }, streamed))
  expect(await figuresOf('one')).toEqual({
    model_id: 'one',
    first_token_ms: null,
    tokens_per_second: null,
    answered_permille: null,
    calls: CALLS_MIN - 1,
  })
  await streamed()
  const measured = await figuresOf('one')
  expect(measured).toMatchObject({ answered_permille: 1_000, calls: CALLS_MIN })
  expect(measured?.first_token_ms).toBeGreaterThanOrEqual(0)
  expect(measured?.first_token_ms).toBeLessThan(5_000)
  expect(measured?.tokens_per_second).toBeGreaterThan(0)
  expect(measured?.tokens_per_second).toBeLessThan(100)
  expect(await figuresOf('two')).toMatchObject({ first_token_ms: null, answered_permille: null, calls: 0 })

  // A day later only how reliable it was is still told, a week later nothing.
  aheadMs += DAY_MS
  expect(await figuresOf('one')).toMatchObject({ first_token_ms: null, answered_permille: 1_000 })
  aheadMs += 6 * DAY_MS
  expect(await figuresOf('one')).toMatchObject({ answered_permille: null, calls: 0 })
})

test('[R1.5] what the platform did not answer counts against a model; what was wrong with a question does not', async () => {
  models.server.answer(says('fine'))
  await times(CALLS_MIN - 2, () => client.chat.completions.create(question))
  models.server.answer(refuses(400, 'no such tool'))
  await times(10, () => client.chat.completions.create(question).catch(() => null))
  models.server.answer(refuses(503, 'busy'))
  await client.chat.completions.create(question).catch(() => null)
  models.server.answer(begins(['one '], 'breaks'))
  await streamed().catch(() => null)
  const rows = await models.gateway.database.db.select().from(modelCall)
  expect(rows.filter(({ errorCode }) => errorCode === 'refused')).toHaveLength(10)
  expect(await figuresOf('one')).toMatchObject({ calls: CALLS_MIN, answered_permille: 900 })
})
