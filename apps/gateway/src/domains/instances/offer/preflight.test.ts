import { randomUUID } from 'node:crypto'
import { getSettings } from '@berth/contract/account'
import { checkResource, deployInstance, getConnection, listInstances } from '@berth/contract/instances'
import { createVolume, listVolumes } from '@berth/contract/volumes'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { PATIENCE_MS } from '../../../../../../scripts/test/patience-ms.ts'
import { startGateway, type TestGateway } from '../../../../test/start-gateway.ts'
import { createFakeEngine } from '../../../drivers/compute/fake/fake-engine.ts'
import { deployBody } from '../instances-fixture.ts'
import { volumeCheck } from './check-volume.ts'

// Goal: whatever of volumes and ports would keep a deploy from being of use is said before money moves. Method: the real
// calls, on an engine that shares no volume, with a pool of two direct ports.

/** No other test listens there. */
const HOST = '127.71.0.9'
const POOL = { first: 21_100, last: 21_101 }
const DAY_MS = 86_400_000
const never = new AbortController().signal

let aheadMs = 0
const clock = { now: () => new Date(Date.now() + aheadMs) }
let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway({
    clock,
    compute: createFakeEngine({ clock, sharesVolumes: false }),
    direct: { host: HOST, name: null, ports: POOL },
  })
})
afterAll(() => gateway.stop())

type Customer = Awaited<ReturnType<TestGateway['signUp']>>

async function someone(cents = 10_000): Promise<Customer> {
  const customer = await gateway.signUp()
  await gateway.grant(customer.userId, cents)
  return customer
}

/** What a check says of volumes and ports: its code, and what it says of which field. */
async function check(customer: Customer, part: object, language = 'en') {
  const { kind, region_code, gpu_spec_id, gpu_count, image_id, container_disk_gb } = deployBody()
  const body = { kind, region_code, gpu_spec_id, gpu_count, image_id, container_disk_gb, ...part }
  const { ok, checks } = await gateway.data(checkResource, { body }, { token: customer.token, language })
  const [found] = checks.filter(({ key }) => key === 'network_volume' || key === 'ports')
  return found && { ...found, isAccepted: ok }
}

const deploy = (customer: Customer, part: Parameters<typeof deployBody>[0]) =>
  gateway.call(deployInstance, { body: deployBody(part) }, { token: customer.token })

async function running(customer: Customer, part: Parameters<typeof deployBody>[0]): Promise<string> {
  const { envelope } = await deploy(customer, part)
  if (envelope.status === 'error') throw new Error(envelope.code)
  const id = envelope.data.instance_id
  await vi.waitUntil(
    async () => {
      const all = await gateway.data(listInstances, {}, { token: customer.token })
      return all.find(({ instance_id }) => instance_id === id)?.status === 'running'
    },
    { timeout: PATIENCE_MS },
  )
  return id
}

async function volumeOf({ token }: Customer, name: string, region_code = 'us-west') {
  const body = { name, region_code, size_gb: 100 }
  const { id } = await gateway.data(createVolume, { body }, { token, idempotencyKey: randomUUID() })
  await vi.waitUntil(
    async () => {
      await gateway.gateway.volumes.run(never)
      const all = await gateway.data(listVolumes, { query: {} }, { token })
      return all.find(one => one.id === id)?.status === 'ready'
    },
    { timeout: PATIENCE_MS },
  )
  return { id, path: '/data' }
}

describe('[B7] a network volume that is chosen', () => {
  test('is said to be there, or to be none of the customer’s', async () => {
    const anna = await someone()
    const mine = await volumeOf(anna, 'datasets')
    expect(await check(anna, {})).toBeUndefined()
    expect(await check(anna, { network_volume_id: mine.id })).toMatchObject({
      ...{ ok: true, code: 'volume_ready', values: { name: 'datasets' }, isAccepted: true },
    })
    const field = 'network_volume.id'
    const unknown = { ok: false, code: 'volume_unknown', values: { field }, isAccepted: false }
    expect(await check(await someone(), { network_volume_id: mine.id })).toMatchObject(unknown)
    expect(await check(anna, { network_volume_id: 'v-zzzzzzz' })).toMatchObject(unknown)
  })

  test('is said to be in another region', async () => {
    const anna = await someone()
    const away = await volumeOf(anna, 'abroad', 'eu-frankfurt')
    const found = { ok: false, code: 'volume_in_region', isAccepted: false }
    const values = { field: 'network_volume.id', name: 'abroad' }
    expect(await check(anna, { network_volume_id: away.id })).toMatchObject({
      ...found,
      values: { ...values, region: 'Frankfurt' },
    })
    expect(await check(anna, { network_volume_id: away.id }, 'ja')).toMatchObject({
      ...found,
      values: { ...values, region: 'フランクフルト' },
    })
  })

  test('is said to be in use by another instance, where one alone may have it', async () => {
    const anna = await someone()
    const mine = await volumeOf(anna, 'datasets')
    await running(anna, { name: 'trainer', network_volume: mine })
    expect(await check(anna, { network_volume_id: mine.id })).toMatchObject({
      ok: false,
      code: 'volume_in_use',
      values: { field: 'network_volume.id', name: 'datasets', instance: 'trainer' },
    })
    const refused = await deploy(anna, { name: 'another', network_volume: mine })
    expect(refused.envelope).toMatchObject({ code: 'volume_in_use' })
  })

  test('[B4] is said to be readable alone while nothing is left to pay for it', async () => {
    const anna = await someone(17)
    const mine = await volumeOf(anna, 'datasets')
    aheadMs += 3 * DAY_MS
    await vi.waitUntil(
      async () => {
        await gateway.gateway.volumes.run(never)
        await gateway.gateway.volumes.noteEmptyBalance(anna.userId)
        const [one] = await gateway.data(listVolumes, { query: {} }, { token: anna.token })
        return one?.unpaid_since !== null
      },
      { timeout: PATIENCE_MS },
    )
    expect(await check(anna, { network_volume_id: mine.id })).toMatchObject({
      ok: false,
      code: 'volume_unpaid',
      values: { field: 'network_volume.id', name: 'datasets' },
    })
  })

  test('is said to be not ready while it is made', async () => {
    const anna = await someone()
    const mine = await volumeOf(anna, 'datasets')
    // One that was never seen: what was is found again by whoever looks.
    const neverMade = `status = 'error', observed_at = null`
    await gateway.database.db.execute(`update volume set ${neverMade} where id = '${mine.id}'`)
    expect(await check(anna, { network_volume_id: mine.id })).toMatchObject({
      ok: false,
      code: 'volume_state',
      values: { name: 'datasets' },
    })
  })
})

