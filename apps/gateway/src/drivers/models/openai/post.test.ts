import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { post } from './post.ts'

/** Goal: a model is asked once for one call, whatever becomes of a connection that waited. Method: a server that ends them. */

let asked: string[]
let sockets: Socket[]
let answer: (request: IncomingMessage, response: ServerResponse) => void
let server: ReturnType<typeof createServer>
let url: string

beforeEach(async () => {
  asked = []
  sockets = []
  answer = (_request, response) => response.end('yes')
  server = createServer(async (request, response) => {
    asked.push(await text(request))
    answer(request, response)
  })
  server.on('connection', socket => sockets.push(socket))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/chat/completions`
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

async function ask(body: string, mayWait = true): Promise<string> {
  const sent = { headers: {}, body: Buffer.from(body), signal: AbortSignal.timeout(10_000) }
  return await text(await post(url, sent, mayWait))
}

/** Until the client knows that its connection waits. */
const rest = () => sleep(20)

test('a connection serves one call after the other; where it says nothing it is there for long answers, too', async () => {
  expect(await ask('1')).toBe('yes')
  await rest()
  answer = (_request, response) => void sleep(4_500).then(() => response.end('late'))
  expect(await ask('2')).toBe('late')
  expect(sockets).toHaveLength(1)
  // It waits no longer than the servers of models do.
  await expect.poll(() => sockets[0]?.destroyed, { timeout: 6_000 }).toBe(true)
}, 20_000)

test('a call on a connection that was ended as it waited goes by another one', async () => {
  await ask('1')
  await rest()
  sockets[0]?.destroy()
  expect(await ask('2')).toBe('yes')
  expect(asked).toEqual(['1', '2'])
  expect(sockets).toHaveLength(2)
})

test('what was sent on a connection that had waited is not sent again, though nobody answers it', async () => {
  await ask('1')
  await rest()
  answer = request => request.socket.resetAndDestroy()
  await expect(ask('2')).rejects.toMatchObject({ code: 'ECONNRESET' })
  expect(asked).toEqual(['1', '2'])
})

test('what is to have a connection of its own has one', async () => {
  await ask('1')
  await rest()
  await ask('2', false)
  expect(sockets).toHaveLength(2)
})
