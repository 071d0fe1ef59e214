import { randomUUID } from 'node:crypto'
import { getBalance, listTransactions } from '@berth/contract/billing'
import { SNAPSHOTS_BY_HAND_MAX, UNPAID_VOLUME_KEPT_DAYS } from '@berth/contract/limits'
import {
  deleteSnapshot,
  listSnapshots,
  restoreSnapshot,
  type Snapshot,
  scheduleSnapshots,
  takeSnapshot,
} from '@berth/contract/volume-snapshots'
import { createVolume, deleteVolume, listVolumes, type Volume } from '@berth/contract/volumes'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type CallAnswer, startGateway, type TestGateway } from '../../../../test/start-gateway.ts'
import { computeFailure, createFakeEngine } from '../../../drivers/compute/fake/fake-engine.ts'
import { volumeSnapshot } from './tables.ts'

const [HOUR_MS, DAY_MS, GB] = [3_600_000, 86_400_000, 1024 ** 3]
const WAIT = { timeout: 30_000 }
const never = new AbortController().signal
// It stands still but for `pass`, so that what something costs is exact.
let now = new Date('2026-11-02T10:30:00.000Z')
const clock = { now: () => now }
const compute = createFakeEngine({ clock })
let gateway: TestGateway
/** Another one on the same database and engine. */
let other: TestGateway
beforeAll(async () => {
  gateway = await startGateway({ clock, compute })
  other = await startGateway({ clock, compute, database: { ...gateway.database, close: async () => {} } })
})
beforeEach(() => compute.faults.heal())
afterAll(async () => {
  compute.faults.heal()
  await other.gateway.stopRequests()
  await other.gateway.stopLoops()
  await gateway.stop()
})

interface Owner {
  userId: string
  token: string
  volume: Volume
}
const both = () => Promise.all([gateway, other].map(one => one.gateway.volumes.runSnapshots(never)))
const look = () => gateway.gateway.volumes.run(never)
const seen = ({ token, volume }: Owner) =>
  gateway.data(listSnapshots, { params: { id: volume.id } }, { token })
const list = async (owner: Owner) => (await seen(owner)).snapshots
const volumes = ({ token }: Owner) => gateway.data(listVolumes, { query: {} }, { token })
const until = (owner: Owner, wanted: (all: Snapshot[]) => boolean) =>
  vi.waitUntil(async () => {
    await both()
    const all = await list(owner)
    return wanted(all) && all
  }, WAIT)
const settled = (owner: Owner) =>
  until(owner, all => all.every(({ status }) => status !== 'making' && status !== 'deleting'))
const volumeIs = (owner: Owner, id: string, wanted: (one: Volume | undefined) => boolean) =>
  vi.waitUntil(async () => {
    await look()
    await both()
    const one = (await volumes(owner)).find(found => found.id === id)
    return wanted(one) && { one }
  }, WAIT)
const pass = (ms: number) => {
  now = new Date(now.getTime() + ms)
}
const sound = async () => expect(await gateway.gateway.billing.checkBooks()).toEqual([])
const refusal = ({ envelope }: Pick<CallAnswer<unknown>, 'envelope'>) => {
  if (envelope.status !== 'error') throw new Error('it was not refused')
  const [field] = envelope.fields ?? []
  return field ? `${field.path} ${field.rule}` : envelope.code
}

/** A customer with a volume of 100 GB that holds some. */
async function owner(heldGb = 3.2, cents = 10_000): Promise<Owner> {
  const { userId, token } = await gateway.signUp()
  await gateway.grant(userId, cents)
  const body = { name: 'datasets', region_code: 'us-west', size_gb: 100 }
  const made = await gateway.data(createVolume, { body }, { token })
  const mine = { userId, token, volume: made }
  const { one } = (await volumeIs(mine, made.id, found => found?.status === 'ready')) as { one: Volume }
  compute.volumeBytes.set(made.id, Math.round(heldGb * GB))
  return { ...mine, volume: one }
}
/** Nobody stays signed in for so long. */
async function signInAgain(mine: Owner): Promise<void> {
  const { identity } = gateway.gateway
  const place = { address: '127.0.0.1', userAgent: 'test', stay: true }
  mine.token = await identity.signInByLink(await identity.createSignInLink(mine.userId), place)
}
const take = ({ token, volume }: Owner, idempotencyKey: string = randomUUID()) =>
  gateway.call(takeSnapshot, { params: { id: volume.id } }, { token, idempotencyKey })
