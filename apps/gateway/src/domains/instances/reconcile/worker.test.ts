import pino from 'pino'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createInstancesFixture, type InstancesFixture } from '../instances-fixture.ts'
import type { InstanceRow } from '../rows.ts'
import { RECONCILE_LIMITS } from './limits.ts'
import type { Steps } from './steps.ts'
import type { Store } from './store.ts'
import { createWorker } from './worker.ts'

let fixture: InstancesFixture
let row: InstanceRow
beforeAll(async () => {
  fixture = await createInstancesFixture()
  const id = await fixture.deploy(await fixture.payer())
  row = await fixture.row(id)
})
afterAll(() => fixture.close())

/** Works on a row that is to be pulled, by steps and a store of the test. @returns How many steps it took, and what it noted. */
async function work(part: { execute: Steps['execute']; reread: Store['reread'] }) {
  const { promise: isDone, resolve } = Promise.withResolvers<void>()
  const noted: string[] = []
  const never = async () => null
  const worker = createWorker(
    {
      clock: fixture.clock,
      log: pino({ level: 'silent' }),
      limits: RECONCILE_LIMITS,
      watchedSince: fixture.clock.now(),
      steps: {
        look: async () => ({ state: 'absent' }),
        spent: async () => ({ costMicro: 0n, idleSince: null }),
        execute: part.execute,
      },
      store: {
        find: async () => [],
        claim: async () => [],
        renew: async () => new Map(),
        version: never,
        rest: async () => true,
        releaseAll: async () => undefined,
        note: never,
        withLocks: never,
        dueAt: never,
        reread: part.reread,
        async noteFailure(_, { detail }) {
          noted.push(detail)
          return null
        },
      },
    },
    { onDone: () => resolve(), onMissed: () => undefined, mayPull: () => true },
  )
  onTestFinished(() => worker.abortAll(0))
  worker.begin(row)
  await isDone
  return noted
}

test('a customer who asks for something else again and again, before each step has its effect, is not taken for a fault', async () => {
  let version = row.version
  const noted = await work({
    execute: async () => null,
    reread: async () => (++version > row.version + 100 ? null : { ...row, version }),
  })
  expect(version).toBe(row.version + 101)
  expect(noted).toEqual([])
})

test('a step that changes nothing is made once, and then put off', async () => {
  let steps = 0
  const noted = await work({
    async execute() {
      steps += 1
      return null
    },
    reread: async () => row,
  })
  expect(steps).toBe(1)
  expect(noted).toEqual(['begin_pull changed nothing'])
})
