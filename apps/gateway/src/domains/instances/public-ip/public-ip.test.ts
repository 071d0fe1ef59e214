import { randomUUID } from 'node:crypto'
import type { DeployBody } from '@berth/contract/instances'
import { runwaySeconds } from '@berth/contract/money'
import { eq } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { computeFailure } from '../../../drivers/compute/fake/fake-engine.ts'
import {
  createInstancesFixture,
  deployBody,
  type InstancesFixture,
  startWanted,
} from '../instances-fixture.ts'
import { instanceEvent } from '../tables.ts'

/** Of the catalogue: an address for 0.005 an hour. */
const IP_HOUR = 5_000n
const HOUR_S = 3_600
const ALL = 100_000_000n
const REGION = 'us-west'
const WITH_PORT: Partial<DeployBody> = { tcp_ports: [22] }
const DEDICATED: Partial<DeployBody> = { tcp_ports: [22], public_ip: 'dedicated' }

let fixture: InstancesFixture
const made: { userId: string; instanceId: string }[] = []
beforeAll(async () => {
  fixture = await createInstancesFixture()
  await fixture.instances.reconciler.start()
})
afterEach(async () => {
  fixture.compute.faults.heal()
  // Addresses are few: each test gives its own back.
  for (const { userId, instanceId } of made.splice(0)) {
    await fixture.instances.terminate({ userId, instanceId }).catch(() => undefined)
    await fixture.until(instanceId, 'terminated')
  }
  expect(await level()).toMatchObject({ available: 2 })
})
afterAll(() => fixture.close())

const level = () => fixture.publicIps.level(fixture.db, REGION)

async function running(userId: string, body: object): Promise<string> {
  const instanceId = await fixture.deploy(userId, body)
  made.push({ userId, instanceId })
  await fixture.until(instanceId, 'running')
  return instanceId
}

function bind(target: { userId: string; instanceId: string }, wanted: { key?: string; price?: string } = {}) {
  const { key = randomUUID(), price = null } = wanted
  return fixture.instances.bindPublicIp(target, {
    regionCode: REGION,
    priceMicro: price,
    idempotencyKey: key,
  })
}

async function eipOf(target: { userId: string; instanceId: string }) {
  return (await fixture.instances.get(target)).eip
}

/** What a customer has, what of it is set aside, and what runs by the hour. */
async function totals(userId: string) {
  const found = await fixture.billing.totals(fixture.db, userId)
  return {
    total: found.totalMicro,
    held: found.totalMicro - found.availableMicro,
    burn: found.burnMicroPerHour,
  }
}