async function taken(mine: Owner): Promise<Snapshot> {
  const { envelope } = await take(mine)
  if (envelope.status !== 'ok') throw new Error(envelope.code)
  const all = (await until(mine, found => found[0]?.status === 'ready')) as Snapshot[]
  return all[0] as Snapshot
}
const remove = ({ token, volume }: Owner, { id }: Pick<Snapshot, 'id'>) =>
  gateway.call(deleteSnapshot, { params: { id: volume.id, snapshot_id: id } }, { token })
const schedule = ({ token, volume }: Owner, change = {}) =>
  gateway.data(
    scheduleSnapshots,
    { params: { id: volume.id }, body: { every: 'daily', hour: 3, weekday: 0, keep: 2, ...change } },
    { token },
  )
const restore = ({ token, volume }: Owner, { id }: Pick<Snapshot, 'id'>, body = {}) =>
  gateway.call(
    restoreSnapshot,
    {
      params: { id: volume.id, snapshot_id: id },
      body: { name: `r-${randomUUID().slice(0, 8)}`, size_gb: 10, ...body },
    },
    { token },
  )
const available = async ({ token }: Owner) =>
  (await gateway.data(getBalance, {}, { token })).account_balance.amount_available

describe('a snapshot', () => {
  test('[R1.2] [B2] [B3] holds what its volume held, costs each GB that is begun by the day until it is deleted, and is taken once for one key', async () => {
    const mine = await owner()
    expect(await seen(mine)).toMatchObject({ expected_gb: 100, micro_per_gb_day: '1600', by_hand_left: 10 })
    const key = randomUUID()
    const [first, again] = await Promise.all([take(mine, key), take(mine, key)])
    expect(first.envelope.status === 'ok' && again.envelope.status === 'ok').toBe(true)
    const [one] = (await settled(mine)) as [Snapshot]
    expect(await list(mine)).toHaveLength(1)
    expect(one).toMatchObject({
      status: 'ready',
      made_by: 'hand',
      in_use: false,
      size_gb: 4,
      micro_per_day: '6400',
    })
    expect(one.taken_at).toBe(now.toISOString())
    expect(compute.volumeBytes.get(one.id)).toBe(Math.round(3.2 * GB))
    pass(2.5 * DAY_MS)
    await look()
    expect((await list(mine))[0]?.cost_micro).toBe('16000')
    expect((await volumes(mine))[0]).toMatchObject({ snapshots: 1, cost_micro: '400000' })
    const { items } = await gateway.data(
      listTransactions,
      { query: { type: 'usage' } },
      { token: mine.token },
    )
    expect(items.map(({ about }) => [about.usage, about.volume_name]).toSorted()).toEqual([
      ['snapshot', 'datasets'],
      ['volume', 'datasets'],
    ])
    expect((await remove(mine, one)).envelope.status).toBe('ok')
    pass(DAY_MS)
    await until(mine, all => all.length === 0)
    expect(compute.heldVolumes.has(one.id)).toBe(false)
    expect(refusal(await remove(mine, one))).toBe('not_found')
    const spent = await gateway.gateway.billing.costMicro(gateway.database.db, 'volume_snapshot', [one.id])
    expect(spent.get(one.id)).toBe(16_000n)
    await sound()
  })

  test('is refused where its volume is not ready, where too many were taken by hand, and where nothing is left to pay for it', async () => {
    const mine = await owner(1)
    for (let taking = 0; taking < SNAPSHOTS_BY_HAND_MAX; taking++) await take(mine)
    expect(refusal(await take(mine))).toBe('snapshot_limit')
    await settled(mine)
    const poor = await owner(1, 17)
    expect(refusal(await take(poor))).toBe('insufficient_balance')
    compute.heldVolumes.delete(poor.volume.id)
    await volumeIs(poor, poor.volume.id, one => one?.status === 'error')
    expect(refusal(await take(poor))).toBe('volume_state')
    expect(await list(poor)).toEqual([])
  })

  test('[B3] that cannot be copied is tried again; given up it says why, costs nothing and gives back what was set aside', async () => {
    const mine = await owner()
    const before = await available(mine)
    compute.faults.fail('copyVolume', computeFailure('no_room'))
    await take(mine)
    expect(await available(mine)).toBeLessThan(before)
    await until(mine, ([one]) => {
      pass(60_000)
      return one?.status === 'failed'
    })
    const [failed] = (await list(mine)) as [Snapshot]
    expect(failed).toMatchObject({ reason: { code: 'make_failed' }, cost_micro: '0', size_gb: null })
    expect(compute.heldVolumes.has(failed.id)).toBe(false)
    expect(await available(mine)).toBe(before)
    // The second was whole before anybody could note it: it is not copied again.
    const { envelope } = await take(mine)
    if (envelope.status !== 'ok') throw new Error(envelope.code)
    compute.heldVolumes.add(envelope.data.id)
    compute.volumeBytes.set(envelope.data.id, 5 * GB)
    compute.faults.heal()
    const all = (await until(mine, ([one]) => {
      pass(60_000)
      return one?.status === 'ready'
    })) as Snapshot[]
    expect(all[0]?.size_gb).toBe(5)
    await sound()
  })

  test('[B4] [B3] that its engine has lost costs nothing from when it was last seen, and costs again when it is back', async () => {
    const mine = await owner()
    const one = await taken(mine)
    await look()
    compute.heldVolumes.delete(one.id)
    pass(HOUR_MS)
    const is = (status: Snapshot['status']) =>
      vi.waitUntil(async () => {
        await look()
        return (await list(mine))[0]?.status === status
      }, WAIT)
    await is('failed')
    const [lost] = await list(mine)
    expect(lost).toMatchObject({ cost_micro: '0', micro_per_day: '0' })
    // A leap of the clock ends the gateway's hold of its engine, too: whichever is found first.
    expect(['missing', 'engine_away']).toContain(lost?.reason?.code)
    expect(refusal(await restore(mine, one))).toBe('snapshot_state')
    pass(DAY_MS)
    compute.heldVolumes.add(one.id)
    await is('ready')
    expect((await list(mine))[0]).toMatchObject({ micro_per_day: '6400' })
    pass(DAY_MS)
    expect((await list(mine))[0]?.cost_micro).toBe('6400')
    await sound()
  })

  test('given up while it is copied leaves nothing', async () => {
    const mine = await owner()
    const block = compute.faults.block('copyVolume')
    const { envelope } = await take(mine)
    if (envelope.status !== 'ok') throw new Error(envelope.code)
    await both()
    await block.reached
    expect((await remove(mine, envelope.data)).envelope.status).toBe('ok')
    await until(mine, all => all.length === 0)
    block.release()
    expect(compute.heldVolumes.has(envelope.data.id)).toBe(false)
    await sound()
  })
})

