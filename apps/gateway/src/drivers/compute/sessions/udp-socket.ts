import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import type { UdpFlow } from '../port/network.ts'

/** Datagrams that wait for the kernel; what comes beyond is dropped, as a full buffer anywhere on the way would. */
const WAITING_BYTES_MAX = 1024 * 1024

/** Opens a flow to a port of an address, whether or not anything listens there. */
export function openUdpSocket(host: string, port: number): Promise<UdpFlow> {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4')
  let isOpen = true
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.connect(port, host, () => {
      socket.off('error', reject)
      // What the other side refuses comes back as an error of the next call: that port may listen later.
      socket.on('error', () => undefined)
      resolve({
        send(datagram) {
          if (isOpen && socket.getSendQueueSize() < WAITING_BYTES_MAX) socket.send(datagram, () => undefined)
        },
        onDatagram: listener => {
          socket.on('message', listener)
        },
        onClose: listener => {
          socket.on('close', listener)
        },
        close() {
          if (!isOpen) return
          isOpen = false
          socket.removeAllListeners('close')
          socket.close()
        },
      })
    })
  })
}
