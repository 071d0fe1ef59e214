import { createApiKey, revokeApiKey } from '@berth/contract/api-keys'
import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import { downloadSessionLog, type LoggedCall, listSessionLog } from '@berth/contract/session-log'
import { sql } from 'drizzle-orm'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { CSV_PAGE_ROWS } from '../src/platform/csv-file.ts'
import { at, hostedModel } from './hosted-models.ts'
import { type ModelCustomer, type ModelGateway, QUESTION, startModelGateway } from './model-gateway.ts'
import { begins, refuses, says } from './model-server.ts'
import { shippedCatalogue } from './shipped-catalogue.ts'

let models: ModelGateway
let customer: ModelCustomer

beforeAll(async () => {
  const plain = shippedCatalogue()
  const words = { ...plain.words, ko: new Map([...plain.words.ko, ['Its name', '그 이름']]) }
  models = await startModelGateway({
    catalogue: { ...plain, words },
    more: ({ server }) => [hostedModel('named', { name: 'Its name', servers: [at(server)] })],
  })
})
afterAll(() => models.stop())
beforeEach(async () => {
  customer = await models.customer()
  models.server.answer(says('fine', { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 }))
})

const log = (query: object = {}, token = customer.token) =>
  models.gateway.data(listSessionLog, { query }, { token })
const ask = (model = QUESTION.model) => customer.client().chat.completions.create({ ...QUESTION, model })
const askForStream = (model: string) =>
  customer.client().chat.completions.create({ ...QUESTION, model, stream: true })

/** A line of a file; commas between quotes are no ends of cells. */
const cellsOf = (line: string): string[] => line.split(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/)

async function download(query: Record<string, string>, token = customer.token): Promise<string[]> {
  const url = `${models.gateway.origin}${GATEWAY_PREFIX}${downloadSessionLog.path}?${new URLSearchParams(query)}`
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
  expect(response.headers.get('content-type')).toMatch(/^text\/csv/)
  expect(response.headers.get('content-disposition')).toMatch(/session-logs-\d{4}-\d\d-\d\d\.csv/)
  return (await response.text()).trimEnd().split('\r\n')
}

/** Writes calls of the customer down that were made a second apart, the last one now. */
async function madeCalls(count: number): Promise<void> {
  await models.gateway.database.db.execute(sql`
    insert into model_call (id, user_id, key_id, model_id, streamed, status, started_at, ended_at, input_tokens,
      output_tokens, cost_micro)
    select gen_random_uuid(), ${customer.userId}::uuid, ${customer.keyId}::uuid, 'one', false, 'done',
      now() - make_interval(secs => ${count} - i), now() - make_interval(secs => ${count} - i), 10, 5, 45
    from generate_series(1, ${count}) i`)
}

test('[R1.5] says of each call what it was, how fast, and what it cost; and why one failed', async () => {
  await ask()
  for await (const _ of await askForStream('two'));
  models.server.answer(refuses(400, 'no'))
  await ask().catch(() => null)
  models.server.answer(response => void response.destroy())
  await ask().catch(() => null)
  models.server.answer(begins(['one '], 'breaks'))
  const broken = await askForStream('one')
  await expect(broken.toReadableStream().pipeTo(new WritableStream())).rejects.toThrow()
  await expect.poll(async () => (await log()).items.map(({ status }) => status)).not.toContain('running')

  const { items, totals, currency, next_cursor } = await log()
  expect(items.map(({ status, error_code }) => error_code ?? status)).toEqual([
    'broke_off',
    'not_answered',
    'refused',
    'done',
    'done',
  ])
  const [, , , streamed, first] = items
  expect(first).toMatchObject({
    model_id: 'one',
    model_name: 'one',
    source: 'api',
    key_id: customer.keyId,
    key_name: 'test',
    streamed: false,
    input_tokens: 10,
    cached_tokens: 0,
    output_tokens: 4,
    cost_micro: '40',
  } satisfies Partial<LoggedCall>)
  expect(first?.latency_ms).toBeGreaterThanOrEqual(0)
  expect(streamed).toMatchObject({ model_id: 'two', streamed: true, first_token_ms: expect.any(Number) })
  expect(currency).toBe('USD')
  expect(next_cursor).toBeNull()
  const sumOf = (pick: (call: LoggedCall) => number) => items.reduce((sum, call) => sum + pick(call), 0)
  expect(totals).toEqual({
    calls: 5,
    failed: 3,
    input_tokens: sumOf(({ input_tokens }) => input_tokens),
    cached_tokens: 0,
    output_tokens: sumOf(({ output_tokens }) => output_tokens),
    images: 0,
    video_seconds: 0,
    cost_micro: String(sumOf(({ cost_micro }) => Number(cost_micro))),
  })
})

