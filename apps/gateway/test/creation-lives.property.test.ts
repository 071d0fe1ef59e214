import { getBalance } from '@berth/contract/billing'
import { OPEN_CREATION_STATUSES } from '@berth/contract/creation-states'
import {
  deleteCreation,
  listCreations,
  makeImages,
  makeVideo,
  retryCreation,
  stopCreation,
} from '@berth/contract/creations'
import { and, eq, isNull, sql } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { walletHold } from '../src/domains/billing/ledger/tables.ts'
import { creationItem } from '../src/domains/models/creations/tables.ts'
import { modelCall } from '../src/domains/models/tables.ts'
import { type FilmServerDouble, refusesFilm, seems, startFilmServer } from './film-server.ts'
import { at, hostedModel } from './hosted-models.ts'
import { triesOf } from './long-runs.ts'
import { type ModelCustomer, type ModelGateway, startModelGateway } from './model-gateway.ts'
import type { TestGateway } from './start-gateway.ts'

/**
 * Goal: whatever is done with pictures and films, and whenever (asked for, stopped, made again, deleted; with servers that
 * fail, and gateways that lose what they work on), each call ends once, what is set aside is let go, and what is charged is
 * what is saved and nothing else.
 * Method: random lives of a customer at two gateways. Once nothing is under way, the books are held against the rows.
 */

const ACTS_MAX = 8
const CENTS = 100
const MICRO_PER_CENT = 10_000n
const KINDS = ['images', 'video', 'stop', 'retry', 'delete', 'lose', 'fail', 'work', 'wait'] as const
const acts = fc.array(fc.constantFrom(...KINDS), { minLength: 3, maxLength: ACTS_MAX })

let films: FilmServerDouble
let models: ModelGateway
let other: TestGateway
let turn = 0
beforeAll(async () => {
  films = await startFilmServer()
  models = await startModelGateway({
    filmLimits: { lookMs: 20, failuresMax: 1 },
    more: ({ server }) => [
      hostedModel('painter', { kind: 'image', servers: [at(server)] }),
      hostedModel('filmer', { kind: 'video', servers: [{ ...at(server), url: films.url }] }),
    ],
  })
  other = await models.another()
  models.server.answer(response => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify({ data: [{ b64_json: Buffer.from('\x89PNG\r\n\x1a\n', 'latin1').toString('base64') }] }),
    )
  })
})
afterAll(async () => {
  await other.stop()
  await models.stop()
  await films.close()
})

test('whatever becomes of pictures and films, what is saved is charged once and nothing else is', async () => {
  await fc.assert(fc.asyncProperty(acts, live), { numRuns: triesOf('creations'), endOnFailure: true })
}, 600_000)

async function live(kinds: readonly (typeof KINDS)[number][]): Promise<void> {
  const customer = await models.customer(CENTS)
  const { db } = models.gateway.database
  films.plan = {}
  for (const kind of kinds) await act(kind, customer)
  films.plan = {}
  await vi.waitFor(
    async () => {
      const list = await models.gateway.data(listCreations, { query: {} }, customer)
      expect(list.counts?.open).toBe(0)
    },
    { timeout: 60_000, interval: 50 },
  )
  const mine = eq(modelCall.userId, customer.userId)
  const calls = await db.select().from(modelCall).where(mine)
  const items = await db.select().from(creationItem).where(eq(creationItem.userId, customer.userId))
  expect(calls.filter(({ status }) => status === 'running')).toEqual([])
  const held = await db
    .select()
    .from(walletHold)
    .where(and(eq(walletHold.userId, customer.userId), isNull(walletHold.releasedAt)))
  expect(held).toEqual([])
  for (const { status, costMicro, callId, fileId } of items) {
    const call = calls.find(({ id }) => id === callId)
    expect(costMicro).toBe(call?.costMicro)
    expect([status === 'saved', fileId !== null]).toEqual([call?.status === 'done', call?.status === 'done'])
    expect(costMicro > 0n).toBe(status === 'saved')
  }
  const charged = calls.reduce((sum, { costMicro }) => sum + costMicro, 0n)
  const { account_balance: balance } = await models.gateway.data(getBalance, {}, customer)
  expect(balance).toMatchObject({ amount: CENTS - Number(charged / MICRO_PER_CENT), amount_freeze: 0 })
}

/** Does one thing; what is refused because of what is there changes nothing. */
async function act(kind: (typeof KINDS)[number], { token, userId }: ModelCustomer): Promise<void> {
  turn += 1
  const gateway = turn % 2 === 0 ? models.gateway : other
  const order = { prompt: 'x', size: '256x256' }
  const { items: runs } = await gateway.data(listCreations, { query: {} }, { token })
  const items = runs.flatMap(run => run.items)
  const [run] = runs
  const tries: Record<(typeof KINDS)[number], () => unknown> = {
    images: () => gateway.call(makeImages, { body: { ...order, model: 'painter', count: 2 } }, { token }),
    video: () => gateway.call(makeVideo, { body: { ...order, model: 'filmer', seconds: 1 } }, { token }),
    stop: () => run && gateway.call(stopCreation, { params: { id: run.id } }, { token }),
    delete: () => run && gateway.call(deleteCreation, { params: { id: run.id } }, { token }),
    retry: () => {
      const left = items.find(({ status }) => status === 'failed' || status === 'stopped')
      return left && gateway.call(retryCreation, { params: { id: left.id } }, { token })
    },
    // As a gateway that has died leaves them.
    lose: () =>
      models.gateway.database.db
        .update(creationItem)
        .set({ owner: 'dead', leasedUntil: new Date(0) })
        .where(
          and(eq(creationItem.userId, userId), sql`${creationItem.status} in ${[...OPEN_CREATION_STATUSES]}`),
        ),
    fail: () => {
      films.plan = { look: seems('failed'), begin: refusesFilm(500, 'no') }
    },
    work: () => {
      films.plan = {}
    },
    wait: () => new Promise(resolve => setTimeout(resolve, 60)),
  }
  await tries[kind]()
}
