// One page with one field and no script: what the link and the browser take by themselves.
import { createServer } from 'node:http'

const PAGE =
  '<!doctype html><html lang="en"><meta charset="utf-8"><title>Bare</title><input><button>Go</button>'

const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
  response.end(PAGE)
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port.')
  console.log(`ready on http://127.0.0.1:${address.port}/`)
})
