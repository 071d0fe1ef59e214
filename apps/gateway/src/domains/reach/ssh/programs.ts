import type { Duplex } from 'node:stream'
import { ComputeError } from '../../../drivers/compute/port/compute-error.ts'
import { GUEST_SSH, type GuestAccess } from '../../../drivers/compute/port/guest-access.ts'
import { type Guest, openGuest } from '../../../drivers/compute/port/guest-client.ts'
import type { AskedProgram, StartedProgram } from '../../../drivers/compute/port/started-program.ts'
import type { Target } from '../../instances/instances.ts'
import type { GatewaySide } from './gateway-side.ts'
import type { SshLimits } from './ssh-limits.ts'
import { lineOf } from './started-program.ts'

/** How programs of one instance are run for one connection, and its ports reached. */
export interface Programs {
  /** @throws As `GatewaySide.run`; GuestFault. */
  start(asked: AskedProgram & { what: { command: string | null } }): Promise<StartedProgram>
  /**
   * A part of the SSH server of the instance's own system.
   * @returns Null where it has no such server, so that this one is to serve it. @throws As `start`.
   */
  subsystem(name: string, env: Record<string, string>): Promise<StartedProgram | null>
  /**
   * Opens a port of the instance: at its address, where nobody listens there on its loopback. A virtual machine's loopback
   * is its own server's to reach; for a pod the engine does both. @throws As `GatewaySide.connect`; GuestFault.
   */
  connect(port: number): Promise<Duplex>
  /** Ends what this connection has in the instance. */
  close(): void
}

interface ProgramsDeps {
  gateway: Pick<GatewaySide, 'run' | 'connect' | 'guestAccess'>
  target: Target
  limits: SshLimits
  /** Settles when the gateway may be asked. @throws Where nobody waits any more. */
  turn(command: string | null): Promise<void>
}

/**
 * Programs of an instance: the engine runs those of a pod; a virtual machine lets in by its own SSH server, to which all
 * sessions of the connection share one connection.
 */
export function createPrograms({ gateway, target, limits, turn }: ProgramsDeps): Programs {
  let access: Promise<GuestAccess | null> | null = null
  let guest: Promise<Guest> | null = null
  let isClosed = false

  /** Asked for once; what failed is asked again. */
  function accessOf(): Promise<GuestAccess | null> {
    access ??= gateway.guestAccess(target).catch(error => {
      access = null
      throw error
    })
    return access
  }

  async function enter(known: GuestAccess): Promise<Guest> {
    const stream = await gateway.connect(target, GUEST_SSH.port)
    const opened = await openGuest(stream, known, limits)
    if (isClosed) opened.close()
    return opened
  }

  async function guestOf(known: GuestAccess): Promise<Guest> {
    const former = guest
    const isOver =
      former === null ||
      (await former.then(
        one => one.isGone(),
        () => true,
      ))
    // Whoever came first has made another one meanwhile.
    if (isOver && guest === former) guest = enter(known)
    return guest ?? enter(known)
  }

  return {
    async start(asked) {
      const { command } = asked.what
      await turn(command)
      const known = await accessOf()
      if (known) return (await guestOf(known)).start(asked)
      const pty = asked.pty && { cols: asked.pty.cols, rows: asked.pty.rows }
      return lineOf(await gateway.run(target, { command, env: asked.env, pty }))
    },
    async subsystem(name, env) {
      await turn(null)
      const known = await accessOf()
      return known && (await guestOf(known)).start({ what: { subsystem: name }, env, pty: null })
    },
    async connect(port) {
      try {
        return await gateway.connect(target, port)
      } catch (error) {
        const known = isClosedPort(error) && port !== GUEST_SSH.port ? await accessOf() : null
        if (!known) throw error
        const inside = await guestOf(known).catch(() => null)
        if (!inside) throw error
        return await inside.connect(port).catch(() => {
          throw error
        })
      }
    },
    close() {
      isClosed = true
      guest?.then(
        one => one.close(),
        () => undefined,
      )
    },
  }
}

function isClosedPort(error: unknown): boolean {
  return error instanceof ComputeError && error.code === 'port_closed'
}