test('[R1.5] the file names the model as the catalogue does in the language of whoever saves it, and says what was estimated', async () => {
  await ask('named')
  models.server.answer(says('no usage', null))
  await ask('named')
  const file = async (language: string) => {
    const url = `${models.gateway.origin}${GATEWAY_PREFIX}${downloadSessionLog.path}`
    const headers = { authorization: `Bearer ${customer.token}`, 'accept-language': language }
    const lines = (await (await fetch(url, { headers })).text()).trimEnd().split('\r\n')
    return lines.map(cellsOf)
  }
  const [head = [], estimated = [], said = []] = await file('en')
  const cellOf = (row: string[], column: string) => row[head.indexOf(column)]
  expect([said, estimated].map(row => [cellOf(row, 'Model'), cellOf(row, 'Model name')])).toEqual([
    ['named', 'Its name'],
    ['named', 'Its name'],
  ])
  expect([said, estimated].map(row => cellOf(row, 'Estimated'))).toEqual(['no', 'yes'])
  const korean = await file('ko')
  expect(korean[0]?.[2]).toBe('모델 이름')
  expect(korean[1]?.[2]).toBe('그 이름')
})

test('[R1.5] pictures and seconds of video are said of a call, in the totals and in the file', async () => {
  await models.gateway.database.db.execute(sql`
    insert into model_call (id, user_id, model_id, streamed, status, started_at, ended_at, images, video_seconds)
    select gen_random_uuid(), ${customer.userId}::uuid, 'one', false, 'done', now(), now(), made.images, made.seconds
    from (values (2, 0), (1, 0), (0, 4)) as made (images, seconds)`)
  const { items, totals } = await log()
  expect(items.map(({ images, video_seconds }) => `${images} ${video_seconds}`).sort()).toEqual([
    '0 4',
    '1 0',
    '2 0',
  ])
  expect(totals).toMatchObject({ images: 3, video_seconds: 4 })
  const [head = [], ...rows] = (await download({})).map(cellsOf)
  const places = ['Pictures', 'Seconds of video'].map(name => head.indexOf(name))
  expect(rows.map(row => places.map(place => row[place]).join(' ')).sort()).toEqual(['0 4', '1 0', '2 0'])
})

