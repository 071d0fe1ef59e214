import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { text } from 'node:stream/consumers'
import { getBalance, listTransactions } from '@berth/contract/billing'
import { getInstance } from '@berth/contract/instance-page'
import {
  deployInstance,
  getConnection,
  getPrice,
  type Instance,
  listInstanceEvents,
  listInstances,
  stopInstance,
  terminateInstance,
} from '@berth/contract/instances'
import { bindPublicIp, getPublicIpPrice, unbindPublicIp } from '@berth/contract/public-ip-calls'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { PATIENCE_MS } from '../../../scripts/test/patience-ms.ts'
import { followOwn } from '../src/domains/instances/follow/follow-fixture.ts'
import { createFakeEngine } from '../src/drivers/compute/fake/fake-engine.ts'
import { systemClock } from '../src/platform/clock.ts'
import { shippedCatalogue } from './shipped-catalogue.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

// Goal: an instance gets an address of its own by the calls of the seed, and is reached there. Method: a whole gateway over
// HTTP, whose machines lead to a real program, and addresses of the loopback interface that no other test listens at.

const [ONE, TWO] = ['127.71.0.31', '127.71.0.32']
const PORT = 7_122
const REGION = 'us-west'
const HOUR_S = 3_600

let gateway: TestGateway
let program: Server
/** Ahead of the computer's. */
let aheadMs = 0
const clock = { now: () => new Date(systemClock.now().getTime() + aheadMs) }

beforeAll(async () => {
  program = createServer(socket => socket.on('error', () => socket.destroy()).end('reached')).listen(
    0,
    '127.0.0.1',
  )
  await once(program, 'listening')
  const engine = createFakeEngine({ clock })
  const { connect: within, ...network } = engine.network
  const catalogue = shippedCatalogue()
  const regions = catalogue.regions.map(region => ({
    ...region,
    public_ips: region.code === REGION ? [ONE, TWO].map(address => ({ address, listen: address })) : [],
  }))
  gateway = await startGateway({
    clock,
    catalogue: { ...catalogue, regions },
    compute: {
      ...engine,
      network: {
        ...network,
        async connect(id, port) {
          if (port !== PORT) return within(id, port)
          const socket = connect({
            port: (program.address() as AddressInfo).port,
            host: '127.0.0.1',
            allowHalfOpen: true,
          })
          await once(socket, 'connect')
          return socket
        },
      },
    },
  })
})
afterAll(async () => {
  await gateway.stop()
  program.close()
})

async function payer() {
  const customer = await gateway.signUp()
  await gateway.grant(customer.userId, 10_000)
  return customer
}

async function deployed(token: string, body: { public_ip?: 'shared' | 'dedicated' } = {}): Promise<string> {
  const machine = {
    name: 'reached',
    region_code: REGION,
    gpu_spec_id: 'cpu',
    gpu_count: 1,
    image_id: 'berth-base',
  }
  const { instance_id } = await gateway.data(
    deployInstance,
    { body: { ...machine, container_disk_gb: 20, tcp_ports: [PORT], ...body } },
    { token },
  )
  await until(token, instance_id, one => one?.status === 'running')
  return instance_id
}

async function until(token: string, id: string, is: (one: Instance | undefined) => boolean): Promise<void> {
  const look = async () => {
    const all = await gateway.data(listInstances, {}, { token })
    return is(all.find(({ instance_id }) => instance_id === id))
  }
  await vi.waitUntil(look, { timeout: PATIENCE_MS })
}

const bindOf = (id: string, region_code = REGION) => ({ body: { region_code, instance_id: id } })

/** What answers at an address; null where nobody listens. */
function said(host: string): Promise<string | null> {
  const socket = connect({ host, port: PORT }).on('error', () => undefined)
  return text(socket).catch(() => null)
}

