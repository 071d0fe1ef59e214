import { createSocket, type Socket } from 'node:dgram'
import type { Duplex } from 'node:stream'
import { pino } from 'pino'
import { afterEach, expect, test } from 'vitest'
import { lineOf } from '../../../drivers/compute/sessions/datagram-line.ts'
import { createUdpForwards } from './udp-forwards.ts'

// Goal: strangers who send without end keep little here while a machine is not reached. Method: a real port and real
// senders; the way into the machine comes when the test says so.

const PORT = 5_353
/** Far more than wait for a machine, and little enough for a socket to hold. */
const DATAGRAMS = 50
const KEPT_MAX = 8

const senders: Socket[] = []
let end = () => {}
afterEach(() => {
  end()
  for (const sender of senders.splice(0)) sender.close()
})

test('[R2.23] of what a sender sends before the machine is reached little waits, the first of it, and what comes then goes on', async () => {
  const came: string[] = []
  const ways: ((line: Duplex) => void)[] = []
  const forwards = createUdpForwards({
    host: '127.0.0.1',
    log: pino({ level: 'silent' }),
    ways: { udp: () => new Promise(resolve => ways.push(resolve)) },
  })
  end = forwards.shutdown
  const target = { userId: 'anna', instanceId: 'i-udp' }
  const found = await forwards.open(target, new Map([[PORT, null]]))
  const sender = () => {
    const socket = createSocket('udp4')
    senders.push(socket)
    return (text: string) => socket.send(text, found.get(PORT) ?? 0, '127.0.0.1')
  }
  const flood = sender()
  for (let count = 0; count < DATAGRAMS; count++) flood(String(count))
  await expect.poll(() => ways.length).toBe(1)
  // A port hears its senders in turn: once this one is heard, all before it were.
  sender()('another')
  await expect.poll(() => ways.length).toBe(2)
  ways[0]?.(
    lineOf({
      send: datagram => came.push(Buffer.from(datagram).toString()),
      onDatagram: () => undefined,
      onClose: () => undefined,
      close: () => undefined,
    }),
  )
  flood('then')
  await expect.poll(() => came.at(-1)).toBe('then')
  const kept = came.slice(0, -1)
  expect(kept).toEqual(Array.from({ length: KEPT_MAX }, (_, at) => String(at)))
})