test('[R1.5] is narrowed by model, key, status, source and time; totals and file follow', async () => {
  await ask()
  await ask('two')
  const made = await models.gateway.data(
    createApiKey,
    { body: { name: '=cmd|calc' } },
    { token: customer.token },
  )
  const other = new OpenAI({ apiKey: made.key, baseURL: `${models.gateway.origin}/v1`, maxRetries: 0 })
  await other.chat.completions.create(QUESTION)
  const until = new Date(Date.now() + 1).toISOString()
  await new Promise(resolve => setTimeout(resolve, 5))
  models.server.answer(refuses(400, 'no'))
  await ask().catch(() => null)
  await models.gateway.gateway.models.chat.chat(
    { userId: customer.userId, keyId: null },
    { text: Buffer.from(JSON.stringify(QUESTION)), signal: new AbortController().signal },
  )
  const cases: [Record<string, string>, number][] = [
    [{}, 5],
    [{ model: 'two' }, 1],
    [{ model: 'one', status: 'done' }, 2],
    [{ key: made.id }, 1],
    [{ source: 'console' }, 1],
    [{ source: 'api' }, 4],
    [{ until }, 3],
    [{ from: until }, 2],
    [{ from: until, until }, 0],
    [{ model: 'none' }, 0],
    [{ status: 'lost' }, 0],
  ]
  for (const [query, count] of cases) {
    const { items, totals } = await log(query)
    expect([items.length, totals?.calls], JSON.stringify(query)).toEqual([count, count])
    expect((await download(query)).length - 1, JSON.stringify(query)).toBe(count)
  }
  // Another customer's key names nothing of theirs, in the list, its totals and its file.
  const stranger = await models.customer()
  const theirs: Record<string, string>[] = [{}, { key: made.id }, { model: 'one' }, { source: 'api' }]
  for (const query of theirs) {
    const { items, totals } = await log(query, stranger.token)
    expect([items.length, totals?.calls], JSON.stringify(query)).toEqual([0, 0])
    expect(await download(query, stranger.token), JSON.stringify(query)).toHaveLength(1)
  }
  // A name that a spreadsheet would take for a formula is one no more.
  expect((await download({ key: made.id }))[1]).toContain(",'=cmd|calc,")
  await models.gateway.data(revokeApiKey, { params: { id: made.id } }, { token: customer.token })
  expect((await log({ key: made.id })).items).toMatchObject([{ key_name: '=cmd|calc' }])
  const refused = await models.gateway.call(listSessionLog, { query: { status: 'wrong' } } as never, {
    token: customer.token,
  })
  expect(refused.envelope).toMatchObject({ code: 'validation_failed' })
})

test('[R1.5] each call comes once from page to page, whatever is called meanwhile; a cursor opens its own list alone', async () => {
  await madeCalls(25)
  const seen: string[] = []
  let cursor: string | null = null
  do {
    const page = await log({ limit: '10', ...(cursor !== null && { cursor }) })
    expect(page.totals === null).toBe(cursor !== null)
    seen.push(...page.items.map(({ id }) => id))
    await ask()
    cursor = page.next_cursor
  } while (cursor !== null)
  expect(seen).toHaveLength(25)
  expect(new Set(seen).size).toBe(25)

  const { next_cursor } = await log({ limit: '10' })
  const stranger = await models.customer()
  for (const [token, query] of [
    [stranger.token, {}],
    [customer.token, { model: 'one' }],
    [customer.token, { cursor: `${next_cursor}x` }],
  ] as const) {
    const { envelope } = await models.gateway.call(
      listSessionLog,
      { query: { cursor: next_cursor ?? '', ...query } },
      { token },
    )
    expect(envelope).toMatchObject({ code: 'cursor_invalid' })
  }
  expect((await log({}, stranger.token)).items).toEqual([])
})

test('[R1.5] a hundred thousand calls are saved as a file, each once, without all of them in memory', async () => {
  const count = 100_000
  await madeCalls(count)
  const url = `${models.gateway.origin}${GATEWAY_PREFIX}${downloadSessionLog.path}`
  const response = await fetch(url, { headers: { authorization: `Bearer ${customer.token}` } })
  if (!response.body) throw new Error('nothing came')
  let rows = -1
  let most = 0
  const before = process.memoryUsage().heapUsed
  const ids = new Set<string>()
  let rest = ''
  const decoder = new TextDecoder()
  for await (const piece of response.body) {
    const lines = (rest + decoder.decode(piece as Uint8Array, { stream: true })).split('\r\n')
    rest = lines.pop() ?? ''
    rows += lines.length
    for (const line of lines) ids.add(line.slice(-8))
    most = Math.max(most, process.memoryUsage().heapUsed - before)
  }
  expect(rows).toBe(count)
  expect(ids.size).toBeGreaterThan(count * 0.99)
  expect(CSV_PAGE_ROWS).toBeLessThan(count)
  expect(most).toBeLessThan(200 * 1_048_576)
})
