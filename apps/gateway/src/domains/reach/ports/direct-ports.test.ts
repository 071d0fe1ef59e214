import { execFile } from 'node:child_process'
import { createSocket, type Socket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { getConnection } from '@berth/contract/instances'
import { eq } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { PATIENCE_MS } from '../../../../../../scripts/test/patience-ms.ts'
import { hasProgram } from '../../../../test/ssh-client.ts'
import { createTestDatabase, type TestDatabase } from '../../../../test/test-database.ts'
import { lineOf } from '../../../drivers/compute/sessions/datagram-line.ts'
import { openUdpSocket } from '../../../drivers/compute/sessions/udp-socket.ts'
import { notify } from '../../../platform/database/open-database.ts'
import { INSTANCE_CHANNEL } from '../../instances/instances.ts'
import { instance, instanceEvent } from '../../instances/tables.ts'
import type { ReachedEngine } from '../machine-ways.ts'
import type { ReachDeps } from '../reach.ts'
import { type ConnectFixture, startConnectFixture } from '../reach-fixture.ts'

// Goal: an instance keeps the ports by which it is reached from outside. Method: gateways one after the other on one
// database, with real listeners on an address that nobody else uses, and real clients.

const PORT = 7_000
/** No other test listens there. */
const HOST = '127.71.0.2'
/** How long nobody waits who is to have no answer. */
const NO_ANSWER_MS = 300
const POOL = { first: 21_000, last: 21_001 }

let database: TestDatabase
let service: Server
let names: Socket
/** Questions that reached the name server. */
let asked: string[] = []
let gateway: ConnectFixture
const others: Server[] = []
const engine = {
  network: {
    connect: async () => {
      const { port } = service.address() as AddressInfo
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      await once(socket, 'connect')
      return socket
    },
    udp: {
      open: async () => lineOf(await openUdpSocket('127.0.0.1', names.address().port)),
    },
  },
} as unknown as ReachedEngine

beforeAll(async () => {
  database = await createTestDatabase()
  service = serve('reached').listen(0, '127.0.0.1')
  names = createSocket('udp4', (question, from) => {
    // A name in a question is labels with their lengths, from its thirteenth byte on.
    asked.push(question.toString('latin1', 13, 13 + (question[12] ?? 0)))
    names.send(answerTo(question), from.port, from.address)
  })
  names.bind(0, '127.0.0.1')
  await Promise.all([once(service, 'listening'), once(names, 'listening')])
})
afterEach(async () => {
  await gateway.close()
  for (const server of others.splice(0)) server.close()
})
afterAll(async () => {
  service.close()
  names.close()
  await database.drop()
})

async function start(direct?: ReachDeps['direct'], limits: ReachDeps['limits'] = {}): Promise<void> {
  gateway = await startConnectFixture(engine, limits, { database, ...(direct && { direct }) })
}

/** Says of each name that it is that of 203.0.113.9. */
function answerTo(question: Buffer): Buffer {
  const head = Buffer.from([...question.subarray(0, 2), 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0])
  const address = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 203, 0, 113, 9])
  const end = question.indexOf(0, 12) + 5
  return Buffer.concat([head, question.subarray(12, end), address])
}

/** What a failure is called. */
function codeOf(error: NodeJS.ErrnoException): string | undefined {
  return error.code
}

/** A client of a name server at an instance's UDP port, from a port of its own. */
function resolverOf(port: number, timeout = PATIENCE_MS): Resolver {
  const resolver = new Resolver({ timeout, tries: 1 })
  resolver.setServers([`${HOST}:${port}`])
  return resolver
}

/** The ways that a customer is told to the one port of an instance. */
async function waysTo(id: string) {
  return (await gateway.call(getConnection, { params: { id } })).data.tcp
}

/** What a port says: null where nobody listens there. */
async function said(host: string, port: number): Promise<string | null> {
  const socket = connect({ host, port }).on('error', () => undefined)
  return text(socket).catch(() => null)
}

function serve(words: string): Server {
  return createServer(socket => socket.on('error', () => socket.destroy()).end(words))
}

async function occupy(host: string, port: number): Promise<void> {
  const server = serve('somebody else').listen(port, host)
  others.push(server)
  await once(server, 'listening')
}

async function terminate(id: string): Promise<void> {
  await database.db.transaction(async tx => {
    await tx.update(instance).set({ terminatedAt: new Date() }).where(eq(instance.id, id))
    await notify(tx, INSTANCE_CHANNEL, id)
  })
}

