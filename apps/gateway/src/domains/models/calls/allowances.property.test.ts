import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { and, eq, isNull } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hostedModel, PRICES } from '../../../../test/hosted-models.ts'
import { triesOf } from '../../../../test/long-runs.ts'
import type { Database } from '../../../platform/database/database.ts'
import { gateway as gatewayRow } from '../../../platform/gateways/tables.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { systemIds } from '../../../platform/ids.ts'
import { type BillingFixture, createBillingFixture } from '../../billing/billing-fixture.ts'
import { creditGrant } from '../../billing/credits/tables.ts'
import { ledgerAccount, walletHold } from '../../billing/ledger/tables.ts'
import { usageInterval } from '../../billing/meters/tables.ts'
import { type Budgets, createBudgets } from '../../budgets/budgets.ts'
import { modelAllowance, modelCall } from '../tables.ts'
import { type CallBook, createCallBook } from './call-book.ts'

/**
 * Goal: whatever calls begin and end at three gateways, and whichever of those are killed, every call that was answered is in
 * the log and charged once, nothing is charged that was not used, and nobody spends what is not there (B2, B10).
 * Method: the books of three gateways on one database, over which calls come, end, are killed with their gateway and found
 * again in its folder; in the end all of it is compared with what was asked.
 */

const RUNS = triesOf('allowances')
const OUTPUT_MAX = 100
/** What a call may cost at the most, where it is as large as others. */
const mostOf = (size: number) => ({ inputTokens: 100 * size, outputTokens: OUTPUT_MAX * size })
const NO_USE = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, images: 0, videoSeconds: 0 }
const GATEWAYS = 3

const at = fc.nat(GATEWAYS - 1)
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('begin' as const),
      at,
      calls: fc.integer({ min: 1, max: 8 }),
      size: fc.constantFrom(1, 1, 10, 500),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      at,
      calls: fc.integer({ min: 1, max: 8 }),
      output: fc.constantFrom(0, 50, OUTPUT_MAX, OUTPUT_MAX),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('write' as const), at }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('forget' as const), at }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('kill' as const), at, isFolderLost: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('hold' as const), share: fc.constantFrom(1, 1, 3) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('pass' as const), seconds: fc.constantFrom(1, 60, 7_200) }),
  },
)
const life = fc.record({
  micro: fc.constantFrom(900n, 20_000n, 300_000n, 1_000_000n, 1_000_000n, 50_000_000n),
  free: fc.constantFrom(0n, 0n, 500n, 100_000n),
  ending: fc.constantFrom(0n, 0n, 30_000n),
  /** Whether more is asked for at first than an allowance has. */
  isGreedy: fc.boolean(),
  steps: fc.array(step, { minLength: 6, maxLength: 24 }),
})

/** A gateway as its calls see it. */
interface Side {
  owner: string
  folder: string
  book: CallBook
  running: { id: string; size: number }[]
  ended: string[]
  /** All that stood in its folder. */
  seen: string
  /** Ends it as the system does: what is at the database already comes to its end, and nothing else happens any more. */
  kill(): Promise<void>
}

let fixture: BillingFixture
let budgets: Budgets
const folders: string[] = []
const model = hostedModel('one', { output_tokens_max: OUTPUT_MAX })

beforeAll(async () => {
  fixture = await createBillingFixture()
  budgets = createBudgets({
    ...fixture,
    owner: 'test',
    lookMs: 60_000,
    instancesThere: async () => new Map(),
    keysThere: async () => new Map(),
    keysSpent: async () => new Map(),
    stop: async () => undefined,
  })
})
afterAll(async () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  await fixture.database.drop()
})

async function open(folder = mkdtempSync(join(tmpdir(), 'berth-calls-'))): Promise<Side> {
  folders.push(folder)
  const owner = systemIds.uuid()
  const seenUntil = new Date(Date.now() + 3_600_000)
  await fixture.db.insert(gatewayRow).values({ id: owner, address: '127.0.0.1:1', seenUntil })
  const underWay = new Set<Promise<unknown>>()
  let isKilled = false
  const transaction: Database['transaction'] = (...given) => {
    if (isKilled) return new Promise(() => undefined)
    const done = fixture.db.transaction(...given)
    underWay.add(done)
    void done.catch(() => undefined).finally(() => underWay.delete(done))
    return done
  }
  const db = Object.assign(Object.create(fixture.db), { transaction }) as Database
  const book = createCallBook({ ...fixture, db, budgets, owner, callsFolder: folder, oftenCalls: 1 })
  book.allowances.hear(true)
  return {
    ...{ owner, folder, book, running: [], ended: [], seen: '' },
    async kill() {
      isKilled = true
      await Promise.allSettled([...underWay])
      await fixture.db.delete(gatewayRow).where(eq(gatewayRow.id, owner))
    },
  }
}

