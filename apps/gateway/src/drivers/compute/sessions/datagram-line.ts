import { type Duplex, duplexPair } from 'node:stream'
import type { UdpFlow } from '../port/network.ts'
import { encodeFrame, FRAME, FrameReader } from './frames.ts'

/** What waits on a line for whoever reads slowly; what comes beyond is dropped, as a full buffer anywhere would. */
const WAITING_BYTES_MAX = 256 * 1024

/** Serves a flow to whoever has the other end of a line. Either ends with the other. */
export function serveFlow(flow: UdpFlow, line: Duplex): void {
  readDatagrams(line, datagram => flow.send(datagram))
  flow.onDatagram(datagram => writeDatagram(line, datagram))
  flow.onClose(() => line.destroy())
  line.once('close', () => flow.close())
}

/** A line that a flow of this process is served to. */
export function lineOf(flow: UdpFlow): Duplex {
  const [near, far] = duplexPair()
  serveFlow(flow, far)
  near.once('close', () => far.destroy())
  far.once('close', () => near.destroy())
  return near
}

/** Writes a datagram on a line, unless too many wait there. */
export function writeDatagram(line: Duplex, datagram: Uint8Array): void {
  if (line.writable && line.writableLength < WAITING_BYTES_MAX) {
    line.write(encodeFrame(FRAME.datagram, datagram))
  }
}

/** Reads datagrams off a line; one that carries anything else is ended. */
export function readDatagrams(line: Duplex, onDatagram: (datagram: Buffer) => void): void {
  const reader = new FrameReader((type, payload) => {
    if (type !== FRAME.datagram) throw new Error(`a frame of type ${type} is no datagram`)
    onDatagram(payload)
  })
  line.on('error', () => line.destroy())
  line.on('end', () => line.destroy())
  line.on('data', (chunk: Buffer) => {
    try {
      reader.push(chunk)
    } catch {
      line.destroy()
    }
  })
}
