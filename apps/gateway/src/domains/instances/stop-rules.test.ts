import { SPEND_LIMIT_CENTS_MAX } from '@berth/contract/limits'
import { usageDueMicro } from '@berth/contract/money'
import { eq } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Instances } from './instances.ts'
import { createInstancesFixture, type InstancesFixture, startWanted } from './instances-fixture.ts'
import { nextStop, stopRuleOf } from './stop-rules.ts'
import { instanceUse } from './tables.ts'

const NOW = new Date('2026-03-10T12:00:00.000Z')

test('[B5] whatever it costs, what runs on is stopped when its limit is used up, and no later than it may be looked at', () => {
  const limit = fc.integer({ min: 1, max: SPEND_LIMIT_CENTS_MAX })
  const rate = fc.bigInt({ min: 1n, max: 1_000_000_000n })
  const part = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  fc.assert(
    fc.property(limit, rate, part, (spendLimitCents, runningMicroPerHour, used) => {
      const rules = {
        stopAt: null,
        spendLimitCents,
        idleStopMinutes: null,
        runningMicroPerHour,
        billingType: 'postpay',
      } as const
      const spent = (costMicro: bigint) => ({ costMicro, idleSince: null })
      const cost = BigInt(Math.floor(spendLimitCents * 10_000 * used))
      fc.pre(stopRuleOf(rules, NOW, spent(cost)) === null)
      const next = nextStop(rules, NOW, spent(cost))
      const leftMs = (next?.getTime() ?? 0) - NOW.getTime()
      expect(leftMs).toBeGreaterThan(0)
      const isFar = leftMs >= 366 * 86_400_000
      const costThen = cost + usageDueMicro(leftMs, runningMicroPerHour)
      if (!isFar) expect(stopRuleOf(rules, next ?? NOW, spent(costThen))).toBe('spend_limit_reached')
      const before = cost + usageDueMicro(leftMs - 1_000, runningMicroPerHour)
      expect(stopRuleOf(rules, NOW, spent(before))).toBeNull()
    }),
  )
})

