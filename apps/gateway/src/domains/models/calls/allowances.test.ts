import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { hostedModel } from '../../../../test/hosted-models.ts'
import { systemIds } from '../../../platform/ids.ts'
import { type BillingFixture, createBillingFixture } from '../../billing/billing-fixture.ts'
import { usageInterval } from '../../billing/meters/tables.ts'
import { createBudgets } from '../../budgets/budgets.ts'
import { modelCall } from '../tables.ts'
import { createCallBook } from './call-book.ts'

/**
 * Goal: a call that cannot be written down keeps no other one from being charged, and is lost to nobody (B2); a computer that
 * slept lets nothing begin by what was set aside before (B10).
 * Method: a gateway's folder with calls of customers of whom the database knows one, as after it was changed or restored; a
 * clock that goes on while that of the processor stands still.
 */

const model = hostedModel('one', { output_tokens_max: 100 })
const most = { inputTokens: 100, outputTokens: 100 }
const how = {
  status: 'done' as const,
  used: { inputTokens: 10, cachedTokens: 0, outputTokens: 50, images: 0, videoSeconds: 0 },
  firstByteMs: 1,
}

let fixture: BillingFixture
let folder: string
let userId: string
const log = { error: vi.fn(), warn: vi.fn() }

beforeAll(async () => {
  fixture = await createBillingFixture()
})
afterAll(async () => {
  await fixture.database.drop()
})
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-calls-'))
  userId = await fixture.customer()
  const given = {
    id: systemIds.uuid(),
    userId,
    amountMicro: 50_000_000n,
    kind: 'bonus',
    reason: 'test',
  } as const
  await fixture.db.transaction(tx => fixture.billing.grantCredit(tx, given))
})
afterEach(() => {
  log.error.mockReset()
  rmSync(folder, { recursive: true, force: true })
})

function open() {
  const budgets = createBudgets({
    ...fixture,
    owner: 'test',
    lookMs: 60_000,
    instancesThere: async () => new Map(),
    keysThere: async () => new Map(),
    keysSpent: async () => new Map(),
    stop: async () => undefined,
  })
  const owner = systemIds.uuid()
  const book = createCallBook({ ...fixture, log, budgets, owner, callsFolder: folder, oftenCalls: 1 })
  book.allowances.hear(true)
  return book
}

/** Calls that are over and in the folder alone. @returns Their lines. */
async function unwritten(count: number) {
  const book = open()
  const caller = { userId, keyId: null }
  const begin = () => book.begin(caller, model, { most, streamed: false })
  await book.end(caller, model, await begin(), how)
  // The allowance is there once what stands in line before it is over.
  await book.inTurn(userId, async () => undefined)
  await new Promise(done => setImmediate(done))
  for (let nth = 0; nth < count; nth++) await book.end(caller, model, await begin(), how)
  const lines = linesIn('.jsonl')
  expect(lines).toHaveLength(count)
  return { book, lines }
}

const linesIn = (ending: string) =>
  readdirSync(folder)
    .filter(name => name.endsWith(ending))
    .flatMap(name => readFileSync(join(folder, name), 'utf8').trim().split('\n'))
const charged = () => fixture.db.$count(usageInterval, eq(usageInterval.userId, userId))
const written = () => fixture.db.$count(modelCall, eq(modelCall.userId, userId))

test('[B2] calls of a killed gateway are charged though others before them cannot be, which are put aside', async () => {
  const { book, lines } = await unwritten(3)
  await book.allowances.settle()
  await book.allowances.stop()
  const before = await written()
  const named = (line: string, id: string) => line.replace(/"id":"[^"]*"/, `"id":"${id}"`)
  const [first = '', second = '', third = ''] = lines.map(line => named(line, systemIds.uuid()))
  const strange = named(first, systemIds.uuid()).replaceAll(userId, systemIds.uuid())
  const odd = named(second, 'none')
  writeFileSync(join(folder, 'a-0.jsonl'), `${strange}\nnothing\n${first}\n${odd}\n${second}\n{"id":"cut`)
  writeFileSync(join(folder, 'b-0.jsonl'), `${third}\n`)
  const next = open()
  await next.allowances.recover()
  expect(await written()).toBe(before + 3)
  expect(await charged()).toBe(before + 3)
  expect(linesIn('.rejected').sort()).toEqual([strange, 'nothing', odd].sort())
  expect(linesIn('.jsonl')).toEqual([])
  expect(log.error).toHaveBeenCalledTimes(1)
  // There is nothing to say of it a second time.
  await next.allowances.recover()
  expect(log.error).toHaveBeenCalledTimes(1)
  await next.allowances.stop()
})

test('[B2] a call that cannot be written down as it ends is put aside, and its file is emptied', async () => {
  const { book, lines } = await unwritten(2)
  const { id } = JSON.parse(lines[0] ?? '')
  await fixture.db.execute(
    sql.raw(`alter table model_call add constraint odd_one check (id <> '${id}') not valid`),
  )
  try {
    await book.allowances.settle()
  } finally {
    await fixture.db.execute(sql`alter table model_call drop constraint odd_one`)
  }
  expect(linesIn('.jsonl').filter(Boolean)).toEqual([])
  expect(linesIn('.rejected')).toEqual([lines[0]])
  expect(await written()).toBe(2)
  await book.allowances.stop()
})

test('[B10] what was set aside before the computer slept pays for nothing that begins after it', async () => {
  const { book } = await unwritten(1)
  const begin = () => book.begin({ userId, keyId: null }, model, { most, streamed: false })
  const isWritten = async (id: string) => (await fixture.db.$count(modelCall, eq(modelCall.id, id))) > 0
  expect(await isWritten(await begin())).toBe(false)
  fixture.clock.advance(31)
  expect(await isWritten(await begin())).toBe(true)
  await book.allowances.stop()
})
