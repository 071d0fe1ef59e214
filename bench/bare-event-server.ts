// The floor for event streams: a bare server that keeps the answers it has begun and writes the same bytes to all of them.
import { createServer, type ServerResponse } from 'node:http'

const event = process.env.BENCH_EVENT ?? 'data: {}\n\n'
const streams = new Set<ServerResponse>()

const server = createServer((request, response) => {
  if (request.method === 'POST') {
    // Whoever waits for this event finds it by its number.
    const text = event.replaceAll('NUMBER', request.url?.slice(1) ?? '')
    for (const stream of streams) stream.write(text)
    response.end()
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' })
  response.write('data: {}\n\n')
  streams.add(response)
  response.once('close', () => streams.delete(response))
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port.')
  console.log(`ready on http://127.0.0.1:${address.port}`)
})
process.on('SIGTERM', () => process.exit(0))