test(
  '[B2] [B10] calls of three gateways that are killed are charged once, and nobody spends what is not there',
  async () => {
    let allowed = 0
    await fc.assert(
      fc.asyncProperty(life, async lived => {
        allowed += await live(lived)
      }),
      { numRuns: RUNS },
    )
    // That there were any at all.
    expect(allowed).toBeGreaterThan(0)
  },
  120_000 + RUNS * 10_000,
)

/** @returns How many calls an allowance has paid for. */
async function live({
  micro,
  free,
  ending,
  isGreedy,
  steps,
}: typeof life extends fc.Arbitrary<infer Life> ? Life : never) {
  const { db, billing, clock } = fixture
  const userId = await customerWith({ micro, free, ending })
  const caller = { userId, keyId: null }
  const sides = await Promise.all(Array.from({ length: GATEWAYS }, () => open()))
  const began = new Set<string>()
  const held: string[] = []
  /** What was used of calls that are over, whose end is known to somebody. */
  const used = new Map<string, number>()
  /** Calls of gateways that were killed: they may be in the log, and cost nothing. */
  const lost = new Set<string>()
  // Each asks for an allowance to begin with.
  const first = sides.map((_, nth) => ({ do: 'begin' as const, at: nth, calls: 1, size: 1 }))
  const written = sides.map((_, nth) => ({ do: 'write' as const, at: nth }))
  const much = [
    { do: 'begin', at: 0, calls: 8, size: 500 },
    { do: 'end', at: 0, calls: 9, output: OUTPUT_MAX },
  ] as const
  for (const one of [...first, ...written, ...(isGreedy ? much : []), ...steps]) {
    if (one.do === 'pass') clock.advance(one.seconds)
    else if (one.do === 'hold') held.push(await holdSome(userId, one.share))
    else {
      const side = sides[one.at]
      if (!side) throw new Error('there is no such gateway')
      if (one.do === 'begin') {
        const some = Array.from({ length: one.calls }, () =>
          side.book.begin(caller, model, { most: mostOf(one.size), streamed: false }).catch(refused),
        )
        for (const id of await Promise.all(some)) {
          if (id === null) continue
          side.running.push({ id, size: one.size })
          began.add(id)
        }
      } else if (one.do === 'end') {
        const ended = side.running.splice(0, one.calls)
        const costs = await Promise.all(
          ended.map(({ id, size }) => side.book.end(caller, model, id, endOf(one.output * size))),
        )
        for (const [nth, { id, size }] of ended.entries()) {
          used.set(id, one.output * size)
          side.ended.push(id)
          expect(costs[nth]).toBe(costOf(one.output * size))
        }
        side.seen += textIn(side.folder)
      } else if (one.do === 'write') await side.book.allowances.settle()
      else if (one.do === 'forget') side.book.allowances.forget(userId)
      else {
        for (const { id } of side.running) lost.add(id)
        await side.kill()
        // A computer that is lost takes its folder along: calls that were not written down yet are charged to nobody.
        if (one.isFolderLost) {
          for (const id of await unwritten(side.ended)) {
            used.delete(id)
            lost.add(id)
          }
        }
        sides[one.at] = await open(one.isFolderLost ? undefined : side.folder)
        if (one.isFolderLost) continue
        // What was written down already may stand there still.
        writeFileSync(join(side.folder, 'before-0.jsonl'), side.seen)
        await sides[one.at]?.book.allowances.recover()
      }
    }
    await requireCovered(userId)
  }
  for (const side of sides) {
    for (const { id } of side.running) {
      await side.book.end(caller, model, id, endOf(1))
      used.set(id, 1)
    }
    await side.book.allowances.stop()
  }
  await sides[0]?.book.endLost(new AbortController().signal)

  // Whoever finds all of it again writes nothing of it down again.
  for (const { folder, seen } of sides) {
    writeFileSync(join(folder, 'after-0.jsonl'), seen)
    const next = await open(folder)
    await next.book.allowances.recover()
    await next.book.allowances.stop()
  }
  for (const instanceId of held) await fixture.releaseHold({ userId, instanceId })
  const rows = await db.select().from(modelCall).where(eq(modelCall.userId, userId))
  const charged = await db.select().from(usageInterval).where(eq(usageInterval.userId, userId))
  const byCall = Map.groupBy(charged, ({ subjectId }) => subjectId)
  expect(
    rows
      .filter(({ status }) => status === 'done')
      .map(({ id }) => id)
      .sort(),
  ).toEqual([...used.keys()].sort())
  for (const { id, status, costMicro } of rows) {
    expect(began.has(id)).toBe(true)
    if (status !== 'done') expect([lost.has(id), status, costMicro]).toEqual([true, 'lost', 0n])
  }
  for (const [id, output] of used) {
    expect(byCall.get(id)?.length).toBe(1)
    expect(byCall.get(id)?.[0]?.rateMicro).toBe(costOf(output))
  }
  expect(byCall.size).toBe(used.size)
  const waived = charged.reduce((sum, { waivedMicro }) => sum + waivedMicro, 0n)
  // Of credits that end while a call runs, what was not set aside is nobody's.
  if (ending === 0n) expect(waived).toBe(0n)
  const ofUser = eq(modelAllowance.userId, userId)
  expect(await db.$count(modelAllowance, ofUser)).toBe(0)
  const isOpen = and(
    eq(walletHold.userId, userId),
    eq(walletHold.subjectKind, 'model_call'),
    isNull(walletHold.releasedAt),
  )
  expect(await db.$count(walletHold, isOpen)).toBe(0)
  expect(await billing.checkBooks()).toEqual([])
  return rows.filter(({ status, mostMicro }) => status === 'done' && mostMicro === 0n).length
}

