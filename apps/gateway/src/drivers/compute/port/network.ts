import type { Duplex } from 'node:stream'
import type { Part } from './part.ts'

/** Ways to what listens inside a machine. */
export interface MachineNetwork {
  /** Opens a TCP stream to a port inside the machine. Fails with `port_closed` when nothing listens. */
  connect(id: string, port: number): Promise<Duplex>

  readonly udp: Part<UdpNetwork>
}

export interface UdpNetwork {
  /**
   * Opens a way for datagrams to a port inside the machine, whether or not anything listens there.
   * @returns A line, to be taken up with `openDatagrams` here or passed on as it is.
   */
  open(id: string, port: number): Promise<Duplex>
}

/** Datagrams between one sender outside and one port of a machine. What gets lost is lost, as with UDP anywhere. */
export interface UdpFlow {
  /** Sends one datagram; one for which there is no room is dropped. */
  send(datagram: Uint8Array): void
  onDatagram(listener: (datagram: Buffer) => void): void
  /** Called once when the flow ended by itself: the machine is gone, or refuses. */
  onClose(listener: () => void): void
  close(): void
}
