import { deleteAccount } from '@berth/contract/account-security'
import { getBalance } from '@berth/contract/billing'
import { listInstances } from '@berth/contract/instances'
import { OFFER_WATCHES_PER_USER_MAX } from '@berth/contract/limits'
import { cancelOfferWatch, listOfferWatches, watchOffer } from '@berth/contract/offer-watches'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startGateway, type TestGateway } from '../../../test/start-gateway.ts'
import { createMailboxDriver } from '../../drivers/mail/mailbox.ts'
import { stock } from '../regions/tables.ts'
import { startRegistry, type TestRegistry } from '../registries/registry-fixture.ts'
import { offerWatch } from './tables.ts'

const HOUR_MS = 3_600_000
const never = new AbortController().signal
let aheadMs = 0
const clock = { now: () => new Date(Date.now() + aheadMs) }
let gateway: TestGateway
/** Has one image, as long as it is there, and one that it keeps to itself until it may tell. */
let registry: TestRegistry
const registryIs = { away: false, isAsked: false, mayTell: Promise.resolve() }
/** Another one on the same database, which looks as well. */
let other: TestGateway
beforeAll(async () => {
  registry = await startRegistry(async (request, response) => {
    const isHeld = request.url === '/v2/held/manifests/1'
    if (isHeld) {
      registryIs.isAsked = true
      await registryIs.mayTell
    }
    const found = isHeld || request.url === '/v2/llama/manifests/1'
    const headers = { 'content-type': 'application/json' }
    response.writeHead(registryIs.away ? 503 : found ? 200 : 404, headers)
    response.end(JSON.stringify({ layers: [{ size: 1_024 }] }))
  })
  const parts = { clock, privateRegistries: [registry.host] }
  gateway = await startGateway(parts)
  other = await startGateway({ ...parts, database: { ...gateway.database, close: async () => {} } })
})
afterAll(async () => {
  await other.gateway.stopRequests()
  await other.gateway.stopLoops()
  await gateway.stop()
  await registry.close()
})

type Customer = Awaited<ReturnType<TestGateway['signUp']>>
const inDays = (days: number) => new Date(clock.now().getTime() + days * 24 * HOUR_MS).toISOString()
const setup = {
  name: 'llama',
  image_id: 'berth-base',
  container_disk_gb: 40,
  http_ports: [8080],
  env: { MODEL: 'llama' },
}
/** B200 of us-west is sold out until a test says otherwise. */
const offer = { region_code: 'us-west', gpu_spec_id: 'b200', gpu_count: 1 }
const body = (change = {}) => ({ ...offer, until: inDays(7), ...change })
const deployBody = (change = {}, price = '5000000') =>
  body({ deploy: { price_max_micro_per_hour: price, setup }, ...change })

/** So many of the spec are free now, as if others gave back or took them; nobody is told. */
async function free(count: number, spec = 'b200'): Promise<void> {
  await gateway.database.db
    .update(stock)
    .set({ total: sql`${stock.taken} + ${count}` })
    .where(sql`${stock.regionCode} = 'us-west' and ${stock.gpuSpecId} = ${spec}`)
}
const look = (from = gateway) => from.gateway.watches.look(never)

async function someone(cents = 10_000): Promise<Customer> {
  const customer = await gateway.signUp()
  if (cents > 0) await gateway.grant(customer.userId, cents)
  return customer
}
const watch = ({ token }: Customer, input: object) =>
  gateway.data(watchOffer, { body: input as never }, { token })
const watches = ({ token }: Customer) => gateway.data(listOfferWatches, {}, { token })
const instances = ({ token }: Customer) => gateway.data(listInstances, {}, { token })
const refused = async ({ token }: Customer, input: object) => {
  const { envelope } = await gateway.call(watchOffer, { body: input as never }, { token })
  if (envelope.status !== 'error') throw new Error('it was not refused')
  const [field] = envelope.fields ?? []
  return field ? `${field.path} ${field.rule}` : envelope.code
}

