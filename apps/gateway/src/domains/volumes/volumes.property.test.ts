import { randomUUID } from 'node:crypto'
import { eq } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { triesOf } from '../../../test/long-runs.ts'
import { computeFailure } from '../../drivers/compute/fake/fake-engine.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { usageInterval } from '../billing/meters/tables.ts'
import { createInstancesFixture, type InstancesFixture } from '../instances/instances-fixture.ts'
import { volume } from './tables.ts'
import { isBilled, VOLUME_FOLLOWS } from './volume-states.ts'
import type { Volumes } from './volumes.ts'

/**
 * Goal: whatever is done with a volume, and whenever (grown, deleted, lost and found, unpaid and paid again; with an
 * engine that fails, two gateways and work that dies at its end), it costs its size by the day while it is there and
 * nothing else, its states follow each other as their table says, the books balance, and what the engine has is what
 * the rows name.
 * Method: random lives. After each act the stretches in the books are held against the row.
 */

const GB_DAY_MICRO = 1_600n
const ACTS_MAX = 12

type Act =
  | { kind: 'pass'; hours: number }
  | { kind: 'run' | 'runBoth' | 'lose' | 'plant' | 'again' | 'delete' | 'pay' | 'empty' }
  | { kind: 'grow'; gb: number }
  | { kind: 'fail'; call: string; times: number }

const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ kind: fc.constant('pass' as const), hours: fc.integer({ min: 1, max: 200 }) }),
  fc.record({ kind: fc.constantFrom('run', 'runBoth', 'lose', 'plant', 'again', 'delete', 'pay', 'empty') }),
  fc.record({ kind: fc.constant('grow' as const), gb: fc.integer({ min: 1, max: 200 }) }),
  fc.record({
    kind: fc.constant('fail' as const),
    call: fc.constantFrom('makeVolume', 'growVolume', 'deleteVolume', 'listVolumes'),
    times: fc.integer({ min: 1, max: 6 }),
  }),
)

const never = new AbortController().signal
let fixture: InstancesFixture
let gateways: Volumes[]
beforeAll(async () => {
  fixture = await createInstancesFixture()
  const other = await fixture.gateway()
  await fixture.instances.reconciler.start()
  gateways = [fixture.instances, other].map(fixture.volumesAt)
})
beforeEach(() => fixture.compute.faults.heal())
afterAll(() => fixture.close())

test('[B2] [B4] a volume costs its size by the day while it is there, whatever happens to it', async () => {
  const lives = fc.array(act, { minLength: 4, maxLength: ACTS_MAX })
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 20, max: 500 }), lives, live),
    { numRuns: triesOf('volumes'), endOnFailure: true },
  )
})

async function live(gb: number, creditCents: number, acts: Act[]): Promise<void> {
  const { compute, clock, db, billing } = fixture
  const [here, there] = gateways as [Volumes, Volumes]
  const userId = await fixture.payer(creditCents)
  const key = randomUUID()
  const body = { name: 'data', region_code: 'us-west', size_gb: gb, kind: 'files' as const }
  const create = () => here.create({ userId, idempotencyKey: key, body })
  const { id } = await create()
  const rowNow = async () => {
    const [row] = await db.select().from(volume).where(eq(volume.id, id))
    if (!row) throw new Error('the row is gone')
    return row
  }
  let before = await rowNow()

  for (const next of [{ kind: 'run' } as const, ...acts]) {
    await carryOut(next)
    await check()
  }
  compute.faults.heal()
  await quietly(() => here.remove(userId, id, 'data'))
  await here.run(never)
  clock.advance(60)
  await here.run(never)
  await check()
  expect((await rowNow()).deletedAt, 'it is deleted in the end').not.toBeNull()
  expect(compute.heldVolumes.has(id)).toBe(false)

  async function carryOut(next: Act): Promise<void> {
    switch (next.kind) {
      case 'pass':
        clock.advance(next.hours * 3_600)
        await here.run(never)
        await here.noteEmptyBalance(userId)
        return
      case 'run':
        return await here.run(never)
      case 'runBoth':
        await Promise.all([here.run(never), there.run(never)])
        return
      case 'lose':
        compute.heldVolumes.delete(id)
        return
      case 'plant':
        // Only what is there and was lost is found: nobody plants a volume that is deleted.
        if ((await rowNow()).deletedAt === null) compute.heldVolumes.add(id)
        return
      case 'again':
        await quietly(create)
        return
      case 'delete':
        await quietly(() => here.remove(userId, id, 'data'))
        return
      case 'grow':
        await quietly(() => here.grow({ userId, id, idempotencyKey: randomUUID() }, next.gb))
        return
      case 'pay':
        await db.transaction(tx =>
          billing.grantCredit(tx, {
            id: randomUUID(),
            userId,
            amountMicro: 1_000_000n,
            kind: 'bonus',
            reason: 'test',
          }),
        )
        return
      case 'empty':
        clock.advance(40 * 86_400)
        await there.noteEmptyBalance(userId)
        return
      case 'fail':
        compute.faults.fail(next.call, computeFailure('failed'), next.times)
    }
  }

  async function check(): Promise<void> {
    const row = await rowNow()
    const follows = reachable(before.status)
    expect(follows, `${before.status} became ${row.status}`).toContain(row.status)
    before = row
    const open = (await db.select().from(usageInterval).where(eq(usageInterval.subjectId, id))).filter(
      ({ endedAt }) => endedAt === null,
    )
    const rates = open.map(({ rateMicro, rateSeconds }) => (rateMicro * 86_400n) / BigInt(rateSeconds))
    expect(rates).toEqual(isBilled(row.status) ? [BigInt(row.sizeGb) * GB_DAY_MICRO] : [])
    expect(row.deletedAt === null || !compute.heldVolumes.has(id), 'gone is gone').toBe(true)
    expect(row.wantedGb).toBeGreaterThanOrEqual(row.sizeGb)
    expect(await billing.checkBooks()).toEqual([])
  }
}

/** What a status may have become after any number of steps. */
function reachable(from: keyof typeof VOLUME_FOLLOWS): Set<string> {
  const found = new Set<keyof typeof VOLUME_FOLLOWS>([from])
  for (const status of found) for (const next of VOLUME_FOLLOWS[status]) found.add(next)
  return found
}

/** What is not allowed now is refused, and that is all. */
async function quietly(run: () => Promise<unknown>): Promise<void> {
  try {
    await run()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
  }
}
