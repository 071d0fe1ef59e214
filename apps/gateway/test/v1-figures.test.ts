import { randomUUID } from 'node:crypto'
import { listModelDays, listModelFigures } from '@berth/contract/model-figures'
import type OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { CALLS_MIN } from '../src/domains/models/figures/figures.ts'
import { modelCall, modelDay } from '../src/domains/models/tables.ts'
import { ANSWER_MAX, type ModelGateway, QUESTION, startModelGateway } from './model-gateway.ts'
import { begins, refuses, says, speaks } from './model-server.ts'

const DAY_MS = 24 * 3_600_000

let models: ModelGateway
let client: OpenAI
let aheadMs = 0

beforeAll(async () => {
  models = await startModelGateway({
    clock: { now: () => new Date(Date.now() + aheadMs) },
    // The calls' own rows are looked at.
    oftenCalls: Number.POSITIVE_INFINITY,
  })
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

test('[R1.5] guests see how a model has answered day by day; a day with few calls was not measured', async () => {
  const { db } = models.gateway.database
  await db.delete(modelDay)
  aheadMs = 0
  models.server.answer(says('x'))
  await client.chat.completions.create(QUESTION)
  const [made] = await db.select().from(modelCall)
  if (!made) throw new Error('no call was made')
  const daysAgo = (days: number, part: Partial<typeof made>, count: number) =>
    db.insert(modelCall).values(
      Array.from({ length: count }, () => {
        const at = new Date(Date.now() - days * DAY_MS)
        return { ...made, id: randomUUID(), startedAt: at, endedAt: at, ...part }
      }),
    )
  await daysAgo(0, {}, CALLS_MIN)
  await daysAgo(2, {}, 30)
  await daysAgo(2, { status: 'failed', errorCode: 'not_answered' }, 10)
  await daysAgo(2, { status: 'failed', errorCode: 'refused' }, 50)
  await daysAgo(5, {}, CALLS_MIN - 1)
  await daysAgo(31, {}, 50)
  const measured = async () => {
    await models.gateway.gateway.models.days.measure(new AbortController().signal)
    return await models.gateway.data(listModelDays, { query: { model: 'one' } })
  }
  const days = await measured()
  expect(days).toHaveLength(30)
  expect(days.at(-1)).toEqual({
    day: new Date().toISOString().slice(0, 10),
    answered_permille: 1_000,
    calls: CALLS_MIN + 1,
  })
  expect(days.at(-3)).toMatchObject({ answered_permille: 750, calls: 40 })
  expect(days.at(-6)).toMatchObject({ answered_permille: null, calls: CALLS_MIN - 1 })
  expect(days.filter(({ answered_permille }) => answered_permille !== null)).toHaveLength(2)
  // What was counted stays where its calls are gone, until its month is over.
  await db.delete(modelCall)
  expect(await measured()).toEqual(days)
  aheadMs = 31 * DAY_MS
  expect((await measured()).every(({ calls }) => calls === 0)).toBe(true)
  expect(await db.select().from(modelDay)).toEqual([])
  aheadMs = 0
  const unknown = await models.gateway.data(listModelDays, { query: { model: 'nothing' } })
  expect(unknown.every(({ answered_permille }) => answered_permille === null)).toBe(true)
})
