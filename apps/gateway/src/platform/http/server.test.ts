import { once } from 'node:events'
import { connect } from 'node:net'
import { topupBody } from '@berth/contract/billing'
import { defineCall } from '@berth/contract/call'
import { by, newPassword, page, username } from '@berth/contract/fields'
import { BODY_BYTES_MAX } from '@berth/contract/limits'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { startTestServer, type TestServer } from '../../../test/test-server.ts'
import { ApiError } from './api-error.ts'
import { type Route, route } from './handler.ts'

let database: TestDatabase
let server: TestServer
beforeAll(async () => {
  database = await createTestDatabase()
  server = await startTestServer(database.db, routes())
})
afterAll(async () => {
  await server.close(1_000)
  await database.drop()
})

describe('[R7.8] the envelope', () => {
  test('of a call that works', async () => {
    const answer = await ask('GET', '/api/hello?name=Ann')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(answer.body).toEqual({ status: 'ok', msg: '', data: { greeting: 'Hello Ann' } })
  })

  test('of a call that fails', async () => {
    const answer = await ask('GET', '/api/fail/gpu_sold_out')
    expect(answer.status).toBe(409)
    expect(answer.body).toEqual({
      status: 'error',
      msg: 'GPU is sold out, please try again later.',
      code: 'gpu_sold_out',
      data: null,
      request_id: expect.stringMatching(/.{8,}/),
    })
    expect(answer.headers.get('x-request-id')).toBe(answer.body.request_id)
  })

  test("of Casdoor's calls has seven keys and HTTP 200 for their own errors", async () => {
    expect((await ask('POST', '/api/account/echo', { body: { name: 'Ann' } })).body).toEqual({
      status: 'ok',
      msg: '',
      sub: '',
      name: '',
      data: 'Ann',
      data2: null,
      data3: null,
    })
    const refused = await ask('POST', '/api/account/echo', { body: { name: 'nobody' } })
    expect(refused.status).toBe(200)
    expect(refused.body).toMatchObject({
      status: 'error',
      code: 'user_not_found',
      msg: 'User is not found, please login again',
      sub: '',
      name: '',
      data: null,
      data2: null,
      data3: null,
    })
  })

  test('of the account call says whose account it is', async () => {
    const { body } = await ask('GET', '/api/account/get-account', { token: 'anna' })
    expect(body).toMatchObject({ status: 'ok', sub: 'id-1', name: 'ann@example.org' })
  })

  test('an unexpected failure says nothing of its cause', async () => {
    const answer = await ask('GET', '/api/fail/boom')
    expect(answer.status).toBe(500)
    expect(answer.body).toMatchObject({ code: 'internal', msg: 'Internal server error' })
    expect(JSON.stringify(answer.body)).not.toContain('kaboom')
  })
})

describe('[R7.8] what is no call', () => {
  test('an unknown path', async () => {
    expect(await ask('GET', '/api/nothing')).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect(await ask('POST', '/api/nothing', { body: {} })).toMatchObject({ status: 404 })
  })

  test('a known path by another method', async () => {
    const answer = await ask('DELETE', '/api/hello')
    expect(answer).toMatchObject({ status: 405, body: { status: 'error', code: 'method_not_allowed' } })
  })

  test('a path that no resource can have', async () => {
    expect(await ask('GET', '/api/thing/not%20a%20slug')).toMatchObject({ status: 404 })
    expect(await ask('GET', '/api/thing/%ff')).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })
})

