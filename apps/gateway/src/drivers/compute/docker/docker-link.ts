import { Agent } from 'node:http'
import { Agent as TlsAgent } from 'node:https'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import Docker from 'dockerode'
import type { Logger } from 'pino'
import { OTHER_LOOPBACK } from '../../../platform/direct-host.ts'
import { READ_AHEAD } from '../../../platform/read-ahead.ts'
import { createSshLink, type SshPlace } from './ssh-link.ts'
import { failBrokenAnswers } from './whole-answers.ts'

/** Where a Docker Engine is, with all that is needed to speak to it. */
export type DockerPlace = { kind: 'unix'; socket_path: string } | TcpPlace | ({ kind: 'ssh' } & SshPlace)

interface TcpPlace {
  kind: 'tcp'
  host: string
  port: number
  /** PEM: who signs the engine's certificate, and by what it knows the gateway. */
  ca: string
  cert: string
  key: string
  /** An address of the engine's computer that the gateway reaches: machines' ports are published there. */
  publish_address: string
}

/** A way to an engine, and to what its machines listen on. */
export interface DockerLink {
  docker: Docker
  /** Whether the engine is on this computer, so that what is asked of this computer is asked of the engine's. */
  is_here: boolean
  /** The address of the engine's computer that machines' ports are published on. */
  publish_address: string
  /** Whether `dial` reaches the containers' own addresses; otherwise only what is published. */
  reaches_containers: boolean
  carries_udp: boolean
  /** Who else reaches machines' ports, in a sentence; null where nobody does. */
  ports_exposed: string | null
  /** Opens a TCP stream from where the engine is; gives the error when it cannot, `ECONNREFUSED` when it is refused. */
  dial(host: string, port: number): Promise<Duplex | NodeJS.ErrnoException>
  /** Ends what is kept open; it is opened again when it is needed. */
  close(): void
}

const DIAL_TIMEOUT_MS = 3_000
const LOOPBACK = '127.0.0.1'
/** What dockerode would take from the environment where it is not told; an engine is where its description says. */
const NOT_FROM_ENVIRONMENT = { ca: undefined, cert: undefined, key: undefined, timeout: undefined }

/** Makes the way to an engine; opens nothing yet. */
export function createDockerLink(place: DockerPlace, log: Logger): DockerLink {
  switch (place.kind) {
    case 'unix': {
      const ways = { agent: failBrokenAnswers(new Agent({ keepAlive: true })) }
      return {
        docker: new Docker({
          ...NOT_FROM_ENVIRONMENT,
          ...ways,
          socketPath: place.socket_path,
          host: undefined,
          protocol: 'http',
        }),
        is_here: true,
        // Its console is here too, whose cookies no port of a customer's is to get.
        publish_address: process.platform === 'linux' ? OTHER_LOOPBACK : LOOPBACK,
        // Elsewhere Docker runs in a virtual machine of its own.
        reaches_containers: process.platform === 'linux',
        carries_udp: true,
        ports_exposed: null,
        dial,
        close: () => undefined,
      }
    }
    case 'tcp':
      return tcpLink(place)
    case 'ssh': {
      const ssh = createSshLink(place, log)
      const agent = { agent: failBrokenAnswers(ssh.agent) }
      return {
        docker: new Docker({ ...NOT_FROM_ENVIRONMENT, ...agent, host: 'docker', port: 80, protocol: 'http' }),
        is_here: false,
        publish_address: LOOPBACK,
        reaches_containers: true,
        carries_udp: false,
        ports_exposed: null,
        dial: ssh.dial,
        close: ssh.close,
      }
    }
  }
}

function tcpLink(place: TcpPlace): DockerLink {
  const { host, port, ca, cert, key, publish_address } = place
  const ways = { agent: failBrokenAnswers(new TlsAgent({ keepAlive: true })) }
  const tls = { host, port, ca, cert, key, protocol: 'https' as const }
  return {
    docker: new Docker({ ...NOT_FROM_ENVIRONMENT, ...ways, ...tls }),
    is_here: false,
    publish_address,
    reaches_containers: false,
    carries_udp: true,
    ports_exposed: `Ports of machines are published on ${publish_address}, without encryption: whoever reaches that address reaches them.`,
    dial,
    close: () => undefined,
  }
}

function dial(host: string, port: number): Promise<Socket | NodeJS.ErrnoException> {
  return new Promise(resolve => {
    const options = { host, port, noDelay: true, allowHalfOpen: true, ...READ_AHEAD }
    const socket = connect(options)
    const fail = (error: NodeJS.ErrnoException) => {
      socket.destroy()
      resolve(error)
    }
    socket.setTimeout(DIAL_TIMEOUT_MS, () => fail(new Error('no answer')))
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