/** Subjects of the mails about watches that a customer got, once there are so many and every event was handed on. */
async function subjects({ email }: Customer, count: number): Promise<string[]> {
  // Each gateway of a test keeps the mails that it sends in a mailbox of its own.
  const mailboxes = [gateway, other].map(one => createMailboxDriver({ db: one.database.db, clock }))
  return vi.waitUntil(async () => {
    const { rows } = await gateway.database.db.execute<{ open: string }>(
      sql`select count(*) as open from pgboss.job where state in ('created', 'retry', 'active')
        and (name = 'event' or name like '%offer-watch%')`,
    )
    const own = (await Promise.all(mailboxes.map(one => one.list())))
      .flat()
      .filter(({ to, text }) => to === email && /that you watch/.test(text))
      .toSorted((one, next) => one.sentAt.getTime() - next.sentAt.getTime())
    return rows[0]?.open === '0' && own.length >= count && own.map(({ subject }) => subject)
  }) as Promise<string[]>
}

/** What a customer was told of watches, in turn. */
async function news({ userId }: Customer): Promise<string[]> {
  const { rows } = await gateway.database.db.execute<{ news: string }>(
    sql`select data->'payload'->>'news' as news from pgboss.job
      where name = 'event' and data->>'event' = 'offer-watch.news' and data->'payload'->>'userId' = ${userId}
      order by created_on`,
  )
  return rows.map(row => row.news)
}

describe('a watch that mails', () => {
  test('[B15] tells of each return of the stock once, and not of every flap', async () => {
    const customer = await someone(0)
    await watch(customer, body())
    await look()
    await free(1)
    await look()
    await look(other)
    for (const count of [0, 1, 0, 1]) {
      await free(count)
      await look()
    }
    expect(await subjects(customer, 1)).toEqual(['Berth: 1 × B200, us-west is available again'])
    // It was there all the time when the pause is over: that is no return.
    aheadMs += 6 * HOUR_MS
    await look()
    await free(0)
    await look()
    await free(2)
    await look()
    expect(await subjects(customer, 2)).toHaveLength(2)
    expect(await watches(customer)).toMatchObject([{ action: 'mail', state: 'waiting', instance_id: null }])
    await free(0)
  })

  test('[B15] ends on its date, which is told, and deploys nothing', async () => {
    const customer = await someone()
    await watch(customer, deployBody({ until: inDays(1) }))
    aheadMs += 25 * HOUR_MS
    // Nobody looked before its date, and it is back when somebody does.
    await free(1)
    await look()
    await look(other)
    expect(await subjects(customer, 1)).toEqual(['Berth: 1 × B200, us-west was not back in time'])
    expect(await watches(customer)).toMatchObject([{ state: 'expired' }])
    expect(await instances(customer)).toEqual([])
    await free(0)
  })
})