describe('[R2.23] direct TCP ports of a pool', () => {
  const direct = { host: HOST, name: 'direct.example.com', ports: POOL }

  test('are kept through stops and restarts of the instance and of the gateway, without being asked for again', async () => {
    await start(direct)
    const { id } = await gateway.addInstance({ tcpPorts: [PORT] })
    const [way] = await waysTo(id)
    expect(way).toMatchObject({ port: PORT, host: 'direct.example.com' })
    const port = way?.public_port ?? 0
    expect([POOL.first, POOL.last]).toContain(port)
    expect(await said(HOST, port)).toBe('reached')
    await gateway.setStatus(id, 'stopped')
    await expect.poll(() => said(HOST, port)).toBeNull()
    await gateway.setStatus(id, 'running')
    await expect.poll(() => said(HOST, port)).toBe('reached')
    await gateway.close()
    expect(await said(HOST, port)).toBeNull()
    await start(direct)
    await expect.poll(() => said(HOST, port)).toBe('reached')
    expect(await waysTo(id)).toEqual([way])
    await terminate(id)
    await expect.poll(() => said(HOST, port)).toBeNull()
  })

  test('are none that another program has; where all are given out there is none until an instance is gone', async () => {
    await occupy(HOST, POOL.first)
    await start(direct)
    const [one, two] = [
      await gateway.addInstance({ tcpPorts: [PORT] }),
      await gateway.addInstance({ tcpPorts: [PORT] }),
    ]
    const last = [{ port: PORT, host: 'direct.example.com', public_port: POOL.last, trouble: null }]
    await expect.poll(() => waysTo(one.id)).toEqual(last)
    for (const _ of [1, 2]) expect(await waysTo(two.id)).toEqual([])
    // The customer is told, once, and not the operator's log alone.
    const told = await database.db.select().from(instanceEvent).where(eq(instanceEvent.instanceId, two.id))
    expect(told).toMatchObject([{ code: 'ports_used_up', status: 'running', detail: `${PORT}/tcp` }])
    await terminate(one.id)
    await expect.poll(() => waysTo(two.id)).toEqual(last)
  })
})

test('[R2.23] a port of the pool is any that is free, so that nobody finds the next customer at a port that they know', async () => {
  const first = 22_000
  await start({ host: HOST, name: null, ports: { first, last: first + 999 } })
  const tcpPorts = [PORT, PORT + 1, PORT + 2, PORT + 3]
  const { id } = await gateway.addInstance({ tcpPorts })
  const given = (await waysTo(id)).map(({ public_port }) => public_port ?? 0)
  expect(new Set(given).size).toBe(tcpPorts.length)
  // One in 40,000,000,000 that these are the first ones by chance.
  expect(given.toSorted((a, b) => a - b)).not.toEqual(tcpPorts.map((_, at) => first + at))
  await terminate(id)
})

describe('[R2.23] direct UDP ports', () => {
  const direct = { host: HOST, name: null, ports: POOL }

  test('lead to a name server in an instance, also after a restart of either, beside a TCP port of that number', async () => {
    await start(direct)
    const both = { tcpPorts: [PORT], udpPorts: [PORT] }
    const [{ id }, other] = [await gateway.addInstance(both), await gateway.addInstance(both)]
    const { udp } = (await gateway.call(getConnection, { params: { id } })).data
    const port = udp[0]?.public_port ?? 0
    expect(await resolverOf(port).resolve4('cloud.example')).toEqual(['203.0.113.9'])
    await gateway.close()
    await start(direct)
    await expect
      .poll(() =>
        resolverOf(port, 1)
          .resolve4('again.example')
          .catch(() => []),
      )
      .toHaveLength(1)
    await gateway.setStatus(id, 'stopped')
    await gateway.setStatus(id, 'running')
    await expect
      .poll(() =>
        resolverOf(port, 1)
          .resolve4('again.example')
          .catch(() => []),
      )
      .toHaveLength(1)
    expect((await gateway.call(getConnection, { params: { id } })).data.udp).toEqual(udp)
    for (const one of [id, other.id]) await terminate(one)
  })

  test('answer so many senders at a time and no more, until they are forgotten, and give their ways back then', async () => {
    await start(direct, { udp: { flowsPerPortMax: 2 }, streams: { connectionsPerInstanceMax: 3 } })
    const { id } = await gateway.addInstance({ udpPorts: [PORT] })
    const port = (await gateway.call(getConnection, { params: { id } })).data.udp[0]?.public_port ?? 0
    const [one, two, three] = [resolverOf(port), resolverOf(port), resolverOf(port, NO_ANSWER_MS)]
    for (const client of [one, two]) await client?.resolve4('let-in.example')
    asked = []
    const refused = await three?.resolve4('left-out.example').catch((error: Error) => error)
    expect(refused).toBeInstanceOf(Error)
    expect(asked).toEqual([])
    await gateway.setStatus(id, 'stopped')
    const closed = () => resolverOf(port, NO_ANSWER_MS).resolve4('left-out.example').catch(codeOf)
    await expect.poll(closed).toBe('ECONNREFUSED')
    await gateway.setStatus(id, 'running')
    await expect
      .poll(() =>
        resolverOf(port)
          .resolve4('let-in.example')
          .catch(() => []),
      )
      .toHaveLength(1)
    // Ways that were not given back would leave room for one alone.
    expect(await resolverOf(port).resolve4('let-in.example')).toHaveLength(1)
    await terminate(id)
  })
})

