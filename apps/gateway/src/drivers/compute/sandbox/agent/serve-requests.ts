import { createServer, type Socket } from 'node:net'
import { encodeFrame, encodeJson, type Failure, FRAME, FrameReader } from '../../sessions/frames.ts'
import { NoShell } from './open-shell.ts'

/** Listens on an open file, and hands on the one request that opens each conversation. */
export function serveRequests<Request>(fd: number, handle: (socket: Socket, request: Request) => void): void {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, socket => {
    socket.on('error', () => socket.destroy())
    const reader = new FrameReader((type, payload) => {
      if (type !== FRAME.request) return
      socket.off('data', onData)
      handle(socket, JSON.parse(payload.toString()) as Request)
    })
    const onData = (chunk: Buffer) => {
      try {
        reader.push(chunk)
      } catch (error) {
        fail(socket, failureOf(error))
      }
    }
    socket.on('data', onData)
  })
  server.listen({ fd })
}

/** Answers a request, after which nothing more is said. */
export function answer(socket: Socket, value: unknown): void {
  socket.end(encodeJson(FRAME.ok, value))
}

/** Says in place of an answer what went wrong. */
export function fail(socket: Socket, failure: Failure): void {
  socket.end(encodeJson(FRAME.error, failure))
}

/** An error in the words that gateways know. */
export function failureOf(error: unknown): Failure {
  if (error instanceof NoShell) return { code: 'no_shell', message: error.message }
  const message = String(error)
  if (/ENOSPC/.test(message)) return { code: 'no_room', message }
  return { code: /EAGAIN|ENOMEM/.test(message) ? 'exhausted' : 'failed', message }
}

/** Answers that a port is open, and joins the caller's socket with the one that leads there. */
export function joinPort(socket: Socket, target: Socket): void {
  target.setTimeout(0)
  target.on('error', () => socket.destroy())
  target.on('close', () => socket.destroySoon())
  socket.on('close', () => target.destroy())
  socket.write(encodeFrame(FRAME.ok, Buffer.from('{}')))
  socket.pipe(target)
  target.pipe(socket)
}

/** Those who are told of what happens by itself, each by a socket that stays open. */
export function createWatchers() {
  const watchers = new Set<Socket>()
  return {
    add(socket: Socket): void {
      socket.write(encodeJson(FRAME.ok, {}))
      watchers.add(socket)
      socket.on('close', () => watchers.delete(socket))
      socket.on('end', () => socket.end()).resume()
    },
    /** Says that the command has ended. */
    tell(): void {
      for (const socket of watchers) {
        if (socket.writableLength < WATCHER_BYTES_MAX) socket.write(encodeJson(FRAME.exit, {}))
      }
    },
  }
}

/** A gateway that reads nothing is told nothing more. */
const WATCHER_BYTES_MAX = 1_000
