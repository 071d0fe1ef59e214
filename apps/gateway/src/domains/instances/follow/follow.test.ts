import { endOtherSessions, logout } from '@berth/contract/account'
import { deleteAccount } from '@berth/contract/account-security'
import { toggleRenewal } from '@berth/contract/instance-terms'
import {
  deployInstance,
  editInstance,
  type Instance,
  listInstances,
  startInstance,
  stopInstance,
  terminateInstance,
} from '@berth/contract/instances'
import { getTableColumns, sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { PATIENCE_MS } from '../../../../../../scripts/test/patience-ms.ts'
import { startGateway, type TestGateway } from '../../../../test/start-gateway.ts'
import { createFakeEngine, type FakeEngine } from '../../../drivers/compute/fake/fake-engine.ts'
import { systemClock } from '../../../platform/clock.ts'
import { type OpenDatabase, openDatabase } from '../../../platform/database/open-database.ts'
import { addEvent } from '../change-status.ts'
import { deployBody } from '../instances-fixture.ts'
import { instance } from '../tables.ts'
import { type Following, followOwn } from './follow-fixture.ts'

// Goal: what a customer follows through one gateway is what the instances are, whichever gateway changes them, and nobody
// else's. Method: two whole gateways on one database, each with a listening connection of its own, over HTTP.

const PER_CUSTOMER_MAX = 3
const PER_ADDRESS_MAX = 8
const ALIVE_MS = 200
const FOLLOW_LIMITS = {
  perCustomerMax: PER_CUSTOMER_MAX,
  perAddressMax: PER_ADDRESS_MAX,
  gatherMs: 10,
  sessionsMs: 200,
  aliveMs: ALIVE_MS,
}
const WAIT = { timeout: PATIENCE_MS, interval: 20 }

type Customer = Awaited<ReturnType<TestGateway['signUp']>>

let here: TestGateway
let there: TestGateway
let engine: FakeEngine
let open: Following[] = []
const others: OpenDatabase[] = []

beforeAll(async () => {
  engine = createFakeEngine({ clock: systemClock })
  here = await startGateway({ compute: engine, followLimits: FOLLOW_LIMITS })
  there = await startOther()
})
afterEach(() => {
  for (const following of open) following.leave()
  open = []
  engine.faults.heal()
})
afterAll(async () => {
  await there.stop()
  for (const database of others) await database.close()
  await here.stop()
})

/** Another gateway on the same database. */
function startOther(): Promise<TestGateway> {
  const log = pino({ level: 'silent' })
  const database = openDatabase({ url: here.database.url, log, connectTimeoutMs: PATIENCE_MS })
  others.push(database)
  return startGateway({ compute: engine, followLimits: FOLLOW_LIMITS, database })
}

async function payer(): Promise<Customer> {
  const customer = await here.signUp()
  await here.grant(customer.userId, 10_000)
  return customer
}

async function follow(
  gateway: TestGateway,
  customer: Pick<Customer, 'token'>,
  more: { language?: string; readFrom?: string } = {},
): Promise<Following> {
  const following = await followOwn(gateway.origin, { ...more, token: customer.token })
  open.push(following)
  return following
}

/** Deploys and waits until it runs, as the list says it. */
async function running(gateway: TestGateway, customer: Customer, name?: string): Promise<string> {
  const id = await deploy(gateway, customer, name)
  await vi.waitUntil(async () => {
    const list = await gateway.data(listInstances, {}, customer)
    return list.some(one => one.instance_id === id && one.status === 'running')
  }, WAIT)
  return id
}

async function deploy(gateway: TestGateway, { token }: Customer, name = 'llama'): Promise<string> {
  const body = deployBody({ name, http_ports: [] })
  return (await gateway.data(deployInstance, { body }, { token })).instance_id
}

/** Waits until it has heard of an instance that is as wanted. */
function hears(following: Following, wanted: (one: Instance) => boolean): Promise<Instance> {
  return vi.waitUntil(() => following.heard.find(wanted), WAIT)
}

/** What costs goes on by itself, and is told with the next change. */
function settled(instances: Iterable<Instance>): Map<string, Omit<Instance, 'cost_micro'>> {
  return new Map([...instances].map(({ cost_micro: _, ...one }) => [one.instance_id, one]))
}

async function expectSame(following: Following, { token }: Customer): Promise<void> {
  await expect
    .poll(async () => {
      const list = settled(await here.data(listInstances, {}, { token }))
      return [settled(following.known().values()), list]
    }, WAIT)
    .toSatisfy(([known, list]) => {
      expect(known).toEqual(list)
      return true
    })
}

test('[B6] [B22] [R2.26] a start is told step by step, with the bytes of its image, by a gateway that does not make it', async () => {
  const customer = await payer()
  const following = await follow(there, customer)
  expect(following.headers.get('content-type')).toContain('text/event-stream')
  await following.hasRead()
  engine.imagesHere = false
  engine.pullReports.push({ bytes_done: 30, bytes_total: 120 })
  const blocks = (['pull', 'start', 'probe'] as const).map(name => engine.faults.block(name))
  const id = await deploy(here, customer)
  const step = (name: NonNullable<Instance['progress']>['step']) =>
    hears(following, one => one.instance_id === id && one.progress?.step === name)
  // Who reads late is told of the step that it has come to meanwhile: this one is over soon.
  await hears(
    following,
    one => one.instance_id === id && /^(scheduled|pulling)$/.test(one.progress?.step ?? ''),
  )
  expect((await step('pulling')).status).toBe('pulling')
  const pulling = await hears(following, one => one.progress?.bytes_done === 30)
  expect(pulling.progress).toEqual({ step: 'pulling', percent: 21, bytes_done: 30, bytes_total: 120 })
  blocks[0]?.release()
  await step('booting')
  blocks[1]?.release()
  await step('probing')
  expect(following.heard.some(one => one.ready_at !== null)).toBe(false)
  blocks[2]?.release()
  const ready = await step('ready')
  expect(ready).toMatchObject({ status: 'running', name: 'llama' })
  expect(ready.ready_at).not.toBeNull()
  engine.imagesHere = true
  await expectSame(following, customer)
})

test('[B6] [B22] whatever is done to instances through either gateway, who follows knows what the list says', async () => {
  const customer = await payer()
  const { token } = customer
  const before = await deploy(there, customer, 'before')
  const following = await follow(here, customer)
  const id = await deploy(there, customer)
  await hears(following, one => one.instance_id === id && one.status === 'running')
  const edit = { instance_id: id, name: 'renamed', stop_at: new Date(Date.now() + 86_400_000).toISOString() }
  await there.data(editInstance, { body: edit }, { token })
  await hears(following, one => one.name === 'renamed')
  await here.data(stopInstance, { params: { id } }, { token })
  await hears(following, one => one.instance_id === id && one.status === 'stopped')
  await there.data(startInstance, { body: { instance_id: id, gpu_count: 1, gpu_spec_id: 'cpu' } }, { token })
  // Of statuses that last no time the last one is told.
  await vi.waitUntil(() => following.known().get(id)?.status !== 'stopped', WAIT)
  await expectSame(following, customer)
  await there.data(terminateInstance, { params: { id } }, { token })
  await vi.waitUntil(() => !following.known().has(id), WAIT)
  expect(following.events.some(({ gone }) => gone.includes(id))).toBe(true)
  expect(following.known().has(before)).toBe(true)
  await expectSame(following, customer)
})

test('[R6.4] nothing of another customer’s instances is told, by any gateway', async () => {
  const [anna, ben] = await Promise.all([payer(), payer()])
  const ofAnna = await Promise.all([here, there].map(gateway => follow(gateway, anna)))
  const ofBen = await follow(there, ben)
  const bens = await deploy(here, ben, 'bens')
  await hears(ofBen, one => one.instance_id === bens && one.status === 'running')
  await here.data(terminateInstance, { params: { id: bens } }, { token: ben.token })
  await vi.waitUntil(() => !ofBen.known().has(bens), WAIT)
  const annas = await deploy(there, anna, 'annas')
  for (const following of ofAnna) {
    await hears(following, one => one.instance_id === annas && one.status === 'running')
    expect(JSON.stringify(following.events)).not.toContain(bens)
    expect(new Set(following.heard.map(one => one.instance_id))).toEqual(new Set([annas]))
  }
  expect(JSON.stringify(ofBen.events)).not.toContain(annas)
})

test('[R6.4] what a foreign row is notified under is told to its owner alone', async () => {
  const [anna, ben] = await Promise.all([payer(), payer()])
  const bens = await deploy(here, ben, 'bens')
  const [ofAnna, ofBen] = await Promise.all([follow(there, anna), follow(there, ben)])
  await Promise.all([ofAnna.hasRead(), ofBen.hasRead()])
  const count = ofBen.heard.length
  await here.database.db.execute(sql`select pg_notify('instance_seen', ${`${anna.userId} ${bens}`})`)
  await vi.waitUntil(() => ofBen.heard.length > count, WAIT)
  expect(ofAnna.heard).toEqual([])
})

test('[B6] each who follows reads the catalogue’s words in their own language', async () => {
  const customer = await payer()
  const [english, korean] = await Promise.all([
    follow(here, customer, { language: 'en' }),
    follow(here, customer, { language: 'ko' }),
  ])
  const id = await deploy(there, customer)
  const [one, other] = await Promise.all(
    [english, korean].map(following => hears(following, told => told.instance_id === id)),
  )
  const own = await here.data(listInstances, {}, { token: customer.token, language: 'ko' })
  expect(other?.gpu_spec_name).toBe(own[0]?.gpu_spec_name)
  expect(one?.gpu_spec_name).not.toBe(other?.gpu_spec_name)
})

test('[B6] [B22] who begins to follow at any moment, and reads from any gateway, misses nothing', async () => {
  const customer = await payer()
  // One that does not change is known by who reads when they are told to, and by nobody else.
  await running(here, customer, 'still')
  const id = await running(here, customer, 'name-0')
  const followings: Following[] = []
  for (let nth = 1; nth <= 30; nth++) {
    const gateway = nth % 2 ? here : there
    const renaming = gateway.data(
      editInstance,
      { body: { instance_id: id, name: `name-${nth}` } },
      { token: customer.token },
    )
    if (nth % 6 === 0) {
      const following = await follow(nth % 4 ? here : there, customer, { readFrom: gateway.origin })
      followings.push(following)
      if (followings.length > 1) followings.shift()?.leave()
    }
    await renaming
  }
  for (const following of followings) {
    await following.hasRead()
    await vi.waitUntil(() => following.known().get(id)?.name === 'name-30', WAIT)
    await expectSame(following, customer)
  }
})

test('[B6] [B22] a gateway that ends says so, and what changes meanwhile is known through another one', async () => {
  const customer = await payer()
  const id = await running(here, customer)
  const leaving = await startOther()
  const cut = await follow(leaving, customer)
  const stopping = leaving.gateway.stopRequests()
  expect(await cut.ended()).toBe('gateway')
  await here.data(editInstance, { body: { instance_id: id, name: 'meanwhile' } }, customer)
  const resumed = await follow(there, customer)
  await resumed.hasRead()
  await vi.waitUntil(() => resumed.known().get(id)?.name === 'meanwhile', WAIT)
  await here.data(editInstance, { body: { instance_id: id, name: 'later' } }, customer)
  await hears(resumed, one => one.name === 'later')
  await stopping
  await leaving.gateway.stopLoops()
})

test('[B6] what was notified while nobody could hear it is not missed: all is read again', async () => {
  const customer = await payer()
  const id = await running(here, customer)
  const following = await follow(there, customer)
  await following.hasRead()
  const rereads = () => following.events.filter(({ reread }) => reread).length
  const before = rereads()
  await here.database.db.execute(
    sql`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'berth-listen' and datname = current_database()`,
  )
  await here.data(editInstance, { body: { instance_id: id, name: 'unheard' } }, customer)
  await vi.waitUntil(() => rereads() > before, WAIT)
  await vi.waitUntil(() => following.known().get(id)?.name === 'unheard', WAIT)
})

test('[B12] a session that is ended through another gateway ends what it follows, and nobody else’s', async () => {
  const customer = await payer()
  const secret = await here.gateway.identity.createSignInLink(customer.userId)
  const place = { address: '127.0.0.1', userAgent: 'test', stay: true }
  const other = { token: await here.gateway.identity.signInByLink(secret, place) }
  const [own, others] = await Promise.all([follow(there, customer), follow(there, other)])
  await there.data(endOtherSessions, {}, customer)
  expect(await others.ended()).toBe('session')
  await expect(follow(there, other)).rejects.toThrow('login_expired')
  const id = await deploy(here, customer)
  await hears(own, one => one.instance_id === id)
  await here.call(logout, {}, customer)
  expect(await own.ended()).toBe('session')
})

test('[R1.7] an account that is closed ends what it follows', async () => {
  const customer = await payer()
  const following = await follow(there, customer)
  await here.data(deleteAccount, { body: { email: customer.email } }, customer)
  expect(await following.ended()).toBe('session')
})

test('[B12] a session that runs out ends what it follows, though nobody tells', async () => {
  const customer = await payer()
  const following = await follow(there, customer)
  await here.database.db.execute(
    sql`update session set expires_at = now() - interval '1 second' where user_id = ${customer.userId}`,
  )
  expect(await following.ended()).toBe('session')
})

test('[B6] a customer follows through so many tabs as there may be, and one that leaves makes room', async () => {
  const customer = await payer()
  const [first] = await Promise.all(Array.from({ length: PER_CUSTOMER_MAX }, () => follow(here, customer)))
  await expect(follow(here, customer)).rejects.toThrow('too_many_requests')
  // Another customer at the same address is not held up by that.
  await follow(here, await payer())
  first?.leave()
  await vi.waitUntil(() => follow(here, customer).catch(() => null), WAIT)
})

test('[B6] an address has so many streams as there may be, whoever opens them', async () => {
  for (let count = 0; count < PER_ADDRESS_MAX; count++) await follow(here, await here.signUp())
  await expect(follow(here, await here.signUp())).rejects.toThrow('too_many_requests')
  await follow(there, await here.signUp())
})

test('[B6] a gateway that has no room for more says that another one may be asked', async () => {
  const small = await startGateway({ followLimits: { followersMax: 1 } })
  try {
    const one = await followOwn(small.origin, await small.signUp())
    await expect(followOwn(small.origin, await small.signUp())).rejects.toThrow('unavailable')
    one.leave()
  } finally {
    await small.stop()
  }
})

test('[B6] in silence there are signs of life, so that no proxy takes the answer for dead', async () => {
  const following = await follow(here, await here.signUp())
  await vi.waitUntil(() => following.comments() >= 3, WAIT)
  expect(following.events).toHaveLength(1)
})

/** Columns of which a customer sees nothing. A new one stands here, or in the trigger `instance_seen_changed`. */
const UNSEEN = new Set([
  ...['user_id', 'gpu_uuids', 'registry_credential_id', 'term_disk_micro', 'term_notice_day', 'env'],
  ...[
    'secret_env',
    'ssh_key_ids',
    'service_secret',
    'desired',
    'restarts_asked',
    'restarts_done',
    'may_run',
    'first_ran_at',
  ],
  ...['command_told_at', 'observed_at', 'attempts', 'failure_code', 'failure_detail', 'next_attempt_at'],
  ...['deletion_notice_day', 'volume_changed', 'emptied_at', 'resume_try'],
  'image_name',
  ...['lease_owner', 'lease_until', 'version'],
])
/** Another value of a column, by its type. */
const OTHER: Record<string, (column: string) => string> = {
  text: column => `coalesce(${column}, '') || 'x'`,
  integer: column => `coalesce(${column}, 0) + 1`,
  bigint: column => `coalesce(${column}, 0) + 1`,
  boolean: column => `not ${column}`,
  jsonb: () => `'{"other": 1}'`,
  uuid: () => 'gen_random_uuid()',
}
const anHourAgo = () => `now() - interval '1 hour'`

test('[B6] each column is told of when it changes, or is none that a customer sees', async () => {
  const made = await running(here, await payer())
  const { db, listen } = here.database
  // One that is gone is worked on by nobody.
  const own = JSON.stringify({ id: 'i-copied0', service_secret: 'copied', terminated_at: new Date() })
  await db.execute(sql`insert into instance
    select (jsonb_populate_record(i, ${own}::jsonb)).* from instance i where id = ${made}`)
  let heard = 0
  let marks = 0
  const stops = [
    await listen('instance_seen', payload => {
      if (payload.endsWith(' i-copied0')) heard += 1
    }),
    await listen('mark', () => {
      marks += 1
    }),
  ]
  const wrong: string[] = []
  for (const column of Object.values(getTableColumns(instance))) {
    if (column.primary) continue
    const other = (OTHER[column.getSQLType()] ?? anHourAgo)(column.name)
    const before = { heard, marks }
    await db.execute(sql.raw(`update instance set ${column.name} = ${other} where id = 'i-copied0'`))
    await db.execute(sql`select pg_notify('mark', '')`)
    await vi.waitUntil(() => marks > before.marks, WAIT)
    if (heard > before.heard === UNSEEN.has(column.name)) wrong.push(column.name)
  }
  for (const stop of stops) stop()
  expect(wrong).toEqual([])
})

test('[B6] what happened to an instance is told, though its row is as before', async () => {
  const customer = await payer()
  const id = await running(here, customer)
  const following = await follow(there, customer)
  await following.hasRead()
  const before = following.heard.length
  const row = { id, userId: customer.userId, status: 'running' } as const
  await here.database.db.transaction(tx => addEvent(tx, row, { at: new Date(), code: 'command_ended' }))
  await vi.waitUntil(() => following.heard.length > before, WAIT)
})

test('[R4.3] what changes how an instance is paid for is told, too', async () => {
  const customer = await payer()
  const body = deployBody({ http_ports: [], billing_type: 'prepay', charge_cycle: 'weekly' })
  const { instance_id: id } = await here.data(deployInstance, { body }, customer)
  const following = await follow(there, customer)
  await following.hasRead()
  await here.data(toggleRenewal, { body: { instance_id: id, auto_renew: false } }, customer)
  await hears(following, one => one.instance_id === id && !one.auto_renew)
})
