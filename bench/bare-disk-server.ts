// A request's bytes to a file and back, by Node's own streams and nothing else. The folder is its argument.
import { createReadStream, createWriteStream } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

const file = join(process.env.BARE_DIR ?? '.', 'kept')

const server = createServer(async (request, response) => {
  if (request.method === 'PUT') {
    await pipeline(request, createWriteStream(file))
    response.end()
  } else await pipeline(createReadStream(file), response)
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port.')
  console.log(`ready on http://127.0.0.1:${address.port}/`)
})