describe('a schedule', () => {
  test('[R1.2] [B3] takes one when it is time, whichever gateway looks, of several missed ones the last, and keeps so many; those taken by hand stay', async () => {
    const mine = await owner()
    const hand = await taken(mine)
    expect(await schedule(mine)).toMatchObject({ every: 'daily', next_at: nextAt(3) })
    const ids: string[] = []
    for (const days of [1, 1, 3, 1]) {
      pass(days * DAY_MS)
      await Promise.all([both(), both()])
      const bySchedule = (all: Snapshot[]) => all.filter(({ made_by }) => made_by === 'schedule')
      const all = (await until(
        mine,
        found => found.every(({ status }) => status === 'ready') && bySchedule(found).length <= 2,
      )) as Snapshot[]
      const own = bySchedule(all)
      const rows = await gateway.database.db
        .select()
        .from(volumeSnapshot)
        .where(eq(volumeSnapshot.volumeId, mine.volume.id))
      ids.push(own[0]?.id ?? '')
      expect(rows.length).toBe(ids.length + 1)
      expect(own.map(({ id }) => id)).toEqual(ids.toReversed().slice(0, 2))
      expect((await seen(mine)).schedule).toMatchObject({ next_at: nextAt(3), skipped: null })
    }
    expect(new Set(ids).size).toBe(4)
    expect((await list(mine)).map(({ id }) => id)).toContain(hand.id)
    expect([...compute.heldVolumes].filter(id => ids.includes(id)).toSorted()).toEqual(
      ids.slice(2).toSorted(),
    )
    // Fewer are kept from now on, and what is off takes and deletes nothing.
    await schedule(mine, { keep: 1 })
    await until(mine, all => all.length === 2)
    expect(await schedule(mine, { every: 'off' })).toMatchObject({ every: 'off', next_at: null })
    pass(9 * DAY_MS)
    await both()
    expect((await list(mine)).map(({ id }) => id)).toEqual([ids[3], hand.id])
    await sound()
  })

  test('[B4] says why none was taken: nothing was left to pay for it, or the volume was not there', async () => {
    const mine = await owner(1, 17)
    await schedule(mine, { every: 'hourly' })
    pass(HOUR_MS)
    await both()
    expect((await seen(mine)).schedule).toMatchObject({
      skipped: 'insufficient_balance',
      next_at: nextAt(null),
    })
    expect(await list(mine)).toEqual([])
    await gateway.grant(mine.userId, 1_000)
    pass(HOUR_MS)
    await both()
    expect((await seen(mine)).schedule).toMatchObject({ skipped: null, skipped_at: null })
    expect((await settled(mine)) as Snapshot[]).toHaveLength(1)
    compute.heldVolumes.delete(mine.volume.id)
    await volumeIs(mine, mine.volume.id, one => one?.status === 'error')
    pass(HOUR_MS)
    await both()
    expect((await seen(mine)).schedule).toMatchObject({ skipped: 'volume_state' })
  })

  test('[R2.25] that fails is said in a mail with the reason, once until it has worked again, and again after that', async () => {
    const mine = await owner(1)
    const news = async () => {
      const { rows } = await gateway.database.db.execute<{ news: string; detail: string }>(
        sql`select data->'payload'->>'news' as news, data->'payload'->>'detail' as detail from pgboss.job
          where name = 'event' and data->>'event' = 'volume.news' and data->>'listener' = 'notifications'
            and data->'payload'->>'userId' = ${mine.userId} order by created_on`,
      )
      return rows
    }
    const said = async () => (await news()).map(one => one.news)
    const hourPasses = async (ends: Snapshot['status']) => {
      pass(HOUR_MS)
      await both()
      await until(mine, ([one]) => {
        if (ends === 'failed') pass(60_000)
        return one?.made_by === 'schedule' && one.status === ends
      })
    }
    await schedule(mine, { every: 'hourly', keep: 5 })
    compute.faults.fail('copyVolume', computeFailure('no_room'))
    await hourPasses('failed')
    await hourPasses('failed')
    expect(await said()).toEqual(['snapshot_failed'])
    expect((await news())[0]?.detail).not.toBe('')
    // One that is taken by hand is looked at by whoever took it, and says nothing of the schedule.
    await take(mine)
    await until(mine, ([one]) => {
      pass(60_000)
      return one?.made_by === 'hand' && one.status === 'failed'
    })
    expect(await said()).toEqual(['snapshot_failed'])
    compute.faults.heal()
    await hourPasses('ready')
    // Now a copy takes longer than the pause between two: that is another fault, said once for all of them.
    for (const _ of [1, 2]) {
      const block = compute.faults.block('copyVolume')
      pass(HOUR_MS)
      await both()
      await block.reached
      pass(HOUR_MS)
      await both()
      expect(await said()).toEqual(['snapshot_failed', 'snapshot_busy'])
      block.release()
      await settled(mine)
    }
    await hourPasses('ready')
    compute.heldVolumes.delete(mine.volume.id)
    await volumeIs(mine, mine.volume.id, one => one?.status === 'error')
    pass(HOUR_MS)
    await both()
    expect((await said()).filter(one => one !== 'missing')).toEqual([
      'snapshot_failed',
      'snapshot_busy',
      'snapshot_no_volume',
    ])
  })

  /** The next full hour, or the next one by that hour of the day. */
  function nextAt(hour: number | null): string {
    const full = new Date(Math.floor(now.getTime() / HOUR_MS) * HOUR_MS + HOUR_MS)
    while (hour !== null && full.getUTCHours() !== hour) full.setTime(full.getTime() + HOUR_MS)
    return full.toISOString()
  }
})