describe('a watch that deploys', () => {
  test('[B15] deploys what was set up once there is stock, by itself, and holds money only then', async () => {
    const customer = await someone()
    const spent = async () => (await gateway.data(getBalance, {}, customer)).account_balance
    const before = await spent()
    const made = await watch(customer, deployBody())
    expect(await spent()).toEqual(before)
    expect(await instances(customer)).toEqual([])
    await free(1)
    // As whoever gives something back does.
    await gateway.database.db.execute(sql`select pg_notify('stock', 'us-west')`)
    const [done] = await vi.waitUntil(async () => {
      const own = await watches(customer)
      return own[0]?.state === 'deployed' && own
    })
    expect(done).toMatchObject({ id: made.id, instance_name: 'llama', held_by: null })
    const [instance, ...more] = await instances(customer)
    expect(more).toEqual([])
    expect(instance).toMatchObject({
      instance_id: done?.instance_id,
      name: 'llama',
      gpu_spec_id: 'b200',
      gpu_count: 1,
      http_ports: [8080],
      disks: { container_gb: 40 },
    })
    expect((await spent()).amount_available).toBeLessThan(before.amount_available)
    expect(await subjects(customer, 1)).toEqual(['Berth: 1 × B200, us-west was deployed for you'])
    await free(0)
  })

  test('[B15] [B3] is served in turn, and never twice, by two gateways that look at the same time', async () => {
    const customers = await Promise.all([someone(), someone(), someone()])
    const wanted = [1, 2, 1, 1, 2, 1, 4, 1].map((count, index) => ({
      count,
      customer: customers[index % 3] as Customer,
    }))
    const ids: string[] = []
    for (const { customer, count } of wanted) {
      // Each of another limit, or they were one watch.
      const price = String(30_000_000 + ids.length)
      ids.push((await watch(customer, deployBody({ gpu_count: count }, price))).id)
    }
    await Promise.all(customers.map(({ userId }) => gateway.grant(userId, 20_000)))
    let waiting = ids.map((id, index) => ({ id, count: wanted[index]?.count ?? 0 }))
    const served = new Set<string>()
    while (waiting.length > 0) {
      let units = 1 + Math.floor(Math.random() * 4)
      await free(units)
      // The oldest first; one that wants more than there is left holds up nobody.
      for (const { id, count } of waiting) {
        if (count > units) continue
        units -= count
        served.add(id)
      }
      waiting = waiting.filter(({ id }) => !served.has(id))
      await Promise.all(Math.random() < 0.5 ? [look()] : [look(), look(other), look(), look(other)])
      const own = (await Promise.all(customers.map(watches))).flat()
      const deployed = own.filter(({ state, id }) => state === 'deployed' && ids.includes(id))
      expect(new Set(deployed.map(({ id }) => id))).toEqual(served)
      await free(0)
      await gateway.database.db.update(offerWatch).set({ nextTryAt: new Date(0) })
    }
    const made = (await Promise.all(customers.map(instances))).flat()
    expect(made).toHaveLength(wanted.length)
    const ofWatches = (await Promise.all(customers.map(watches))).flat().map(({ instance_id }) => instance_id)
    expect(new Set(ofWatches)).toEqual(new Set(made.map(({ instance_id }) => instance_id)))
  })

  test('[B15] says once what keeps it from deploying, goes on waiting, and deploys when that is over', async () => {
    const customer = await someone(0)
    await watch(customer, deployBody({}, '4989999'))
    await free(1)
    for (const _ of [1, 2]) {
      await look()
      await look(other)
      aheadMs += 61_000
    }
    expect(await news(customer)).toEqual(['price_above'])
    expect(await watches(customer)).toMatchObject([{ state: 'waiting', held_by: 'price_above' }])
    // The price falls to what is allowed.
    await gateway.database.db
      .update(offerWatch)
      .set({ priceMaxMicroPerHour: 5_000_000n })
      .where(eq(offerWatch.userId, customer.userId))
    for (const _ of [1, 2]) {
      aheadMs += 61_000
      await look()
    }
    expect(await news(customer)).toEqual(['price_above', 'insufficient_balance'])
    expect(await instances(customer)).toEqual([])
    await gateway.grant(customer.userId, 10_000)
    aheadMs += 61_000
    await look()
    expect(await instances(customer)).toHaveLength(1)
    expect(await news(customer)).toEqual(['price_above', 'insufficient_balance', 'deployed'])
    await free(0)
  })

  test('[B15] an address of its own counts to what an hour may cost', async () => {
    const customer = await someone()
    const own = { ...setup, tcp_ports: [22], public_ip: 'dedicated' }
    // What it costs without one: the machine, and 20 GB of its disk.
    const price = '4992800'
    await watch(customer, body({ deploy: { price_max_micro_per_hour: price, setup: own } }))
    await watch(customer, deployBody({}, price))
    await free(1)
    await look()
    expect(await news(customer)).toEqual(['price_above', 'deployed'])
    expect(await instances(customer)).toMatchObject([{ tcp_ports: [] }])
    await free(0)
  })

  test('[B15] who watches by mail is told of what is left once those were served for whom it deploys', async () => {
    const [reader, deployer] = [await someone(0), await someone()]
    await watch(reader, body())
    await watch(deployer, deployBody())
    await free(1)
    await look()
    expect(await news(deployer)).toEqual(['deployed'])
    expect(await news(reader)).toEqual([])
    await free(1)
    await look()
    expect(await news(reader)).toEqual(['back'])
    await free(0)
  })

  test('[B15] nothing is deployed for an address that is not verified any more', async () => {
    const customer = await someone()
    await watch(customer, deployBody())
    const verify = (at: Date | null) =>
      gateway.database.db.execute(
        sql`update user_account set email_verified_at = ${at?.toISOString() ?? null} where id = ${customer.userId}`,
      )
    await verify(null)
    await free(1)
    await look()
    expect(await news(customer)).toEqual(['not_verified'])
    expect(await instances(customer)).toEqual([])
    await verify(clock.now())
    aheadMs += 61_000
    await look()
    expect(await news(customer)).toEqual(['not_verified', 'deployed'])
    await free(0)
  })

  test('[B15] what was set up and cannot be made any more ends it, which is told; others are served', async () => {
    const [customer, next] = [await someone(), await someone()]
    await watch(customer, deployBody())
    await gateway.database.db
      .update(offerWatch)
      .set({ setup: { ...setup, image_id: 'gone' } })
      .where(eq(offerWatch.userId, customer.userId))
    await watch(next, deployBody())
    await free(1)
    await look()
    expect(await subjects(customer, 1)).toEqual([
      'Berth: 1 × B200, us-west cannot be deployed as it was set up',
    ])
    expect(await watches(customer)).toMatchObject([{ state: 'refused', instance_id: null }])
    expect(await instances(next)).toHaveLength(1)
    await free(0)
  })

  test('[B15] waits on while the registry of its image does not answer, and deploys when it does', async () => {
    const customer = await someone()
    const image = { image_id: null, image_reference: `${registry.host}/llama:1` }
    await watch(
      customer,
      body({ deploy: { price_max_micro_per_hour: '5000000', setup: { ...setup, ...image } } }),
    )
    await free(1)
    registryIs.away = true
    await look()
    expect(await watches(customer)).toMatchObject([{ state: 'waiting', held_by: null }])
    expect(await news(customer)).toEqual([])
    registryIs.away = false
    aheadMs += 5 * 60_000 + 1_000
    await look()
    expect(await news(customer)).toEqual(['deployed'])
    await free(0)
    // What its registry does not have is no fault that passes.
    await watch(
      customer,
      body({
        deploy: {
          price_max_micro_per_hour: '5000000',
          setup: { ...setup, ...image, image_reference: `${registry.host}/none:1` },
        },
      }),
    )
    await free(1)
    await look()
    expect(await news(customer)).toEqual(['deployed', 'refused'])
    await free(0)
  })

  test('[B15] what comes back while somebody is served goes to the oldest, and not to who is next in line', async () => {
    const [first, second, third] = [await someone(), await someone(), await someone()]
    const held = { ...setup, image_id: null, image_reference: `${registry.host}/held:1` }
    await watch(first, deployBody({ gpu_count: 2 }, '30000000'))
    await watch(second, body({ deploy: { price_max_micro_per_hour: '5000000', setup: held } }))
    await watch(third, deployBody({ gpu_count: 2 }, '30000000'))
    let tell = () => {}
    registryIs.mayTell = new Promise(resolve => {
      tell = resolve
    })
    await free(1)
    const looking = look()
    await vi.waitUntil(() => registryIs.isAsked)
    await free(3)
    tell()
    await looking
    expect(await watches(second)).toMatchObject([{ state: 'deployed' }])
    expect(await watches(third)).toMatchObject([{ state: 'waiting' }])
    await look()
    expect(await watches(first)).toMatchObject([{ state: 'deployed' }])
    const [left] = await watches(third)
    expect(left).toMatchObject({ state: 'waiting', held_by: null })
    await gateway.data(cancelOfferWatch, { params: { id: left?.id ?? '' } }, third)
    await free(0)
  })

  test('[B15] what no engine could make now is not back, whatever its stock says', async () => {
    const away = await startGateway({ clock, engines: [] })
    try {
      const { token, userId } = await away.signUp()
      await away.data(watchOffer, { body: body() as never }, { token })
      const { db } = away.database
      await db.update(stock).set({ total: sql`${stock.taken} + 1` })
      await away.gateway.watches.look(never)
      const rows = await db.select().from(offerWatch).where(eq(offerWatch.userId, userId))
      expect(rows).toMatchObject([{ state: 'waiting', toldAt: null }])
    } finally {
      await away.stop()
    }
  })

  test('[B15] goes with its account, and nothing is deployed for it', async () => {
    const customer = await someone()
    await watch(customer, deployBody())
    const [row] = await gateway.database.db
      .select()
      .from(offerWatch)
      .where(eq(offerWatch.userId, customer.userId))
    expect(row).toBeDefined()
    await gateway.data(deleteAccount, { body: { email: customer.email } }, { token: customer.token })
    await vi.waitUntil(
      async () =>
        (await gateway.database.db.select().from(offerWatch).where(eq(offerWatch.userId, customer.userId)))
          .length === 0,
    )
  })
})