describe('[R7.8] bodies', () => {
  test.each([['{"name":'], ['{name: 1}'], ['not json']])('that are not JSON: %s', async text => {
    const answer = await ask('POST', '/api/echo', { text })
    expect(answer).toMatchObject({ status: 400, body: { code: 'malformed_json' } })
  })

  test('that are not said to be JSON', async () => {
    const answer = await ask('POST', '/api/echo', {
      text: 'name=Ann',
      type: 'application/x-www-form-urlencoded',
    })
    expect(answer).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } })
  })

  test('that are longer than their call takes: most take little', async () => {
    const text = JSON.stringify({ name: 'x'.repeat(BODY_BYTES_MAX) })
    const answer = await ask('POST', '/api/echo', { text })
    expect(answer.status).toBe(413)
    expect(answer.body).toMatchObject({
      code: 'body_too_large',
      msg: 'The request is larger than 16 kB.',
    })
    expect(await ask('POST', '/api/echo-long', { text })).toMatchObject({ status: 200 })
  })

  test('that name a field twice, so that two readers may each take another', async () => {
    const json = await ask('POST', '/api/echo', {
      text: '{"name":"Ann","tags":[{"key":"a","k\\u0065y":"b"}]}',
    })
    expect(json).toMatchObject({
      status: 400,
      body: {
        code: 'duplicate_key',
        fields: [{ path: 'key', rule: 'duplicate', msg: 'This is there twice' }],
      },
    })
    const form = { text: 'name=Ann&name=Ben', type: 'application/x-www-form-urlencoded' }
    expect(await ask('POST', '/api/form', form)).toMatchObject({
      status: 400,
      body: { code: 'duplicate_key', fields: [{ path: 'name' }] },
    })
    expect(await ask('POST', '/api/form', { ...form, text: 'name=Ann' })).toMatchObject({ status: 200 })
  })

  test.each([
    ['levels', '['.repeat(15_000)],
    ['values', '1,'.repeat(7_000)],
  ])('with more %s than any call has', async (_what, text) => {
    const answer = await ask('POST', '/api/echo', { text: `[${text}` })
    expect(answer).toMatchObject({ status: 400, body: { fields: [{ path: '', rule: 'too_large' }] } })
  })

  test('that would change the prototype', async () => {
    const answer = await ask('POST', '/api/echo', { text: '{"name":"a","__proto__":{"x":1}}' })
    expect(answer).toMatchObject({ status: 400, body: { code: 'malformed_json' } })
  })

  test.each([['[]'], ['"text"'], ['5']])('that are no object: %s', async text => {
    const answer = await ask('POST', '/api/echo', { text })
    expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
  })
})

