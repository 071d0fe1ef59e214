import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { hostedModel } from '../../../test/hosted-models.ts'
import { findModels } from './find-models.ts'

const prices = {
  context_tokens: 4_096,
  output_tokens_max: 1_024,
  price_input_million: 100_000n,
  price_output_million: 400_000n,
}
const catalogue = { models: [hostedModel('shown')], found_models: prices }
const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

/** A server on this computer, as one that somebody has started. */
async function start(answer: RequestListener): Promise<{ vendor: string; port: number }> {
  const server = createServer(answer)
  ends.push(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return { vendor: 'Ollama', port: (server.address() as AddressInfo).port }
}
const lists = (...ids: unknown[]) =>
  start((request, response) => {
    expect(request.url).toBe('/v1/models')
    response.end(JSON.stringify({ object: 'list', data: ids.map(id => ({ id, object: 'model' })) }))
  })

test('[B10] models of a server on this computer are offered by their names, at the catalogue’s price', async () => {
  const server = await lists('llama3.2:3b', 'nomic-embed-text', 'shown', '<script>', 7)
  const found = await findModels(catalogue, { servers: [server] })
  expect(found.map(({ id, kind }) => [id, kind])).toEqual([
    ['llama3.2:3b', 'chat'],
    ['nomic-embed-text', 'embedding'],
  ])
  expect(found[0]).toMatchObject({
    vendor: 'Ollama',
    context_tokens: 4_096,
    output_tokens_max: 1_024,
    input_micro_per_million: 100_000n,
    cached_micro_per_million: 100_000n,
    output_micro_per_million: 400_000n,
    servers: [{ driver: 'openai', url: `http://127.0.0.1:${server.port}/v1` }],
  })
})

test('what does not answer in time, or is no such server, is left aside, and the others are found', async () => {
  const servers = await Promise.all([
    start(() => undefined),
    start((_, response) => void response.end('<html>')),
    start((_, response) => void response.end('{"data":{}}')),
    start((_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()),
    start((_, response) => void response.writeHead(401).end('{"data":[{"id":"no"}]}')),
    start((_, response) => void response.end(' '.repeat(2_000_000))),
    lists('good'),
  ])
  const began = performance.now()
  const found = await findModels(catalogue, {
    servers: [...servers, { vendor: 'none', port: 1 }],
    waitMs: 3_000,
  })
  expect(found.map(({ id }) => id)).toEqual(['good'])
  expect(performance.now() - began).toBeLessThan(20_000)
})

test('nothing is asked where the catalogue names a server, or no price', async () => {
  let asked = 0
  const server = await start((_, response) => {
    asked += 1
    response.end('{"data":[{"id":"one"}]}')
  })
  const own = hostedModel('own', { servers: [{ driver: 'openai', url: 'http://10.0.0.5/v1' }] })
  expect(await findModels({ ...catalogue, models: [own] }, { servers: [server] })).toEqual([])
  expect(await findModels({ models: [] }, { servers: [server] })).toEqual([])
  expect(asked).toBe(0)
})
