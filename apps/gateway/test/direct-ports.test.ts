import { spawn } from 'node:child_process'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { deployInstance, getConnection, listInstances, restartInstance } from '@berth/contract/instances'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deployBody } from '../src/domains/instances/instances-fixture.ts'
import { eventually } from '../src/domains/reach/reach-fixture.ts'
import type { Engine } from '../src/drivers/compute/port/engine.ts'
import { type OpenedEngine, REAL_ENGINES } from './real-engines.ts'
import { hasProgram, resultOf } from './ssh-client.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'
import { createTestDatabase, type TestDatabase } from './test-database.ts'

// Goal: a customer reaches what listens in a machine by TCP and UDP with any program, and goes on to. Method: a name server
// in a real machine of each engine, `nc` and the resolver of this computer's, and restarts of the machine and the gateway.

const SETUP_MS = 180_000
const ANSWER_MS = 2_000
/** No other test listens there. */
const DIRECT = { host: '127.71.0.41', name: null, ports: { first: 23_400, last: 23_407 } }
const [TCP_PORT, UDP_PORT] = [7_070, 5_353]
/** Says a line back in upper case; says of each name that it is 203.0.113.9, in a fork of its own. */
const SERVERS = `perl -e '$SIG{CHLD} = "IGNORE";
  if (fork) { socket(S,2,1,0); setsockopt(S,1,2,pack("i",1)); bind(S,pack("Sna4x8",2,${TCP_PORT},"\\0\\0\\0\\0")) or die; listen(S,9);
    while (accept(C,S)) { $line = <C>; syswrite C, uc $line; close C } exit }
  socket(U,2,2,0); bind(U,pack("Sna4x8",2,${UDP_PORT},"\\0\\0\\0\\0")) or die;
  while (defined($from = recv(U,$asked,4096,0))) { $asked =~ /^(..).{10}([^\\0]+\\0.{4})/s or next;
    send(U,$1.pack("n5",0x8180,1,1,0,0).$2.pack("n3Nn C4",0xc00c,1,1,60,4,203,0,113,9),0,$from) }'`

for (const { name, missing } of REAL_ENGINES) {
  if (missing !== null) process.stdout.write(`SKIP direct ports of a machine on ${name}: ${missing}\n`)
}
const hasNc = hasProgram('nc')
if (!hasNc)
  process.stdout.write('SKIP nc to a direct port: it is not installed; a plain socket takes its place\n')

describe.each(REAL_ENGINES.filter(({ missing }) => missing === null))(
  'direct ports of a machine on $name',
  ({ open }) => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-direct-'))
    let opened: OpenedEngine
    let database: TestDatabase
    let gateway: TestGateway
    let token: string

    const start = async () => {
      gateway = await startGateway({
        // Machines are the engine's; the gateway that stops here leaves them to the next one.
        compute: Object.create(opened.engine, { shutdown: { value: async () => [] } }) as Engine,
        catalogue: opened.catalogue,
        direct: DIRECT,
        database: { ...database, close: async () => undefined },
      })
    }

    beforeAll(async () => {
      ;[opened, database] = await Promise.all([open(folder), createTestDatabase()])
      await start()
      const customer = await gateway.signUp()
      token = customer.token
      await database.db.transaction(tx =>
        gateway.gateway.billing.grantCredit(tx, {
          id: crypto.randomUUID(),
          userId: customer.userId,
          amountMicro: 10_000_000n,
          kind: 'bonus',
          reason: 'test',
        }),
      )
    }, SETUP_MS)
    afterAll(async () => {
      await gateway?.stop()
      await opened?.end()
      await database?.drop()
      rmSync(folder, { recursive: true, force: true })
    }, SETUP_MS)

    const statusIs = (status: string) =>
      eventually(`the status ${status}`, async () => {
        const [one] = await gateway.data(listInstances, {}, { token })
        return one?.status === status
      })

    test(
      '[R2.23] lead a real client to a service by TCP and a resolver to a name server by UDP, also after restarts of the machine and of the gateway',
      async () => {
        const body = deployBody({
          http_ports: [],
          tcp_ports: [TCP_PORT],
          udp_ports: [UDP_PORT],
          start_command: SERVERS,
        })
        const { instance_id: id } = await gateway.data(deployInstance, { body }, { token })
        await statusIs('running')
        const ways = async () => {
          const { tcp, udp } = await gateway.data(getConnection, { params: { id } }, { token })
          return { tcp: tcp[0]?.public_port ?? 0, udp: udp[0]?.public_port ?? 0 }
        }
        const first = await ways()
        const works = async () => {
          await eventually('an answer by TCP', async () => (await said(first.tcp, 'hello')) === 'HELLO\n')
          await eventually('an answer by UDP', async () => (await resolved(first.udp)) === '203.0.113.9')
        }
        await works()

        const begunAt = Date.now()
        await gateway.data(restartInstance, { params: { id } }, { token })
        await eventually('a machine that began anew', async () => {
          const [one] = await gateway.data(listInstances, {}, { token })
          return one?.status === 'running' && Date.parse(one.ready_at ?? '') > begunAt
        })
        await works()
        expect(await ways()).toEqual(first)

        await gateway.stop()
        expect([await said(first.tcp, 'hello'), await resolved(first.udp)]).toEqual(['', null])
        await start()
        await works()
        expect(await ways()).toEqual(first)
      },
      SETUP_MS,
    )
  },
)

/** What a client hears that says a line: nothing where nobody answers. */
async function said(port: number, line: string): Promise<string> {
  if (hasNc) {
    const nc = spawn('nc', ['-w', '2', DIRECT.host, String(port)])
    nc.stdin.on('error', () => undefined)
    nc.stdin.end(`${line}\n`)
    return (await resultOf(nc)).out
  }
  const socket = connect({ host: DIRECT.host, port, timeout: ANSWER_MS })
  socket.on('timeout', () => socket.destroy())
  try {
    await once(socket, 'connect')
    socket.write(`${line}\n`)
    return await text(socket)
  } catch {
    return ''
  }
}

/** What a name is by the name server at a port; null where none answers. */
async function resolved(port: number): Promise<string | null> {
  const resolver = new Resolver({ timeout: ANSWER_MS, tries: 1 })
  resolver.setServers([`${DIRECT.host}:${port}`])
  return resolver.resolve4('cloud.example').then(
    ([address = null]) => address,
    () => null,
  )
}