describe('fields', () => {
  test('[R5.11] all that is wrong is that fields are missing', async () => {
    for (const text of ['', '{}', 'null']) {
      const answer = await ask('POST', '/api/echo', { text })
      expect(answer.status).toBe(400)
      expect(answer.body).toMatchObject({
        code: 'required_fields',
        msg: 'Please fill in all required fields',
        fields: [{ path: 'name', rule: 'required', msg: 'This is needed' }],
      })
    }
  })

  test('of the wrong type, too long, nested', async () => {
    const answer = await ask('POST', '/api/echo', {
      body: { name: 5, tags: [{ key: 'x'.repeat(11) }, { key: 'ok' }, { key: true }] },
    })
    expect(answer.body).toMatchObject({
      code: 'validation_failed',
      fields: [
        { path: 'name', rule: 'wrong_type', msg: 'This has the wrong type' },
        { path: 'tags.0.key', rule: 'too_long', msg: 'This is too long' },
        { path: 'tags.2.key', rule: 'wrong_type' },
      ],
    })
  })

  test('that are not known are refused, at any depth', async () => {
    const answer = await ask('POST', '/api/echo', {
      body: { name: 'Ann', nmae: 1, tags: [{ key: 'a', x: 1 }] },
    })
    expect(answer.body).toMatchObject({
      code: 'validation_failed',
      fields: [
        { path: 'nmae', rule: 'unknown_field' },
        { path: 'tags.0.x', rule: 'unknown_field' },
      ],
    })
  })

  test("that are not known are ignored by Casdoor's calls", async () => {
    const answer = await ask('POST', '/api/account/echo', { body: { name: 'Ann', extra: 1 } })
    expect(answer.body).toMatchObject({ status: 'ok', data: 'Ann' })
  })

  test('with a zero character, which the database cannot store', async () => {
    const answer = await ask('POST', '/api/echo', { body: { name: 'a\0b' } })
    expect(answer.body).toMatchObject({ fields: [{ path: 'name', rule: 'not_allowed' }] })
    expect((await ask('GET', '/api/hello?name=a%00b')).body).toMatchObject({ code: 'validation_failed' })
    // Of several rules that a field breaks, one is told.
    const { body } = await ask('POST', '/api/echo', {
      body: { name: 'Ann', tags: [{ key: 'x\0'.repeat(11) }] },
    })
    expect(body).toMatchObject({ fields: [{ path: 'tags.0.key', rule: 'not_allowed' }] })
    expect(body.fields).toHaveLength(1)
  })

  test('of a query', async () => {
    const answer = await ask('GET', '/api/list?page=0&page_size=x')
    expect(answer.body).toMatchObject({
      fields: [
        { path: 'page', rule: 'too_small' },
        { path: 'page_size', rule: 'not_a_number' },
      ],
    })
    expect((await ask('GET', '/api/list?page=1&page=2')).body).toMatchObject({ code: 'validation_failed' })
    expect((await ask('GET', '/api/list')).body).toMatchObject({ data: { page: 1, page_size: 20 } })
  })

  test.each([[0], [1.5], [-100], ['100'], [null], [100_000_000]])(
    '[R5.8] an amount of %j is an invalid amount, and the answer says which are taken',
    async amount => {
      const body = { amount, currency: 'USD', platform_name: 'testcard', source: '4242' }
      const answer = await ask('POST', '/api/amount', { body })
      expect(answer).toMatchObject({
        status: 400,
        body: {
          code: 'invalid_amount',
          msg: 'Invalid amount',
          fields: [{ path: 'amount', msg: 'Invalid amount: enter from 1.00 to 10,000.00' }],
        },
      })
    },
  )

  test("[R5.1] [R5.2] rules of the contract's fields are named and told in words", async () => {
    const answer = await ask('POST', '/api/signup', { body: { name: 'Ann 🚀', password: 'short' } })
    expect(answer.body).toMatchObject({
      code: 'validation_failed',
      fields: [
        { path: 'name', rule: 'username_emoji', msg: 'A username cannot contain emoji' },
        { path: 'password', rule: 'password' },
      ],
    })
  })
})

describe('[R7.7] language', () => {
  test.each([
    ['zh-CN,zh;q=0.9,en;q=0.8', '请先登录'],
    ['ja', 'ログイン'],
    ['ko-KR', '로그인'],
    ['fr, de', 'Please log in first'],
    ['', 'Please log in first'],
  ])('of messages follows %j', async (language, text) => {
    const answer = await ask('GET', '/api/mine', { language })
    expect(answer.body.msg).toContain(text)
  })

  test('of field rules and of values too', async () => {
    const english = await ask('GET', '/api/fail/instance_state')
    expect(english.body.msg).toBe('This cannot be done while the instance is pulling its image.')
    const german = await ask('POST', '/api/echo', { body: {}, language: 'zh' })
    expect(german.body.fields[0].msg).not.toBe('This is needed')
  })
})

