// Runs inside the machine, as a customer's own program could. What it sends is chosen by the path that it is asked for.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { setPriority } from 'node:os'

const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
const SWITCHED = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
const PIECES = 2_000

// What is measured is the gateway, not how a small machine shares its processors. Linux may share them by session first.
setPriority(19)
try {
  writeFileSync('/proc/self/autogroup', '19')
} catch {
  // It does not.
}
const http = createServer(serve).listen(Number(process.env.PORTS ?? 8000), '127.0.0.1', () => {
  console.log('on', (http.address() as AddressInfo).port)
})
createServer(socket => drip(quiet(socket))).listen(Number(process.env.PORTS ?? 8001), '127.0.0.1')
if (process.env.TAKE_AGENT) void takeAgent()

function serve(socket: Socket): void {
  quiet(socket).once('data', head => {
    socket.resume()
    const path = head.toString().split(' ')[1]
    if (path === '/continue') flood(socket, 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(PIECES))
    else if (path === '/chunks') flood(socket, '1\r\nx\r\n'.repeat(PIECES), CHUNKED)
    else if (path === '/bulk') flood(socket, 'x'.repeat(65_536), 'HTTP/1.1 200 OK\r\n\r\n')
    else if (path === '/drip') drip(socket, SWITCHED)
    else socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
  })
}

function quiet(socket: Socket): Socket {
  return socket.setNoDelay(true).on('error', () => socket.destroy())
}

/** Writes without an end, as fast as it is taken. */
function flood(socket: Socket, text: string, first = ''): void {
  const bytes = Buffer.from(text)
  if (first) socket.write(first)
  const more = () => {
    while (socket.writable && socket.write(bytes));
    socket.once('drain', more)
  }
  more()
}

/** Writes single bytes without an end, each by itself. */
function drip(socket: Socket, first = ''): void {
  if (first) socket.write(first)
  const more = () => {
    for (let piece = 0; piece < 200 && socket.writable && socket.writableLength < 100; piece++)
      socket.write('x')
    if (!socket.destroyed) setImmediate(more)
  }
  more()
}

/** Has the agent answer everything with empty frames, by its own debugger. */
async function takeAgent(): Promise<void> {
  const agent = readdirSync('/proc').find(pid => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('agent.mjs')
    } catch {
      return false
    }
  })
  process.kill(Number(agent), 'SIGUSR1')
  for (;;) {
    try {
      const [page] = await (await fetch('http://127.0.0.1:9229/json')).json()
      const debug = new WebSocket(page.webSocketDebuggerUrl)
      const params = { expression: `(${answerWithNothing})()` }
      debug.onopen = () => debug.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params }))
      return
    } catch {
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  }
}

/** Runs in the agent. */
function answerWithNothing(): void {
  const empty = Buffer.concat(Array(10_000).fill(Buffer.from([4, 0, 0, 0, 0])))
  const handles = (process as unknown as { _getActiveHandles(): Server[] })._getActiveHandles()
  for (const handle of handles.filter(one => 'listen' in one)) {
    handle.removeAllListeners('connection').on('connection', socket => {
      const more = () => {
        while (socket.writable && socket.write(empty));
        socket.once('drain', more)
      }
      socket.on('error', () => socket.destroy()).resume()
      more()
    })
  }
}
