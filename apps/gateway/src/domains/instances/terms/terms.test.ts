import { randomUUID } from 'node:crypto'
import type { DeployBody } from '@berth/contract/instances'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { computeFailure } from '../../../drivers/compute/fake/fake-engine.ts'
import { termNews } from '../events.ts'
import { createInstancesFixture, type InstancesFixture, startWanted } from '../instances-fixture.ts'
import type { BillingConfirmed } from './term-actions.ts'

/** A CPU machine of 0.08 an hour: 168 h less 10 %, and 720 h less 20 %. */
const WEEK = 12_090_000n
const MONTH = 46_080_000n
const HOUR = 80_000n
const DAY_S = 86_400
const WEEKLY = { billing_type: 'prepay', charge_cycle: 'weekly' } as const

let fixture: InstancesFixture
beforeAll(async () => {
  fixture = await createInstancesFixture()
  await fixture.instances.reconciler.start()
})
afterEach(() => fixture.compute.faults.heal())
afterAll(() => fixture.close())

describe('[R1.4] [R4.3] a term that is paid in advance', () => {
  test('is set aside at the deploy, taken when the machine is ready, and not metered, stopped or not', async () => {
    const userId = await fixture.payer()
    // A limit that its term uses up keeps it from further terms, and not from this one.
    const id = await prepaid(userId, { spend_limit_cents: Number(WEEK / 10_000n) })
    const row = await fixture.row(id)
    expect(row).toMatchObject({ autoRenew: true, termMicro: WEEK, expiryTime: after(row.readyAt, 7) })
    expect(await totals(userId)).toEqual({ total: 100_000_000n - WEEK, held: 0n })
    fixture.clock.advance(2 * DAY_S)
    await fixture.instances.stop({ userId, instanceId: id })
    await fixture.until(id, 'stopped')
    // What is paid for is not given to others: it can be started again.
    expect(await fixture.takenBy(id)).toBe(1)
    await fixture.expectSound(id)
    fixture.clock.advance(DAY_S)
    await fixture.instances.start({ userId, instanceId: id }, startWanted())
    expect(await fixture.until(id, 'running')).toMatchObject({ expiryTime: row.expiryTime })
    expect(await totals(userId)).toEqual({ total: 100_000_000n - WEEK, held: 0n })
    await fixture.expectSound(id)
    const other = startWanted({ specId: 'l4' })
    await fixture.instances.stop({ userId, instanceId: id })
    await fixture.until(id, 'stopped')
    await expect(fixture.instances.start({ userId, instanceId: id }, other)).rejects.toMatchObject({
      code: 'validation_failed',
      fields: [{ path: 'gpu_spec_id', rule: 'not_allowed' }],
    })
  })

  test('[B6] is given back where the machine never becomes ready', async () => {
    const userId = await fixture.payer()
    fixture.compute.faults.fail('start', computeFailure('unsupported'))
    const id = await fixture.deploy(userId, WEEKLY)
    expect(await totals(userId)).toEqual({ total: 100_000_000n, held: WEEK })
    await fixture.until(id, 'error')
    expect(await totals(userId)).toEqual({ total: 100_000_000n, held: 0n })
    fixture.compute.faults.heal()
    await fixture.instances.start({ userId, instanceId: id }, startWanted())
    await fixture.until(id, 'running')
    expect(await totals(userId)).toEqual({ total: 100_000_000n - WEEK, held: 0n })
    await fixture.expectSound(id)
  })

  test('is refused without the money for all of it, at another price than was shown, and in half', async () => {
    const userId = await fixture.payer(1_208)
    const deploy = (body: Partial<DeployBody>) => fixture.deploy(userId, { ...WEEKLY, ...body })
    await expect(deploy({})).rejects.toMatchObject({
      code: 'insufficient_balance',
      values: { needed: '$12.09', available: '$12.08' },
    })
    await expect(deploy({ price_micro: '1' })).rejects.toMatchObject({ code: 'price_changed' })
    await expect(deploy({ charge_cycle: null })).rejects.toMatchObject({
      fields: [{ path: 'charge_cycle', rule: 'required' }],
    })
    await expect(deploy({ billing_type: 'postpay' })).rejects.toMatchObject({
      fields: [{ path: 'charge_cycle', rule: 'not_allowed' }],
    })
    await expect(deploy({ spend_limit_cents: 1_208 })).rejects.toMatchObject({
      fields: [{ path: 'spend_limit_cents', rule: 'below_cost' }],
    })
    expect(await totals(userId)).toEqual({ total: 12_080_000n, held: 0n })
  })
})

