import { Socket, type SocketConstructorOpts } from 'node:net'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { READ_AHEAD } from '../../../../platform/read-ahead.ts'

/**
 * What Node has of a socket and does not offer: a socket that it passes on by itself reads ahead of whoever takes it, ends
 * both ways at once, and loses what comes while it is on its way.
 */
interface Inside {
  _handle?: SocketHandle | null
}

/** The kernel's end of a socket, which `process.send` passes on as it is. */
export interface SocketHandle {
  readStop(): void
}

/** A stream that is ready to be passed on to another process. */
export interface Handed {
  handle: SocketHandle
  /** What had come already. */
  rest: Buffer | null
  /** Lets go of it here, once it has been passed on. */
  letGo(): void
}

/**
 * Takes a stream off this process, where it is a socket of the kernel and nothing of ours stands between.
 * @param stream Nobody reads it.
 * @returns Null where there is more to it than the kernel knows.
 */
export function handOver(stream: Duplex): Handed | null {
  if (!(stream instanceof Socket) || stream instanceof TLSSocket) return null
  const handle = (stream as Inside)._handle
  if (!handle) return null
  const rest = stream.read() as Buffer | null
  // Whoever reads next is the other process.
  handle.readStop()
  return { handle, rest, letGo: () => void stream.destroy() }
}

/** Makes a stream of what another process has handed over; nothing of it is read ahead. */
export function takeOver(handle: SocketHandle, rest: Uint8Array | null): Socket {
  const options: unknown = { handle, allowHalfOpen: true, ...READ_AHEAD }
  const socket = new Socket(options as SocketConstructorOpts)
  if (rest) socket.unshift(Buffer.from(rest))
  return socket
}
