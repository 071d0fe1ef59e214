import { existsSync } from 'node:fs'
import type { Socket } from 'node:net'
import { type AgentRequest, encodeChunks, encodeJson, FRAME, FrameReader } from './frames.ts'
import { asKernelsFirstChoice } from './processes.ts'
import { openNativePty } from './pty-native.ts'

const PTY_BINARY = '/.berth/pty.node'
const SHELLS = ['/bin/bash', '/bin/sh']

/** Serves one interactive shell on one socket until either ends. */
export function servePty(
  socket: Socket,
  request: Extract<AgentRequest, { op: 'pty' }>,
  env: Record<string, string>,
): void {
  const shell = SHELLS.find(path => existsSync(path)) ?? '/bin/sh'
  let chunks: Buffer[] = []
  let bytes = 0

  // The kernel gives a pty's output in pieces of at most 4 kB. What one turn of the loop reads goes out as
  // one frame: the wait is some microseconds, and the gateway wakes up a tenth as often.
  const flush = () => {
    if (bytes === 0) return
    const frame = encodeChunks(FRAME.data, chunks, bytes)
    chunks = []
    bytes = 0
    if (!socket.write(frame)) pty.pause()
  }
  const pty = asKernelsFirstChoice(() =>
    openNativePty(PTY_BINARY, {
      file: shell,
      args: [],
      env: { ...env, SHELL: shell, TERM: 'xterm-256color', PS1: '\\u@\\h:\\w\\$ ', ...request.env },
      cwd: '/root',
      cols: request.cols,
      rows: request.rows,
      onData: chunk => {
        if (bytes === 0) setImmediate(flush)
        chunks.push(chunk)
        bytes += chunk.length
      },
      onEnd: code => {
        flush()
        socket.end(encodeJson(FRAME.exit, { code }))
      },
    }),
  )

  const reader = new FrameReader((type, payload) => {
    if (type === FRAME.data) pty.write(payload)
    else if (type === FRAME.resize) pty.resize(payload.readUInt16BE(0), payload.readUInt16BE(2))
    else if (type === FRAME.kill) pty.hangUp()
  })
  socket.write(encodeJson(FRAME.ok, {}))
  socket.on('data', chunk => reader.push(chunk))
  socket.on('drain', () => pty.resume())
  socket.on('end', () => pty.hangUp())
  socket.on('close', () => pty.hangUp())
}
