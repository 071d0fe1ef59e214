import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getAccount, login, updateUser } from '@berth/contract/account'
import { getBalance, getReceipt, listTransactions, topup } from '@berth/contract/billing'
import { CALL_TIMEOUT_MS } from '@berth/contract/limits'
import { allRegions, listRegions } from '@berth/contract/regions'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { ApiError } from './api-error.ts'
import { createIdempotencyKeys } from './idempotency-keys.ts'
import { addressOf, createRequester, type RequestDeps } from './request.ts'

/** For calls that are never answered; whatever is answered has the console's own times, which a slow machine keeps. */
const SHORT_MS = 150

let server: Server
let origin: string
let answer: (request: Seen, response: ServerResponse) => void
let seen: Seen[] = []
let failures: ApiError[] = []

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const entry = await see(request)
    seen.push(entry)
    answer(entry, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(() => {
  seen = []
  failures = []
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

test('[R7.7] a call carries the Bearer token and the language', async () => {
  answer = (_, response) => reply(response, 200, ok([]))
  await makeRequester().request(allRegions, {})
  expect(seen[0]).toMatchObject({ method: 'GET', url: '/gateway/api/region/all' })
  expect(seen[0]?.headers.authorization).toBe('Bearer the-token')
  expect(seen[0]?.headers['accept-language']).toBe('ja')
})

test('[R7.1] a call that the seed sends as a form is sent as one', async () => {
  answer = (_, response) => reply(response, 200, ok('Affected'))
  const input = {
    query: { id: 'berth/a@b.c', columns: 'display_name' },
    body: { displayName: 'Ann & Bo' },
  } as const
  await makeRequester().request(updateUser, input)
  expect(seen[0]?.headers['content-type']).toBe('application/x-www-form-urlencoded')
  expect(seen[0]?.body).toBe('displayName=Ann+%26+Bo')
})

test('[R7.7] a guest sends no Authorization header at all', async () => {
  answer = (_, response) => reply(response, 200, ok([]))
  await makeRequester({ readToken: () => null }).request(allRegions, {})
  expect(seen[0]?.headers).not.toHaveProperty('authorization')
})

test('[R7.8] the data comes out of its envelope', async () => {
  const regions = [{ code: 'us-west', name: 'us-west', enabled: true }]
  answer = (_, response) => reply(response, 200, ok(regions))
  expect(await makeRequester().request(allRegions, {})).toEqual(regions)
})

test('[R7.8] an envelope that says error fails with its code and its words, also with status 200', async () => {
  answer = (_, response) =>
    reply(response, 200, {
      status: 'error',
      code: 'login_failed',
      msg: 'なし',
      data: null,
      request_id: 'r-1',
    })
  const error = await failed(makeRequester().request(login, { body: credentials }))
  expect(error).toMatchObject({ code: 'login_failed', message: 'なし', status: 200, requestId: 'r-1' })
})

test('field errors reach the form', async () => {
  const fields = [{ path: 'amount', rule: 'invalid_amount', msg: 'Invalid amount' }]
  answer = (_, response) =>
    reply(response, 400, { status: 'error', code: 'validation_failed', msg: 'x', data: null, fields })
  expect((await failed(makeRequester().request(topup, { body: payment }))).fields).toEqual(fields)
})

test.each([
  [401, 'login_expired'],
  [403, 'forbidden'],
  [404, 'not_found'],
  [500, 'internal'],
  [502, 'request_failed'],
  [418, 'request_failed'],
])('[R8.1] status %i without an envelope of ours is %s, in our words', async (status, code) => {
  answer = (_, response) => {
    response.writeHead(status, { 'Content-Type': 'text/html' })
    response.end('<h1>A proxy says so</h1>')
  }
  const error = await failed(makeRequester().request(getBalance, {}))
  expect(error).toMatchObject({ code, status, message: `${code} ${status}` })
})

test('[R4.10] a password that must be changed is said by a flag or by words, and is one error', async () => {
  const says = [
    { ...ok('a-token'), data3: true },
    { ...ok('RequiredUpdatePassword'), data3: true },
    { status: 'error', msg: 'You need update password before you go on', data: null },
  ]
  for (const body of says) {
    answer = (_, response) => reply(response, 200, body)
    const error = await failed(makeRequester().request(login, { body: credentials }))
    expect(error).toMatchObject({ code: 'password_expired', message: 'password_expired 200' })
  }
})

test('[R8.1] a code that this console does not know counts as its status', async () => {
  answer = (_, response) =>
    reply(response, 404, { status: 'error', code: 'from_the_future', msg: 'Gone', data: null })
  expect(await failed(makeRequester().request(getBalance, {}))).toMatchObject({
    code: 'not_found',
    message: 'Gone',
  })
})

test('[R8.1] no connection is said as such', async () => {
  answer = (_, response) => response.destroy()
  expect(await failed(makeRequester().request(getBalance, {}))).toMatchObject({ code: 'network', status: 0 })
})

test('[R9.1] a call that is not answered in the time of its class is given up', async () => {
  answer = () => {}
  expect(await failed(makeRequester(hasty).request(getBalance, {}))).toMatchObject({
    code: 'timed_out',
    status: 0,
  })
})

test('[R9.1] each class has its own time: a payment is still waited for when a balance is given up', async () => {
  let release = () => {}
  answer = (request, response) => {
    if (request.url.includes('topup')) release = () => reply(response, 200, ok({ status: 'settled' }))
  }
  const { request } = makeRequester(hasty)
  const paid = request(topup, { body: payment })
  await until(() => seen.length === 1)
  expect((await failed(request(getBalance, {}))).code).toBe('timed_out')
  release()
  expect(await paid).toEqual({ status: 'settled' })
})

test('[R8.1] an answer that breaks off counts as none, whatever its status was', async () => {
  answer = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '500' })
    response.write('{"status":"ok",')
    setTimeout(() => response.destroy(), 20)
  }
  expect(await failed(makeRequester().request(getBalance, {}))).toMatchObject({ code: 'network', status: 0 })
})

