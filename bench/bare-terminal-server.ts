// The floor for the terminal: a shell on a bare pty behind a bare WebSocket. No frames, no flow control, no session.
import type { AddressInfo } from 'node:net'
import { spawn } from '@lydell/node-pty'
import { WebSocketServer } from 'ws'

const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false })
server.on('connection', socket => {
  const pty = spawn('/bin/bash', ['--norc', '--noprofile'], {
    name: 'xterm-256color',
    cols: 80,
    rows: 24,
    // Without an encoding the output comes as bytes, which is what we send too.
    encoding: null,
    env: { PATH: process.env.PATH ?? '', TERM: 'xterm-256color', PS1: '$ ' },
  })
  pty.onData(data => socket.send(data))
  pty.onExit(() => socket.close())
  socket.on('message', data => pty.write(String(data)))
  socket.on('close', () => pty.kill())
})
server.on('listening', () => {
  console.log(`ready on ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
process.on('SIGTERM', () => process.exit(0))