const endOf = (output: number) => ({
  status: 'done' as const,
  used: { ...NO_USE, inputTokens: 10, outputTokens: output },
  firstByteMs: 1,
})
const costOf = (output: number) => 10n * PRICES.input + BigInt(output) * PRICES.output

function refused(error: unknown): null {
  if (error instanceof ApiError && error.code === 'insufficient_balance') return null
  throw error
}

async function customerWith(has: { micro: bigint; free: bigint; ending: bigint }): Promise<string> {
  const userId = await fixture.customer()
  const grant = async (amountMicro: bigint, part: { modelsOnly?: boolean; endsAt?: Date | null }) => {
    if (amountMicro === 0n) return
    const given = {
      id: systemIds.uuid(),
      userId,
      amountMicro,
      kind: 'bonus',
      reason: 'test',
      ...part,
    } as const
    await fixture.db.transaction(tx => fixture.billing.grantCredit(tx, given))
  }
  await grant(has.micro, {})
  await grant(has.free, { modelsOnly: true })
  await grant(has.ending, { endsAt: new Date(fixture.clock.now().getTime() + 600_000) })
  return userId
}

/** Sets a part of what is there aside for a machine, or all of it. @returns The machine. */
async function holdSome(userId: string, share: number): Promise<string> {
  const { availableMicro } = await fixture.billing.totals(fixture.db, userId)
  const instanceId = systemIds.uuid()
  await fixture.hold({ userId, instanceId, amountMicro: availableMicro / BigInt(share) })
  return instanceId
}

function textIn(folder: string): string {
  return readdirSync(folder)
    .map(name => readFileSync(join(folder, name), 'utf8'))
    .join('')
}

/** Calls that are over and in no row as ended. */
async function unwritten(ended: readonly string[]): Promise<string[]> {
  const rows = await fixture.db
    .select({ id: modelCall.id })
    .from(modelCall)
    .where(eq(modelCall.status, 'done'))
  const known = new Set(rows.map(({ id }) => id))
  return ended.filter(id => !known.has(id))
}

/** What is set aside is there, at any moment, and no account is below zero. */
async function requireCovered(userId: string): Promise<void> {
  const isOpen = and(eq(walletHold.userId, userId), isNull(walletHold.releasedAt))
  const [accounts, lots, holds] = await fixture.db.transaction(
    async tx => [
      await tx.select().from(ledgerAccount).where(eq(ledgerAccount.userId, userId)),
      await tx.select().from(creditGrant).where(eq(creditGrant.userId, userId)),
      await tx.select().from(walletHold).where(isOpen),
    ],
    { isolationLevel: 'repeatable read' },
  )
  const owned = accounts.reduce((sum, { balanceMicro }) => sum + (balanceMicro ?? 0n), 0n)
  const forModels = lots.reduce((sum, { modelsOnly, restMicro }) => sum + (modelsOnly ? restMicro : 0n), 0n)
  const held = holds.reduce((sum, { amountMicro, usedMicro }) => sum + amountMicro - usedMicro, 0n)
  expect(held).toBeLessThanOrEqual(owned - forModels)
}
