import { setImmediate as turn } from 'node:timers/promises'
import { eq } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/test-database.ts'
import { systemClock } from './clock.ts'
import { lease as leases } from './database/tables.ts'
import { createLoop, type Loop, type LoopOptions } from './loop.ts'

let database: TestDatabase
let loops: Loop[] = []
beforeAll(async () => {
  database = await createTestDatabase()
})
afterEach(async () => {
  await Promise.all(loops.map(loop => loop.stop()))
  loops = []
})
afterAll(() => database.drop())

const WAIT = { interval: 5 }
const A_LONG_TIME_MS = 3_600_000

describe('a loop', () => {
  test('runs again and again, and goes on after an error', async () => {
    let rounds = 0
    start({
      async run() {
        rounds += 1
        if (rounds === 2) throw new Error('once')
      },
    })
    await vi.waitUntil(() => rounds >= 4, WAIT)
  })

  test('waits otherwise after an error where that is said', async () => {
    let rounds = 0
    start({
      errorPauseMs: A_LONG_TIME_MS,
      async run() {
        rounds += 1
        throw new Error('for ever')
      },
    })
    const others: string[] = []
    start({ run: async () => void others.push('round') })
    await vi.waitUntil(() => rounds === 1 && others.length > 5, WAIT)
    expect(rounds).toBe(1)
  })

  test('begins at once where that is said, also while somebody who died holds the lease', async () => {
    const held = lease('dead')
    const ran: string[] = []
    const dead = start({ lease: held, name: 'at-once', run: async () => void ran.push('dead') })
    await vi.waitUntil(() => ran.includes('dead'), WAIT)
    await dead.stop()
    const run = async () => void ran.push('next')
    start({ lease: lease('next'), name: 'at-once', atOnce: true, pauseMs: A_LONG_TIME_MS, run })
    await vi.waitUntil(() => ran.includes('next'), WAIT)
  })

  test('comes when something is due, and when it is woken, also during a round, before its pause is over', async () => {
    const due = [0, 0, null]
    let rounds = 0
    const loop = start({
      pauseMs: A_LONG_TIME_MS,
      atOnce: true,
      run: async () => {
        rounds += 1
        if (rounds === 4) loop.wake()
      },
      dueInMs: () => due[rounds - 1] ?? null,
    })
    await vi.waitUntil(() => rounds === 3, WAIT)
    loop.wake()
    await vi.waitUntil(() => rounds === 5, WAIT)
    // A later wake puts off no earlier one.
    loop.wake(A_LONG_TIME_MS)
    loop.wake(1)
    loop.wake(A_LONG_TIME_MS)
    await vi.waitUntil(() => rounds === 6, WAIT)
  })

  test('stops when the round under way has ended, and tells it', async () => {
    let told = false
    let ended = false
    const loop = start({
      atOnce: true,
      async run(signal) {
        await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
        told = true
        await turn()
        ended = true
      },
    })
    await loop.stop()
    expect([told, ended]).toEqual([true, true])
  })
})

test('[B14] of two gateways one runs a leased loop, and the other after it has given up', async () => {
  const ran: string[] = []
  const one = start({ lease: lease('one'), name: 'leased', run: async () => void ran.push('one') })
  await vi.waitUntil(() => ran.length > 0, WAIT)
  start({ lease: lease('two'), name: 'leased', run: async () => void ran.push('two') })
  await vi.waitUntil(() => ran.length > 10, WAIT)
  expect(new Set(ran)).toEqual(new Set(['one']))
  await one.stop()
  // It is given back, and not only left to run out.
  const held = await database.db.select().from(leases).where(eq(leases.owner, 'one'))
  expect(held).toEqual([])
  await vi.waitUntil(() => ran.includes('two'), WAIT)
})

function start(options: Partial<LoopOptions> & Pick<LoopOptions, 'run'>): Loop {
  const loop = createLoop({ name: 'test', pauseMs: 2, log: pino({ level: 'silent' }), ...options })
  loops.push(loop)
  loop.start()
  return loop
}

function lease(owner: string) {
  return { db: database.db, clock: systemClock, owner }
}
