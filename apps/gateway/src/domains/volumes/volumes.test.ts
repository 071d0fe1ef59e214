import { randomUUID } from 'node:crypto'
import { deleteAccount } from '@berth/contract/account-security'
import { getBalance } from '@berth/contract/billing'
import {
  deployInstance,
  listInstanceEvents,
  listInstances,
  startInstance,
  stopInstance,
  terminateInstance,
} from '@berth/contract/instances'
import { UNPAID_VOLUME_KEPT_DAYS, VOLUME_OVER_SIZE_HOURS, VOLUMES_PER_USER_MAX } from '@berth/contract/limits'
import { attachVolume, detachVolume } from '@berth/contract/volume-attach-calls'
import { makeS3Key, rotateS3Key } from '@berth/contract/volume-s3'
import {
  createVolume,
  deleteVolume,
  editVolume,
  getVolumePrice,
  growVolume,
  listVolumes,
  type Volume,
} from '@berth/contract/volumes'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { shippedCatalogue } from '../../../test/shipped-catalogue.ts'
import { type CallAnswer, startGateway, type TestGateway } from '../../../test/start-gateway.ts'
import { computeFailure, createFakeEngine } from '../../drivers/compute/fake/fake-engine.ts'
import { volume } from './tables.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const never = new AbortController().signal
const WAIT = { timeout: 30_000 }
let aheadMs = 0
const clock = { now: () => new Date(Date.now() + aheadMs) }
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

type Customer = Awaited<ReturnType<TestGateway['signUp']>>
const body = (change = {}) => ({ name: 'datasets', region_code: 'us-west', size_gb: 100, ...change })
const run = async (from = gateway) => from.gateway.volumes.run(never)

async function someone(cents = 10_000): Promise<Customer> {
  const customer = await gateway.signUp()
  if (cents > 0) await gateway.grant(customer.userId, cents)
  return customer
}
const make = ({ token }: Customer, change = {}, idempotencyKey: string = randomUUID()) =>
  gateway.data(createVolume, { body: body(change) }, { token, idempotencyKey })
const list = ({ token }: Customer, query = {}) => gateway.data(listVolumes, { query }, { token })
const rename = ({ token }: Customer, { id }: Volume, name: string) =>
  gateway.call(editVolume, { body: { id, name } }, { token })
const grow = ({ token }: Customer, { id }: Pick<Volume, 'id'>, size_gb: number, key: string = randomUUID()) =>
  gateway.call(growVolume, { params: { id }, body: { size_gb } }, { token, idempotencyKey: key })
const remove = ({ token }: Customer, { id }: Volume, name: string) =>
  gateway.call(deleteVolume, { params: { id }, query: { name } }, { token })
const of = async (customer: Customer, { id }: Pick<Volume, 'id'>) =>
  (await list(customer)).find(one => one.id === id) ?? null
const until = (customer: Customer, one: Pick<Volume, 'id'>, wanted: (now: Volume | null) => boolean) =>
  vi.waitUntil(
    async () => {
      await run()
      const now = await of(customer, one)
      return wanted(now) && { now }
    },
    { timeout: 30_000 },
  )
const ready = async (customer: Customer, change = {}): Promise<Volume> => {
  const made = await make(customer, change)
  const { now } = (await until(customer, made, one => one?.status === 'ready')) as { now: Volume }
  return now
}
const refusal = ({ envelope }: Pick<CallAnswer<unknown>, 'envelope'>) => {
  if (envelope.status !== 'error') throw new Error('it was not refused')
  const [field] = envelope.fields ?? []
  return field ? `${field.path} ${field.rule}` : envelope.code
}
const rowOf = async ({ id }: Pick<Volume, 'id'>) => {
  const [row] = await gateway.database.db.select().from(volume).where(eq(volume.id, id))
  if (!row) throw new Error(`no volume ${id}`)
  return row
}
const sound = async () => expect(await gateway.gateway.billing.checkBooks()).toEqual([])
/** An account whose clock has gone on: what is due is posted, and whoever has nothing left is told. */
async function pass(days: number, { userId }: Customer): Promise<void> {
  aheadMs += days * DAY_MS
  await run()
  await gateway.gateway.volumes.noteEmptyBalance(userId)
  await run()
}
async function news({ userId }: Customer): Promise<string[]> {
  const { rows } = await gateway.database.db.execute<{ news: string }>(
    sql`select data->'payload'->>'news' as news from pgboss.job
      where name = 'event' and data->>'event' = 'volume.news' and data->>'listener' = 'notifications' and data->'payload'->>'userId' = ${userId}
      order by created_on`,
  )
  return rows.map(row => row.news)
}