describe('a volume of a snapshot', () => {
  test('[R1.2] [R2.25] is a new one that holds what the snapshot does, also where the volume itself is lost', async () => {
    const mine = await owner()
    const one = await taken(mine)
    compute.heldVolumes.delete(mine.volume.id)
    await volumeIs(mine, mine.volume.id, found => found?.status === 'error')
    expect(refusal(await restore(mine, one, { size_gb: 3 }))).toBe('size_gb snapshot_larger')
    expect(refusal(await restore(mine, one, { name: 'datasets' }))).toBe('name name_taken')
    const block = compute.faults.block('copyVolume')
    const { envelope } = await restore(mine, one, { name: 'back' })
    if (envelope.status !== 'ok') throw new Error(envelope.code)
    const { id } = envelope.data
    expect(envelope.data).toMatchObject({
      name: 'back',
      size_gb: 10,
      status: 'creating',
      region_code: 'us-west',
    })
    await both()
    await block.reached
    // Nobody takes away what it is made of, nor makes it empty.
    expect(refusal(await remove(mine, one))).toBe('snapshot_in_use')
    const gone = { params: { id: mine.volume.id }, query: { name: 'datasets' } }
    expect(refusal(await gateway.call(deleteVolume, gone, { token: mine.token }))).toBe('snapshot_in_use')
    await look()
    expect(compute.heldVolumes.has(id)).toBe(false)
    block.release()
    const { one: made } = (await volumeIs(mine, id, found => found?.status === 'ready')) as { one: Volume }
    expect(made).toMatchObject({ micro_per_day: '16000' })
    expect(compute.volumeBytes.get(id)).toBe(Math.round(3.2 * GB))
    // It goes its own way.
    expect((await gateway.call(deleteVolume, gone, { token: mine.token })).envelope.status).toBe('ok')
    await volumeIs(mine, mine.volume.id, found => found === undefined)
    await vi.waitUntil(async () => {
      await both()
      return !compute.heldVolumes.has(one.id)
    }, WAIT)
    expect(compute.heldVolumes.has(id)).toBe(true)
    await sound()
  })

  test('that is deleted while it is made leaves nothing', async () => {
    const mine = await owner()
    const one = await taken(mine)
    const block = compute.faults.block('copyVolume')
    const { envelope } = await restore(mine, one, { name: 'back' })
    if (envelope.status !== 'ok') throw new Error(envelope.code)
    await both()
    await block.reached
    const gone = { params: { id: envelope.data.id }, query: { name: 'back' } }
    expect((await gateway.call(deleteVolume, gone, { token: mine.token })).envelope.status).toBe('ok')
    await volumeIs(mine, envelope.data.id, found => found === undefined)
    block.release()
    // A copy that went on would be there by the time that a later one is.
    await taken(mine)
    expect(compute.heldVolumes.has(envelope.data.id)).toBe(false)
    await sound()
  })
})

