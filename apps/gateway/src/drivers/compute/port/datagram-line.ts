import type { Duplex } from 'node:stream'
import { readDatagrams, writeDatagram } from '../sessions/datagram-line.ts'
import type { UdpFlow } from './network.ts'

/** Takes up the line of a way for datagrams. What comes before somebody listens is lost. */
export function openDatagrams(line: Duplex): UdpFlow {
  let isClosed = false
  let listener: (datagram: Buffer) => void = () => undefined
  readDatagrams(line, datagram => listener(datagram))
  return {
    send: datagram => writeDatagram(line, datagram),
    onDatagram: given => {
      listener = given
    },
    onClose(given) {
      line.once('close', () => {
        if (!isClosed) given()
      })
    },
    close() {
      isClosed = true
      line.destroy()
    },
  }
}
