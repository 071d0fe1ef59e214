import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import type Docker from 'dockerode'
import { ComputeError } from '../port/compute-error.ts'
import type { UdpFlow } from '../port/network.ts'
import type { DockerLink } from './docker-link.ts'

/** Datagrams that wait for the kernel; what comes beyond is dropped, as a full buffer anywhere on the way would. */
const WAITING_BYTES_MAX = 1024 * 1024

/** Opens a way for datagrams to a port of a container, at its own address or where it is published. */
export async function openUdp(
  link: Pick<DockerLink, 'reaches_containers'>,
  container: Docker.Container,
  network: string,
  port: number,
): Promise<UdpFlow> {
  const { State, NetworkSettings } = await container.inspect()
  if (!State.Running) throw new ComputeError('not_running', 'the machine does not run')
  const address = NetworkSettings.Networks[network]?.IPAddress
  if (link.reaches_containers && address) return flowTo(address, port)
  const published = NetworkSettings.Ports[`${port}/udp`]?.[0]
  if (!published) {
    throw new ComputeError(
      'port_closed',
      `UDP port ${port} was not among the machine’s ports when it was made`,
    )
  }
  return flowTo(published.HostIp || '127.0.0.1', Number(published.HostPort))
}

function flowTo(host: string, port: number): Promise<UdpFlow> {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4')
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.connect(port, host, () => {
      socket.off('error', reject)
      // What the other side refuses comes back as an error of the next call: that port may listen later.
      socket.on('error', () => undefined)
      resolve({
        send(datagram) {
          if (socket.getSendQueueSize() < WAITING_BYTES_MAX) socket.send(datagram, () => undefined)
        },
        onDatagram: listener => {
          socket.on('message', listener)
        },
        onClose: listener => {
          socket.on('close', listener)
        },
        close() {
          socket.removeAllListeners('close')
          socket.close()
        },
      })
    })
  })
}
