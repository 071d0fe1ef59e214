// The clients that a hostile service has called for it, in a process of their own: so many connections, kept open.
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setPriority } from 'node:os'

const [port = '0', host = '', path = '', count = '1', reads = ''] = process.argv.slice(2)
const AGAIN_MS = 50

// What is measured is the gateway, not how a small machine shares its processors. Linux may share them by session first.
setPriority(19)
try {
  writeFileSync('/proc/self/autogroup', '19')
} catch {
  // It does not.
}

/** Asks for the path; for none, says nothing at all, as behind a TCP port. */
function open(): void {
  const socket = connect(Number(port), '127.0.0.1', () => {
    if (path)
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${path === '/drip' ? 'Connection: Upgrade\r\nUpgrade: websocket\r\n' : ''}\r\n`,
      )
  })
  socket.on('error', () => undefined).once('close', () => setTimeout(open, AGAIN_MS))
  if (reads) socket.resume()
  else socket.pause()
}

for (let each = 0; each < Number(count); each++) open()
// Sockets that nobody reads keep no process alive.
setInterval(() => undefined, 60_000)
console.log('ready')