describe('[R2.25] [R4.5] a public IP that is bound to an instance', () => {
  test('costs by the hour from then until it is given back, stopped or not, to the micro-unit', async () => {
    const userId = await fixture.payer()
    const instanceId = await running(userId, WITH_PORT)
    const target = { userId, instanceId }
    expect(await eipOf(target)).toEqual({
      id: null,
      type: 'shared',
      address: '127.0.0.2',
      rate_micro_per_hour: '0',
      costs_from: null,
    })
    await fixture.instances.stop(target)
    await fixture.until(instanceId, 'stopped')
    const spent = ALL - (await totals(userId)).total
    const bound = await bind(target, { price: String(IP_HOUR) })
    expect(bound).toMatchObject({ type: 'dedicated', rate_micro_per_hour: String(IP_HOUR) })
    expect(bound.costs_from).toBe(fixture.clock.now().toISOString())
    expect(await eipOf(target)).toEqual(bound)
    expect(await totals(userId)).toEqual({ total: ALL - spent, held: IP_HOUR, burn: IP_HOUR })
    fixture.clock.advance(7 * HOUR_S + 1_234)
    const due = (IP_HOUR * (7n * 3_600n + 1_234n)) / 3_600n
    expect((await totals(userId)).total).toBe(ALL - spent - due)
    await fixture.instances.unbindPublicIp({ userId, id: bound.id ?? '' })
    fixture.clock.advance(HOUR_S)
    expect(await totals(userId)).toEqual({ total: ALL - spent - due, held: 0n, burn: 0n })
    expect(
      (await fixture.billing.costMicro(fixture.db, 'public_ip', [bound.id ?? ''])).get(bound.id ?? ''),
    ).toBe(due)
    const { items } = await fixture.billing.transactions(userId, { page: 1, page_size: 1, type: 'usage' })
    expect(items[0]).toMatchObject({
      amount_micro: String(-due),
      about: {
        usage: 'public_ip',
        address: bound.address,
        instance_id: instanceId,
        instance_name: 'llama-finetune',
      },
    })
    const codes = await fixture.eventCodes(userId, instanceId)
    expect(codes.slice(-2)).toEqual(['public_ip_bound', 'public_ip_unbound'])
    await fixture.expectSound(instanceId)
  })

  test('[B3] is bound once for each key, and refused at another price than was shown, in another region, and twice', async () => {
    const userId = await fixture.payer()
    const target = { userId, instanceId: await running(userId, WITH_PORT) }
    await expect(bind(target, { price: '4999' })).rejects.toMatchObject({ code: 'price_changed' })
    const elsewhere = { regionCode: 'eu-frankfurt', priceMicro: null, idempotencyKey: randomUUID() }
    await expect(fixture.instances.bindPublicIp(target, elsewhere)).rejects.toMatchObject({
      fields: [{ path: 'region_code', rule: 'not_allowed' }],
    })
    const key = randomUUID()
    const bound = await bind(target, { key })
    expect(await bind(target, { key })).toEqual(bound)
    await expect(bind(target)).rejects.toMatchObject({ code: 'public_ip_bound' })
    expect(await level()).toMatchObject({ total: 2, available: 1 })
    await fixture.instances.unbindPublicIp({ userId, id: bound.id ?? '' })
    await expect(fixture.instances.unbindPublicIp({ userId, id: bound.id ?? '' })).rejects.toMatchObject({
      code: 'not_found',
    })
  })

  test('is refused without ports, without money, in a status that forbids it, and where none is left', async () => {
    const userId = await fixture.payer()
    const portless = { userId, instanceId: await running(userId, {}) }
    await expect(bind(portless)).rejects.toMatchObject({ code: 'public_ip_no_ports' })
    const poor = await fixture.payer(8)
    const unpaid = { userId: poor, instanceId: await running(poor, WITH_PORT) }
    await expect(bind(unpaid)).rejects.toMatchObject({ code: 'insufficient_balance' })
    expect(await level()).toMatchObject({ available: 2 })
    const ids = [await running(userId, DEDICATED), await running(userId, DEDICATED)]
    const last = { userId, instanceId: await running(userId, WITH_PORT) }
    await expect(bind(last)).rejects.toMatchObject({ code: 'public_ip_sold_out' })
    const [first = ''] = ids
    const { id = '' } = (await eipOf({ userId, instanceId: first })) ?? {}
    await fixture.instances.unbindPublicIp({ userId, id: id ?? '' })
    expect((await bind(last)).type).toBe('dedicated')
    await fixture.force(last.instanceId, 'restarting')
    const { id: busy } = (await eipOf(last)) ?? {}
    await expect(fixture.instances.unbindPublicIp({ userId, id: busy ?? '' })).rejects.toMatchObject({
      code: 'instance_state',
    })
  })

  test('[B4] stays where the wallet is empty, as a stopped disk does: what nobody pays is waived', async () => {
    const userId = await fixture.payer(9)
    const instanceId = await running(userId, DEDICATED)
    fixture.clock.advance(3 * HOUR_S)
    expect(await fixture.instances.stopForEmptyBalance(userId)).toEqual([instanceId])
    await fixture.until(instanceId, 'stopped')
    fixture.clock.advance(24 * HOUR_S)
    await fixture.billing.postDue()
    expect((await totals(userId)).total).toBe(0n)
    expect(await eipOf({ userId, instanceId })).toMatchObject({ type: 'dedicated' })
    expect(await fixture.billing.checkBooks()).toEqual([])
  })
})

