import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import pino from 'pino'
import { expect, test, vi } from 'vitest'
import { KubeRefusal } from './kube-errors.ts'
import type { KubeLink } from './kube-link.ts'
import { INSTANCE_LABEL } from './kube-names.ts'
import { watchPods } from './watch-pods.ts'

const log = pino({ level: 'silent' })

function pod(id: string, version: string) {
  return { metadata: { uid: `uid-${id}`, resourceVersion: version, labels: { [INSTANCE_LABEL]: id } } }
}

/** An API server with a list and watches that the test writes to. */
function apiServer() {
  let items: ReturnType<typeof pod>[] = []
  let version = '1'
  const lists: string[] = []
  const watches: { from: unknown; stream: PassThrough }[] = []
  let refusal: Error | null = null
  const link: Pick<KubeLink, 'json' | 'stream'> = {
    async json<T>() {
      lists.push(version)
      return { metadata: { resourceVersion: version }, items } as T
    },
    async stream(_path, asked) {
      const error = refusal
      refusal = null
      if (error) throw error
      const stream = Object.assign(new PassThrough(), { socket: { setKeepAlive: () => undefined } })
      watches.push({ from: asked?.query?.resourceVersion, stream })
      return stream as unknown as IncomingMessage
    },
  }
  return {
    link,
    lists,
    watches,
    has(next: typeof items, at: string) {
      items = next
      version = at
    },
    refuse(error: Error) {
      refusal = error
    },
    say(type: string, object: object) {
      watches.at(-1)?.stream.write(`${JSON.stringify({ type, object })}\n`)
    },
  }
}

function watched(server: ReturnType<typeof apiServer>) {
  const heard: string[] = []
  const stop = watchPods({
    link: server.link,
    selector: 'x',
    onChange: id => heard.push(id),
    listIds: async () => ['stopped'],
    log,
  })
  return { heard, stop }
}

const opened = (server: ReturnType<typeof apiServer>, count: number) =>
  vi.waitFor(() => expect(server.watches).toHaveLength(count), { timeout: 10_000 })

test('a watch that ends goes on behind the last version that was seen, bookmarks included, and lists nothing anew', async () => {
  const server = apiServer()
  server.has([pod('one', '5')], '7')
  const { heard, stop } = watched(server)
  await opened(server, 1)
  server.say('MODIFIED', pod('one', '8'))
  server.say('BOOKMARK', { metadata: { resourceVersion: '20' } })
  await vi.waitFor(() => expect(heard).toEqual(['one']))
  server.watches[0]?.stream.end()
  await opened(server, 2)
  expect(server.watches.map(({ from }) => from)).toEqual(['7', '20'])
  expect(server.lists).toHaveLength(1)
  stop()
})

test('what breaks off in the middle of a word is opened again, and nothing of that word is acted on', async () => {
  const server = apiServer()
  const { heard, stop } = watched(server)
  await opened(server, 1)
  server.say('ADDED', pod('one', '8'))
  server.watches[0]?.stream.end('{"type":"DELETED","obj')
  await opened(server, 2)
  expect(heard).toEqual(['one'])
  expect(server.watches[1]?.from).toBe('8')
  stop()
})

test('a connection that breaks is opened again', async () => {
  const server = apiServer()
  const { heard, stop } = watched(server)
  await opened(server, 1)
  server.say('ADDED', pod('one', '8'))
  await vi.waitFor(() => expect(heard).toEqual(['one']))
  server.watches[0]?.stream.destroy(new Error('reset'))
  await opened(server, 2)
  expect(server.watches[1]?.from).toBe('8')
  stop()
})

test.each([
  [
    'in the watch',
    (server: ReturnType<typeof apiServer>) => server.say('ERROR', { code: 410, message: 'too old' }),
  ],
  [
    'in its answer',
    (server: ReturnType<typeof apiServer>) => {
      server.refuse(new KubeRefusal(410, 'Expired', 'too old'))
      server.watches[0]?.stream.end()
    },
  ],
])(
  'after 410 %s all is listed, and machines are told of that are there, and that are gone',
  async (_name, expire) => {
    const server = apiServer()
    server.has([pod('one', '5'), pod('two', '6')], '7')
    const { heard, stop } = watched(server)
    await opened(server, 1)
    server.has([pod('two', '6'), pod('three', '90')], '100')
    expire(server)
    await opened(server, 2)
    expect(server.watches[1]?.from).toBe('100')
    expect(heard.sort()).toEqual(['one', 'stopped', 'three', 'two'])
    stop()
  },
)
