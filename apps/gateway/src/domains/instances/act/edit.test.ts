import { generateKeyPairSync } from 'node:crypto'
import { connect } from 'node:net'
import { getInstanceSetup } from '@berth/contract/deploy-templates'
import { getInstance } from '@berth/contract/instance-page'
import {
  deployInstance,
  editInstance,
  getConnection,
  listInstanceEvents,
  startInstance,
  stopInstance,
} from '@berth/contract/instances'
import { ENV_VARIABLES_MAX } from '@berth/contract/limits'
import { addSshKey } from '@berth/contract/ssh-keys'
import ssh2 from 'ssh2'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { PATIENCE_MS } from '../../../../../../scripts/test/patience-ms.ts'
import { startGateway, type TestGateway } from '../../../../test/start-gateway.ts'
import { createFakeEngine } from '../../../drivers/compute/fake/fake-engine.ts'
import { systemClock } from '../../../platform/clock.ts'
import { deployBody } from '../instances-fixture.ts'

// Goal: whatever of an instance may be changed is, at once or from its next start, and as it was asked for. Method: the real
// calls, an engine whose machines can be looked at, and a pool of three direct ports.

/** No other test listens there. */
const HOST = '127.71.0.10'
const POOL = { first: 21_300, last: 21_302 }
const WAIT = { timeout: PATIENCE_MS }

const compute = createFakeEngine({ clock: systemClock })
let gateway: TestGateway
let token: string
let id: string
beforeAll(async () => {
  gateway = await startGateway({ compute, direct: { host: HOST, name: null, ports: POOL } })
  const customer = await gateway.signUp()
  token = customer.token
  await gateway.grant(customer.userId, 10_000)
  const body = deployBody({
    http_ports: [8080],
    tcp_ports: [22],
    env: { KEPT: 'as it is', GOES: 'away', TOKEN: 'hidden' },
    secret_env: ['TOKEN'],
    start_command: 'serve',
  })
  ;({ instance_id: id } = await gateway.data(deployInstance, { body }, { token }))
  await until('running')
})
afterAll(() => gateway.stop())

const one = () => gateway.data(getInstance, { params: { id } }, { token })
const setup = () => gateway.data(getInstanceSetup, { params: { id } }, { token })
const until = (status: string) => vi.waitUntil(async () => (await one()).status === status, WAIT)

type Edit = Omit<Parameters<typeof gateway.call<typeof editInstance>>[1]['body'], 'instance_id'>
const edit = (part: Edit) => gateway.call(editInstance, { body: { instance_id: id, ...part } }, { token })
const fieldsOf = async (part: Edit) => {
  const { envelope } = await edit(part)
  if (envelope.status !== 'error') return 'done'
  return envelope.fields?.map(({ path, rule }) => ({ path, rule })) ?? envelope.code
}
/** What the machine was last made with. */
const madeWith = () => compute.held.get(id)?.spec

/** Whether a port of the pool is open. */
const isOpen = (port: number) =>
  new Promise<boolean>(resolve => {
    const socket = connect({ host: HOST, port })
    const done = (open: boolean) => {
      resolve(open)
      socket.destroy()
    }
    socket.once('connect', () => done(true)).once('error', () => done(false))
  })