test('[R9.1] an answer that stops half way is given up too', async () => {
  answer = (_, response) =>
    response.writeHead(200, { 'Content-Type': 'application/json' }).write('{"status":')
  expect(await failed(makeRequester(hasty).request(getBalance, {}))).toMatchObject({ code: 'timed_out' })
})

test('[R9.1] a call that may be retried is tried three times in all, then fails once', async () => {
  answer = (_, response) =>
    reply(response, 503, { status: 'error', code: 'unavailable', msg: 'x', data: null })
  await failed(makeRequester().request(allRegions, {}))
  expect(seen).toHaveLength(3)
  expect(failures).toHaveLength(1)
})

test('[R9.1] tries are a second apart', async () => {
  const at: number[] = []
  answer = (_, response) => {
    at.push(performance.now())
    if (at.length === 1) response.destroy()
    else reply(response, 200, ok([]))
  }
  const { retryDelayMs: _, ...asInTheConsole } = makeDeps()
  await createRequester(asInTheConsole).request(allRegions, {})
  // A slow machine makes it longer; nothing but a shorter pause makes it less.
  expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThan(950)
})

test('[R9.1] a retry that passes is no failure', async () => {
  answer = (_, response) => (seen.length < 3 ? response.destroy() : reply(response, 200, ok([])))
  expect(await makeRequester().request(allRegions, {})).toEqual([])
  expect(failures).toEqual([])
})

test('[R9.1] what will not change by itself is not retried', async () => {
  answer = (_, response) => reply(response, 404, { status: 'error', code: 'not_found', msg: 'x', data: null })
  await failed(makeRequester().request(allRegions, {}))
  expect(seen).toHaveLength(1)
})

test('[R9.1] a call without the retry mark is sent once', async () => {
  answer = (_, response) => response.destroy()
  await failed(makeRequester().request(topup, { body: payment }))
  expect(seen).toHaveLength(1)
})

test('[B3] a spending call keeps its key while its outcome is open, and turns it over when it is known', async () => {
  const { request } = makeRequester()
  const keyOf = (index: number) => seen[index]?.headers['idempotency-key']
  answer = (_, response) => response.destroy()
  await failed(request(topup, { body: payment }))
  answer = (_, response) => reply(response, 500, { status: 'error', code: 'internal', msg: 'x', data: null })
  await failed(request(topup, { body: payment }))
  answer = (_, response) =>
    reply(response, 409, { status: 'error', code: 'idempotency_in_progress', msg: 'x', data: null })
  await failed(request(topup, { body: payment }))
  answer = (_, response) => response.writeHead(200).end('<p>a page of something in between</p>')
  await failed(request(topup, { body: payment }))
  answer = (_, response) =>
    reply(response, 402, { status: 'error', code: 'card_declined', msg: 'x', data: null })
  await failed(request(topup, { body: payment }))
  expect([keyOf(1), keyOf(2), keyOf(3), keyOf(4)]).toEqual(Array(4).fill(keyOf(0)))

  answer = (_, response) => reply(response, 200, ok({}))
  await request(topup, { body: payment })
  await request(topup, { body: payment })
  expect(new Set([keyOf(4), keyOf(5), keyOf(6)]).size).toBe(3)
})

