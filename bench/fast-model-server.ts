// What stands behind every gateway that is measured: a server of OpenAI's protocol that answers at once. Each token of a
// stream is the moment at which it was sent, by the computer's own clock, which all processes share.
import { createServer, type ServerResponse } from 'node:http'

const USAGE = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 }
const BASE = { id: 'chatcmpl-bench', created: 1_700_000_000, model: 'bench' }
const WHOLE = JSON.stringify({
  ...{ ...BASE, object: 'chat.completion', usage: USAGE },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello there.' }, finish_reason: 'stop' }],
})
const [BEFORE = '', AFTER = ''] = JSON.stringify({
  ...{ ...BASE, object: 'chat.completion.chunk' },
  choices: [{ index: 0, delta: { content: 'MARK ' }, finish_reason: null }],
}).split('MARK')
const LAST = JSON.stringify({
  ...{ ...BASE, object: 'chat.completion.chunk' },
  choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
})
const USED = JSON.stringify({ ...BASE, object: 'chat.completion.chunk', choices: [], usage: USAGE })

interface Asked {
  stream?: boolean
  /** How many tokens a stream has, and the pause after each in ms. */
  max_tokens?: number
  seed?: number
}

const server = createServer((request, response) => {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => {
    const asked = JSON.parse(Buffer.concat(pieces).toString() || '{}') as Asked
    if (asked.stream) return speak(response, asked)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(WHOLE)
  })
})

function speak(response: ServerResponse, { max_tokens: tokens = 1, seed: pauseMs = 0 }: Asked): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  let said = 0
  const say = () => {
    response.write(`data: ${BEFORE}${process.hrtime.bigint()}${AFTER}\n\n`)
    if (++said < tokens) return
    clearInterval(timer)
    response.end(`data: ${LAST}\n\ndata: ${USED}\n\ndata: [DONE]\n\n`)
  }
  const timer = setInterval(say, pauseMs)
  response.once('close', () => clearInterval(timer))
  say()
}

server.keepAliveTimeout = 60_000
server.listen({ host: '127.0.0.1', port: 0, backlog: 4_096 }, () => {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port.')
  console.log(`ready on http://127.0.0.1:${address.port}`)
})
process.on('SIGTERM', () => process.exit(0))
