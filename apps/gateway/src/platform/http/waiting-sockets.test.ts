import type { Socket } from 'node:net'
import { beforeEach, expect, test } from 'vitest'
import { createWaitingSockets } from './waiting-sockets.ts'

const PER_ADDRESS_MAX = 200
const ALL_MAX = 5_000

let now = 0
let cut: Socket[] = []
const clock = { now: () => new Date(now) }
beforeEach(() => {
  now = 0
  cut = []
})

test('of one address, those that waited longest are cut, as many as are too many', async () => {
  const waiting = createWaitingSockets({ clock, trustedProxies: [] })
  const old = join(waiting, PER_ADDRESS_MAX, () => '192.0.2.1')
  now += 2_000
  const others = join(waiting, 3, () => '192.0.2.2')
  const young = join(waiting, 2, () => '::ffff:192.0.2.1')
  await looked()
  expect(cut).toEqual(old.slice(0, 2))
  expect(cut).not.toContain(others[0])
  expect(cut).not.toContain(young[0])
})

test('what is cut is no longer counted, nor what has said what it wants', async () => {
  const waiting = createWaitingSockets({ clock, trustedProxies: [] })
  const [first, ...rest] = join(waiting, PER_ADDRESS_MAX, () => '192.0.2.1')
  waiting.remove(first as Socket)
  now += 2_000
  join(waiting, 1, () => '192.0.2.1')
  await looked()
  expect(cut).toEqual([])
  join(waiting, 1, () => '192.0.2.1')
  await looked()
  expect(cut).toEqual(rest.slice(0, 1))
})

test('many that come at once are given a moment to speak', async () => {
  const waiting = createWaitingSockets({ clock, trustedProxies: [] })
  join(waiting, PER_ADDRESS_MAX * 2, () => '192.0.2.1')
  await looked()
  expect(cut).toEqual([])
})

test('an IPv6 network counts as one address', async () => {
  const waiting = createWaitingSockets({ clock, trustedProxies: [] })
  const old = join(waiting, PER_ADDRESS_MAX, n => `2001:db8:0:1::${n.toString(16)}`)
  now += 2_000
  join(waiting, 1, () => '2001:db8:0:2::1')
  await looked()
  expect(cut).toEqual([])
  join(waiting, 1, () => 'fe80::1%eth0')
  join(waiting, 1, () => '2001:db8:0:1:ffff::1')
  await looked()
  expect(cut).toEqual(old.slice(0, 1))
})

test('a proxy’s connections are counted only with all others', async () => {
  const waiting = createWaitingSockets({ clock, trustedProxies: ['10.0.0.0/8', '192.0.2.9'] })
  const ofProxies = [
    ...join(waiting, PER_ADDRESS_MAX + 5, () => '10.1.2.3'),
    ...join(waiting, PER_ADDRESS_MAX + 5, () => '192.0.2.9'),
  ]
  now += 2_000
  join(waiting, 1, () => '10.1.2.3')
  await looked()
  expect(cut).toEqual([])
  join(waiting, ALL_MAX - ofProxies.length, n => `192.0.${n >> 8}.${n & 255}`)
  await looked()
  expect(cut).toEqual(ofProxies.slice(0, 1))
})

function join(
  waiting: ReturnType<typeof createWaitingSockets>,
  count: number,
  addressOf: (n: number) => string,
): Socket[] {
  return Array.from({ length: count }, (_, n) => {
    const socket = { remoteAddress: addressOf(n), destroy: () => cut.push(socket) } as unknown as Socket
    waiting.add(socket)
    return socket
  })
}

/** They are counted once what has arrived is read. */
async function looked(): Promise<void> {
  await new Promise(resolve => setImmediate(resolve))
}