test('[R7.4] [R2.25] [R4.5] a public IP is bound, answers, is charged while stopped, and is given back by the calls of the seed', async () => {
  const { token } = await payer()
  const id = await deployed(token)
  const following = await followOwn(gateway.origin, { token })
  const followed = () => following.known().get(id)?.eip?.type
  await expect.poll(followed).toBe('shared')
  const shown = await gateway.data(getPublicIpPrice, { query: { region_code: REGION } }, { token })
  expect(shown).toEqual({ currency: 'USD', rate_micro_per_hour: '5000', total: 2, available: 2 })
  const bound = await gateway.data(
    bindPublicIp,
    { body: { ...bindOf(id).body, price_micro: shown.rate_micro_per_hour } },
    { token },
  )
  expect(bound).toMatchObject({ type: 'dedicated', rate_micro_per_hour: '5000' })
  const { eip } = await gateway.data(getInstance, { params: { id } }, { token })
  expect(eip).toEqual(bound)
  // Whoever follows is told, too.
  await expect.poll(followed).toBe('dedicated')
  const { tcp } = await gateway.data(getConnection, { params: { id } }, { token })
  expect(tcp).toEqual([{ port: PORT, host: bound.address, public_port: PORT, trouble: null }])
  expect(await said(bound.address)).toBe('reached')
  await gateway.data(stopInstance, { params: { id } }, { token })
  await until(token, id, one => one?.status === 'stopped')
  await expect.poll(() => said(bound.address)).toBeNull()
  expect((await gateway.data(getBalance, {}, { token })).burn_micro_per_hour).toBe('5000')
  aheadMs += 3 * HOUR_S * 1_000
  await gateway.data(unbindPublicIp, { params: { id: bound.id ?? '' } }, { token })
  const { items } = await gateway.data(listTransactions, { query: { type: 'usage' } }, { token })
  const [charged] = items.filter(({ about }) => about.usage === 'public_ip')
  expect(charged).toMatchObject({ status: 'settled', about: { address: bound.address, instance_id: id } })
  // By whole seconds from bind to unbind, to the micro-unit.
  const seconds = BigInt(charged?.about.seconds ?? 0)
  expect(seconds).toBeGreaterThanOrEqual(BigInt(3 * HOUR_S))
  expect(-BigInt(charged?.amount_micro ?? 0)).toBe((5_000n * seconds) / BigInt(HOUR_S))
  expect((await gateway.data(getBalance, {}, { token })).burn_micro_per_hour).toBe('0')
  await expect.poll(followed).toBe('shared')
  following.leave()
  const events = await gateway.data(listInstanceEvents, { params: { id } }, { token })
  expect(events.map(({ code, detail }) => [code, detail]).slice(0, 1)).toEqual([
    ['public_ip_unbound', bound.address],
  ])
  expect(await gateway.gateway.billing.checkBooks()).toEqual([])
})

test('[R6.4] [B3] another customer’s instance and address are not found, and without a key nothing is bound', async () => {
  const [owner, other] = [await payer(), await payer()]
  const id = await deployed(owner.token)
  expect(await gateway.call(bindPublicIp, bindOf(id), { token: other.token })).toMatchObject({
    httpStatus: 404,
    envelope: { code: 'not_found' },
  })
  expect(
    await gateway.call(bindPublicIp, bindOf(id), { token: owner.token, idempotencyKey: null }),
  ).toMatchObject({
    envelope: { code: 'idempotency_key_required' },
  })
  const key = { token: owner.token, idempotencyKey: 'bind-it-just-once' }
  const bound = await gateway.data(bindPublicIp, bindOf(id), key)
  expect(await gateway.data(bindPublicIp, bindOf(id), key)).toEqual(bound)
  expect(await gateway.call(bindPublicIp, bindOf(id, 'eu-frankfurt'), key)).toMatchObject({
    envelope: { code: 'idempotency_key_reused' },
  })
  const theirs = { params: { id: bound.id ?? '' } }
  expect(await gateway.call(unbindPublicIp, theirs, { token: other.token })).toMatchObject({
    httpStatus: 404,
    envelope: { code: 'not_found' },
  })
  expect(await said(bound.address)).toBe('reached')
  await gateway.data(unbindPublicIp, theirs, { token: owner.token })
  expect(await gateway.call(unbindPublicIp, theirs, { token: owner.token })).toMatchObject({
    httpStatus: 404,
  })
})

test('[R2.25] [B3] [B7] a deploy with a public IP costs what its quote says; when all are taken that has a code of its own', async () => {
  const { token } = await payer()
  const query = { region_code: REGION, gpu_spec_id: 'cpu', gpu_count: 1, container_disk_gb: 20 }
  const price = await gateway.data(
    getPrice,
    { query: { ...query, public_ip: 'dedicated' as const } },
    { token },
  )
  expect(price.lines.at(-1)).toMatchObject({ key: 'public_ip', rate_micro_per_hour: '5000' })
  const id = await deployed(token, { public_ip: 'dedicated' })
  const { burn_micro_per_hour } = await gateway.data(getBalance, {}, { token })
  expect(burn_micro_per_hour).toBe(price.running_micro_per_hour)
  const { eip } = await gateway.data(getInstance, { params: { id } }, { token })
  await expect.poll(() => said(eip?.address ?? '')).toBe('reached')
  const [second, third] = [await deployed(token, { public_ip: 'dedicated' }), await deployed(token)]
  const refused = { httpStatus: 409, envelope: { code: 'public_ip_sold_out' } }
  expect(await gateway.call(bindPublicIp, bindOf(third), { token })).toMatchObject(refused)
  await gateway.data(terminateInstance, { params: { id } }, { token })
  // Whoever is removed leaves its address to the next one at once, and is not reached there any more.
  const next = await gateway.data(bindPublicIp, bindOf(third), { token })
  expect(next.address).toBe(eip?.address)
  for (const one of [second, third]) await gateway.data(terminateInstance, { params: { id: one } }, { token })
  for (const one of [id, second, third]) await until(token, one, found => found === undefined)
  expect((await gateway.data(getBalance, {}, { token })).burn_micro_per_hour).toBe('0')
  for (const address of [ONE, TWO]) await expect.poll(() => said(address)).toBeNull()
  expect(await gateway.gateway.billing.checkBooks()).toEqual([])
})
