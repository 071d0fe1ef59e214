import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { text } from 'node:stream/consumers'
import { type Connection, getConnection } from '@berth/contract/instances'
import { eq, sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../../test/test-database.ts'
import { lineOf } from '../../../drivers/compute/sessions/datagram-line.ts'
import { openUdpSocket } from '../../../drivers/compute/sessions/udp-socket.ts'
import { notify } from '../../../platform/database/open-database.ts'
import { INSTANCE_CHANNEL } from '../../instances/instances.ts'
import { instance } from '../../instances/tables.ts'
import { publicIp } from '../../public-ips/tables.ts'
import type { ReachedEngine } from '../machine-ways.ts'
import type { ReachDeps } from '../reach.ts'
import { CALLERS, type ConnectFixture, startConnectFixture } from '../reach-fixture.ts'
import { directPort } from '../tables.ts'

// Goal: an instance has an address for itself, where its ports and no others answer. Method: gateways one after the other,
// and beside each other, on one database, with real listeners on addresses that nobody else uses, and real clients.

/** No other test listens there. */
const [ONE, TWO, ELSEWHERE] = ['127.71.0.21', '127.71.0.22', '203.0.113.77']
const SHARED = '127.71.0.20'
const PORT = 7_022
const UDP_PORT = 7_053
const UNDECLARED = 7_023
const IPS = [ONE, TWO].map(address => ({ address, listen: address }))

let database: TestDatabase
/** Says which port of the machine it was that somebody came to. */
let programs: Server
let echo: Socket
const gateways: ConnectFixture[] = []
const occupying: Server[] = []
const engine = {
  network: {
    connect: async (_: string, port: number) => {
      const { port: at } = programs.address() as AddressInfo
      const socket = connect({ port: at, host: '127.0.0.1', allowHalfOpen: true })
      await once(socket, 'connect')
      socket.unshift(`${port} `)
      return socket
    },
    udp: { open: async () => lineOf(await openUdpSocket('127.0.0.1', echo.address().port)) },
  },
} as unknown as ReachedEngine

beforeAll(async () => {
  database = await createTestDatabase()
  programs = createServer(socket => socket.on('error', () => socket.destroy()).end('reached'))
  programs.listen(0, '127.0.0.1')
  echo = createSocket('udp4', (words, from) => echo.send(`heard ${words}`, from.port, from.address))
  echo.bind(0, '127.0.0.1')
  await Promise.all([once(programs, 'listening'), once(echo, 'listening')])
})
beforeEach(() => database.db.execute(sql`truncate public_ip, direct_port, instance`))
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.close()
  for (const server of occupying.splice(0)) server.close()
})
afterAll(async () => {
  programs.close()
  echo.close()
  await database.drop()
})

async function start(publicIps = IPS, direct: Partial<ReachDeps['direct']> = {}): Promise<ConnectFixture> {
  const shared = { host: SHARED, name: null, ports: null, ...direct }
  const gateway = await startConnectFixture(engine, {}, { database, publicIps, direct: shared })
  gateways.push(gateway)
  return gateway
}

async function end(gateway: ConnectFixture): Promise<void> {
  gateways.splice(gateways.indexOf(gateway), 1)
  await gateway.close()
}

/** Binds as the instances domain does. */
async function bind(gateway: ConnectFixture, instanceId: string) {
  const { userId } = CALLERS.anna
  return database.db.transaction(async tx => {
    const bound = await gateway.publicIps.take(tx, {
      ...{ regionCode: 'local', instanceId, userId, microPerHour: 5_000n },
    })
    await notify(tx, INSTANCE_CHANNEL, instanceId)
    return bound
  })
}

async function unbind(gateway: ConnectFixture, instanceId: string): Promise<void> {
  await database.db.transaction(async tx => {
    await gateway.publicIps.giveBack(tx, instanceId)
    await notify(tx, INSTANCE_CHANNEL, instanceId)
  })
}

