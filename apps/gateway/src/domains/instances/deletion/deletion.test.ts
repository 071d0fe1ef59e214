import { randomUUID } from 'node:crypto'
import { STOPPED_POD_KEPT_DAYS } from '@berth/contract/limits'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { deletionNews } from '../events.ts'
import type { Instances } from '../instances.ts'
import { createInstancesFixture, type InstancesFixture, startWanted } from '../instances-fixture.ts'
import type { InstanceRow } from '../rows.ts'

const DAY_S = 86_400
/** 2 GB beyond the free 20, at 0.00014 an hour. */
const DISK_MICRO_PER_DAY = 2n * 140n * 24n

let fixture: InstancesFixture
let watching: Instances
beforeAll(async () => {
  fixture = await createInstancesFixture()
})
beforeEach(async () => {
  watching = await fixture.gateway()
  await watching.reconciler.start()
})
afterEach(async () => {
  await watching.reconciler.stop()
})
afterAll(() => fixture.close())

test('[R9.6] [R4.7] a pod that stays stopped costs its disk alone, is announced to be deleted three times, and is', async () => {
  const { userId, id } = await stopped()
  const end = after(await fixture.row(id), STOPPED_POD_KEPT_DAYS)
  expect(await shown(userId, id)).toEqual({ status: 'stopped', deletedOn: end.toISOString() })
  await days(23, id)
  expect(news(userId)).toEqual([['will_delete', end]])
  await days(4, id)
  await days(2, id)
  expect(news(userId)).toEqual([
    ['will_delete', end],
    ['will_delete', end],
    ['will_delete', end],
  ])
  expect((await fixture.row(id)).status).toBe('stopped')
  const before = await costOf(id)
  const spent = (await fixture.intervals(id)).find(({ usage }) => usage === 'compute')?.postedMicro ?? 0n
  expect(before - spent).toBe(29n * DISK_MICRO_PER_DAY)
  fixture.clock.advance(DAY_S)
  await fixture.until(id, 'terminated')
  expect(news(userId).at(-1)).toEqual(['deleted', end])
  const codes = await allEvents(userId, id)
  expect(codes.slice(-5)).toEqual([
    'deletion_announced',
    'deletion_announced',
    'deletion_announced',
    'deleted_when_stopped',
    'terminated',
  ])
  const all = await costOf(id)
  expect(all - before).toBe(DISK_MICRO_PER_DAY)
  fixture.clock.advance(10 * DAY_S)
  expect(await costOf(id)).toBe(all)
  await fixture.expectSound(id)
})

test('[R9.6] [R4.7] gateways come and go, several look at once, and each mail is told once', async () => {
  const { userId, id } = await stopped()
  const end = after(await fixture.row(id), STOPPED_POD_KEPT_DAYS)
  const others = [await fixture.gateway({ listen: true }), await fixture.gateway({ listen: true })]
  for (const other of others) await other.reconciler.start()
  for (const pass of [23, 4, 2]) {
    await days(pass, id)
    await watching.reconciler.stop()
    watching = await fixture.gateway({ listen: true })
    await watching.reconciler.start()
  }
  expect(news(userId)).toHaveLength(3)
  fixture.clock.advance(DAY_S)
  await fixture.until(id, 'terminated')
  for (const other of others) await other.reconciler.stop()
  expect(news(userId).map(([outcome]) => outcome)).toEqual([
    'will_delete',
    'will_delete',
    'will_delete',
    'deleted',
  ])
  expect(news(userId).at(-1)).toEqual(['deleted', end])
  await fixture.expectSound(id)
})

test('[R9.6] where nobody looked for weeks it is announced first, and kept for as long as each mail says', async () => {
  const { userId, id } = await stopped()
  await watching.reconciler.stop()
  fixture.clock.advance(50 * DAY_S)
  watching = await fixture.gateway()
  await watching.reconciler.start()
  const noted = await fixture.until(id, ({ deletionNoticeDay }) => deletionNoticeDay === 7)
  const now = fixture.clock.now()
  const end = new Date(now.getTime() + 7 * DAY_S * 1_000)
  expect(noted).toMatchObject({ status: 'stopped', keptUntil: end })
  expect(await shown(userId, id)).toEqual({ status: 'stopped', deletedOn: end.toISOString() })
  await days(4, id)
  await days(2, id)
  await days(0.9, id)
  expect((await fixture.row(id)).status).toBe('stopped')
  expect(news(userId)).toEqual([
    ['will_delete', end],
    ['will_delete', end],
    ['will_delete', end],
  ])
  fixture.clock.advance(0.1 * DAY_S)
  await fixture.until(id, 'terminated')
})