describe('[R4.3] at the end of a term', () => {
  test('it is renewed once, whichever gateway gets there, and told before and after', async () => {
    const userId = await fixture.payer()
    const id = await prepaid(userId)
    const other = await fixture.gateway({ listen: true })
    await other.reconciler.start()
    const { expiryTime: first } = await fixture.row(id)
    fixture.clock.advance(4 * DAY_S)
    await fixture.until(id, ({ termNoticeDay }) => termNoticeDay === 3)
    fixture.clock.advance(2 * DAY_S)
    await fixture.until(id, ({ termNoticeDay }) => termNoticeDay === 1)
    fixture.clock.advance(DAY_S)
    const renewed = await fixture.until(id, ({ expiryTime }) => expiryTime?.getTime() !== first?.getTime())
    await other.reconciler.stop()
    expect(renewed).toMatchObject({ status: 'running', expiryTime: after(first, 7), termNoticeDay: null })
    expect((await fixture.intervals(id)).map(({ charge }) => charge)).toEqual(['term', 'term'])
    expect(await totals(userId)).toEqual({ total: 100_000_000n - 2n * WEEK, held: 0n })
    expect(news(userId).map(({ outcome }) => outcome)).toEqual(['will_renew', 'renewed'])
    expect(await fixture.eventCodes(userId, id)).toContain('term_renewed')
    await fixture.expectSound(id)
  })

  test.each([
    ['the money', { cents: 1_300, body: {} }],
    ['room below its limit', { cents: 10_000, body: { spend_limit_cents: 2_000 } }],
  ])('[B4] [B5] without %s it is stopped and goes on demand, and nothing is deleted', async (_what, had) => {
    const userId = await fixture.payer(had.cents)
    const id = await prepaid(userId, { container_disk_gb: 22, ...had.body })
    fixture.clock.advance(4 * DAY_S)
    await fixture.until(id, ({ termNoticeDay }) => termNoticeDay === 3)
    fixture.clock.advance(3 * DAY_S)
    const stopped = await fixture.until(id, 'stopped')
    expect(stopped).toMatchObject({ reasonCode: 'term_unpaid', billingType: 'postpay', expiryTime: null })
    expect(await fixture.takenBy(id)).toBe(0)
    expect(news(userId).map(({ outcome }) => outcome)).toEqual(['will_stop', 'unpaid'])
    await fixture.expectSound(id)
    expect((await fixture.intervals(id)).at(-1)).toMatchObject({ usage: 'disk', endedAt: null })
  })

  test('one whose renewal was cancelled is released, with a word on it at once where it was told otherwise, and one day before', async () => {
    const userId = await fixture.payer()
    const id = await prepaid(userId)
    fixture.clock.advance(4 * DAY_S)
    await fixture.until(id, ({ termNoticeDay }) => termNoticeDay === 3)
    await fixture.instances.toggleRenewal({ userId, instanceId: id }, false)
    await fixture.until(id, ({ termNoticeDay }) => termNoticeDay === 3)
    fixture.clock.advance(2 * DAY_S)
    await fixture.until(id, ({ termNoticeDay }) => termNoticeDay === 1)
    fixture.clock.advance(DAY_S - 1)
    await fixture.until(id, ({ nextAttemptAt }) => nextAttemptAt > fixture.clock.now())
    expect(await fixture.row(id)).toMatchObject({ status: 'running' })
    fixture.clock.advance(1)
    await fixture.until(id, 'terminated')
    const told = news(userId).map(({ outcome }) => outcome)
    expect(told).toEqual(['will_renew', 'will_release', 'will_release', 'released'])
    expect(await totals(userId)).toEqual({ total: 100_000_000n - WEEK, held: 0n })
    await fixture.expectSound(id)
  })

  test('one that has failed is not renewed: nobody pays for what does not run', async () => {
    const userId = await fixture.payer()
    const id = await prepaid(userId)
    await fixture.force(id, 'error')
    fixture.clock.advance(7 * DAY_S)
    await fixture.until(id, ({ billingType }) => billingType === 'postpay')
    expect(await totals(userId)).toEqual({ total: 100_000_000n - WEEK, held: 0n })
    await fixture.expectSound(id)
  })
})