describe('a price', () => {
  test('[R7.5] comes first: by the GB and day, for a size, beside what one costs now, with the regions that have volumes', async () => {
    const customer = await someone(0)
    const { token } = customer
    const quote = await gateway.data(getVolumePrice, { query: { size_gb: 500 } }, { token })
    expect(quote).toMatchObject({
      currency: 'USD',
      micro_per_gb_day: '1600',
      micro_per_day: '800000',
      micro_per_month: '24000000',
      now_micro_per_day: null,
      reserve_cents: 80,
    })
    expect(quote.regions[0]).toEqual({
      region_code: 'us-west',
      region_name: 'us-west',
      kinds: ['files'],
      shared: true,
      size_enforced: false,
    })
    await gateway.grant(customer.userId, 1_000)
    const { id } = await ready(customer)
    const grown = await gateway.data(getVolumePrice, { query: { size_gb: 500, id } }, { token })
    expect(grown).toMatchObject({ now_micro_per_day: '160000', micro_per_day: '800000' })
  })
})

describe('a volume', () => {
  test('[R3.11] is made with name, size and region, and listed with what it costs, newest first and by region', async () => {
    const customer = await someone()
    const first = await make(customer)
    expect(first).toMatchObject({ ...body(), status: 'creating', micro_per_day: '0', attached_to: [] })
    await until(customer, first, one => one?.status === 'ready')
    const second = await ready(customer, { name: 'ckpt', region_code: 'eu-frankfurt', size_gb: 10 })
    expect((await list(customer)).map(({ name, micro_per_day }) => [name, micro_per_day])).toEqual([
      ['ckpt', '16000'],
      ['datasets', '160000'],
    ])
    expect((await list(customer, { region_code: 'us-west' })).map(({ id }) => id)).toEqual([first.id])
    expect(compute.heldVolumes.has(second.id)).toBe(true)
    expect(await list(await someone())).toEqual([])
  })

  test('[B3] is one for one key, however often and through whichever gateway it is asked for', async () => {
    const customer = await someone()
    const key = randomUUID()
    const asked = { body: body() }
    const options = { token: customer.token, idempotencyKey: key }
    const answers = await Promise.all(
      [gateway, other, gateway].map(one => one.call(createVolume, asked, options)),
    )
    const made = answers.flatMap(({ envelope }) => (envelope.status === 'ok' ? [envelope.data.id] : []))
    expect(new Set(made).size).toBe(1)
    expect(await list(customer)).toHaveLength(1)
  })

  test('sets its first day aside, costs from when it is ready, and by its size to the micro-unit', async () => {
    const customer = await someone(100)
    const { token } = customer
    const tooMuch = await gateway.call(createVolume, { body: body({ size_gb: 1_000 }) }, { token })
    expect(tooMuch.envelope).toMatchObject({ code: 'insufficient_balance' })
    const block = compute.faults.block('makeVolume')
    const made = await make(customer)
    await block.reached
    expect(await of(customer, made)).toMatchObject({ status: 'creating', cost_micro: '0' })
    expect(await gateway.data(getBalance, {}, { token })).toMatchObject({
      account_balance: { amount_available: 84 },
    })
    block.release()
    await until(customer, made, one => one?.status === 'ready')
    aheadMs += DAY_MS / 2
    await run()
    const halfDay = Number((await of(customer, made))?.cost_micro)
    // Half of 100 GB × 1,600, and the seconds that the test itself takes.
    expect(halfDay).toBeGreaterThanOrEqual(80_000)
    expect(halfDay).toBeLessThan(80_000 + 160_000 / 24)
    await sound()
  })

  test('has a name of its own, and there are so many of them', async () => {
    const customer = await someone()
    await make(customer)
    const again = await gateway.call(createVolume, { body: body() }, { token: customer.token })
    expect(refusal(again)).toBe('name name_taken')
    for (let made = 1; made < VOLUMES_PER_USER_MAX; made++)
      await make(customer, { name: `v${made}`, size_gb: 1 })
    const tooMany = await gateway.call(
      createVolume,
      { body: body({ name: 'more', size_gb: 1 }) },
      { token: customer.token },
    )
    expect(refusal(tooMany)).toBe('volume_limit')
    // Others have names and room of their own.
    await make(await someone())
  })

  test('[R5.4] is refused in a region that is not there, and where it is none of its sizes', async () => {
    const customer = await someone()
    const ask = async (change: object) =>
      refusal(await gateway.call(createVolume, { body: body(change) }, { token: customer.token }))
    expect(await ask({ region_code: 'nowhere' })).toBe('region_code not_allowed')
    expect(await ask({ size_gb: 0 })).toBe('size_gb too_small')
    expect(await ask({ size_gb: 5_000 })).toBe('size_gb too_large')
    expect(await ask({ name: 'two words' })).toBe('name instance_name_characters')
  })

  test('[R2.25] is renamed, and grows at its new price from when it has grown; it never shrinks', async () => {
    const customer = await someone()
    const one = await ready(customer)
    expect((await rename(customer, one, 'shards')).envelope).toMatchObject({ status: 'ok' })
    expect(refusal(await grow(customer, one, 99))).toBe('size_gb volume_shrink')
    expect(refusal(await grow(customer, one, 100))).toBe('size_gb volume_shrink')
    compute.faults.fail('growVolume', computeFailure('failed'), 1)
    // Made when a GB cost less than today.
    await gateway.database.db.update(volume).set({ microPerGbDay: 1_000n }).where(eq(volume.id, one.id))
    const key = randomUUID()
    await grow(customer, one, 250, key)
    await grow(customer, one, 250, key)
    const { now } = (await until(customer, one, found => found?.size_gb === 250)) as { now: Volume }
    expect(now).toMatchObject({ name: 'shards', status: 'ready', micro_per_day: '400000' })
    await sound()
  })

  test('that grows while a catalogue is applied costs what was told when it was asked for', async () => {
    const customer = await someone()
    const one = await ready(customer)
    const apply = async (source: string) => {
      const { catalogues } = gateway.gateway
      const version = await catalogues.apply(source)
      const isTaken = async () => (await catalogues.gateways()).every(held => held.version === version)
      await expect.poll(isTaken, WAIT).toBe(true)
    }
    const { source } = shippedCatalogue()
    try {
      compute.faults.fail('growVolume', computeFailure('failed'))
      await grow(customer, one, 250)
      await run()
      await apply(source.replace('volume_gb_day: "0.0016"', 'volume_gb_day: "0.0100"'))
      compute.faults.heal()
      const { now } = (await until(customer, one, found => found?.size_gb === 250)) as { now: Volume }
      expect(now).toMatchObject({ micro_per_day: '400000' })
      const ask = { query: { size_gb: 100 } }
      expect(await other.data(getVolumePrice, ask, customer)).toMatchObject({ micro_per_day: '1000000' })
      await sound()
    } finally {
      await apply(source)
    }
  })

  test('that is to grow counts with the size that it will have', async () => {
    const customer = await someone()
    for (const name of ['a', 'b', 'c', 'd']) await make(customer, { name, size_gb: 4_096 })
    const one = await ready(customer, { size_gb: 1_000 })
    compute.faults.fail('growVolume', computeFailure('failed'))
    expect((await grow(customer, one, 3_000)).envelope).toMatchObject({ status: 'ok' })
    const more = await gateway.call(
      createVolume,
      { body: body({ name: 'more', size_gb: 700 }) },
      { token: customer.token, idempotencyKey: randomUUID() },
    )
    expect(refusal(more)).toBe('volume_limit')
    const small = await ready(customer, { name: 'small', size_gb: 1 })
    expect(refusal(await grow(customer, small, 700))).toBe('volume_limit')
  })

  test('that cannot grow keeps its size and price, and its customer hears why', async () => {
    const customer = await someone()
    const one = await ready(customer)
    compute.faults.fail('growVolume', computeFailure('no_room'))
    await grow(customer, one, 250)
    for (let tries = 0; tries < 6; tries++) {
      await run()
      aheadMs += 60_000
    }
    expect(await of(customer, one)).toMatchObject({
      status: 'ready',
      size_gb: 100,
      wanted_gb: 100,
      micro_per_day: '160000',
      reason: { code: 'grow_failed' },
    })
    expect(await news(customer)).toEqual(['grow_failed'])
    await sound()
  })

  test('that cannot be made says so, costs nothing and gives back what was set aside', async () => {
    const customer = await someone()
    compute.faults.fail('makeVolume', computeFailure('no_room'))
    const made = await make(customer)
    for (let tries = 0; tries < 6; tries++) {
      await run()
      aheadMs += 60_000
    }
    expect(await of(customer, made)).toMatchObject({
      status: 'error',
      reason: { code: 'make_failed' },
      cost_micro: '0',
    })
    const balance = await gateway.data(getBalance, {}, { token: customer.token })
    expect(balance).toMatchObject({ account_balance: { amount_available: 10_000 } })
    expect((await remove(customer, made, made.name)).envelope.status).toBe('ok')
    await until(customer, made, one => one === null)
  })
})

