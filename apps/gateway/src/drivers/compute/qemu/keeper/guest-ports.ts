import { createSocket } from 'node:dgram'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { UdpFlow } from '../../port/network.ts'
import { NETWORK } from './keeper-orders.ts'
import type { Qmp } from './qmp.ts'

/** Ports of the keeper's own network, which nobody else has, taken in turns. */
const WAY_FIRST = 20_000
const WAYS = 40_000
const TRIES_MAX = 5
const LOOPBACK = '127.0.0.1'
/** Where ways listen. From one for datagrams the guest also sends to others, so it is bound to no address. */
const TCP = `tcp:${LOOPBACK}`
const UDP = 'udp:'
/** Datagrams that wait for the kernel; what comes beyond is dropped, as a full buffer anywhere on the way would. */
const UDP_WAITING_BYTES_MAX = 1024 * 1024
const OPEN_TIMEOUT_MS = 5_000
const POLL_FIRST_MS = 2
const POLL_LONGEST_MS = 100
/** A connection that was refused at once is never listed; one that is not yet taken in is, within a turn or two. */
const MISSES_MAX = 4

/**
 * Opens ways to what listens in a guest. The hypervisor's own network takes each connection before it asks the guest, so
 * its list of connections is read until the guest has answered. Each way leads through a port of its own, which is closed
 * again once somebody is through: nothing is left open, and no two are taken for each other. Datagrams have one way for each
 * port of the guest: it tells senders apart by the keeper's ports, and answers by the first way that it finds.
 */
export function createGuestPorts(qmp: Qmp) {
  let turn = 0
  /** Ways for datagrams that are in use, by the port of the guest. */
  const udpWays = new Map<number, { way: Promise<number>; flows: number }>()

  /** Has the hypervisor listen for what is for a port of the guest. Gives where. @param on What comes before its port. */
  async function openWay(on: string, port: number): Promise<number> {
    for (let tries = 1; ; tries++) {
      const way = WAY_FIRST + (turn++ % WAYS)
      const said = await qmp.tell(`hostfwd_add ${NETWORK} ${on}:${way}-:${port}`)
      if (said.trim() === '') return way
      if (tries >= TRIES_MAX) throw new Error(said.trim())
    }
  }

  const closeWay = (on: string, way: number) => qmp.tell(`hostfwd_remove ${NETWORK} ${on}:${way}`)

  async function leaveUdp(port: number): Promise<void> {
    const used = udpWays.get(port)
    if (!used || --used.flows > 0) return
    udpWays.delete(port)
    await closeWay(UDP, await used.way)
  }

  return {
    /** A connection to a port of the guest that the guest has taken; null where nothing listens or answers there. */
    async open(port: number): Promise<Socket | null> {
      const way = await openWay(TCP, port)
      const socket = connect({ host: '127.0.0.1', port: way, noDelay: true, allowHalfOpen: true })
      socket.on('error', () => socket.destroy())
      try {
        const isOpen = await isTaken(qmp, socket, way)
        if (isOpen) return socket
        socket.destroy()
        return null
      } finally {
        await closeWay(TCP, way)
      }
    },

    /** A flow of datagrams to a port of the guest, whether or not anything listens there. */
    async openUdp(port: number): Promise<UdpFlow> {
      const used = udpWays.get(port) ?? { way: openWay(UDP, port), flows: 0 }
      udpWays.set(port, used)
      used.flows++
      const leave = () => void leaveUdp(port).catch(() => undefined)
      try {
        return await openFlow(await used.way, leave)
      } catch (error) {
        leave()
        throw error
      }
    },
  }
}

/**
 * A flow from a port of its own. It takes what comes from anywhere: all that is in this network comes from the guest, which
 * may answer by a way that it had before.
 */
function openFlow(way: number, onClose: () => void): Promise<UdpFlow> {
  const socket = createSocket('udp4')
  let isOpen = true
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.bind({ address: LOOPBACK, port: 0 }, () => {
      socket.off('error', reject)
      socket.on('error', () => undefined)
      resolve({
        send(datagram) {
          if (isOpen && socket.getSendQueueSize() < UDP_WAITING_BYTES_MAX) {
            socket.send(datagram, way, LOOPBACK, () => undefined)
          }
        },
        onDatagram: listener => void socket.on('message', listener),
        // It ends with the machine, as its keeper does.
        onClose: () => undefined,
        close() {
          if (!isOpen) return
          isOpen = false
          socket.close()
          onClose()
        },
      })
    })
  })
}

/** Waits until the guest has taken a connection, or refused it. */
async function isTaken(qmp: Qmp, socket: Socket, way: number): Promise<boolean> {
  const deadline = Date.now() + OPEN_TIMEOUT_MS
  let misses = 0
  for (let pauseMs = POLL_FIRST_MS; Date.now() < deadline; pauseMs = Math.min(pauseMs * 2, POLL_LONGEST_MS)) {
    const state = stateOf(await qmp.tell('info usernet'), way)
    if (state === null && (socket.destroyed || ++misses > MISSES_MAX)) return false
    if (state !== null && state !== 'SYN_SENT' && state !== 'CLOSED') return true
    await sleep(pauseMs)
  }
  return false
}

/** How far a connection is; null where there is none, but perhaps somebody who listens for it. */
function stateOf(listed: string, way: number): string | null {
  const rows = listed.matchAll(new RegExp(`TCP\\[(\\w+)\\]\\s+\\d+\\s+127\\.0\\.0\\.1\\s+${way}\\s`, 'g'))
  return [...rows].map(([, state]) => state ?? '').find(state => state !== 'HOST_FORWARD') ?? null
}