const netcat = hasProgram('nc') ? null : 'netcat (nc) is not installed'
if (netcat !== null) process.stdout.write(`SKIP netcat as a client of direct ports: ${netcat}\n`)
describe.skipIf(netcat !== null)('[R2.23] netcat as a client of direct ports', () => {
  const direct = { host: HOST, name: null, ports: POOL }
  /** What it prints. @param args Options before the address. */
  const talk = async (port: number, input: Buffer | string, args: string[]) => {
    const running = promisify(execFile)('nc', [...args, HOST, String(port)], { encoding: 'buffer' })
    running.child.stdin?.end(input)
    return (await running).stdout
  }

  test('reads what a TCP port says, and gets its answer of a UDP port', async () => {
    await start(direct)
    const { id } = await gateway.addInstance({ tcpPorts: [PORT], udpPorts: [PORT] })
    // Ports of a test before are given back in a moment.
    await expect.poll(() => waysTo(id)).toHaveLength(1)
    const { tcp, udp } = (await gateway.call(getConnection, { params: { id } })).data
    expect(String(await talk(tcp[0]?.public_port ?? 0, '', ['-N']))).toBe('reached')
    // A question for the address of `nc.example`; one datagram is waited for.
    const name = [...'nc.example'.split('.').flatMap(part => [part.length, ...Buffer.from(part)]), 0]
    const question = Buffer.from([7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...name, 0, 1, 0, 1])
    const answer = await talk(udp[0]?.public_port ?? 0, question, ['-u', '-W', '1'])
    expect([...answer.subarray(0, 2), ...answer.subarray(-4)]).toEqual([7, 7, 203, 0, 113, 9])
    await terminate(id)
  })
})

test('[R2.23] an instance that is given other ports keeps those that stay, and the others are closed and given back', async () => {
  // One of the pool is an instance's of a test before.
  await start({ host: HOST, name: null, ports: { ...POOL, last: POOL.last + 1 } })
  const { id } = await gateway.addInstance({ tcpPorts: [PORT, PORT + 1] })
  // Ports of a test before are given back in a moment.
  await expect.poll(() => waysTo(id)).toHaveLength(2)
  const [kept, gone] = (await waysTo(id)).map(({ public_port }) => public_port)
  expect(await said(HOST, gone ?? 0)).toBe('reached')
  await database.db.transaction(async tx => {
    await tx
      .update(instance)
      .set({ tcpPorts: [PORT] })
      .where(eq(instance.id, id))
    await notify(tx, INSTANCE_CHANNEL, id)
  })
  await expect.poll(() => said(HOST, gone ?? 0)).toBeNull()
  expect(await said(HOST, kept ?? 0)).toBe('reached')
  expect((await waysTo(id)).map(({ public_port }) => public_port)).toEqual([kept])
  await expect.poll(() => gateway.connect.directPortsLeft(database.db)).toMatchObject({ tcp: 1 })
  await terminate(id)
})

test('[R2.23] without a pool a direct TCP port is the same after a restart, unless somebody else has it then', async () => {
  await start()
  const { id } = await gateway.addInstance({ tcpPorts: [PORT] })
  const [way] = await waysTo(id)
  const { host, public_port } = way ?? { host: '', public_port: 0 }
  await gateway.close()
  await start()
  await expect.poll(() => said(host, public_port)).toBe('reached')
  expect(await waysTo(id)).toEqual([way])
  await gateway.close()
  await occupy(host, public_port)
  await start()
  const [other] = await waysTo(id)
  expect(other?.public_port).not.toBe(public_port)
  expect(await said(host, other?.public_port ?? 0)).toBe('reached')
})
