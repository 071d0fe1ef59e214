import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type Docker from 'dockerode'
import { ComputeError } from '../port.ts'
import { runExec } from './docker-exec.ts'

const CONNECT_TIMEOUT_MS = 3_000

/**
 * Opens a TCP stream to a port of a container. On Linux the container's own address is reachable, and its
 * refusal is the truth. Elsewhere the published port has to do; Docker accepts connections there whether or
 * not anybody listens inside, so the container's own list of listeners is asked first.
 */
export async function connectPort(
  container: Docker.Container,
  network: string,
  port: number,
): Promise<Duplex> {
  const { State, NetworkSettings } = await container.inspect()
  if (!State.Running) throw new ComputeError('not_running', 'the machine does not run')
  const address = NetworkSettings.Networks[network]?.IPAddress
  if (process.platform === 'linux' && address) {
    const answer = await tryConnect(address, port)
    if (answer instanceof Error) {
      if (answer.code === 'ECONNREFUSED') throw closed(port)
    } else return answer
  }
  const published = NetworkSettings.Ports[`${port}/tcp`]?.[0]
  if (!published) {
    throw new ComputeError('port_closed', `port ${port} was not among the machine’s ports when it was made`)
  }
  if (!(await isListening(container, port))) throw closed(port)
  const answer = await tryConnect(published.HostIp || '127.0.0.1', Number(published.HostPort))
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

function tryConnect(host: string, port: number): Promise<Socket | NodeJS.ErrnoException> {
  return new Promise(resolve => {
    const socket = connect({ host, port, noDelay: true, allowHalfOpen: true })
    const fail = (error: NodeJS.ErrnoException) => {
      socket.destroy()
      resolve(error)
    }
    socket.setTimeout(CONNECT_TIMEOUT_MS, () => fail(new Error('no answer')))
    socket.once('error', fail)
    socket.once('connect', () => {
      socket.setTimeout(0)
      socket.removeAllListeners('timeout')
      socket.off('error', fail)
      socket.on('error', () => socket.destroy())
      resolve(socket)
    })
  })
}

function closed(port: number, cause?: unknown): ComputeError {
  return new ComputeError('port_closed', `nothing listens on port ${port}`, { cause })
}