describe('[R4.5] [R7.4] an instance that runs is edited', () => {
  test('what it runs with waits for its next start, and says so; a restart may come with it', async () => {
    const { start_command } = await setup()
    expect(start_command).toBe('serve')
    await edit({ start_command: 'serve --all', env: { GOES: null, COMES: 'along' } })
    expect(await one()).toMatchObject({ status: 'running', start_command: 'serve --all', changes_wait: true })
    expect(madeWith()).toMatchObject({ command: ['sh', '-c', 'serve'], env: { GOES: 'away' } })
    // What is as it was restarts nothing by itself.
    const restarted = await edit({ on_command_end: 'restart', restart: true })
    expect(restarted.envelope).toMatchObject({ data: { status: 'restarting' } })
    await until('running')
    expect((await one()).changes_wait).toBe(false)
    expect(madeWith()).toMatchObject({
      command: ['sh', '-c', 'serve --all'],
      on_command_end: 'restart',
      env: { KEPT: 'as it is', COMES: 'along', TOKEN: 'hidden' },
    })
    expect(madeWith()?.env).not.toHaveProperty('GOES')
    const events = await gateway.data(listInstanceEvents, { params: { id } }, { token })
    const told = events.map(({ code }) => code).filter(code => /changed|restarted/.test(code))
    expect(told).toEqual(['restarted_by_customer', 'command_changed', 'command_changed', 'env_changed'])
  })

  test('direct ports are opened and closed at once, within the pool; the others keep theirs', async () => {
    const [kept] = (await gateway.data(getConnection, { params: { id } }, { token })).tcp
    expect(kept?.port).toBe(22)
    await edit({ tcp_ports: [22, 6_006] })
    const { tcp } = await gateway.data(getConnection, { params: { id } }, { token })
    expect(tcp[0]).toEqual(kept)
    expect(await fieldsOf({ tcp_ports: [22, 6_006, 1, 2] })).toEqual([
      { path: 'tcp_ports', rule: 'direct_ports_used_up' },
    ])
    const gone = tcp.find(({ port }) => port === 6_006)?.public_port ?? 0
    expect(await isOpen(gone)).toBe(true)
    await edit({ http_ports: [8080, 9_090], tcp_ports: [22] })
    await vi.waitUntil(async () => !(await isOpen(gone)), WAIT)
    expect(await isOpen(kept?.public_port ?? 0)).toBe(true)
    expect(await gateway.gateway.reach.directPortsLeft(gateway.database.db)).toMatchObject({ tcp: 2 })
    const after = await gateway.data(getConnection, { params: { id } }, { token })
    expect(after.http.map(({ port }) => port)).toEqual([8080, 9_090])
    expect(await one()).toMatchObject({ tcp_ports: [22], changes_wait: false })
  })

  test('a secret stays one, and keeps its value, unless it is given another', async () => {
    await edit({ secret_env: [] })
    expect(await setup()).toMatchObject({ secret_env: ['TOKEN'], env: { TOKEN: '' } })
    await edit({ env: { TOKEN: 'told' }, secret_env: ['KEPT'] })
    expect(await setup()).toMatchObject({ secret_env: ['KEPT'], env: { TOKEN: 'told', KEPT: '' } })
    await edit({ env: { TOKEN: null } })
    expect((await setup()).env).not.toHaveProperty('TOKEN')
  })

  test('what it cannot have is said at its field, and nothing else of it is changed', async () => {
    const before = [await one(), await setup()].map(told => ({ ...told, cost_micro: null }))
    const many = Array.from({ length: ENV_VARIABLES_MAX }, (_, at) => [`V${at}`, ''])
    const bad: [Edit, string, string][] = [
      [{ http_ports: [1, 1] }, 'http_ports', 'port_duplicate'],
      [{ env: Object.fromEntries(many) }, 'env', 'too_large'],
      [{ env: { 'A B': 'x' } }, 'env', 'env_name'],
      [{ start_command: 'x'.repeat(501) }, 'start_command', 'too_long'],
      [{ ssh_key_ids: ['0198b7a0-0000-7000-8000-000000000000'] }, 'ssh_key_ids', 'ssh_key_unknown'],
    ]
    for (const [part, path, rule] of bad) {
      const fields = await fieldsOf({ ...part, name: 'not-this' })
      expect(fields).toEqual([{ path: expect.stringContaining(path), rule }])
    }
    const after = [await one(), await setup()].map(told => ({ ...told, cost_micro: null }))
    expect(after).toEqual(before)
  })
})

test('[R4.5] one that is stopped takes on at its next start what was changed meanwhile', async () => {
  await gateway.data(stopInstance, { params: { id } }, { token })
  await until('stopped')
  // There is nothing to restart.
  await edit({ start_command: '', env: { COMES: 'later' }, udp_ports: [53], restart: true })
  expect(await one()).toMatchObject({ status: 'stopped', udp_ports: [53], changes_wait: false })
  const body = { instance_id: id, gpu_count: 1, gpu_spec_id: 'cpu' }
  await gateway.data(startInstance, { body }, { token })
  await until('running')
  expect(madeWith()).toMatchObject({ command: null, env: { COMES: 'later' }, udp_ports: [53] })
})

test('[R1.7] the keys that may sign in are one’s own, at a deploy and later', async () => {
  const public_key = () => {
    const { privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2_048,
      publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    })
    const key = ssh2.utils.parseKey(privateKey)
    if (key instanceof Error) throw key
    return `${key.type} ${key.getPublicSSH().toString('base64')}`
  }
  const other = await gateway.signUp()
  const add = (by: string) =>
    gateway.data(addSshKey, { body: { name: '', public_key: public_key() } }, { token: by })
  const [mine, theirs] = [await add(token), await add(other.token)]
  const unknown = [{ path: 'ssh_key_ids', rule: 'ssh_key_unknown' }]
  expect(await fieldsOf({ ssh_key_ids: [mine.id, theirs.id] })).toEqual(unknown)
  const body = deployBody({ ssh_key_ids: [theirs.id] })
  expect((await gateway.call(deployInstance, { body }, { token })).envelope).toMatchObject({
    fields: unknown,
  })
  expect(await fieldsOf({ ssh_key_ids: [mine.id] })).toBe('done')
  expect((await setup()).ssh_key_ids).toEqual([mine.id])
  expect(await fieldsOf({ ssh_key_ids: null })).toBe('done')
  expect((await setup()).ssh_key_ids).toBeNull()
})
