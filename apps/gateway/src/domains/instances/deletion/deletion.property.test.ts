import { STOPPED_POD_KEPT_DAYS, STOPPED_POD_NOTICE_DAYS } from '@berth/contract/limits'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { triesOf } from '../../../../test/long-runs.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { deletionNews } from '../events.ts'
import type { Instances } from '../instances.ts'
import { createInstancesFixture, type InstancesFixture, startWanted } from '../instances-fixture.ts'

/**
 * Goal: whatever is done with a pod, and whenever (started, stopped, left alone, with gateways that go and come, and time
 * in which there is none), each announcement of its deletion is told at most once while it is stopped, and it is deleted
 * only after all of them, each as many days before as it says (R9.6).
 * Method: random lives over two gateways and one database. What was told is held against the moments at which it stopped.
 */

const DAY_MS = 86_400_000
const ACTS_MAX = 12

type Act = { kind: 'pass' | 'alone'; hours: number } | { kind: 'start' | 'stop' | 'away' }

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), hours: fc.integer({ min: 1, max: 200 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('alone' as const), hours: fc.integer({ min: 1, max: 900 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('start', 'stop', 'stop', 'away') }) },
)

let fixture: InstancesFixture
let gateways: [Instances, Instances]
beforeAll(async () => {
  fixture = await createInstancesFixture()
  gateways = [await newGateway(), await newGateway()]
})
afterAll(() => fixture.close())

test('[R9.6] each mail comes once while it is stopped, and nothing is deleted without all of them', async () => {
  const acts = fc.array(act, { minLength: 6, maxLength: ACTS_MAX })
  await fc.assert(
    fc.asyncProperty(acts, async acts => {
      const userId = await fixture.payer(1_000_000)
      const id = await fixture.running(userId)
      for (const next of [{ kind: 'stop' } as const, ...acts]) {
        await carryOut(next, { userId, instanceId: id })
        await settled(id)
        checkTold(userId)
        const row = await fixture.row(id)
        const { deletions, announcements } = toldOf(userId)
        expect(deletions.length > 0).toBe(row.terminatedAt !== null)
        if (row.terminatedAt) break
        if (row.status !== 'stopped' || !row.stoppedAt) continue
        const restedMs = fixture.clock.now().getTime() - row.stoppedAt.getTime()
        const isTold = announcements.some(({ stoppedAt }) => stoppedAt === row.stoppedAt?.toISOString())
        expect(isTold).toBe(restedMs >= (STOPPED_POD_KEPT_DAYS - STOPPED_POD_NOTICE_DAYS[0]) * DAY_MS)
      }
      await fixture.expectSound(id)
    }),
    { numRuns: triesOf('deletions'), endOnFailure: true },
  )
}, 600_000)

async function newGateway(): Promise<Instances> {
  const gateway = await fixture.gateway({ listen: true })
  await gateway.reconciler.start()
  return gateway
}

async function carryOut(next: Act, target: { userId: string; instanceId: string }): Promise<void> {
  const { clock } = fixture
  const [first, second] = gateways
  try {
    switch (next.kind) {
      case 'pass':
        clock.advance(next.hours * 3_600)
        break
      case 'alone':
        await Promise.all(gateways.map(gateway => gateway.reconciler.stop()))
        clock.advance(next.hours * 3_600)
        gateways = [await newGateway(), await newGateway()]
        break
      case 'away':
        await first.reconciler.stop()
        gateways = [second, await newGateway()]
        break
      case 'start':
        await first.start(target, startWanted())
        break
      case 'stop':
        await second.stop(target)
        break
    }
  } catch (error) {
    // What its state does not allow is refused, and changes nothing.
    if (!(error instanceof ApiError)) throw error
  }
}

/** Until nothing is under way and nothing is due. */
async function settled(id: string): Promise<void> {
  await fixture.until(id, row => {
    if (row.terminatedAt) return true
    const isQuiet = row.leaseOwner === null && row.nextAttemptAt > fixture.clock.now()
    return isQuiet && ['running', 'stopped'].includes(row.status)
  })
}

function toldOf(userId: string) {
  const told = fixture.events.told
    .filter(({ event }) => event === deletionNews.name)
    .map(({ payload }) => deletionNews.payload.parse(payload))
    .filter(one => one.userId === userId)
  return {
    announcements: told.filter(({ outcome }) => outcome === 'will_delete'),
    deletions: told.filter(({ outcome }) => outcome === 'deleted'),
  }
}

function checkTold(userId: string): void {
  const { announcements, deletions } = toldOf(userId)
  expect(deletions.length).toBeLessThanOrEqual(1)
  const stretches = Map.groupBy(announcements, ({ stoppedAt }) => stoppedAt)
  for (const mails of stretches.values()) {
    expect(mails.length).toBeLessThanOrEqual(STOPPED_POD_NOTICE_DAYS.length)
    for (const [index, { at, keptUntil }] of mails.entries()) {
      const aheadMs = Date.parse(keptUntil) - Date.parse(at)
      expect(aheadMs).toBeGreaterThanOrEqual((STOPPED_POD_NOTICE_DAYS[index] ?? 0) * DAY_MS)
    }
  }
  for (const { at, stoppedAt } of deletions) {
    const deletedMs = Date.parse(at)
    expect(deletedMs - Date.parse(stoppedAt)).toBeGreaterThanOrEqual(STOPPED_POD_KEPT_DAYS * DAY_MS)
    const mails = stretches.get(stoppedAt) ?? []
    expect(mails).toHaveLength(STOPPED_POD_NOTICE_DAYS.length)
    for (const { keptUntil } of mails) expect(deletedMs).toBeGreaterThanOrEqual(Date.parse(keptUntil))
  }
}