describe('deleting a volume', () => {
  test('[R5.7] [R2.25] needs its exact name, ends its cost at once, and is over when the engine has confirmed it', async () => {
    const customer = await someone()
    const one = await ready(customer)
    for (const wrong of ['', 'Datasets', 'datasets ', 'other']) {
      expect(refusal(await remove(customer, one, wrong))).toBe('volume_name_incorrect')
    }
    expect(await of(customer, one)).toMatchObject({ status: 'ready' })
    compute.faults.fail('deleteVolume', computeFailure('failed'), 1)
    expect((await remove(customer, one, 'datasets')).envelope).toMatchObject({
      status: 'ok',
      data: { status: 'deleting', micro_per_day: '0' },
    })
    const cost = (await of(customer, one))?.cost_micro
    aheadMs += DAY_MS
    expect((await of(customer, one))?.cost_micro).toBe(cost)
    await until(customer, one, found => found === null)
    expect(compute.heldVolumes.has(one.id)).toBe(false)
    expect(refusal(await remove(customer, one, 'datasets'))).toBe('not_found')
    // Its name is free again.
    await make(customer)
    await sound()
  })

  test('is refused while an instance has it, running or stopped, and says which', async () => {
    const customer = await someone()
    const { token } = customer
    const one = await ready(customer)
    const instanceId = await deployed(customer, { network_volume: { id: one.id, path: '/data' } })
    expect(await of(customer, one)).toMatchObject({
      attached_to: [{ instance_id: instanceId, name: 'trainer', path: '/data' }],
    })
    const answer = await remove(customer, one, 'datasets')
    expect(answer.envelope).toMatchObject({
      code: 'volume_attached',
      msg: expect.stringContaining('trainer'),
    })
    await gateway.data(stopInstance, { params: { id: instanceId } }, { token })
    await instanceIs(customer, instanceId, 'stopped')
    expect(refusal(await remove(customer, one, 'datasets'))).toBe('volume_attached')
    await gateway.data(terminateInstance, { params: { id: instanceId } }, { token })
    await instanceIs(customer, instanceId, null)
    expect((await remove(customer, one, 'datasets')).envelope.status).toBe('ok')
    await until(customer, one, found => found === null)
  })
})

