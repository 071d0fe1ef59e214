import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, test } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { TERMINAL_LIMITS } from './terminal-limits.ts'
import { createTerminalSocket } from './terminal-socket.ts'

const HANDSHAKE = [
  'GET / HTTP/1.1',
  'Host: localhost',
  'Upgrade: websocket',
  'Connection: Upgrade',
  'Sec-WebSocket-Version: 13',
  `Sec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}`,
].join('\r\n')

test('a tab that reads nothing holds as much by many tiny messages as they take, and nothing once it has read them', async () => {
  const http = createServer()
  const server = new WebSocketServer({ server: http })
  const welcomed = once(server, 'connection')
  await once(http.listen(0, '127.0.0.1'), 'listening')
  const tab = connect((http.address() as AddressInfo).port, '127.0.0.1')
  try {
    tab.write(`${HANDSHAKE}\r\n\r\n`)
    const [webSocket] = (await welcomed) as [WebSocket]
    const socket = createTerminalSocket({ socket: webSocket, sessionId: 'one', limits: TERMINAL_LIMITS })
    let sent = 0
    for (; socket.bytesHeld <= TERMINAL_LIMITS.heldHighBytes && sent < 100_000; sent++) {
      socket.send({ kind: 'replay_begin' })
    }
    expect(sent).toBeLessThan(TERMINAL_LIMITS.heldHighBytes / 200)
    tab.resume()
    await expect.poll(() => socket.bytesHeld).toBe(0)
  } finally {
    tab.destroy()
    server.close()
    http.close()
  }
})
