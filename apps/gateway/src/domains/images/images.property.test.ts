import { randomUUID } from 'node:crypto'
import { createImageBody } from '@berth/contract/own-images'
import { eq } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { triesOf } from '../../../test/long-runs.ts'
import { createTestImageStore } from '../../../test/test-image-store.ts'
import { computeFailure } from '../../drivers/compute/fake/fake-engine.ts'
import { offered } from '../../drivers/compute/port/part.ts'
import type { LayoutStore } from '../../drivers/image-store/port.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { usageInterval } from '../billing/meters/tables.ts'
import { PARTS_PER_MICRO } from '../billing/meters/units.ts'
import { createInstancesFixture, type InstancesFixture } from '../instances/instances-fixture.ts'
import { gbOf, IMAGE_FOLLOWS, isBilled } from './image-states.ts'
import type { Images } from './images.ts'
import { heldForNothing, imageDetails } from './images-fixture.ts'
import { communityImage, ownImage } from './tables.ts'

/**
 * Goal: whatever is done with an image, and whenever (made, given up, published, answered, taken back, unpaid and paid
 * again, deleted; with an engine that fails and two gateways), its states follow each other as their table says, it costs
 * floor(GB × rate × seconds) while it is kept and nothing else, the books balance, and the store and the engine
 * have what rows name.
 * Method: random lives, with a store that says random sizes. After each act the stretches in the books are held
 * against the row.
 */

const GB = 1_073_741_824
const DAY_S = 86_400n
const ACTS_MAX = 12
const KINDS = [
  ...['run', 'runBoth', 'publish', 'approve', 'reject', 'cancel', 'private'],
  ...['giveUp', 'delete', 'pay', 'empty'],
] as const

type Act =
  | { kind: 'pass'; seconds: number }
  | { kind: (typeof KINDS)[number] }
  | { kind: 'fail'; call: string; times: number }

const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ kind: fc.constant('pass' as const), seconds: fc.integer({ min: 1, max: 500_000 }) }),
  fc.record({ kind: fc.constantFrom(...KINDS) }),
  fc.record({
    kind: fc.constant('fail' as const),
    call: fc.constantFrom('buildImage', 'saveImage', 'deleteImage'),
    times: fc.integer({ min: 1, max: 6 }),
  }),
)

const never = new AbortController().signal
let fixture: InstancesFixture
let gateways: [Images, Images]
const { store, remove: removeStore } = createTestImageStore()
/** What the store says that an image has: nobody writes so many bytes here. */
let saidBytes = 0
const imageStore: LayoutStore = {
  ...store,
  put: async (...given) => ({ ...(await store.put(...given)), size_bytes: saidBytes }),
}
beforeAll(async () => {
  fixture = await createInstancesFixture({ imageStore })
  const other = await fixture.gateway()
  await fixture.instances.reconciler.start()
  gateways = [fixture.imagesAt(fixture.instances), fixture.imagesAt(other)]
})
beforeEach(() => fixture.compute.faults.heal())
afterAll(async () => {
  for (const images of gateways) await images.stop()
  await fixture.close()
  await removeStore()
})

test('[B2] [B4] [R4.8] an image costs its GB by the second while it is kept, whatever happens to it', async () => {
  const size = fc.integer({ min: 1, max: 40 * GB })
  const lives = fc.array(act, { minLength: 4, maxLength: ACTS_MAX })
  await fc.assert(fc.asyncProperty(size, fc.integer({ min: 300, max: 2_000 }), lives, live), {
    numRuns: triesOf('images'),
    endOnFailure: true,
  })
})