describe('an instance with a volume', () => {
  test('[R1.2] has it at its path, is made where it is, and several run with it at once', async () => {
    const customer = await someone()
    const one = await ready(customer)
    const mount = { id: one.id, path: '/mnt/models' }
    const ids = [
      await deployed(customer, { network_volume: mount }),
      await deployed(customer, { network_volume: mount }),
    ]
    for (const id of ids) {
      expect(compute.held.get(id)?.spec?.volumes).toEqual([{ ...mount, read_only: false }])
    }
    const instances = await gateway.data(listInstances, {}, { token: customer.token })
    expect(instances.map(({ disks }) => disks.network_volume)).toEqual([mount, mount])
    expect((await of(customer, one))?.attached_to.map(({ instance_id }) => instance_id)).toEqual(ids)
  })

  test('[R1.2] [R2.25] one that does not run gets it at a path, and gives it back, so that it can be deleted', async () => {
    const customer = await someone()
    const { token } = customer
    const [one, second] = [await ready(customer), await ready(customer, { name: 'other' })]
    const id = await deployed(customer, {})
    const attach = (volumeId: string, path: string) =>
      gateway.call(attachVolume, { params: { id: volumeId }, body: { instance_id: id, path } }, { token })
    const detach = (volumeId: string) =>
      gateway.call(detachVolume, { params: { id: volumeId }, body: { instance_id: id } }, { token })
    const mounts = () => compute.held.get(id)?.spec?.volumes ?? []
    expect(refusal(await attach(one.id, '/data'))).toBe('instance_state')
    await gateway.data(stopInstance, { params: { id } }, { token })
    await instanceIs(customer, id, 'stopped')
    for (const path of ['/etc', 'data', '/']) expect(refusal(await attach(one.id, path))).toMatch(/^path /)
    expect(refusal(await attach('v-zzzzzzz', '/data'))).toBe('not_found')
    expect(refusal(await attach((await ready(await someone())).id, '/data'))).toBe('not_found')
    const away = await ready(customer, { name: 'away', region_code: 'eu-frankfurt' })
    expect(refusal(await attach(away.id, '/data'))).toBe('instance_id volume_elsewhere')
    // Attached twice it is attached, and moves where another path is named.
    for (const path of ['/data', '/data', '/mnt/data'])
      expect((await attach(one.id, path)).envelope.status).toBe('ok')
    expect(refusal(await attach(second.id, '/other'))).toBe('volume_one_only')
    expect((await of(customer, one))?.attached_to).toEqual([
      { instance_id: id, name: 'trainer', status: 'stopped', path: '/mnt/data' },
    ])
    await vi.waitFor(
      () => expect(mounts()).toEqual([{ id: one.id, path: '/mnt/data', read_only: false }]),
      WAIT,
    )
    await gateway.data(
      startInstance,
      { body: { instance_id: id, gpu_count: 1, gpu_spec_id: 'cpu' } },
      { token },
    )
    await instanceIs(customer, id, 'running')
    expect(refusal(await detach(one.id))).toBe('instance_state')
    await gateway.data(stopInstance, { params: { id } }, { token })
    await instanceIs(customer, id, 'stopped')
    expect((await detach(second.id)).envelope.status).toBe('ok')
    expect(refusal(await remove(customer, one, one.name))).toBe('volume_attached')
    for (let times = 0; times < 2; times++) expect((await detach(one.id)).envelope.status).toBe('ok')
    expect((await of(customer, one))?.attached_to).toEqual([])
    // Its machine is there still, and lets go of it without being started.
    expect((await remove(customer, one, one.name)).envelope.status).toBe('ok')
    await until(customer, one, found => found === null)
    expect(mounts()).toEqual([])
    const events = await gateway.data(listInstanceEvents, { params: { id } }, { token })
    const codes = events.map(({ code }) => code).filter(code => code.startsWith('volume_'))
    expect(codes.toSorted()).toEqual(['volume_attached', 'volume_attached', 'volume_detached'])
  })

  test('[B9] what is asked of volumes takes one connection to the database: others may hold all the rest', async () => {
    const customer = await someone()
    const { token } = customer
    const one = await ready(customer)
    const id = await deployed(customer, {})
    await gateway.data(stopInstance, { params: { id } }, { token })
    await instanceIs(customer, id, 'stopped')
    const { pool } = gateway.database
    const held = await Promise.all(Array.from({ length: pool.options.max - 1 }, () => pool.connect()))
    try {
      const named = { params: { id: one.id } }
      const target = { ...named, body: { instance_id: id } }
      await gateway.data(attachVolume, { ...target, body: { ...target.body, path: '/data' } }, { token })
      await gateway.data(detachVolume, target, { token })
      const { access_key_id } = await gateway.data(
        makeS3Key,
        { ...named, body: { access: 'read_only' } },
        { token },
      )
      await gateway.data(rotateS3Key, { params: { id: one.id, access_key_id } }, { token })
      expect((await rename(customer, one, 'renamed')).envelope.status).toBe('ok')
      expect((await grow(customer, one, one.size_gb + 1)).envelope.status).toBe('ok')
    } finally {
      for (const client of held) client.release()
    }
    await gateway.data(terminateInstance, { params: { id } }, { token })
  })

  test('[R3.5] is not put where the pod’s own volume stands', async () => {
    const customer = await someone()
    const one = await ready(customer)
    const id = await deployed(customer, { pod_volume_gb: 1, pod_volume_path: '/work' })
    await gateway.data(stopInstance, { params: { id } }, { token: customer.token })
    await instanceIs(customer, id, 'stopped')
    for (const path of ['/work', '/work/deep']) {
      const body = { instance_id: id, path }
      const answer = await gateway.call(
        attachVolume,
        { params: { id: one.id }, body },
        { token: customer.token },
      )
      expect(refusal(answer)).toBe('path volume_path_clash')
    }
  })

  test('is refused at a path of the system, relative, or with dots in it', async () => {
    const customer = await someone()
    const one = await ready(customer)
    const at = async (path: string) =>
      refusal(await deploy(customer, { network_volume: { id: one.id, path } }))
    for (const path of ['data', '/', '/data/', '/data/../etc', '/.berth', '/da ta', '//data']) {
      expect(await at(path)).toBe('network_volume.path volume_path')
    }
    for (const path of ['/etc', '/usr/local/data', '/proc', '/root/data', '/home/me', '/var/lib']) {
      expect(await at(path)).toBe('network_volume.path volume_path_reserved')
    }
  })

  test('[R6.4] is refused with another customer’s volume as with one that is not there, and in another region', async () => {
    const customer = await someone()
    const foreign = await ready(await someone())
    for (const id of [foreign.id, 'v-zzzzzzz']) {
      expect(refusal(await deploy(customer, { network_volume: { id, path: '/data' } }))).toBe('not_found')
    }
    const away = await ready(customer, { region_code: 'eu-frankfurt' })
    expect(refusal(await deploy(customer, { network_volume: { id: away.id, path: '/data' } }))).toBe(
      'network_volume.id volume_elsewhere',
    )
  })

  test('keeps its account from being deleted, as the volume does', async () => {
    const customer = await someone()
    const one = await ready(customer)
    const ask = () =>
      gateway.call(
        deleteAccount,
        { body: { email: customer.email, password: '' } },
        { token: customer.token },
      )
    expect((await ask()).envelope).toMatchObject({ code: 'account_has_volumes' })
    await remove(customer, one, 'datasets')
    await until(customer, one, found => found === null)
    expect((await ask()).envelope).toMatchObject({ status: 'ok' })
  })
})