describe('[R2.25] a public IP that comes with the deploy', () => {
  test('[B3] costs what the quote says line by line, from when the instance is ready', async () => {
    const userId = await fixture.payer()
    const caller = { userId } as never
    const { price } = fixture.quotes
    const asked = {
      kind: 'POD',
      region_code: REGION,
      gpu_spec_id: 'cpu',
      gpu_count: 1,
      billing_type: 'postpay',
      charge_cycle: null,
      container_disk_gb: 30,
      public_ip: 'dedicated',
    } as const
    const quoted = await price({ caller, query: asked } as never)
    expect(quoted.lines.map(({ key }) => key)).toEqual(['cpu', 'disk', 'public_ip'])
    const sum = quoted.lines.reduce(
      (total, { rate_micro_per_hour }) => total + BigInt(rate_micro_per_hour),
      0n,
    )
    expect(BigInt(quoted.running_micro_per_hour)).toBe(sum)
    const instanceId = await fixture.deploy(userId, { ...DEDICATED, container_disk_gb: 30 })
    made.push({ userId, instanceId })
    // Taken, and set aside, before anything is ready.
    expect(await totals(userId)).toMatchObject({ total: ALL, held: sum })
    expect(await eipOf({ userId, instanceId })).toMatchObject({ type: 'dedicated' })
    await fixture.until(instanceId, 'running')
    expect(await totals(userId)).toEqual({ total: ALL, held: sum, burn: sum })
    // What is left lasts for another one beside it; and to repeat it is to have an address again.
    const another = await price({ caller, query: asked } as never)
    expect(another.lasts_seconds).toBe(runwaySeconds(ALL - sum, 2n * sum))
    expect(await fixture.instances.setup({ userId, instanceId })).toMatchObject({ public_ip: 'dedicated' })
    fixture.clock.advance(5 * HOUR_S)
    expect((await totals(userId)).total).toBe(ALL - 5n * sum)
    await fixture.instances.stop({ userId, instanceId })
    await fixture.until(instanceId, 'stopped')
    expect((await totals(userId)).burn * 24n).toBe(BigInt(quoted.stopped_micro_per_day))
    // It is the same one after a start.
    const { address } = (await eipOf({ userId, instanceId })) ?? {}
    await fixture.instances.start({ userId, instanceId }, startWanted())
    await fixture.until(instanceId, 'running')
    expect(await eipOf({ userId, instanceId })).toMatchObject({ address })
    await fixture.expectSound(instanceId)
  })

  test('[B6] is given back, and cost nothing, where the instance fails before it was ever ready', async () => {
    const userId = await fixture.payer()
    fixture.compute.faults.fail('start', computeFailure('unsupported'))
    const instanceId = await fixture.deploy(userId, DEDICATED)
    made.push({ userId, instanceId })
    await fixture.until(instanceId, 'error')
    expect(await totals(userId)).toEqual({ total: ALL, held: 0n, burn: 0n })
    expect(await eipOf({ userId, instanceId })).toMatchObject({ type: 'shared' })
    expect(await fixture.eventCodes(userId, instanceId)).toContain('public_ip_given_back')
    expect(await level()).toMatchObject({ available: 2 })
  })

  test('costs also when it is stopped before it was ready, and no more from when it is removed', async () => {
    const userId = await fixture.payer()
    fixture.compute.faults.fail('start', computeFailure('engine_unavailable'))
    const instanceId = await fixture.deploy(userId, DEDICATED)
    made.push({ userId, instanceId })
    await fixture.instances.stop({ userId, instanceId })
    fixture.compute.faults.heal()
    await fixture.until(instanceId, 'stopped')
    expect((await totals(userId)).burn).toBe(IP_HOUR)
    fixture.clock.advance(2 * HOUR_S)
    // From the call on, however long the removal takes.
    await fixture.instances.terminate({ userId, instanceId })
    const events = await fixture.db
      .select()
      .from(instanceEvent)
      .where(eq(instanceEvent.instanceId, instanceId))
    expect(events.map(({ code }) => code)).toContain('public_ip_given_back')
    expect(await level()).toMatchObject({ available: 2 })
    fixture.clock.advance(HOUR_S)
    expect(await totals(userId)).toEqual({ total: ALL - 2n * IP_HOUR, held: 0n, burn: 0n })
    await fixture.until(instanceId, 'terminated')
  })

  test('costs also when its command ended before the machine was ready', async () => {
    const userId = await fixture.payer()
    const probe = fixture.compute.faults.block('probe')
    const instanceId = await fixture.deploy(userId, DEDICATED)
    made.push({ userId, instanceId })
    await probe.reached
    fixture.compute.exit(instanceId, 3)
    probe.release()
    await fixture.until(instanceId, 'exited', { seconds: 1 })
    expect((await totals(userId)).burn).toBe(IP_HOUR)
  })

  test('[R1.4] is metered besides where the instance is paid for in advance', async () => {
    const userId = await fixture.payer()
    const week = { billing_type: 'prepay', charge_cycle: 'weekly' } as const
    const instanceId = await running(userId, { ...DEDICATED, ...week })
    const { term_micro } = await fixture.instances.get({ userId, instanceId })
    expect(await totals(userId)).toEqual({
      total: ALL - BigInt(term_micro ?? 0),
      held: IP_HOUR,
      burn: IP_HOUR,
    })
    fixture.clock.advance(10 * HOUR_S)
    expect((await totals(userId)).total).toBe(ALL - BigInt(term_micro ?? 0) - 10n * IP_HOUR)
  })

  test('is refused without ports, with no money for it, and where none is left, and nothing is taken', async () => {
    const userId = await fixture.payer()
    await expect(fixture.deploy(userId, { public_ip: 'dedicated' })).rejects.toMatchObject({
      fields: [{ path: 'public_ip', rule: 'public_ip_no_ports' }],
    })
    const poor = await fixture.payer(8)
    await expect(fixture.deploy(poor, DEDICATED)).rejects.toMatchObject({ code: 'insufficient_balance' })
    // The quote and the check say so before: eight cents are the machine's alone.
    const caller = { userId: poor } as never
    const asked = deployBody({ region_code: REGION, ...DEDICATED })
    expect(await fixture.quotes.price({ caller, query: asked } as never)).toMatchObject({ reserve_cents: 9 })
    expect((await fixture.quotes.check({ caller, body: asked } as never)).checks).toContainEqual({
      key: 'balance',
      ok: false,
      code: 'balance_low',
      values: { needed_cents: 9 },
    })
    expect(await level()).toMatchObject({ available: 2 })
    await running(userId, DEDICATED)
    await running(userId, DEDICATED)
    await expect(fixture.deploy(userId, DEDICATED)).rejects.toMatchObject({ code: 'public_ip_sold_out' })
    const checked = await fixture.quotes.check({
      caller: { userId },
      body: deployBody({ region_code: REGION, public_ip: 'dedicated' }),
    } as never)
    expect(checked).toMatchObject({ ok: false })
    expect(checked.checks).toContainEqual({
      key: 'public_ip',
      ok: false,
      code: 'public_ip_sold_out',
      values: { count: 0, region: 'us-west' },
    })
    expect(await fixture.instances.checkStock()).toEqual([])
  })
})