describe('[B5] an instance that is told when to stop', () => {
  let fixture: InstancesFixture
  beforeAll(async () => {
    fixture = await createInstancesFixture()
    watching = fixture.instances
    await watching.reconciler.start()
  })
  afterAll(() => fixture.close())

  let watching: Instances
  /** The gateway that looks after the machines goes, and another one comes. */
  async function takeOver(): Promise<Instances> {
    await watching.reconciler.stop()
    watching = await fixture.gateway()
    await watching.reconciler.start()
    return watching
  }

  /** A moment so many seconds from now, as the wire says it. */
  const ahead = (seconds: number) => new Date(fixture.clock.now().getTime() + seconds * 1_000)

  test('stops at its moment, is charged to then, and starts again without it', async () => {
    const userId = await fixture.payer()
    const stopAt = ahead(600)
    const id = await fixture.running(userId, { stop_at: stopAt.toISOString() })
    fixture.clock.advance(599)
    await fixture.until(id, ({ observedAt }) => observedAt?.getTime() === fixture.clock.now().getTime())
    expect((await fixture.row(id)).status).toBe('running')
    fixture.clock.advance(1)
    expect(await fixture.until(id, 'stopped')).toMatchObject({
      reasonCode: 'stop_time_reached',
      stopAt: null,
    })
    const [compute] = await fixture.intervals(id)
    expect(compute?.endedAt).toEqual(stopAt)
    expect(await fixture.eventCodes(userId, id)).toContain('stopped_at_time')
    // It is what its customer asked for: no trouble, no mail.
    expect(fixture.troubles(userId)).toEqual([])
    await fixture.expectSound(id)
    await fixture.instances.start({ userId, instanceId: id }, startWanted())
    await fixture.until(id, 'running')
  })

  test('stops when it has cost what it may, says so once, and starts again only with more', async () => {
    const userId = await fixture.payer()
    const target = { userId, instanceId: await fixture.running(userId) }
    const id = target.instanceId
    // At 0.08 an hour a cent lasts 450 seconds, and is told to a machine that sleeps until its next look.
    await fixture.instances.edit(target, { spendLimitCents: 1 })
    fixture.clock.advance(449)
    await fixture.until(id, ({ observedAt }) => observedAt?.getTime() === fixture.clock.now().getTime())
    expect((await fixture.row(id)).status).toBe('running')
    fixture.clock.advance(1)
    // What each of its meters has cost is floored: a second more may be needed.
    const stopped = await fixture.until(id, 'stopped', { seconds: 1 })
    expect(stopped).toMatchObject({ reasonCode: 'spend_limit_reached' })
    expect(fixture.troubles(userId)).toMatchObject([{ cause: 'spend_limit_reached', instances: [{ id }] }])
    expect(await fixture.eventCodes(userId, id)).toContain('stopped_at_limit')
    await fixture.expectSound(id)

    const again = () => fixture.instances.start(target, startWanted())
    await expect(again()).rejects.toMatchObject({ code: 'spend_limit_reached' })
    await fixture.instances.edit(target, { spendLimitCents: null })
    await again()
    await fixture.until(id, 'running')
    await fixture.expectSound(id)
  })

  test('is refused a moment that has gone by, one that is too far, and a limit below its cost', async () => {
    const userId = await fixture.payer()
    const target = { userId, instanceId: await fixture.running(userId) }
    const edit = (wanted: Parameters<typeof fixture.instances.edit>[1]) =>
      fixture.instances.edit(target, wanted)
    const refused = (path: string, rule: string) => ({ code: 'validation_failed', fields: [{ path, rule }] })
    await expect(edit({ stopAt: ahead(0) })).rejects.toMatchObject(refused('stop_at', 'moment_past'))
    const tooFar = { stopAt: ahead(367 * 86_400) }
    await expect(edit(tooFar)).rejects.toMatchObject(refused('stop_at', 'moment_far'))
    await expect(fixture.deploy(userId, { stop_at: ahead(-1).toISOString() })).rejects.toMatchObject(
      refused('stop_at', 'moment_past'),
    )
    fixture.clock.advance(900)
    await expect(edit({ spendLimitCents: 1 })).rejects.toMatchObject(
      refused('spend_limit_cents', 'below_cost'),
    )
    expect(await fixture.row(target.instanceId)).toMatchObject({ stopAt: null, spendLimitCents: null })
  })

  test('stops when nobody was connected and it was quiet for so long, says so, and starts again with its rule', async () => {
    const userId = await fixture.payer()
    const id = await fixture.running(userId, { idle_stop_minutes: 5 })
    const { instances, clock } = fixture
    const quiet = (isQuiet = true) => instances.noteLoad([{ instanceId: id, isQuiet }])
    /** Time in which it is looked at each half minute, as a gateway that looks after it does. */
    const pass = async (minutes: number, isQuiet = true) => {
      for (let half = 0; half < 2 * minutes; half++) {
        clock.advance(30)
        await quiet(isQuiet)
      }
      await fixture.until(id, ({ observedAt }) => observedAt?.getTime() === clock.now().getTime())
    }
    await quiet()
    await pass(4)
    // Through another gateway than the one that looks after it.
    const other = await fixture.gateway()
    await other.noteUsed([id])
    await pass(4)
    await pass(1, false)
    // Quiet from the first of these looks on.
    await pass(5)
    expect((await fixture.row(id)).status).toBe('running')
    clock.advance(30)
    await quiet()
    expect(await fixture.until(id, 'stopped')).toMatchObject({ reasonCode: 'idle', idleStopMinutes: 5 })
    expect(await fixture.eventCodes(userId, id)).toContain('stopped_when_idle')
    expect(fixture.troubles(userId)).toEqual([])
    await fixture.expectSound(id)
    await instances.start({ userId, instanceId: id }, startWanted())
    await fixture.until(id, 'running')
    await pass(1)
    expect((await fixture.row(id)).status).toBe('running')
  })

  test('is idle on when its gateway died, but for the time in which nobody looked, and not by a rule that is new', async () => {
    const userId = await fixture.payer()
    const target = { userId, instanceId: await fixture.running(userId, { idle_stop_minutes: 5 }) }
    const id = target.instanceId
    const { clock } = fixture
    const quiet = (gateway: typeof fixture.instances) => gateway.noteLoad([{ instanceId: id, isQuiet: true }])
    const seen = () => fixture.until(id, ({ observedAt }) => observedAt?.getTime() === clock.now().getTime())
    const halfMinutes = async (count: number, gateway: typeof fixture.instances) => {
      for (let half = 0; half < count; half++) {
        clock.advance(30)
        await quiet(gateway)
      }
    }
    await quiet(fixture.instances)
    await halfMinutes(8, fixture.instances)
    clock.advance(3_600)
    const next = await takeOver()
    await seen()
    expect((await fixture.row(id)).status).toBe('running')
    await quiet(next)
    await halfMinutes(1, next)
    await seen()
    expect((await fixture.row(id)).status).toBe('running')
    await halfMinutes(1, next)
    expect(await fixture.until(id, 'stopped')).toMatchObject({ reasonCode: 'idle' })

    await next.start(target, startWanted())
    await fixture.until(id, 'running')
    await quiet(next)
    await halfMinutes(8, next)
    await next.edit(target, { idleStopMinutes: null })
    await halfMinutes(1, next)
    expect(await fixture.db.select().from(instanceUse).where(eq(instanceUse.instanceId, id))).toEqual([])
    await next.edit(target, { idleStopMinutes: 5 })
    await quiet(next)
    await halfMinutes(9, next)
    await seen()
    expect((await fixture.row(id)).status).toBe('running')
  })

  test('is started again after its moment has passed while it was stopped by hand', async () => {
    const userId = await fixture.payer()
    const id = await fixture.running(userId, { stop_at: ahead(300).toISOString() })
    const target = { userId, instanceId: id }
    await fixture.instances.stop(target)
    await fixture.until(id, 'stopped')
    fixture.clock.advance(600)
    await fixture.instances.start(target, startWanted())
    expect(
      await fixture.until(id, row => row.status !== 'creating' && row.status !== 'pulling'),
    ).toMatchObject({
      status: 'running',
      stopAt: null,
    })
  })

  test('stops at its moment although no gateway was there when it came', async () => {
    const userId = await fixture.payer()
    const id = await fixture.running(userId, { stop_at: ahead(300).toISOString() })
    fixture.clock.advance(3_600)
    await takeOver()
    expect(await fixture.until(id, 'stopped')).toMatchObject({ reasonCode: 'stop_time_reached' })
  })
})
