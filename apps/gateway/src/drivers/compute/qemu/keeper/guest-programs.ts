import { readFileSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import { type GuestAccess, GuestFault } from '../../port/guest-access.ts'
import type { Guest } from '../../port/guest-client.ts'
import { GUEST_LIMITS } from '../../port/guest-limits.ts'
import type { AskedProgram, StartedProgram } from '../../port/started-program.ts'

/** What one connection carries: servers of SSH let ten be opened by each. */
const PROGRAMS_PER_CONNECTION = 8
/** More programs at a time than shells, transfers and questions of one machine take. */
const CONNECTIONS_MAX = 8
/** Signing in costs the guest more than a connection that does nothing. */
const IDLE_MS = 60_000

/** Why nothing is run: nobody listens where the guest's SSH server would, or nobody was told how to come in by it. */
class NoGuestServer extends Error {}
class NotTold extends Error {}
/** As many programs run as may. */
class GuestFull extends Error {}

/** One of them, and what runs over it. */
interface Connection {
  guest: Promise<Guest>
  programs: number
  idle: NodeJS.Timeout | null
}

/**
 * Starts programs in a guest by its own SSH server, over connections that are shared and kept for a while.
 * @param deps.connect Opens the port of that server; null where nobody listens.
 * @param deps.accessFile Where it stands how to come in, in JSON.
 */
export function createGuestPrograms(deps: { connect(): Promise<Duplex | null>; accessFile: string }) {
  const connections = new Set<Connection>()
  let access: GuestAccess | null = null

  async function enter(): Promise<Guest> {
    access ??= readAccess(deps.accessFile)
    // The library is loaded for the first who comes: most machines' keepers never need it.
    const { openGuest } = await import('../../port/guest-client.ts')
    const stream = await deps.connect()
    if (!stream) throw new NoGuestServer('nothing listens on port 22')
    return openGuest(stream, access, GUEST_LIMITS)
  }

  function connect(): Connection {
    if (connections.size >= CONNECTIONS_MAX) throw new GuestFull('too many programs run from outside')
    const connection: Connection = { guest: enter(), programs: 0, idle: null }
    connections.add(connection)
    connection.guest.catch(() => connections.delete(connection))
    return connection
  }

  /** One that has room and is not over, or another one. */
  async function take(): Promise<Connection> {
    for (const connection of connections) {
      if (connection.programs >= PROGRAMS_PER_CONNECTION) continue
      connection.programs++
      const isGone = await connection.guest.then(
        guest => guest.isGone(),
        () => true,
      )
      if (!isGone) {
        if (connection.idle) clearTimeout(connection.idle)
        connection.idle = null
        return connection
      }
      connection.programs--
      connections.delete(connection)
    }
    const made = connect()
    made.programs++
    return made
  }

  function giveBack(connection: Connection): void {
    if (--connection.programs > 0) return
    connection.idle = setTimeout(() => {
      connections.delete(connection)
      connection.guest.then(
        guest => guest.close(),
        () => undefined,
      )
    }, IDLE_MS)
  }

  return {
    /**
     * Starts a program.
     * @returns It, and what is to be called once it is over.
     * @throws GuestFault, NoGuestServer, NotTold, GuestFull.
     */
    async start(asked: AskedProgram): Promise<{ program: StartedProgram; over(): void }> {
      const connection = await take()
      let isOver = false
      const over = () => {
        if (!isOver) giveBack(connection)
        isOver = true
      }
      try {
        return { program: await (await connection.guest).start(asked), over }
      } catch (error) {
        over()
        throw error
      }
    },
  }
}

export type GuestPrograms = ReturnType<typeof createGuestPrograms>

function readAccess(file: string): GuestAccess {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as GuestAccess
  } catch {
    throw new NotTold('this machine was made without a key for its SSH server')
  }
}

/** What a gateway is told of such an error; null for any other. */
export function guestFailureOf(error: unknown): { code: string; message: string } | null {
  if (!(error instanceof Error)) return null
  const { message } = error
  if (error instanceof NoGuestServer) return { code: 'guest_closed', message }
  if (error instanceof NotTold) return { code: 'guest_refused', message }
  if (error instanceof GuestFull) return { code: 'exhausted', message }
  if (!(error instanceof GuestFault)) return null
  return { code: error.code === 'guest_full' ? 'exhausted' : 'guest_refused', message }
}