test('[R9.6] a start after the first mail begins anew', async () => {
  const { userId, id } = await stopped()
  const target = { userId, instanceId: id }
  await days(23, id)
  await watching.start(target, startWanted())
  expect(await fixture.until(id, 'running')).toMatchObject({ keptUntil: null, deletionNoticeDay: null })
  expect((await shown(userId, id)).deletedOn).toBeNull()
  await days(9, id)
  await watching.stop(target)
  const anew = after(await fixture.until(id, 'stopped'), STOPPED_POD_KEPT_DAYS)
  await days(22.9, id)
  expect(news(userId)).toHaveLength(1)
  await days(0.1, id)
  expect(news(userId).at(-1)).toEqual(['will_delete', anew])
  await fixture.expectSound(id)
})

test('[R9.6] a stopped pod is not deleted in a term, however long that is, and kept from its end as from a stop', async () => {
  const userId = await fixture.payer()
  const id = await fixture.running(userId, { billing_type: 'prepay', charge_cycle: 'monthly' })
  await watching.stop({ userId, instanceId: id })
  await fixture.until(id, 'stopped')
  await days(29, id)
  // Renewed, for as long again.
  await fixture.until(id, ({ termNoticeDay }) => termNoticeDay === 1)
  await days(2, id)
  await days(20, id)
  expect(await shown(userId, id)).toEqual({ status: 'stopped', deletedOn: null })
  expect(news(userId)).toEqual([])

  const target = { userId, instanceId: id }
  const convert = { change: 'convert', cycle: null } as const
  const preview = await watching.previewBilling(target, convert)
  // Nothing runs, so no hour is set aside.
  expect(preview.reserve_micro).toBe('0')
  const { price_micro: priceMicro } = preview
  await watching.changePaying(target, { ...convert, priceMicro, idempotencyKey: randomUUID() })
  const end = new Date(fixture.clock.now().getTime() + STOPPED_POD_KEPT_DAYS * DAY_S * 1_000)
  expect((await shown(userId, id)).deletedOn).toBe(end.toISOString())
  await days(22.9, id)
  expect(news(userId)).toEqual([])
  await days(0.1, id)
  expect(news(userId)).toEqual([['will_delete', end]])
  await fixture.expectSound(id)
})

/** A pod with a disk that costs, stopped a moment ago. */
async function stopped(): Promise<{ userId: string; id: string }> {
  const userId = await fixture.payer()
  const id = await fixture.running(userId, { container_disk_gb: 22 })
  fixture.clock.advance(3_600)
  await watching.stop({ userId, instanceId: id })
  await fixture.until(id, 'stopped')
  return { userId, id }
}

/** Time goes by, and what is due then is done. */
async function days(count: number, id: string): Promise<InstanceRow> {
  fixture.clock.advance(count * DAY_S)
  return await fixture.until(
    id,
    row => row.leaseOwner === null && row.nextAttemptAt > fixture.clock.now() && row.status !== 'stopping',
  )
}

async function shown(userId: string, instanceId: string) {
  const { status, deleted_on } = await watching.get({ userId, instanceId })
  return { status, deletedOn: deleted_on }
}

async function costOf(id: string): Promise<bigint> {
  return (await fixture.billing.costMicro(fixture.db, 'instance', [id])).get(id) ?? 0n
}

async function allEvents(userId: string, instanceId: string): Promise<string[]> {
  const all = { from: new Date(0), to: fixture.clock.now() }
  const events = await watching.eventsBetween(fixture.db, { userId, instanceId, ...all })
  return events.map(({ code }) => code)
}

function after({ stoppedAt }: InstanceRow, count: number): Date {
  return new Date((stoppedAt?.getTime() ?? 0) + count * DAY_S * 1_000)
}

/** What was told, oldest first. */
function news(userId: string): [string, Date][] {
  return fixture.events.told
    .filter(({ event }) => event === deletionNews.name)
    .map(({ payload }) => deletionNews.payload.parse(payload))
    .filter(told => told.userId === userId)
    .map(({ outcome, keptUntil }) => [outcome, new Date(keptUntil)])
}
