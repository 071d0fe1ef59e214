import { getInstance } from '@berth/contract/instance-page'
import {
  type DeployBody,
  deployInstance,
  editInstance,
  listInstanceEvents,
  listInstances,
  restartInstance,
  startInstance,
  stopInstance,
  terminateInstance,
} from '@berth/contract/instances'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PATIENCE_MS } from '../../../../../scripts/test/patience-ms.ts'
import { startGateway, type TestGateway } from '../../../test/start-gateway.ts'
import { deployBody } from './instances-fixture.ts'

const POLL_MS = 15

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())

test('[R7.4] an instance is deployed, stopped, started, restarted, renamed and deleted', async () => {
  const customer = await payer()
  const done = await deploy(customer)
  const id = done.instance_id
  expect(done.status).toBe('creating')
  await until(customer, id, 'running')
  await gateway.data(stopInstance, { params: { id } }, customer)
  await until(customer, id, 'stopped')
  const body = { instance_id: id, gpu_count: 1, gpu_spec_id: 'cpu' }
  await gateway.data(startInstance, { body }, customer)
  await until(customer, id, 'running')
  await gateway.data(restartInstance, { params: { id } }, customer)
  await until(customer, id, 'running')
  await gateway.data(editInstance, { body: { instance_id: id, name: 'renamed' } }, customer)
  expect(await gateway.data(listInstances, {}, customer)).toMatchObject([{ name: 'renamed' }])
  const one = await gateway.data(getInstance, { params: { id } }, customer)
  expect(one).toMatchObject({ instance_id: id, name: 'renamed', status: 'running' })
  const events = await gateway.data(listInstanceEvents, { params: { id } }, customer)
  expect(events[0]).toMatchObject({ code: 'renamed', detail: 'renamed' })
  await gateway.data(terminateInstance, { params: { id } }, customer)
  await until(customer, id, null)
  const again = await gateway.call(terminateInstance, { params: { id } }, customer)
  expect(again).toMatchObject({ httpStatus: 404, envelope: { code: 'not_found' } })
})

test('[R6.4] another customer’s id, a missing one and a deleted one get the same 404 from every call', async () => {
  const owner = await payer()
  const { instance_id: theirs } = await deploy(owner)
  await until(owner, theirs, 'running')
  const stranger = await payer()
  const { instance_id: deleted } = await deploy(stranger)
  await gateway.data(terminateInstance, { params: { id: deleted } }, stranger)
  await until(stranger, deleted, null)
  const before = await gateway.data(listInstances, {}, owner)
  for (const id of [theirs, 'i-nowhere', deleted]) {
    const start = { instance_id: id, gpu_count: 1, gpu_spec_id: 'cpu' }
    const answers = await Promise.all([
      gateway.call(getInstance, { params: { id } }, stranger),
      gateway.call(stopInstance, { params: { id } }, stranger),
      gateway.call(restartInstance, { params: { id } }, stranger),
      gateway.call(terminateInstance, { params: { id } }, stranger),
      gateway.call(listInstanceEvents, { params: { id } }, stranger),
      gateway.call(startInstance, { body: start }, stranger),
      gateway.call(editInstance, { body: { instance_id: id, name: 'mine' } }, stranger),
    ])
    for (const { httpStatus, envelope } of answers) {
      expect(httpStatus).toBe(404)
      expect(envelope).toEqual({
        status: 'error',
        msg: 'Requested resource does not exist',
        code: 'not_found',
        data: null,
        request_id: expect.any(String),
      })
    }
  }
  // It runs on, so what it has cost may have grown.
  const after = before.map(one => ({ ...one, cost_micro: expect.any(String) }))
  expect(await gateway.data(listInstances, {}, owner)).toEqual(after)
})

test('[R4.4] an action that the state does not allow says which state that is', async () => {
  const customer = await payer()
  const { instance_id: id } = await deploy(customer)
  await until(customer, id, 'running')
  await gateway.data(stopInstance, { params: { id } }, customer)
  await until(customer, id, 'stopped')
  expect(await gateway.call(stopInstance, { params: { id } }, customer)).toMatchObject({
    httpStatus: 409,
    envelope: { code: 'instance_state', msg: 'This cannot be done while the instance is stopped.' },
  })
})