describe('a volume and its engine', () => {
  test('what no row names is removed, and what a row names is not', async () => {
    const customer = await someone()
    const one = await ready(customer)
    compute.heldVolumes.add('v-orphan1')
    await run()
    await run(other)
    expect(compute.heldVolumes.has('v-orphan1')).toBe(false)
    expect(compute.heldVolumes.has(one.id)).toBe(true)
  })

  test('of an engine whose machines are another database’s nothing is removed', async () => {
    const customer = await someone()
    const one = await ready(customer)
    await deployed(customer, {})
    const stranger = await startGateway({ clock, compute })
    try {
      await run(stranger)
      expect(compute.heldVolumes.has(one.id)).toBe(true)
    } finally {
      await stranger.gateway.stopRequests()
      await stranger.gateway.stopLoops()
    }
  })

  test('one that its engine has lost costs nothing from when it was last seen, and is back when it is', async () => {
    const customer = await someone()
    const one = await ready(customer)
    await run()
    const seen = (await of(customer, one))?.cost_micro
    compute.heldVolumes.delete(one.id)
    aheadMs += DAY_MS
    await run()
    await run(other)
    const lost = await of(customer, one)
    expect(lost).toMatchObject({ status: 'error', reason: { code: 'missing' }, micro_per_day: '0' })
    // The test itself takes less than an hour.
    expect(Number(lost?.cost_micro) - Number(seen)).toBeLessThan(160_000 / 24)
    expect(await news(customer)).toEqual(['missing'])
    compute.heldVolumes.add(one.id)
    await run()
    await run(other)
    expect(await of(customer, one)).toMatchObject({ status: 'ready', reason: null, micro_per_day: '160000' })
    await sound()
  })

  test('[B6] one that is looked at while the clock leaps, as of a computer that slept, is not taken for lost', async () => {
    const customer = await someone()
    const one = await ready(customer)
    const block = compute.faults.block('listVolumes')
    const looks = [run(), run(other)]
    await block.reached
    aheadMs += DAY_MS
    block.release()
    await Promise.all(looks)
    expect(await of(customer, one)).toMatchObject({ status: 'ready', reason: null })
  })

  test('what a gateway died in the midst of, another one finishes: made, grown and deleted once', async () => {
    const customer = await someone()
    // It died when the engine had done it and before it was written down.
    const made = await make(customer)
    compute.heldVolumes.add(made.id)
    await Promise.all([run(), run(other)])
    await until(customer, made, one => one?.status === 'ready')
    await grow(customer, made, 200)
    await Promise.all([run(), run(other)])
    await until(customer, made, one => one?.size_gb === 200)
    await remove(customer, made, 'datasets')
    compute.heldVolumes.delete(made.id)
    await Promise.all([run(), run(other)])
    await until(customer, made, one => one === null)
    await sound()
  })
})

