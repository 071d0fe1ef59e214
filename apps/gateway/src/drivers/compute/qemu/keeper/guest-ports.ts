import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { NETWORK } from './keeper-orders.ts'
import type { Qmp } from './qmp.ts'

/** Ports of the keeper's own loopback, which nobody else has, taken in turns. */
const WAY_FIRST = 20_000
const WAYS = 40_000
const TRIES_MAX = 5
const OPEN_TIMEOUT_MS = 5_000
const POLL_FIRST_MS = 2
const POLL_LONGEST_MS = 100
/** A connection that was refused at once is never listed; one that is not yet taken in is, within a turn or two. */
const MISSES_MAX = 4

/**
 * Opens ways to what listens in a guest. The hypervisor's own network takes each connection before it asks the guest, so
 * its list of connections is read until the guest has answered. Each way leads through a port of its own, which is closed
 * again once somebody is through: nothing is left open, and no two are taken for each other.
 */
export function createGuestPorts(qmp: Qmp) {
  let turn = 0

  /** Has the hypervisor listen for one connection to a port of the guest. Gives where. */
  async function openWay(port: number): Promise<number> {
    for (let tries = 1; ; tries++) {
      const way = WAY_FIRST + (turn++ % WAYS)
      const said = await qmp.tell(`hostfwd_add ${NETWORK} tcp:127.0.0.1:${way}-:${port}`)
      if (said.trim() === '') return way
      if (tries >= TRIES_MAX) throw new Error(said.trim())
    }
  }

  return {
    /** A connection to a port of the guest that the guest has taken; null where nothing listens or answers there. */
    async open(port: number): Promise<Socket | null> {
      const way = await openWay(port)
      const socket = connect({ host: '127.0.0.1', port: way, noDelay: true, allowHalfOpen: true })
      socket.on('error', () => socket.destroy())
      try {
        const isOpen = await isTaken(qmp, socket, way)
        if (isOpen) return socket
        socket.destroy()
        return null
      } finally {
        await qmp.tell(`hostfwd_remove ${NETWORK} tcp:127.0.0.1:${way}`)
      }
    },
  }
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
