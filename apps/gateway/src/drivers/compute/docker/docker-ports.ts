import type { Duplex } from 'node:stream'
import type Docker from 'dockerode'
import { ComputeError } from '../port/compute-error.ts'
import { runExec } from './docker-exec.ts'
import type { DockerLink } from './docker-link.ts'

/**
 * Opens a TCP stream to a port of a container. Where the container's own address is reachable, its refusal is the
 * truth. Elsewhere the published port has to do; Docker accepts connections there whether or not anybody listens
 * inside, so the container's own list of listeners is asked first.
 */
export async function connectPort(
  link: Pick<DockerLink, 'dial' | 'reaches_containers'>,
  container: Docker.Container,
  network: string,
  port: number,
): Promise<Duplex> {
  const { State, NetworkSettings } = await container.inspect()
  if (!State.Running) throw new ComputeError('not_running', 'the machine does not run')
  const address = NetworkSettings.Networks[network]?.IPAddress
  if (link.reaches_containers && address) {
    const answer = await link.dial(address, port)
    if (!(answer instanceof Error)) return answer
    if (answer.code === 'ECONNREFUSED') throw closed(port)
  }
  const published = NetworkSettings.Ports[`${port}/tcp`]?.[0]
  if (!published) {
    throw new ComputeError('port_closed', `port ${port} was not among the machine’s ports when it was made`)
  }
  if (!(await isListening(container, port))) throw closed(port)
  const answer = await link.dial(published.HostIp || '127.0.0.1', Number(published.HostPort))
  if (answer instanceof Error) throw closed(port, answer)
  return answer
}

/** Whether /proc/net/tcp of a container shows a listener on the port. */
export function listensOn(procNetTcp: string, port: number): boolean {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  const LISTEN = '0A'
  return procNetTcp.split('\n').some(line => {
    const [, local, , state] = line.trim().split(/\s+/)
    return state === LISTEN && local?.endsWith(`:${hex}`)
  })
}

async function isListening(container: Docker.Container, port: number): Promise<boolean> {
  const { stdout } = await runExec(container, ['cat', '/proc/net/tcp', '/proc/net/tcp6'], {})
  return listensOn(stdout, port)
}

function closed(port: number, cause?: unknown): ComputeError {
  return new ComputeError('port_closed', `nothing listens on port ${port}`, { cause })
}
