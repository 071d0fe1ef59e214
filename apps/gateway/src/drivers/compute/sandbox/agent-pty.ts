import type { Socket } from 'node:net'
import type { Pty } from '../port.ts'
import { encodeFrame, FRAME, FrameReader } from './agent/frames.ts'

/** Far past every real screen; terminal programs hold rows and columns of this many cells in memory. */
const TERMINAL_CELLS_MAX = 4096

/**
 * The gateway's end of a pty whose other end the agent holds. Bytes begin to flow with the first `onData`
 * listener. While paused nothing is read off the socket; the kernel's socket buffer fills, the agent stops
 * reading the pty, and the program in it waits.
 */
export function ptyOn(socket: Socket, rest: Buffer): Pty {
  const dataListeners: ((chunk: Buffer) => void)[] = []
  const exitListeners: ((exit: { code: number | null }) => void)[] = []
  let code: number | null = null
  let ended = false

  const end = () => {
    if (ended) return
    ended = true
    socket.destroy()
    for (const listener of exitListeners) listener({ code })
  }
  const reader = new FrameReader((type, payload) => {
    if (type === FRAME.data) {
      for (const listener of dataListeners) listener(payload)
    } else if (type === FRAME.exit) {
      code = finite((parseJson(payload) as { code?: unknown } | null)?.code)
      end()
    }
  })
  const send = (type: number, payload: Uint8Array, onTaken?: () => void) => {
    if (!socket.destroyed) socket.write(encodeFrame(type, payload), onTaken)
  }
  const resume = () => {
    reader.release()
    socket.resume()
  }
  const push = (chunk: Buffer) => {
    try {
      reader.push(chunk)
    } catch {
      // Not words of the agent: the customer's own doing, so it ends the customer's own terminal.
      socket.destroy()
    }
  }
  // The end without an exit frame is that of the whole machine.
  socket.on('end', end)
  socket.on('close', end)
  if (rest.length > 0) socket.unshift(rest)

  return {
    onData: listener => {
      dataListeners.push(listener)
      if (dataListeners.length === 1) socket.on('data', push)
    },
    onExit: listener => {
      exitListeners.push(listener)
    },
    write: (data, onTaken) => send(FRAME.data, typeof data === 'string' ? Buffer.from(data) : data, onTaken),
    resize: (cols, rows) => {
      const size = Buffer.alloc(4)
      size.writeUInt16BE(terminalSide(cols), 0)
      size.writeUInt16BE(terminalSide(rows), 2)
      send(FRAME.resize, size)
    },
    pause: () => {
      reader.hold()
      socket.pause()
    },
    resume,
    kill: () => {
      send(FRAME.kill, Buffer.alloc(0))
      // The news of the end comes behind what is still unread.
      if (dataListeners.length === 0) socket.on('data', push)
      resume()
    },
  }
}

/** A width or height that the kernel takes, whatever was asked for. */
export function terminalSide(cells: number): number {
  return Math.min(Math.max(Math.trunc(cells) || 1, 1), TERMINAL_CELLS_MAX)
}

/** Reads JSON that a machine sent; null when it is none. */
export function parseJson(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString())
  } catch {
    return null
  }
}

/** A number that a machine sent, or null when it is none. */
export function finite(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}