describe('watches', () => {
  test('[B15] what could never come about is refused at its field', async () => {
    const customer = await someone()
    const withSetup = (change: object) =>
      body({ deploy: { price_max_micro_per_hour: '1', setup: { ...setup, ...change } } })
    expect(await refused(customer, body({ until: inDays(-1) }))).toBe('until moment_past')
    expect(await refused(customer, body({ until: inDays(91) }))).toBe('until moment_far')
    expect(await refused(customer, body({ gpu_count: 3 }))).toBe('gpu_count not_allowed')
    expect(await refused(customer, body({ region_code: 'sa-east' }))).toBe('region_code not_allowed')
    expect(await refused(customer, body({ gpu_spec_id: 'none' }))).toBe('gpu_spec_id not_allowed')
    expect(await refused(customer, withSetup({ name: 'no name' }))).toMatch(/^deploy\.setup\.name /)
    expect(await refused(customer, withSetup({ stop_at: inDays(3) }))).toBe(
      'deploy.setup.stop_at moment_past',
    )
    expect(await refused(customer, withSetup({ billing_type: 'prepay', charge_cycle: 'weekly' }))).toBe(
      'deploy.setup.billing_type not_allowed',
    )
    const noPrice = body({ deploy: { price_max_micro_per_hour: 'cheap', setup } })
    expect(await refused(customer, noPrice)).toBe('deploy.price_max_micro_per_hour not_a_number')
    expect(await watches(customer)).toEqual([])
  })

  test('[B15] are so many for an account, end when they are cancelled, and are nobody else’s', async () => {
    const [customer, stranger] = [await someone(), await someone()]
    const asked = deployBody()
    const first = await watch(customer, asked)
    // A call that is sent again is the same watch.
    expect(await watch(customer, asked)).toEqual(first)
    for (let more = 1; more < OFFER_WATCHES_PER_USER_MAX; more++) {
      await watch(customer, deployBody({}, String(1_000 + more)))
    }
    expect(await refused(customer, body())).toBe('offer_watch_limit')
    const cancel = (who: Customer) =>
      gateway.call(cancelOfferWatch, { params: { id: first.id } }, { token: who.token })
    expect((await cancel(stranger)).httpStatus).toBe(404)
    expect((await cancel(customer)).httpStatus).toBe(200)
    expect((await cancel(customer)).httpStatus).toBe(404)
    expect(await watches(stranger)).toEqual([])
    await free(1)
    await look()
    expect(await instances(customer)).toEqual([])
    await free(0)
    await watch(customer, body())
  })
})