async function live(sizeBytes: number, creditCents: number, acts: Act[]): Promise<void> {
  const { compute, clock, db, billing } = fixture
  compute.faults.heal()
  saidBytes = sizeBytes
  const [here, there] = gateways
  const userId = await fixture.payer(creditCents)
  const instanceId = await fixture.running(userId)
  const body = createImageBody.parse({ ...imageDetails, instance_id: instanceId })
  const { id } = await here.create({ userId, idempotencyKey: randomUUID(), body })
  const rowNow = async () => {
    const [row] = await db.select().from(ownImage).where(eq(ownImage.id, id))
    if (!row) throw new Error('the row is gone')
    return row
  }
  let before = await rowNow()

  for (const next of acts) {
    await carryOut(next)
    await check()
  }
  compute.faults.heal()
  await quietly(() => here.remove(userId, id))
  for (const copy of await copies()) await quietly(() => here.review.takeDown(copy.id, 'test'))
  await settled()
  await check()
  expect((await rowNow()).deletedAt, 'it is deleted in the end').not.toBeNull()
  expect((await imageStore.sizes()).images.size).toBe(0)
  expect((await offered(compute.images.own).list()).map(one => one.id)).not.toContain(id)
  await fixture.instances.terminate({ userId, instanceId })
  await fixture.until(instanceId, 'terminated')

  /** What is under way ends, as far as it can. */
  async function settled(): Promise<void> {
    for (let round = 0; round < 12; round++) {
      clock.advance(61)
      await here.run(never)
      // What is made goes on beside the rounds.
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  }

  function copies() {
    return db.select().from(communityImage).where(eq(communityImage.originId, id))
  }

  async function carryOut(next: Act): Promise<void> {
    switch (next.kind) {
      case 'pass':
        clock.advance(next.seconds)
        await here.noteEmptyBalance(userId)
        return
      case 'run':
        return await settled()
      case 'runBoth':
        clock.advance(61)
        await Promise.all([here.run(never), there.run(never)])
        return
      case 'publish':
        return await quietly(() => here.publish(userId, id))
      case 'approve':
        return await quietly(async () => there.review.approve(id, (await there.review.show(id)).seen))
      case 'reject':
        return await quietly(() => there.review.reject(id, 'test'))
      case 'cancel':
        return await quietly(() => here.cancelPublishing(userId, id))
      case 'private':
        return await quietly(() => here.makePrivate(userId, id))
      case 'giveUp':
        return await quietly(() => there.cancelBuild(userId, id))
      case 'delete':
        return await quietly(() => here.remove(userId, id))
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
    expect(reachable(before.status), `${before.status} became ${row.status}`).toContain(row.status)
    before = row
    const stretches = await db.select().from(usageInterval).where(eq(usageInterval.subjectId, id))
    const open = stretches.filter(({ endedAt }) => endedAt === null)
    const rates = open.map(({ rateMicro, rateSeconds }) => (rateMicro * DAY_S) / BigInt(rateSeconds))
    const perDay = BigInt(gbOf(row)) * row.microPerGbDay
    expect(rates).toEqual(isBilled(row.status) ? [perDay] : [])
    for (const { startedAt, endedAt, postedMicro, waivedMicro, carriedParts } of stretches) {
      if (endedAt === null) continue
      const seconds = BigInt(Math.floor((endedAt.getTime() - startedAt.getTime()) / 1_000))
      const parts = carriedParts + seconds * perDay * (PARTS_PER_MICRO / DAY_S)
      expect(postedMicro + waivedMicro).toBe(parts / PARTS_PER_MICRO)
    }
    if (row.status === 'failed') expect(stretches).toEqual([])
    const live = (await copies()).filter(({ withdrawnAt }) => withdrawnAt === null)
    if (row.status === 'private') expect(live, 'what is private is nobody else’s').toEqual([])
    if (row.status === 'community') expect(live.map(one => one.id)).toEqual([row.communityId])
    expect(await billing.checkBooks()).toEqual([])
    expect(await heldForNothing(db)).toEqual([])
  }
}

/** What a status may have become after any number of steps. */
function reachable(from: keyof typeof IMAGE_FOLLOWS): Set<string> {
  const found = new Set<keyof typeof IMAGE_FOLLOWS>([from])
  for (const status of found) for (const next of IMAGE_FOLLOWS[status]) found.add(next)
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
