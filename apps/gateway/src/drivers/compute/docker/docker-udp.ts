import type { Duplex } from 'node:stream'
import type Docker from 'dockerode'
import { ComputeError } from '../port/compute-error.ts'
import { lineOf } from '../sessions/datagram-line.ts'
import { openUdpSocket } from '../sessions/udp-socket.ts'
import type { DockerLink } from './docker-link.ts'

/** Opens a way for datagrams to a port of a container, at its own address or where it is published. */
export async function openUdp(
  link: Pick<DockerLink, 'reaches_containers'>,
  container: Docker.Container,
  network: string,
  port: number,
): Promise<Duplex> {
  const { State, NetworkSettings } = await container.inspect()
  if (!State.Running) throw new ComputeError('not_running', 'the machine does not run')
  const address = NetworkSettings.Networks[network]?.IPAddress
  if (link.reaches_containers && address) return lineOf(await openUdpSocket(address, port))
  const published = NetworkSettings.Ports[`${port}/udp`]?.[0]
  if (!published) {
    throw new ComputeError(
      'port_closed',
      `UDP port ${port} was not among the machine’s ports when it was made`,
    )
  }
  return lineOf(await openUdpSocket(published.HostIp || '127.0.0.1', Number(published.HostPort)))
}