describe('what a volume holds', () => {
  const GB = 1024 ** 3
  /** An hour later another look is due, whatever was found. */
  async function found(customer: Customer, one: Volume, gb: number) {
    compute.volumeBytes.set(one.id, Math.round(gb * GB))
    aheadMs += HOUR_MS
    // Of a clock that has leapt nobody looks after the engine for a moment.
    await vi.waitUntil(
      async () => {
        await measured()
        return (await rowOf(one)).measureDueAt > clock.now()
      },
      { timeout: 30_000 },
    )
    return (await of(customer, one)) as Volume
  }
  /** Whichever of the gateways looks after the engine. */
  const measured = () => Promise.all([gateway, other].map(one => one.gateway.volumes.measure(never)))

  test('[R3.11] is not known before it was measured, is kept with its moment, and stays when counting takes too long or fails', async () => {
    const customer = await someone()
    const one = await ready(customer)
    expect(one).toMatchObject({ used_bytes: null, measured_at: null, near_full: false })
    const first = await found(customer, one, 12)
    expect(first).toMatchObject({ used_bytes: 12 * GB, measure_trouble: null })
    const tooLong = await found(customer, one, Number.POSITIVE_INFINITY)
    expect(tooLong).toMatchObject({ used_bytes: 12 * GB, measure_trouble: 'too_long' })
    expect(tooLong.measured_at).toBe(first.measured_at)
    compute.faults.fail('measureVolume', computeFailure('failed'))
    expect(await found(customer, one, 13)).toMatchObject({ used_bytes: 12 * GB, measure_trouble: 'failed' })
    compute.faults.heal()
    expect(await found(customer, one, 13)).toMatchObject({ used_bytes: 13 * GB, measure_trouble: null })
  })

  test('is not looked at again before it is due, however many gateways there are', async () => {
    const customer = await someone()
    const one = await ready(customer)
    await found(customer, one, 1)
    compute.volumeBytes.set(one.id, 2 * GB)
    await measured()
    expect(await of(customer, one)).toMatchObject({ used_bytes: GB })
  })

  test('warns at nine tenths, once for each time that it is crossed', async () => {
    const customer = await someone()
    const one = await ready(customer)
    expect(await found(customer, one, 89.9)).toMatchObject({ near_full: false })
    for (const gb of [90, 91, 88, 99, 100]) {
      expect(await found(customer, one, gb)).toMatchObject({ near_full: true, over_since: null })
    }
    expect(await news(customer)).toEqual(['near_full'])
    expect(await found(customer, one, 84)).toMatchObject({ near_full: false })
    await found(customer, one, 95)
    expect(await news(customer)).toEqual(['near_full', 'near_full'])
  })

  test('over its size it is said at once, and it is read-only after a day of it, until it grows', async () => {
    const customer = await someone()
    const one = await ready(customer)
    const over = await found(customer, one, 101)
    expect(over).toMatchObject({ near_full: true, read_only: false, over_since: expect.any(String) })
    const readOnlyOn = Date.parse(over.read_only_on ?? '')
    expect(readOnlyOn - Date.parse(over.over_since ?? '')).toBe(VOLUME_OVER_SIZE_HOURS * 3_600_000)
    await found(customer, one, 120)
    // Each look comes an hour after the one before: the next one an hour before the day is over.
    aheadMs += DAY_MS - 3 * HOUR_MS
    expect(await found(customer, one, 120)).toMatchObject({ read_only: false })
    expect(await gateway.gateway.volumes.isReadOnly(one.id)).toBe(false)
    expect(await found(customer, one, 110)).toMatchObject({ read_only: true })
    expect(await gateway.gateway.volumes.isReadOnly(one.id)).toBe(true)
    expect(await news(customer)).toEqual(['over_size', 'over_read_only'])
    await grow(customer, one, 200)
    const { now } = (await until(customer, one, found => found?.size_gb === 200)) as { now: Volume }
    expect(now).toMatchObject({ read_only: false, over_since: null, read_only_on: null, near_full: false })
    expect(await gateway.gateway.volumes.isReadOnly(one.id)).toBe(false)
  })

  test('back within its size before the day is over, it is never read-only', async () => {
    const customer = await someone()
    const one = await ready(customer)
    await found(customer, one, 101)
    expect(await found(customer, one, 80)).toMatchObject({ over_since: null, read_only_on: null })
    aheadMs += 2 * DAY_MS
    // A day of it begins anew.
    expect(await found(customer, one, 101)).toMatchObject({ read_only: false })
  })
})