async function waysTo(gateway: ConnectFixture, id: string): Promise<Connection> {
  return (await gateway.call(getConnection, { params: { id } })).data
}

/** What a TCP port says; null where nobody listens there. */
async function said(host: string, port = PORT): Promise<string | null> {
  const socket = connect({ host, port }).on('error', () => undefined)
  return text(socket).catch(() => null)
}

/** What comes back from a UDP port; null where nobody listens there. */
async function echoed(host: string, port = UDP_PORT): Promise<string | null> {
  const socket = createSocket('udp4')
  socket.connect(port, host)
  await once(socket, 'connect')
  try {
    socket.send('a question')
    const [answer] = (await once(socket, 'message')) as [Buffer]
    return String(answer)
  } catch {
    return null
  } finally {
    socket.close()
  }
}

describe('[R2.25] [R2.23] an address that an instance has for itself', () => {
  test('answers at its TCP and UDP ports by their own numbers, through a stop and another gateway, until it is given back', async () => {
    let gateway = await start()
    const { id } = await gateway.addInstance({ tcpPorts: [PORT], udpPorts: [UDP_PORT] })
    expect((await waysTo(gateway, id)).tcp).toMatchObject([{ port: PORT, host: SHARED }])
    const { address } = await bind(gateway, id)
    const ways = {
      tcp: [{ port: PORT, host: address, public_port: PORT, trouble: null }],
      udp: [{ port: UDP_PORT, host: address, public_port: UDP_PORT, trouble: null }],
    }
    // At once, though nobody waited for a round.
    expect(await waysTo(gateway, id)).toMatchObject(ways)
    expect([await said(address), await echoed(address)]).toEqual([`${PORT} reached`, 'heard a question'])
    await gateway.setStatus(id, 'stopped')
    await expect.poll(() => said(address)).toBeNull()
    expect(await echoed(address)).toBeNull()
    await gateway.setStatus(id, 'running')
    await expect.poll(() => said(address)).toBe(`${PORT} reached`)
    await end(gateway)
    expect(await said(address)).toBeNull()
    gateway = await start()
    // Nobody has to ask again.
    await expect.poll(() => said(address)).toBe(`${PORT} reached`)
    await expect.poll(() => echoed(address)).toBe('heard a question')
    expect(await waysTo(gateway, id)).toMatchObject(ways)
    await unbind(gateway, id)
    await expect.poll(() => said(address)).toBeNull()
    expect(await echoed(address)).toBeNull()
    expect((await waysTo(gateway, id)).tcp).toMatchObject([{ port: PORT, host: SHARED }])
  })

  test('answers at nothing else, and the ports that it had at the shared one are gone', async () => {
    const gateway = await start()
    const [{ id }, other] = [
      await gateway.addInstance({ tcpPorts: [PORT] }),
      await gateway.addInstance({ tcpPorts: [UNDECLARED] }),
    ]
    const before = (await waysTo(gateway, id)).tcp[0]?.public_port ?? 0
    const theirs = (await waysTo(gateway, other.id)).tcp[0]?.public_port ?? 0
    expect(await said(SHARED, before)).toBe(`${PORT} reached`)
    const { address } = await bind(gateway, id)
    await expect.poll(() => said(address)).toBe(`${PORT} reached`)
    await expect.poll(() => said(SHARED, before)).toBeNull()
    await expect
      .poll(async () => (await database.db.select().from(directPort)).map(({ instanceId }) => instanceId))
      .toEqual([other.id])
    for (const port of [UNDECLARED, before, theirs, gateway.server.port])
      expect(await said(address, port)).toBeNull()
    expect(await echoed(address)).toBeNull()
    expect(await said(SHARED, theirs)).toBe(`${UNDECLARED} reached`)
  })

  test('goes from one instance to the next with its own ports alone, and each has another one', async () => {
    const gateway = await start([{ address: ONE, listen: ONE }])
    const [first, second] = [
      await gateway.addInstance({ tcpPorts: [PORT] }),
      await gateway.addInstance({ tcpPorts: [UNDECLARED] }),
    ]
    await bind(gateway, first.id)
    await expect(bind(gateway, second.id)).rejects.toMatchObject({ code: 'public_ip_sold_out' })
    await expect.poll(() => said(ONE, PORT)).toBe(`${PORT} reached`)
    await unbind(gateway, first.id)
    await bind(gateway, second.id)
    expect((await waysTo(gateway, second.id)).tcp).toMatchObject([{ host: ONE, public_port: UNDECLARED }])
    expect(await said(ONE, UNDECLARED)).toBe(`${UNDECLARED} reached`)
    await expect.poll(() => said(ONE, PORT)).toBeNull()
  })

  test('[B22] is listened at by one of two gateways, and by the other when that one ends; either tells the way', async () => {
    const [first, second] = [await start(), await start()]
    const { id } = await first.addInstance({ tcpPorts: [PORT] })
    const { address } = await bind(second, id)
    const way = [{ port: PORT, host: address, public_port: PORT, trouble: null }]
    await expect.poll(() => said(address)).toBe(`${PORT} reached`)
    for (const gateway of [first, second]) expect((await waysTo(gateway, id)).tcp).toEqual(way)
    await end(first)
    await expect.poll(() => said(address)).toBe(`${PORT} reached`)
    await expect.poll(async () => (await waysTo(second, id)).tcp).toEqual(way)
  })

  test('says of a port that another program has, and of an address that no gateway has, why nobody answers', async () => {
    const gateway = await start([{ address: ONE, listen: ONE }])
    const server = createServer(socket => socket.end('somebody else')).listen(PORT, ONE)
    occupying.push(server)
    await once(server, 'listening')
    const { id } = await gateway.addInstance({ tcpPorts: [PORT, UNDECLARED] })
    await bind(gateway, id)
    const troubles = async () => (await waysTo(gateway, id)).tcp.map(({ trouble }) => trouble)
    await expect.poll(troubles).toEqual(['taken', null])
    expect(await said(ONE, UNDECLARED)).toBe(`${UNDECLARED} reached`)
    server.close()
    // It is tried again, and nobody has to ask for it.
    await expect.poll(() => said(ONE), { timeout: 20_000 }).toBe(`${PORT} reached`)
    expect(await troubles()).toEqual([null, null])
    // The only gateway that has the address is gone, and this one has another.
    await end(gateway)
    await database.db.update(publicIp).set({ listen: ELSEWHERE }).where(eq(publicIp.address, ONE))
    const other = await start([{ address: TWO, listen: TWO }])
    expect((await waysTo(other, id)).tcp.map(({ trouble }) => trouble)).toEqual(['no_gateway', 'no_gateway'])
  })

  test('is none that a gateway’s own servers listen at, and none that its computer has not', async () => {
    const offered = [ONE, SHARED, '127.0.0.1', ELSEWHERE].map(address => ({ address, listen: address }))
    const gateway = await start(offered)
    expect(await gateway.publicIps.level(database.db, 'local')).toEqual({ total: 1, available: 1 })
    await end(gateway)
    // Where direct ports listen at all addresses, none of them is one instance's.
    const everywhere = await start(offered, { host: '0.0.0.0', ports: { first: 21_100, last: 21_101 } })
    expect(await everywhere.publicIps.level(database.db, 'local')).toEqual({ total: 0, available: 0 })
  })

  test('stays shut for an instance that is gone', async () => {
    const gateway = await start()
    const { id } = await gateway.addInstance({ tcpPorts: [PORT] })
    const { address } = await bind(gateway, id)
    await expect.poll(() => said(address)).toBe(`${PORT} reached`)
    await database.db.transaction(async tx => {
      await tx.update(instance).set({ terminatedAt: new Date() }).where(eq(instance.id, id))
      await notify(tx, INSTANCE_CHANNEL, id)
    })
    await expect.poll(() => said(address)).toBeNull()
  })
})
