import { randomUUID } from 'node:crypto'
import { CHARGE_CYCLES, type ChargeCycle } from '@berth/contract/charge-terms'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { triesOf } from '../../../../test/long-runs.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Instances } from '../instances.ts'
import { createInstancesFixture, type InstancesFixture, startWanted } from '../instances-fixture.ts'
import type { BillingConfirmed } from './term-actions.ts'

/**
 * Goal: whatever is done with an instance that is paid for in advance, and whenever (stopped, renewed, converted, left to
 * expire, repeated; with two gateways, one of which goes away, and transactions that die), what is taken is the price of
 * the terms that were had, nothing is taken twice, and no more is given back than was paid (B2, B3).
 * Method: random lives. After each act the terms in the books are held against an own reckoning of their prices, their
 * number against what was bought, and the row against what its customer wanted.
 */

/** A CPU machine of 0.08 an hour, by its term, and a GB of disk of 0.00014 less the term's discount. */
const MACHINE: Record<ChargeCycle, bigint> = { weekly: 12_090_000n, monthly: 46_080_000n }
const GB: Record<ChargeCycle, bigint> = { weekly: 21_168n, monthly: 80_640n }
const FREE_GB = 20
const TERM_S: Record<ChargeCycle, number> = { weekly: 604_800, monthly: 2_592_000 }
const HOUR_MICRO = 80_000n
const GB_HOUR_MICRO = 140n
const ACTS_MAX = 10

type Act =
  | { kind: 'pass'; seconds: number; dies: boolean }
  | { kind: 'stop' | 'start' | 'keep' | 'cancel' | 'again' | 'away' }
  | { kind: 'renew' }
  | { kind: 'subscribe'; cycle: ChargeCycle }
  | { kind: 'convert'; cycle: ChargeCycle | null }

/** Which disks an instance has: the first GB of the one that it starts from are free, and none of the other. */
const disks = fc.record({
  container_disk_gb: fc.integer({ min: 5, max: 60 }),
  pod_volume_gb: fc.option(fc.integer({ min: 1, max: 90 }), { nil: null }),
})
type Disks = typeof disks extends fc.Arbitrary<infer Value> ? Value : never
const paidGb = ({ container_disk_gb, pod_volume_gb }: Disks) =>
  BigInt(Math.max(0, container_disk_gb - FREE_GB) + (pod_volume_gb ?? 0))

const cycle = fc.constantFrom(...CHARGE_CYCLES)
const dies = fc.nat(3).map(n => n === 0)
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ kind: fc.constant('pass' as const), seconds: fc.integer({ min: 1, max: 7_200 }), dies }),
  fc.record({
    kind: fc.constant('pass' as const),
    seconds: fc.integer({ min: 1, max: 9 }).map(days => days * 86_400),
    dies,
  }),
  fc.record({ kind: fc.constantFrom('stop', 'start', 'keep', 'cancel', 'again', 'away', 'renew') }),
  fc.record({ kind: fc.constant('subscribe' as const), cycle }),
  fc.record({ kind: fc.constant('convert' as const), cycle: fc.option(cycle, { nil: null }) }),
)

let fixture: InstancesFixture
let other: Instances
/** Whether the next transaction that tells of something dies at its end, and whether one has. */
const fate = { dies: false, died: false }
beforeAll(async () => {
  fixture = await createInstancesFixture()
  const { emit } = fixture.events
  fixture.events.emit = async (tx, event, payload) => {
    await emit(tx, event, payload)
    if (!fate.dies) return
    Object.assign(fate, { dies: false, died: true })
    throw new Error('it dies before it commits')
  }
  other = await fixture.gateway({ listen: true })
  await fixture.instances.reconciler.start()
  await other.reconciler.start()
})
afterAll(() => fixture.close())

test('[R1.4] [R3.5] [R4.3] [B2] what is taken is the price of the terms that were had, whatever happens', async () => {
  // What the dearest first term costs, at least.
  const credit = fc.integer({ min: 5_700, max: 20_000 })
  const acts = fc.array(act, { minLength: 4, maxLength: ACTS_MAX })
  await fc.assert(
    fc.asyncProperty(
      fc.option(cycle, { nil: null }),
      disks,
      credit,
      acts,
      async (first, sizes, creditCents, acts) => {
        const userId = await fixture.payer(creditCents)
        const billing = { billing_type: first ? 'prepay' : 'postpay', charge_cycle: first } as const
        const instanceId = await fixture.running(userId, { ...billing, ...sizes })
        const life = await createLife({ userId, instanceId, creditCents, sizes })
        if (first) life.bought += 1
        await life.check()
        for (const next of acts) {
          await life.carryOut(next)
          await life.check()
        }
      },
    ),
    { numRuns: triesOf('terms'), endOnFailure: true },
  )
}, 600_000)