describe('without money', () => {
  test('[B4] snapshots are kept as long as their volume, are told of with it, and go on its date; a lost volume has a date for them', async () => {
    const mine = await owner(1, 19)
    pass(2 * HOUR_MS)
    await gateway.gateway.volumes.measure(never)
    expect((await seen(mine)).expected_gb).toBe(1)
    await schedule(mine, { keep: 30 })
    const one = await taken(mine)
    await schedule(mine, { every: 'off' })
    compute.heldVolumes.delete(mine.volume.id)
    await volumeIs(mine, mine.volume.id, found => found?.status === 'error')
    pass(120 * DAY_MS)
    await signInAgain(mine)
    await gateway.gateway.volumes.noteEmptyBalance(mine.userId)
    const [unpaid] = await volumes(mine)
    expect(unpaid?.deleted_on).toBe(new Date(now.getTime() + UNPAID_VOLUME_KEPT_DAYS * DAY_MS).toISOString())
    expect((await list(mine))[0]?.status).toBe('ready')
    pass(UNPAID_VOLUME_KEPT_DAYS * DAY_MS + 1)
    await signInAgain(mine)
    await volumeIs(mine, mine.volume.id, found => found === undefined)
    await vi.waitUntil(async () => {
      await both()
      return !compute.heldVolumes.has(one.id)
    }, WAIT)
    await sound()
  })
})
