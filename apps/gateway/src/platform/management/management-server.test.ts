import { once } from 'node:events'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createMetrics } from '../metrics.ts'
import { createManagementServer, type ManagementServer } from './management-server.ts'

let server: ManagementServer
let origin: string
beforeEach(async () => {
  server = createManagementServer({ log: pino({ level: 'silent' }) })
  origin = await server.listen('127.0.0.1', 0)
})
afterEach(() => server.close())

test('it lives before it is ready, is ready while its work can be done, and no more once it is to end', async () => {
  expect(await statusOf('/live')).toBe(200)
  expect(await statusOf('/ready')).toBe(503)
  expect(await statusOf('/metrics')).toBe(404)
  let works = true
  const ready = async () => {
    if (!works) throw new Error('no database')
  }
  server.show({ metrics: createMetrics(), ready })
  expect(await statusOf('/ready')).toBe(200)
  works = false
  expect(await statusOf('/ready')).toBe(503)
  works = true
  expect(await statusOf('/ready')).toBe(200)
  server.leave()
  expect(await statusOf('/ready')).toBe(503)
  expect(await statusOf('/live')).toBe(200)
})

test('many probes ask the database once, and one that hangs is an answer too', async () => {
  let asked = 0
  server.show({
    metrics: createMetrics(),
    ready() {
      asked++
      return new Promise(() => {})
    },
  })
  expect(await Promise.all(Array.from({ length: 20 }, () => statusOf('/ready')))).toEqual(Array(20).fill(503))
  expect(asked).toBe(1)
})

test('metrics name operations', async () => {
  const metrics = createMetrics()
  metrics.observeCall('test.hello', 200, 0.01)
  server.show({ metrics, ready: async () => {} })
  const answer = await fetch(`${origin}/metrics`, { headers: { 'x-forwarded-for': '10.0.0.1' } })
  expect(await answer.text()).toMatch(/berth_answers_total\{operation="test.hello",status="200"\} 1/)
  expect(answer.headers.get('content-type')).toContain('text/plain')
})

test('what is no probe is turned away: other methods, other paths, pages in a browser', async () => {
  server.show({ metrics: createMetrics(), ready: async () => {} })
  expect(await statusOf('/metrics', { method: 'POST' })).toBe(405)
  expect(await statusOf('/gateway/api/settings')).toBe(404)
  expect(await statusOf('/metrics', { headers: { 'sec-fetch-site': 'same-origin' } })).toBe(403)
  expect(await statusOf('/metrics', { headers: { 'sec-fetch-site': 'none' } })).toBe(200)
  expect(await statusOf('/metrics', { headers: { 'x-long': 'x'.repeat(20_000) } })).toBe(431)
})

test('on loopback a name that somebody turned to this address is a foreign one (DNS rebinding)', async () => {
  server.show({ metrics: createMetrics(), ready: async () => {} })
  const { port } = new URL(origin)
  for (const path of ['/live', '/ready', '/metrics']) {
    expect(await statusByName(`evil.example:${port}`, path)).toBe(403)
    expect(await statusByName('evil.example', path)).toBe(403)
    for (const name of ['localhost', '127.0.0.1', '[::1]']) {
      expect(await statusByName(`${name}:${port}`, path)).toBe(200)
    }
  }
})

test('beyond loopback it answers by whatever a cluster calls it', async () => {
  const open = createManagementServer({ log: pino({ level: 'silent' }) })
  const { port } = new URL(await open.listen('0.0.0.0', 0))
  try {
    open.show({ metrics: createMetrics(), ready: async () => {} })
    for (const name of ['10.0.0.1', 'berth-management.berth.svc.cluster.local', 'gateway-1']) {
      expect(await statusByName(`${name}:${port}`, '/metrics', port)).toBe(200)
    }
  } finally {
    await open.close()
  }
})

test('whoever opens connections and says nothing keeps no probe out', async () => {
  const silent: Socket[] = []
  try {
    for (let opened = 0; opened < 100; opened++) {
      const socket = connect(Number(new URL(origin).port), '127.0.0.1').on('error', () => {})
      silent.push(socket)
      await once(socket, 'connect')
    }
    expect(await statusOf('/live')).toBe(200)
  } finally {
    for (const socket of silent) socket.destroy()
  }
})

/** `fetch` says the name that it connects to. */
function statusByName(host: string, path: string, port = new URL(origin).port): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, headers: { host } }, answer => {
      answer.resume()
      resolve(answer.statusCode ?? 0)
    })
    asked.on('error', reject)
    asked.end()
  })
}

async function statusOf(path: string, init?: RequestInit): Promise<number> {
  const answer = await fetch(`${origin}${path}`, init)
  await answer.text()
  return answer.status
}