test('[B3] a deploy without a key is refused, and one key deploys once', async () => {
  const customer = await payer()
  const body = deployBody()
  const keyless = await gateway.call(deployInstance, { body }, { ...customer, idempotencyKey: null })
  expect(keyless).toMatchObject({ httpStatus: 400, envelope: { code: 'idempotency_key_required' } })
  const keyed = { ...customer, idempotencyKey: 'one-click-or-two' }
  const first = await gateway.data(deployInstance, { body }, keyed)
  const second = await gateway.data(deployInstance, { body }, keyed)
  expect(second.instance_id).toBe(first.instance_id)
  expect(await gateway.data(listInstances, {}, customer)).toHaveLength(1)
})

describe('[R5.4] [R9.5] a deploy with a bad field names it', () => {
  const bad: [field: keyof DeployBody, value: unknown][] = [
    ['name', ''],
    ['name', 'a'.repeat(64)],
    ['name', 'mit Leerzeichen'],
    ['gpu_count', 0],
    ['gpu_count', 9],
    ['gpu_count', 1.5],
    ['gpu_count', 3],
    ['container_disk_gb', 4],
    ['container_disk_gb', 2_001],
    ['region_code', 'sa-east'],
    ['gpu_spec_id', 'no-such'],
    ['image_id', 'no-such'],
    ['image_id', '../../etc'],
    ['kind', 'VM'],
    ['charge_cycle', 'weekly'],
    ['charge_cycle', 'daily'],
    ['price_micro', '-1'],
    ['http_ports', [0]],
    ['http_ports', [8080, 8080]],
    ['tcp_ports', [65_536]],
    ['tcp_ports', Array.from({ length: 11 }, (_, index) => index + 1)],
    ['env', { '1ST': 'x' }],
    ['env', { TOKEN: 'x'.repeat(4_001) }],
    ['start_command', 'x'.repeat(501)],
  ]

  test.each(bad)('%s: %j', async (field, value) => {
    const customer = await payer()
    const body = { ...deployBody({ gpu_spec_id: 'l4' }), [field]: value }
    const { httpStatus, envelope } = await gateway.call(deployInstance, { body }, customer)
    expect(httpStatus).toBe(400)
    const fields = envelope.status === 'error' ? (envelope.fields ?? []) : []
    expect(fields.map(({ path }) => path.split('.')[0])).toContain(field)
    expect(await gateway.data(listInstances, {}, customer)).toEqual([])
  })
})

/** Options of calls by a new customer with 25.00. */
test('[R7.4] the operator says how many instances a customer may have', async () => {
  const strict = await startGateway({ instancesPerCustomer: 1 })
  try {
    const { userId, token } = await strict.signUp()
    await strict.grant(userId, 2_500)
    await strict.data(deployInstance, { body: deployBody() }, { token })
    expect(await strict.call(deployInstance, { body: deployBody() }, { token })).toMatchObject({
      httpStatus: 409,
      envelope: { code: 'instance_limit', msg: expect.stringContaining('1') },
    })
  } finally {
    await strict.stop()
  }
})

async function payer(): Promise<{ token: string }> {
  const { userId, token } = await gateway.signUp()
  await gateway.grant(userId, 2_500)
  return { token }
}

function deploy(customer: { token: string }) {
  return gateway.data(deployInstance, { body: deployBody() }, customer)
}

/** Waits until an instance has a status, or until it is no longer listed. */
async function until(customer: { token: string }, id: string, status: string | null): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const list = await gateway.data(listInstances, {}, customer)
    const found = list.find(({ instance_id }) => instance_id === id)?.status ?? null
    if (found === status) return
    if (performance.now() > deadline) throw new Error(`${id} is ${found}, not ${status}`)
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
  }
}