/** One instance, with what its customer has asked for. */
async function createLife(of: { userId: string; instanceId: string; creditCents: number; sizes: Disks }) {
  const { userId, instanceId, creditCents, sizes } = of
  const termMicro = (cycle: ChargeCycle) => MACHINE[cycle] + paidGb(sizes) * GB[cycle]
  const { clock, db, instances } = fixture
  const target = { userId, instanceId }
  let last: BillingConfirmed | null = null
  const me = {
    /** Terms that were bought in all. */
    bought: 0,
    async carryOut(next: Act): Promise<void> {
      if ((await fixture.row(instanceId)).terminatedAt) return
      try {
        await tryAct(next)
      } catch (error) {
        // What its state, its way of paying or its balance does not allow is refused, and changes nothing.
        if (!(error instanceof ApiError)) throw error
      }
      await settled()
    },
    async check(): Promise<void> {
      const row = await fixture.row(instanceId)
      const stretches = await fixture.intervals(instanceId)
      const terms = stretches.filter(({ charge }) => charge === 'term')
      expect(terms).toHaveLength(me.bought)
      for (const term of terms) expect(term.postedMicro).toBe(priceOf(term))
      // One that was renewed ahead and given back before it began has no length, and an end that is still to come.
      const had = terms.filter(({ startedAt, endedAt }) => endedAt !== null && endedAt > startedAt)
      const ends = had.map(({ endedAt }) => endedAt?.getTime() ?? 0)
      if (row.billingType === 'prepay' && !row.terminatedAt) {
        expect(Math.max(...ends)).toBe(row.expiryTime?.getTime())
        expect(row.expiryTime?.getTime()).toBeGreaterThan(clock.now().getTime())
        expect(stretches.filter(({ endedAt }) => endedAt === null)).toEqual([])
      }
      const spent = (await fixture.billing.costMicro(db, 'instance', [instanceId])).get(instanceId) ?? 0n
      const { totalMicro } = await fixture.billing.totals(db, userId)
      const waived = stretches.reduce((sum, { waivedMicro }) => sum + waivedMicro, 0n)
      if (waived === 0n && totalMicro > 0n) expect(totalMicro).toBe(BigInt(creditCents) * 10_000n - spent)
      await fixture.expectSound(instanceId)
    },
  }

  async function tryAct(next: Act): Promise<void> {
    switch (next.kind) {
      case 'pass':
        return await pass(next)
      case 'stop':
        await instances.stop(target)
        return
      case 'start':
        await instances.start(target, startWanted())
        return
      case 'keep':
      case 'cancel':
        await instances.toggleRenewal(target, next.kind === 'keep')
        return
      case 'again':
        if (last) await instances.changePaying(target, last)
        return
      case 'away':
        await other.reconciler.stop()
        other = await fixture.gateway({ listen: true })
        await other.reconciler.start()
        return
      default:
        return await change(next.kind, next.kind === 'renew' ? null : next.cycle)
    }
  }

  async function change(kind: 'renew' | 'subscribe' | 'convert', cycle: ChargeCycle | null): Promise<void> {
    const preview = await instances.previewBilling(target, { change: kind, cycle })
    const before = await fixture.billing.totals(db, userId)
    const wanted = { change: kind, cycle, priceMicro: preview.price_micro, idempotencyKey: randomUUID() }
    await instances.changePaying(target, wanted)
    last = wanted
    if (preview.cost_micro !== '0') me.bought += 1
    const after = await fixture.billing.totals(db, userId)
    expect(before.totalMicro - after.totalMicro).toBe(BigInt(preview.cost_micro) - BigInt(preview.back_micro))
  }

  /** Time goes by; a term that ends in it is renewed once, or becomes what its customer wanted. */
  async function pass({ seconds, dies }: { seconds: number; dies: boolean }): Promise<void> {
    fate.dies = dies
    const before = await fixture.row(instanceId)
    clock.advance(seconds)
    const { availableMicro } = await fixture.billing.totals(db, userId)
    await settled()
    const { expiryTime, chargeCycle, autoRenew } = before
    if (!expiryTime || !chargeCycle || expiryTime > clock.now()) return
    const row = await fixture.row(instanceId)
    const renews = autoRenew && availableMicro >= termMicro(chargeCycle)
    if (renews) me.bought += 1
    const expected = autoRenew ? (renews ? 'prepay' : 'postpay') : 'gone'
    expect(row.terminatedAt ? 'gone' : row.billingType).toBe(expected)
  }

  /** Until nothing is under way; what died with its transaction is taken up again when its lease is over. */
  async function settled(): Promise<void> {
    await fixture.until(instanceId, row => {
      if (row.terminatedAt) return true
      if (row.leaseOwner !== null && fate.died) clock.advance(1)
      const isQuiet = row.leaseOwner === null && row.nextAttemptAt > clock.now()
      return isQuiet && ['running', 'stopped'].includes(row.status)
    })
    Object.assign(fate, { dies: false, died: false })
  }

  /** What a term costs by its own dates: all of it, or as much as its time costs on demand where it has ended early. */
  function priceOf(term: Awaited<ReturnType<InstancesFixture['intervals']>>[number]): bigint {
    const cycle = term.meters[0]?.unit === 'week' ? 'weekly' : 'monthly'
    const price = termMicro(cycle)
    const seconds = BigInt(Math.floor(((term.endedAt?.getTime() ?? 0) - term.startedAt.getTime()) / 1_000))
    if (seconds === BigInt(TERM_S[cycle])) return price
    const part = (price * seconds) / BigInt(TERM_S[cycle])
    const hourMicro = HOUR_MICRO + paidGb(sizes) * GB_HOUR_MICRO
    const onDemand = (hourMicro * seconds) / 3_600n
    const used = onDemand > part ? onDemand : part
    return used < price ? used : price
  }
  return me
}
