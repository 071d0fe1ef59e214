import { STOPPED_POD_KEPT_DAYS, UNPAID_PUBLIC_IP_KEPT_DAYS } from '@berth/contract/limits'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { shippedCatalogue } from '../../../../test/shipped-catalogue.ts'
import { topupRequest } from '../../billing/billing-fixture.ts'
import { addressNews, deletionNews } from '../events.ts'
import { createInstancesFixture, type InstancesFixture } from '../instances-fixture.ts'
import type { InstanceRow } from '../rows.ts'

const DAY_S = 86_400
const VM = { kind: 'VM', image_id: 'whole-system' } as const
/** 80 GB beyond the free 20, at 0.00014 an hour: 26.88 cents a day. */
const BIG_DISK = { container_disk_gb: 100 }

let fixture: InstancesFixture
beforeAll(async () => {
  const [plain] = shippedCatalogue().images
  if (!plain) throw new Error('the catalogue has no image')
  fixture = await createInstancesFixture({ vmImages: [{ ...plain, id: VM.image_id, kind: VM.kind }] })
  await fixture.instances.reconciler.start()
})
afterAll(() => fixture.close())

/** Time goes by, what is not paid for is looked at, and the reconciler does what is due then. */
async function days(count: number, id: string): Promise<InstanceRow> {
  fixture.clock.advance(count * DAY_S)
  await fixture.instances.lookAtUnpaid()
  return await fixture.until(
    id,
    row =>
      row.terminatedAt !== null ||
      (row.leaseOwner === null && row.nextAttemptAt > fixture.clock.now() && row.status !== 'stopping'),
  )
}

async function stopped(userId: string, body: object): Promise<string> {
  const id = await fixture.running(userId, body)
  await fixture.instances.stop({ userId, instanceId: id })
  await fixture.until(id, 'stopped')
  return id
}

const outcomes = (userId: string) =>
  fixture.events.told
    .filter(({ event }) => event === deletionNews.name)
    .map(({ payload }) => deletionNews.payload.parse(payload))
    .filter(told => told.userId === userId)
    .map(({ outcome }) => outcome)

const addresses = (userId: string) =>
  fixture.events.told
    .filter(({ event }) => event === addressNews.name)
    .map(({ payload }) => addressNews.payload.parse(payload))
    .filter(told => told.userId === userId)
    .map(({ news }) => news)

test('[B4] a stopped virtual machine that nothing is left to pay for is told of with its date, told of again, and deleted', async () => {
  const userId = await fixture.payer(50)
  const id = await stopped(userId, { ...VM, ...BIG_DISK })
  await days(1, id)
  expect(outcomes(userId)).toEqual([])
  await days(2, id)
  expect(outcomes(userId)).toEqual(['will_delete_unpaid'])
  const since = fixture.clock.now()
  const end = new Date(since.getTime() + STOPPED_POD_KEPT_DAYS * DAY_S * 1_000)
  const { deleted_on } = await fixture.instances.get({ userId, instanceId: id })
  expect(deleted_on).toBe(end.toISOString())
  // Any number of looks tells it once.
  await Promise.all([fixture.instances.lookAtUnpaid(), fixture.instances.lookAtUnpaid()])
  await days(22, id)
  expect(outcomes(userId)).toHaveLength(1)
  for (const pass of [1, 4, 2]) await days(pass, id)
  expect(outcomes(userId)).toEqual(Array.from({ length: 4 }, () => 'will_delete_unpaid'))
  expect((await fixture.row(id)).status).toBe('stopped')
  fixture.clock.advance(DAY_S)
  await fixture.until(id, 'terminated')
  expect(outcomes(userId).at(-1)).toBe('deleted_unpaid')
  const all = { from: new Date(0), to: fixture.clock.now() }
  const events = await fixture.instances.eventsBetween(fixture.db, { userId, instanceId: id, ...all })
  expect(events.map(({ code }) => code)).toContain('deleted_unpaid')
  await fixture.expectSound(id)
})

test('[B4] money that comes keeps it, also at the last moment, and what costs nothing is kept anyway', async () => {
  const userId = await fixture.payer(50)
  const id = await stopped(userId, { ...VM, ...BIG_DISK })
  const poor = await fixture.payer(50)
  const free = await stopped(poor, VM)
  await days(3, id)
  expect(outcomes(userId)).toEqual(['will_delete_unpaid'])
  for (const pass of [23, 4, 2]) await days(pass, id)
  await fixture.billing.topUp(topupRequest(userId))
  fixture.clock.advance(DAY_S)
  const kept = await fixture.until(id, ({ unpaidSince }) => unpaidSince === null)
  expect(kept).toMatchObject({ status: 'stopped', keptUntil: null, deletionNoticeDay: null })
  expect(outcomes(userId)).not.toContain('deleted_unpaid')
  expect(outcomes(poor)).toEqual([])
  expect((await fixture.row(free)).status).toBe('stopped')
})

test('[B4] an address that nothing is left to pay for is told of, told of again, and given back; its instance stays', async () => {
  const userId = await fixture.payer(30)
  const target = { userId, instanceId: await stopped(userId, { tcp_ports: [22], public_ip: 'dedicated' }) }
  const id = target.instanceId
  // 12 cents a day.
  await days(1, id)
  expect(addresses(userId)).toEqual([])
  await days(2, id)
  expect(addresses(userId)).toEqual(['unpaid'])
  await days(UNPAID_PUBLIC_IP_KEPT_DAYS - 3, id)
  await days(1, id)
  await days(1, id)
  expect(addresses(userId)).toEqual(['unpaid', 'unpaid_soon', 'unpaid_soon'])
  expect((await fixture.instances.get(target)).eip?.type).toBe('dedicated')
  await days(1, id)
  expect(addresses(userId).at(-1)).toBe('given_back_unpaid')
  expect((await fixture.instances.get(target)).eip?.type).not.toBe('dedicated')
  expect((await fixture.row(id)).status).toBe('stopped')
  expect(await fixture.billing.checkBooks()).toEqual([])
})

test('[B4] an address is kept where money comes', async () => {
  const userId = await fixture.payer(30)
  const target = { userId, instanceId: await stopped(userId, { tcp_ports: [22], public_ip: 'dedicated' }) }
  await days(3, target.instanceId)
  expect(addresses(userId)).toEqual(['unpaid'])
  await fixture.billing.topUp(topupRequest(userId))
  await days(8, target.instanceId)
  expect(addresses(userId)).toEqual(['unpaid'])
  expect((await fixture.instances.get(target)).eip?.type).toBe('dedicated')
})