describe('[R7.7] [R6.1] [R6.3] the token', () => {
  test('is needed where the call is not for guests', async () => {
    expect(await ask('GET', '/api/mine')).toMatchObject({ status: 401, body: { code: 'login_required' } })
    expect(await ask('GET', '/api/account/get-account')).toMatchObject({
      status: 401,
      body: { code: 'login_required', data3: null },
    })
  })

  test('is refused when it is not good', async () => {
    for (const authorization of ['Bearer stale', 'Bearer ', 'Basic YTpi', 'nonsense']) {
      const answer = await ask('GET', '/api/mine', { headers: { authorization } })
      expect(answer, authorization).toMatchObject({ status: 401, body: { code: 'login_expired' } })
    }
  })

  test('says who calls', async () => {
    expect((await ask('GET', '/api/mine', { token: 'anna' })).body.data.userId).toMatch(/a$/)
    expect((await ask('GET', '/api/mine', { token: 'ben' })).body.data.userId).toMatch(/b$/)
  })

  test('that is not good is ignored where guests may call', async () => {
    expect((await ask('GET', '/api/hello?name=x', { token: 'stale' })).body.status).toBe('ok')
  })

  test('[R4.2] of an unverified customer is refused where the address must be verified', async () => {
    const answer = await ask('POST', '/api/verified', { token: 'unverified', body: {} })
    expect(answer).toMatchObject({ status: 403, body: { code: 'account_not_activated' } })
    expect((await ask('POST', '/api/verified', { token: 'anna', body: {} })).status).toBe(200)
  })

  test('of whoever signed in a while ago is refused where the call wants more than a session', async () => {
    const answer = await ask('POST', '/api/lasting', { token: 'idle', body: {} })
    expect(answer).toMatchObject({ status: 403, body: { code: 'recent_sign_in_required' } })
    expect((await ask('POST', '/api/lasting', { token: 'anna', body: {} })).status).toBe(200)
    expect((await ask('POST', '/api/verified', { token: 'idle', body: {} })).status).toBe(200)
    expect(await headOnly('/api/lasting', 1_000_000)).toContain('"login_required"')
  })

  test('is looked at before anything of the body is read', async () => {
    const answer = await headOnly('/api/verified', 1_000_000)
    expect(answer).toMatch(/^HTTP\/1.1 401 /)
    expect(answer).toContain('"login_required"')
    expect((await ask('POST', '/api/verified', { text: '{{' })).body.code).toBe('login_required')
  })
})

test('what the database cannot answer is unavailable, and may be tried again', async () => {
  const answer = await ask('GET', '/api/fail/database')
  expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } })
  expect(answer.headers.get('retry-after')).toBe('1')
})

test('an answer that breaks the contract is a failure here, not in front of a customer', async () => {
  expect(await ask('GET', '/api/fail/contract')).toMatchObject({ status: 500 })
})

test('answers of calls are neither cached nor framed', async () => {
  const { headers } = await ask('GET', '/api/hello?name=x')
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  expect(headers.get('x-content-type-options')).toBe('nosniff')
})

test('health says that the database answers', async () => {
  const answer = await fetch(`${server.origin}/gateway/health`)
  expect(await answer.json()).toEqual({ status: 'ok' })
})

test('metrics are not on the port of customers', async () => {
  expect((await fetch(`${server.origin}/gateway/metrics`)).status).toBe(404)
})

interface AskOptions {
  token?: string
  language?: string
  body?: unknown
  text?: string
  type?: string
  headers?: Record<string, string>
}

async function ask(method: string, path: string, options: AskOptions = {}) {
  const text = options.text ?? (options.body === undefined ? undefined : JSON.stringify(options.body))
  const response = await fetch(`${server.origin}/gateway${path}`, {
    method,
    headers: {
      ...(text !== undefined && { 'content-type': options.type ?? 'application/json' }),
      ...(options.token && { authorization: `Bearer ${options.token}` }),
      ...(options.language !== undefined && { 'accept-language': options.language }),
      ...options.headers,
    },
    ...(text !== undefined && { body: text }),
  })
  return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) }
}

