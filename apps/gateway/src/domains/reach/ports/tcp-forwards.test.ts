import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, type Server } from 'node:net'
import { Duplex } from 'node:stream'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createTcpForwards, type TcpForwards } from './tcp-forwards.ts'

// Goal: nothing stays open that nobody uses. Method: real listeners and clients; streams into the machine that come
// when the test says so.

const TARGET = { userId: 'anna', instanceId: 'i-tcp' }

/** Told by Node of each server that is to listen. */
const LISTENING = channel('tracing:net.server.listen:asyncStart')

let forwards: TcpForwards | null = null
let servers: Server[] = []
beforeEach(() => {
  servers = []
  LISTENING.subscribe(keepServer)
})
afterEach(() => {
  LISTENING.unsubscribe(keepServer)
  forwards?.shutdown()
})

describe('[R2.23] a forwarded TCP port', () => {
  test('drops the stream of a client that left before it came', async () => {
    const machine = createMachine()
    const [, port] = (await open(machine, [22])) as [TcpForwards, number]
    const client = connect(port, '127.0.0.1').on('error', () => undefined)
    await expect.poll(() => machine.asked).toBe(1)
    client.resetAndDestroy()
    // The port's own end of the connection hears of it before another client is let in and gone again.
    const other = connect(port, '127.0.0.1')
    await once(other, 'connect')
    other.destroy()
    await expect.poll(() => machine.asked).toBe(2)
    machine.letIn()
    await expect.poll(() => machine.streams[0]?.destroyed).toBe(true)
  })

  test('is not opened when the instance stops while its ports are opened', async () => {
    forwards = make(createMachine())
    const ports = [...Array(5).keys()].map(at => 8_000 + at)
    const opening = forwards.open(TARGET, anyFor(ports))
    forwards.closeInstance(TARGET.instanceId)
    expect((await opening).size).toBe(0)
    expect(forwards.targets()).toEqual([])
    await expect.poll(listeners).toBe(0)
  })

  test('is opened again by the next call, while the one before is still under way', async () => {
    forwards = make(createMachine())
    const first = forwards.open(TARGET, anyFor([22, 23]))
    forwards.closeInstance(TARGET.instanceId)
    const second = await forwards.open(TARGET, anyFor([22, 23]))
    expect((await first).size).toBe(0)
    expect([...second.keys()]).toEqual([22, 23])
    await expect.poll(listeners).toBe(2)
  })

  test('is closed with what is open through it when the instance has it no more, and the others are not', async () => {
    const machine = createMachine()
    machine.letIn()
    const [made, kept, gone] = (await open(machine, [22, 23])) as [TcpForwards, number, number]
    const clients = [kept, gone].map(port =>
      connect(port, '127.0.0.1')
        .on('error', () => undefined)
        .resume(),
    )
    await expect.poll(() => machine.streams.length).toBe(2)
    made.keepOnly(TARGET.instanceId, [22])
    await expect.poll(() => clients[1]?.destroyed).toBe(true)
    await expect.poll(listeners).toBe(1)
    expect(clients[0]?.destroyed).toBe(false)
    expect((await made.open(TARGET, anyFor([22]))).get(22)).toBe(kept)
    clients[0]?.destroy()
  })

  test('lets so many in at a time and no more, and another one when one has left', async () => {
    const machine = createMachine()
    const [, port] = (await open(machine, [22])) as [TcpForwards, number]
    machine.letIn()
    const clients = Array.from({ length: 140 }, () => connect(port, '127.0.0.1').on('error', () => undefined))
    const left = () => clients.filter(({ closed }) => !closed)
    for (const client of clients) client.resume()
    await expect.poll(() => left().length).toBe(128)
    await expect.poll(() => machine.streams.length).toBe(128)
    left()[0]?.resetAndDestroy()
    await expect
      .poll(async () => {
        const late = connect(port, '127.0.0.1').on('error', () => undefined)
        clients.push(late)
        await once(late, 'connect')
        return machine.asked
      })
      .toBeGreaterThan(128)
    for (const client of clients) client.destroy()
  })

  test('lets nobody in once its gateway leaves, which waits for those who are there', async () => {
    const machine = createMachine()
    const [made, kept] = (await open(machine, [22, 23])) as [TcpForwards, number]
    machine.letIn()
    const client = connect(kept, '127.0.0.1').resume()
    await expect.poll(() => machine.streams.length).toBe(1)
    let hasLeft = false
    const leaving = made.leave().then(() => {
      hasLeft = true
    })
    await expect.poll(listeners).toBe(0)
    const late = connect(kept, '127.0.0.1')
    expect(await once(late, 'error')).toMatchObject([{ code: 'ECONNREFUSED' }])
    expect((await made.open(TARGET, anyFor([24]))).size).toBe(0)
    machine.streams[0]?.push('still here')
    expect(String((await once(client, 'data'))[0])).toBe('still here')
    expect(hasLeft).toBe(false)
    client.resetAndDestroy()
    await leaving
  })

  test('is not opened any more after the end', async () => {
    forwards = make(createMachine())
    const opening = forwards.open(TARGET, anyFor([22, 23]))
    forwards.shutdown()
    expect((await opening).size).toBe(0)
    expect((await forwards.open(TARGET, anyFor([22]))).size).toBe(0)
    await expect.poll(listeners).toBe(0)
  })
})

type Machine = ReturnType<typeof createMachine>

/** A machine whose streams come once they are let in. */
function createMachine() {
  const gate = Promise.withResolvers<void>()
  const machine = {
    asked: 0,
    streams: [] as Duplex[],
    letIn: gate.resolve,
    async connect() {
      machine.asked++
      await gate.promise
      const stream = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() })
      machine.streams.push(stream)
      return stream
    },
  }
  return machine
}

function make(compute: Machine): TcpForwards {
  return createTcpForwards({
    host: '127.0.0.1',
    ways: compute,
    log: pino({ level: 'silent' }),
  })
}

async function open(machine: Machine, ports: number[]) {
  forwards = make(machine)
  const found = await forwards.open(TARGET, anyFor(ports))
  return [forwards, ...found.values()]
}

/** Ports for which any port of this computer will do. */
function anyFor(ports: number[]): Map<number, null> {
  return new Map(ports.map(port => [port, null]))
}

function keepServer(message: unknown): void {
  servers.push((message as { server: Server }).server)
}

/** Servers that listen, of those that began in this test: a process serves many tests. */
function listeners(): number {
  return servers.filter(({ listening }) => listening).length
}