describe('a volume that nothing is left to pay for', () => {
  test('[B4] is kept, told of at once and before its date, read-only, and deleted on its date alone', async () => {
    const customer = await someone(17)
    const one = await ready(customer)
    await pass(3, customer)
    const unpaid = await of(customer, one)
    expect(unpaid).toMatchObject({ status: 'ready', unpaid_since: expect.any(String) })
    const days = (Date.parse(unpaid?.deleted_on ?? '') - Date.parse(unpaid?.unpaid_since ?? '')) / DAY_MS
    expect(days).toBe(UNPAID_VOLUME_KEPT_DAYS)
    expect(await gateway.gateway.volumes.isReadOnly(one.id)).toBe(true)
    for (let day = 0; day < UNPAID_VOLUME_KEPT_DAYS - 1; day++) await pass(1, customer)
    expect(await of(customer, one)).toMatchObject({ status: 'ready' })
    expect(await news(customer)).toEqual(['unpaid', 'unpaid_soon', 'unpaid_soon', 'unpaid_soon'])
    await pass(2, customer)
    await until(customer, one, found => found === null)
    expect((await rowOf(one)).reasonCode).toBe('unpaid')
    expect((await news(customer)).at(-1)).toBe('deleted_unpaid')
    await sound()
  })

  test('[B4] is kept past its date for as long as an instance has it', async () => {
    const customer = await someone(30)
    const one = await ready(customer)
    const id = await deployed(customer, { network_volume: { id: one.id, path: '/data' } })
    await gateway.data(stopInstance, { params: { id } }, { token: customer.token })
    await instanceIs(customer, id, 'stopped')
    await pass(3, customer)
    expect((await of(customer, one))?.unpaid_since).not.toBeNull()
    await pass(UNPAID_VOLUME_KEPT_DAYS + 1, customer)
    await run()
    expect(await of(customer, one)).toMatchObject({ status: 'ready' })
    await gateway.data(terminateInstance, { params: { id } }, { token: customer.token })
    await instanceIs(customer, id, null)
    await until(customer, one, found => found === null)
    await sound()
  })

  test('[B4] is paid for again as soon as money comes, and nothing is deleted', async () => {
    const customer = await someone(17)
    const one = await ready(customer)
    await pass(3, customer)
    await pass(UNPAID_VOLUME_KEPT_DAYS - 5, customer)
    expect(await news(customer)).toEqual(['unpaid', 'unpaid_soon'])
    expect((await of(customer, one))?.unpaid_since).not.toBeNull()
    await gateway.grant(customer.userId, 5_000)
    await run()
    await run(other)
    expect(await of(customer, one)).toMatchObject({ unpaid_since: null, deleted_on: null })
    await pass(UNPAID_VOLUME_KEPT_DAYS + 1, customer)
    expect(await of(customer, one)).toMatchObject({ status: 'ready', unpaid_since: null })
    await sound()
  })
})

function deploy({ token }: Customer, change: object) {
  return gateway.call(
    deployInstance,
    {
      body: {
        name: 'trainer',
        region_code: 'us-west',
        gpu_spec_id: 'cpu',
        gpu_count: 1,
        image_id: 'berth-base',
        container_disk_gb: 20,
        ...change,
      },
    },
    { token },
  )
}

async function deployed(customer: Customer, change: object): Promise<string> {
  const { envelope } = await deploy(customer, change)
  if (envelope.status !== 'ok') throw new Error(envelope.code)
  await instanceIs(customer, envelope.data.instance_id, 'running')
  return envelope.data.instance_id
}

async function instanceIs({ token }: Customer, id: string, status: string | null): Promise<void> {
  await vi.waitUntil(
    async () => {
      const all = await gateway.data(listInstances, {}, { token })
      return (all.find(({ instance_id }) => instance_id === id)?.status ?? null) === status
    },
    { timeout: 30_000 },
  )
}