describe('[R4.3] [R4.5] its customer', () => {
  test('[B3] renews it now: the next term follows on the one under way, once for each key', async () => {
    const userId = await fixture.payer()
    const target = { userId, instanceId: await prepaid(userId) }
    const { expiryTime } = await fixture.row(target.instanceId)
    const preview = await fixture.instances.previewBilling(target, { change: 'renew', cycle: null })
    expect(preview).toMatchObject({ price_micro: String(WEEK), cost_micro: String(WEEK), refused: null })
    const wanted = confirmed({ change: 'renew', priceMicro: preview.price_micro })
    await fixture.instances.changePaying(target, wanted)
    await fixture.instances.changePaying(target, wanted)
    const row = await fixture.row(target.instanceId)
    expect(row.expiryTime).toEqual(after(expiryTime, 7))
    expect(preview.expiry_time).toBe(row.expiryTime?.toISOString())
    expect(await totals(userId)).toEqual({ total: 100_000_000n - 2n * WEEK, held: 0n })
    expect(await fixture.eventCodes(target.userId, target.instanceId)).toContain('renewed_by_customer')
    await fixture.expectSound(target.instanceId)
    // What is deleted has back what it has not used: the term to come, and of this one all but its hours on demand.
    fixture.clock.advance(3_600)
    await fixture.instances.terminate(target)
    await fixture.until(target.instanceId, 'terminated')
    expect(await totals(userId)).toEqual({ total: 100_000_000n - HOUR, held: 0n })
    await fixture.expectSound(target.instanceId)
  })

  test('is refused another price, what the balance lacks, what goes beyond its limit, and a year ahead', async () => {
    const userId = await fixture.payer(100_000)
    const target = { userId, instanceId: await prepaid(userId, { spend_limit_cents: 2_417 }) }
    const renew = (priceMicro = String(WEEK)) =>
      fixture.instances.changePaying(target, confirmed({ change: 'renew', priceMicro }))
    await expect(renew('12089999')).rejects.toMatchObject({ code: 'price_changed' })
    await expect(renew()).rejects.toMatchObject({
      fields: [{ path: 'spend_limit_cents', rule: 'below_cost' }],
    })
    await fixture.instances.edit(target, { spendLimitCents: null })
    for (let terms = 1; terms < 52; terms += 1) await renew()
    await expect(renew()).rejects.toMatchObject({ code: 'term_too_far', values: { days: 366 } })
    const poor = await fixture.payer(1_300)
    const theirs = { userId: poor, instanceId: await prepaid(poor) }
    const wanted = confirmed({ change: 'renew', priceMicro: String(WEEK) })
    await expect(fixture.instances.changePaying(theirs, wanted)).rejects.toMatchObject({
      code: 'insufficient_balance',
    })
    expect(await totals(poor)).toEqual({ total: 13_000_000n - WEEK, held: 0n })
  })

  test('switches one that runs on demand to a term, and back: the time used costs what it costs on demand', async () => {
    const userId = await fixture.payer()
    const target = { userId, instanceId: await fixture.running(userId) }
    const id = target.instanceId
    fixture.clock.advance(1_800)
    const subscribe = { change: 'subscribe', cycle: 'monthly' } as const
    const preview = await fixture.instances.previewBilling(target, subscribe)
    expect(preview).toMatchObject({ cost_micro: String(MONTH), back_micro: '0', reserve_micro: '0' })
    const once = { ...subscribe, autoRenew: false, priceMicro: String(MONTH) }
    await fixture.instances.changePaying(target, confirmed(once))
    expect(await fixture.row(id)).toMatchObject({ billingType: 'prepay', autoRenew: false })
    expect(await totals(userId)).toEqual({ total: 100_000_000n - HOUR / 2n - MONTH, held: 0n })
    await fixture.expectSound(id)

    fixture.clock.advance(100 * 3_600)
    const convert = { change: 'convert', cycle: null } as const
    const back = await fixture.instances.previewBilling(target, convert)
    expect(back).toMatchObject({ back_micro: String(MONTH - 100n * HOUR), reserve_micro: String(HOUR) })
    await fixture.instances.changePaying(target, confirmed({ ...convert, priceMicro: back.price_micro }))
    expect(await fixture.row(id)).toMatchObject({
      billingType: 'postpay',
      expiryTime: null,
      status: 'running',
    })
    const spent = HOUR / 2n + 100n * HOUR
    expect(await totals(userId)).toEqual({ total: 100_000_000n - spent, held: HOUR })
    await fixture.expectSound(id)
  })

  test('takes it from a month to a week: what is left is given back before the week is taken', async () => {
    const userId = await fixture.payer(5_000)
    // What is given back is no cost: its limit leaves room for the week.
    const body = { charge_cycle: 'monthly', spend_limit_cents: Number(MONTH / 10_000n) } as const
    const target = { userId, instanceId: await prepaid(userId, body) }
    fixture.clock.advance(3_600)
    const wanted = { change: 'convert', cycle: 'weekly' } as const
    const preview = await fixture.instances.previewBilling(target, wanted)
    expect(preview).toMatchObject({ cost_micro: String(WEEK), back_micro: String(MONTH - HOUR) })
    await fixture.instances.changePaying(target, confirmed({ ...wanted, priceMicro: String(WEEK) }))
    expect(await totals(userId)).toEqual({ total: 50_000_000n - HOUR - WEEK, held: 0n })
    const same = fixture.instances.changePaying(target, confirmed({ ...wanted, priceMicro: String(WEEK) }))
    await expect(same).rejects.toMatchObject({ code: 'charge_type_same' })
    await fixture.expectSound(target.instanceId)
  })

  test('is told why an action is not open: on demand, in advance already, before its first term', async () => {
    const userId = await fixture.payer()
    const onDemand = { userId, instanceId: await fixture.running(userId) }
    const refused = (target: typeof onDemand, change: BillingConfirmed['change']) =>
      fixture.instances.changePaying(target, confirmed({ change, priceMicro: '1' }))
    await expect(refused(onDemand, 'renew')).rejects.toMatchObject({ code: 'not_prepaid' })
    await expect(refused(onDemand, 'convert')).rejects.toMatchObject({ code: 'not_prepaid' })
    await expect(fixture.instances.toggleRenewal(onDemand, true)).rejects.toMatchObject({
      code: 'not_prepaid',
    })
    const advance = { userId, instanceId: await prepaid(userId) }
    await expect(refused(advance, 'subscribe')).rejects.toMatchObject({ code: 'already_prepaid' })
    fixture.compute.faults.fail('start', computeFailure('unsupported'))
    const failed = { userId, instanceId: await fixture.deploy(userId, WEEKLY) }
    await fixture.until(failed.instanceId, 'error')
    await expect(refused(failed, 'renew')).rejects.toMatchObject({ code: 'term_not_begun' })
    expect(await fixture.instances.previewBilling(failed, { change: 'renew', cycle: null })).toMatchObject({
      refused: 'term_not_begun',
      cost_micro: '0',
    })
  })
})