test('[B7] a volume whose engine nobody reaches is said to be away', async () => {
  const volume = { name: 'models', engineId: 'gone', regionCode: 'us-west', unpaidSince: null }
  const found = await volumeCheck(
    {
      db: gateway.database.db,
      volumes: { find: async () => volume as never, obstacle: async () => null },
      fleet: { isReached: id => id !== volume.engineId },
      regionName: code => code,
    },
    { userId: '', volumeId: 'v-0000000', regionCode: 'us-west', engineIds: [volume.engineId] },
  )
  expect(found).toEqual([false, 'volume_away', { field: 'network_volume.id', name: 'models' }])
})

describe('[B7] ports that are asked for', () => {
  test('twice are said at their field, and what is reached both ways is no fault', async () => {
    const anna = await someone()
    expect(await check(anna, { http_ports: [8888], tcp_ports: [] })).toBeUndefined()
    for (const field of ['http_ports', 'tcp_ports', 'udp_ports']) {
      expect(await check(anna, { [field]: [8081, 9000, 8081] })).toMatchObject({
        ok: false,
        code: 'port_duplicate',
        values: { field, port: 8081 },
        isAccepted: false,
      })
    }
    expect(await check(anna, { http_ports: [8888], tcp_ports: [22, 8888] })).toMatchObject({
      ok: true,
      code: 'port_both',
      values: { port: 8888 },
      isAccepted: true,
    })
  })

  test('beyond what is left of the pool are said before money moves, and a deploy with them is refused', async () => {
    const anna = await someone()
    const beyond = { ok: false, code: 'direct_ports_used_up', isAccepted: false }
    expect(await check(anna, { tcp_ports: [1, 2] })).toBeUndefined()
    expect(await check(anna, { tcp_ports: [1, 2, 3] })).toMatchObject({
      ...beyond,
      values: { field: 'tcp_ports', wanted: 3, left: 2 },
    })
    const id = await running(anna, { tcp_ports: [22] })
    await gateway.data(getConnection, { params: { id } }, { token: anna.token })
    expect(await check(anna, { tcp_ports: [22] })).toBeUndefined()
    expect(await check(anna, { tcp_ports: [22, 23] })).toMatchObject({
      ...beyond,
      values: { field: 'tcp_ports', wanted: 2, left: 1 },
    })
    // Each protocol has numbers of its own.
    expect(await check(anna, { udp_ports: [53, 54] })).toBeUndefined()
    expect(await check(anna, { tcp_ports: [22, 23], public_ip: 'dedicated' })).toBeUndefined()
    const refused = await deploy(anna, { tcp_ports: [22, 23] })
    expect(refused).toMatchObject({
      httpStatus: 400,
      envelope: { code: 'validation_failed', fields: [{ path: 'tcp_ports', rule: 'direct_ports_used_up' }] },
    })
    expect(await gateway.data(listInstances, {}, { token: anna.token })).toHaveLength(1)
  })
})

test('[R2.23] where nobody reaches direct ports none are offered, and a deploy with some is refused with the reason', async () => {
  // Others reach it, and no numbers were opened for them.
  const open = await startGateway({ host: '0.0.0.0' })
  try {
    const { userId, token } = await open.signUp()
    await open.grant(userId, 1_000)
    expect(await gateway.data(getSettings, {})).toMatchObject({ direct_ports: true })
    expect(await open.data(getSettings, {})).toMatchObject({ direct_ports: false })
    for (const field of ['tcp_ports', 'udp_ports'] as const) {
      const none = { http_ports: [8080], tcp_ports: [], udp_ports: [] }
      const body = deployBody({ ...none, [field]: [22] })
      const { kind, region_code, gpu_spec_id, gpu_count, image_id, container_disk_gb } = body
      const asked = { kind, region_code, gpu_spec_id, gpu_count, image_id, container_disk_gb }
      const checked = await open.data(checkResource, { body: { ...asked, [field]: [22] } }, { token })
      expect(checked.ok).toBe(false)
      expect(checked.checks).toContainEqual({
        key: 'ports',
        ok: false,
        code: 'direct_ports_not_offered',
        values: { field, wanted: 1, left: 0 },
      })
      expect((await open.call(deployInstance, { body }, { token })).envelope).toMatchObject({
        code: 'validation_failed',
        fields: [{ path: field, rule: 'direct_ports_not_offered' }],
      })
      expect((await open.call(deployInstance, { body: deployBody(none) }, { token })).envelope.status).toBe(
        'ok',
      )
    }
    expect((await open.data(listInstances, {}, { token })).map(({ eip }) => eip)).toEqual([null, null])
  } finally {
    await open.stop()
  }
})