test.each([200, 401])(
  '[R8.1] `please sign out first`, which Casdoor says in words alone with %i, has its code',
  async status => {
    answer = (_, response) =>
      reply(response, status, { status: 'error', msg: 'Please sign out first', data: null })
    expect((await failed(makeRequester().request(getAccount, {}))).code).toBe('sign_out_first')
  },
)

test('[B3] two clicks at once carry one key', async () => {
  answer = (_, response) => reply(response, 200, ok({}))
  const { request } = makeRequester()
  await Promise.all([request(topup, { body: payment }), request(topup, { body: payment })])
  expect(seen[0]?.headers['idempotency-key']).toBe(seen[1]?.headers['idempotency-key'])
})

test('[B3] a call that spends nothing carries no key', async () => {
  answer = (_, response) => reply(response, 200, ok({}))
  await makeRequester().request(getAccount, {})
  expect(seen[0]?.headers).not.toHaveProperty('idempotency-key')
})

test('[R4.11] a change of page cancels what is under way, but for what the shell needs', async () => {
  let release = () => {}
  answer = (request, response) => {
    if (request.url.includes('balance')) release = () => reply(response, 200, ok({ currency: 'USD' }))
  }
  const { request, abortForNavigation } = makeRequester()
  const page = failed(request(listTransactions, {}))
  const shell = request(getBalance, {})
  await until(() => seen.length === 2)
  abortForNavigation()
  expect((await page).code).toBe('cancelled')
  release()
  expect(await shell).toEqual({ currency: 'USD' })
  expect(failures).toEqual([])
})

test('[R8.1] a caller that gives up is told so, and nobody else is', async () => {
  answer = () => {}
  const abort = new AbortController()
  const call = failed(makeRequester().request(getBalance, {}, { signal: abort.signal }))
  await until(() => seen.length === 1)
  abort.abort()
  expect((await call).code).toBe('cancelled')
  expect(failures).toEqual([])
})

test('cancelling between two tries ends the waiting', async () => {
  answer = (_, response) => response.destroy()
  const abort = new AbortController()
  const requester = makeRequester({ retryDelayMs: 60_000 })
  const call = failed(requester.request(allRegions, {}, { signal: abort.signal }))
  await until(() => seen.length === 1)
  abort.abort()
  expect((await call).code).toBe('cancelled')
})

test('paths and queries are escaped, and what is undefined is left out', () => {
  expect(addressOf(getReceipt, { params: { id: 'a/b ?' } })).toBe('/gateway/api/bill/transaction/a%2Fb%20%3F')
  expect(addressOf(listRegions, { query: { page: 2, name: 'ü&', code: undefined } })).toBe(
    '/gateway/api/region/list?page=2&name=%C3%BC%26',
  )
})

const credentials = {
  application: 'a',
  organization: 'o',
  type: 'token',
  username: 'mira@example.org',
  password: 'x',
} as const
const payment = {
  amount: 2_500,
  currency: 'USD',
  platform_name: 'testcard',
  source: '4242424242424242',
} as const
const hasty = { timeouts: { ...CALL_TIMEOUT_MS, fast: SHORT_MS } }

interface Seen {
  method: string
  url: string
  headers: IncomingMessage['headers']
  body: string
}

function makeRequester(change: Partial<RequestDeps> = {}) {
  return createRequester({ ...makeDeps(), ...change })
}

function makeDeps(): RequestDeps {
  const storage = new Map<string, string>()
  return {
    origin,
    readToken: () => 'the-token',
    readLanguage: () => 'ja',
    keys: createIdempotencyKeys({
      getItem: name => storage.get(name) ?? null,
      setItem: (name, value) => void storage.set(name, value),
      removeItem: name => void storage.delete(name),
    }),
    textOf: (code, { status }) => `${code} ${status}`,
    onFailure: error => void failures.push(error),
    retryDelayMs: 1,
  }
}

const ok = (data: unknown) => ({ status: 'ok', msg: '', data })

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(body))
}

async function see(request: IncomingMessage): Promise<Seen> {
  let body = ''
  for await (const chunk of request) body += chunk
  return { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body }
}

async function failed(call: Promise<unknown>): Promise<ApiError> {
  try {
    await call
  } catch (error) {
    return error as ApiError
  }
  throw new Error('The call was expected to fail.')
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 5_000
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('Waited too long.')
    await new Promise(resolve => setImmediate(resolve))
  }
}
