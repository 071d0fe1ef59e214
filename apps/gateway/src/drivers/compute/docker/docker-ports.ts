import type { Duplex } from 'node:stream'
import type Docker from 'dockerode'
import { ComputeError } from '../port/compute-error.ts'
import { runExec } from './docker-exec.ts'
import type { DockerLink } from './docker-link.ts'
import type { DockerRelays } from './docker-relays.ts'
import { type ContainerRun, runOf } from './docker-run.ts'

/** A machine by its container, and the ways to it. */
export interface PortsOf {
  id: string
  container: Docker.Container
  /** The cloud's network, by name. */
  network: string
  link: Pick<DockerLink, 'dial' | 'reaches_containers'>
  relays: Pick<DockerRelays, 'connect' | 'isThere'>
}

/** Of a program that listens on a port, what it listens on; null where none does. */
type Listening = 'loopback' | 'beyond' | null

/**
 * Opens a TCP stream to a port of a container: by its own address, or where it is published, for these are the quick
 * ways; else from inside its network, where its loopback is, too.
 * @throws ComputeError `port_closed` where nothing listens, `not_running` where the machine ended meanwhile, and what
 *   `DockerRelays.connect` throws.
 */
export async function connectPort(machine: PortsOf, port: number): Promise<Duplex> {
  const { id, container, network, link, relays } = machine
  const run = await runOf(container, id, network)
  const direct = link.reaches_containers && run.address ? await link.dial(run.address, port) : null
  if (direct && !(direct instanceof Error)) return ofRun(machine, run, direct)
  const relayed = relays.isThere(run) ? await byRelay(machine, run, port) : null
  if (relayed) return relayed
  const listening = await listeningIn(container, port)
  if (listening === null) throw closed(port)
  const isRefused = direct instanceof Error && direct.code === 'ECONNREFUSED'
  const published = isRefused || listening === 'loopback' ? null : run.published[`${port}/tcp`]?.[0]
  if (published) {
    // Docker takes connections there whether or not anybody listens inside, so that was asked first.
    const answer = await link.dial(published.HostIp || '127.0.0.1', Number(published.HostPort))
    if (!(answer instanceof Error)) return ofRun(machine, run, answer)
  }
  const stream = await byRelay(machine, run, port)
  if (!stream) throw closed(port)
  return stream
}

async function byRelay(machine: PortsOf, run: ContainerRun, port: number): Promise<Duplex | null> {
  try {
    return await machine.relays.connect(run, port)
  } catch (error) {
    await mustBe(run, machine)
    throw error
  }
}

/**
 * Hands a stream on that was opened by an address, once it is certain whose that was meanwhile. From here on it is that
 * run's for good: one that has the address later knows nothing of the connection.
 */
async function ofRun(machine: PortsOf, run: ContainerRun, stream: Duplex): Promise<Duplex> {
  try {
    await mustBe(run, machine)
    return stream
  } catch (error) {
    stream.destroy()
    throw error
  }
}

async function mustBe(run: ContainerRun, { id, container, network }: PortsOf): Promise<void> {
  const { key } = await runOf(container, id, network)
  if (key !== run.key) throw new ComputeError('not_running', 'the machine ended while it was connected to')
}

/**
 * On what a program listens on a port.
 * @param procNetTcp `/proc/net/tcp` and `/proc/net/tcp6` of a container.
 */
export function listensOn(procNetTcp: string, port: number): Listening {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  const LISTEN = '0A'
  let found: Listening = null
  for (const line of procNetTcp.split('\n')) {
    const [, local = '', , state] = line.trim().split(/\s+/)
    if (state !== LISTEN || !local.endsWith(`:${hex}`)) continue
    if (!LOOPBACK_HEX.test(local)) return 'beyond'
    found = 'loopback'
  }
  return found
}

/** Addresses as the kernel writes them, in words of four bytes, the last one first: 127.0.0.0/8, as IPv6 too, and ::1. */
const LOOPBACK_HEX = /^(?:0{16}FFFF0000)?[0-9A-F]{6}7F:|^0{24}01000000:/

async function listeningIn(container: Docker.Container, port: number): Promise<Listening> {
  const { stdout } = await runExec(container, ['cat', '/proc/net/tcp', '/proc/net/tcp6'], {})
  return listensOn(stdout, port)
}

function closed(port: number): ComputeError {
  return new ComputeError('port_closed', `nothing listens on port ${port}`)
}