// The last one, since it leaves the first gateway behind.
test('[R4.3] a stopped one is renewed as well, also after a night without a gateway, which nobody pays for', async () => {
  const userId = await fixture.payer()
  const id = await prepaid(userId)
  await fixture.instances.stop({ userId, instanceId: id })
  await fixture.until(id, 'stopped')
  await fixture.instances.reconciler.stop()
  fixture.clock.advance(7 * DAY_S + 8 * 3_600)
  const now = fixture.clock.now()
  const next = await fixture.gateway()
  await next.reconciler.start()
  const renewed = await fixture.until(id, ({ expiryTime }) => expiryTime !== null && expiryTime > now)
  expect(renewed).toMatchObject({ status: 'stopped', expiryTime: after(now, 7) })
  await fixture.expectSound(id)
})

function prepaid(userId: string, body: Partial<DeployBody> = {}): Promise<string> {
  return fixture.running(userId, { ...WEEKLY, ...body })
}

function confirmed(
  part: Pick<BillingConfirmed, 'change' | 'priceMicro'> & Partial<BillingConfirmed>,
): BillingConfirmed {
  return { cycle: null, idempotencyKey: randomUUID(), ...part }
}

function after(moment: Date | null, days: number): Date {
  return new Date((moment?.getTime() ?? 0) + days * DAY_S * 1_000)
}

async function totals(userId: string): Promise<{ total: bigint; held: bigint }> {
  const { totalMicro, heldMicro } = await fixture.billing.totals(fixture.db, userId)
  return { total: totalMicro, held: heldMicro }
}

function news(userId: string) {
  return fixture.events.told
    .filter(({ event }) => event === termNews.name)
    .map(({ payload }) => termNews.payload.parse(payload))
    .filter(told => told.userId === userId)
}