/** Sends the head of a request whose body never comes, and gives what is answered to that. */
async function headOnly(path: string, bodyBytes: number): Promise<string> {
  const socket = connect(server.port, '127.0.0.1')
  const lines = ['Host: localhost', 'Content-Type: application/json', `Content-Length: ${bodyBytes}`]
  socket.write(`POST /gateway${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
  const [answer] = await once(socket, 'data')
  socket.destroy()
  return String(answer)
}

function routes(): Route[] {
  const shared = { summary: 'A test.', readOnly: true, data: z.any() } as const
  const tag = z.object({ key: z.string(by('required')).max(10, by('too_long')) })
  const named = z.object({
    name: z.string(by('required')).min(1, by('required')),
    tags: z.array(tag).optional(),
  })
  const call = <const Options extends object>(operation: string, options: Options) => ({
    operation: `test.${operation}`,
    audience: 'guest' as const,
    ...shared,
    ...options,
  })
  return [
    route(
      defineCall(call('hello', { method: 'GET', path: '/api/hello', query: z.object({ name: z.string() }) })),
      async ({ query }) => ({ greeting: `Hello ${query.name}` }),
    ),
    route(
      defineCall(call('list', { method: 'GET', path: '/api/list', query: z.object(page) })),
      async r => r.query,
    ),
    route(defineCall(call('echo', { method: 'POST', path: '/api/echo', body: named })), async r => r.body),
    route(
      defineCall(call('form', { method: 'POST', path: '/api/form', body: named, form: true })),
      async r => r.body,
    ),
    route(
      defineCall(
        call('echo-long', { method: 'POST', path: '/api/echo-long', body: named, bodyBytesMax: 20_000 }),
      ),
      async r => r.body,
    ),
    route(
      defineCall(call('amount', { method: 'POST', path: '/api/amount', body: topupBody })),
      async r => r.body,
    ),
    route(
      defineCall(
        call('signup', {
          method: 'POST',
          path: '/api/signup',
          body: z.object({ name: username, password: newPassword }),
        }),
      ),
      async r => r.body,
    ),
    route(
      defineCall(
        call('echo-casdoor', { method: 'POST', path: '/api/account/echo', body: named, envelope: 'casdoor' }),
      ),
      async ({ body }) => {
        if (body.name === 'nobody') throw new ApiError('user_not_found')
        return body.name
      },
    ),
    route(
      defineCall({
        ...shared,
        operation: 'account.get-account',
        method: 'GET',
        path: '/api/account/get-account',
        audience: 'user',
        envelope: 'casdoor',
      }),
      async () => ({ id: 'id-1', name: 'ann@example.org' }),
    ),
    route(
      defineCall({ ...shared, operation: 'test.mine', method: 'GET', path: '/api/mine', audience: 'user' }),
      async ({ caller }) => caller,
    ),
    route(
      defineCall({
        ...shared,
        operation: 'test.verified',
        method: 'POST',
        path: '/api/verified',
        audience: 'verified',
        body: z.object({}),
      }),
      async () => null,
    ),
    route(
      defineCall({
        ...shared,
        operation: 'test.lasting',
        method: 'POST',
        path: '/api/lasting',
        audience: 'user',
        proof: 'recent',
        body: z.object({}),
      }),
      async () => null,
    ),
    route(
      defineCall(
        call('thing', {
          method: 'GET',
          path: '/api/thing/{id}',
          params: z.object({ id: z.string().regex(/^[a-z]+$/) }),
        }),
      ),
      async r => r.params,
    ),
    route(
      defineCall({
        ...shared,
        operation: 'test.fail',
        method: 'GET',
        path: '/api/fail/{how}',
        audience: 'guest',
        params: z.object({ how: z.string() }),
        data: z.null(),
      }),
      async ({ params }) => fail(params.how),
    ),
  ]
}

function fail(how: string): null {
  if (how === 'boom') throw new Error('kaboom')
  if (how === 'database')
    throw new Error('query', { cause: Object.assign(new Error('x'), { code: '57P01' }) })
  if (how === 'contract') return 'not null' as never
  if (how === 'instance_state') throw new ApiError('instance_state', { values: { status: 'pulling' } })
  throw new ApiError('gpu_sold_out')
}
