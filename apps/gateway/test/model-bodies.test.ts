import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { createApiKey } from '@berth/contract/api-keys'
import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import { generateImage } from '@berth/contract/models'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGateway, type TestGateway } from './start-gateway.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway({ bodyPace: { graceMs: 3_000, bytesPerSecondMin: 50_000_000 } })
})
afterAll(async () => {
  await gateway.stop()
})

const LENGTH = 50_000_000

/** Begins to send a long body, and sends no more of it. */
function begin(path: string, bearer: string) {
  const asking = request(gateway.origin + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${bearer}`,
      'content-type': 'application/json',
      'content-length': LENGTH,
    },
  })
  const body = Promise.withResolvers<string>()
  const status = new Promise<number | null>(resolve => {
    asking.once('response', response => {
      resolve(response.statusCode ?? 0)
      body.resolve(text(response))
    })
    asking.once('error', () => resolve(null))
  })
  asking.write('{')
  return {
    status,
    body: body.promise,
    send: (more: string) => asking.write(more),
    leave: () => asking.destroy(),
  }
}

test.each([
  ['a session', GATEWAY_PREFIX + generateImage.path],
  ['a key', '/v1/images/generations'],
])('[B10] of one customer’s long bodies only so many are read at a time: by %s', async (_, path) => {
  const customer = await gateway.signUp()
  const { key } = await gateway.data(createApiKey, { body: { name: 'x' } }, { token: customer.token })
  const bearer = path.startsWith('/v1') ? key : customer.token
  const three = [begin(path, bearer), begin(path, bearer), begin(path, bearer)]
  // There is room for two, whichever they are.
  expect(await Promise.race(three.map(({ status }) => status))).toBe(429)
  for (const { leave } of three) leave()
  // What has left gives its room back.
  await expect
    .poll(async () => {
      const next = begin(path, bearer)
      const late = new Promise<'reading'>(resolve => setTimeout(() => resolve('reading'), 500))
      const seen = await Promise.race([next.status, late])
      next.leave()
      return seen
    })
    .toBe('reading')
  const stranger = begin(path, 'nobody')
  expect(await stranger.status).toBe(401)
  stranger.leave()
})

test.each([
  ['a session', GATEWAY_PREFIX + generateImage.path, (said: { code?: string }) => said.code],
  ['a key', '/v1/images/generations', (said: { error?: { code: string } }) => said.error?.code],
])(
  '[B10] a long body that comes too slowly is given up, and its room is there again: by %s',
  async (_, path, codeOf) => {
    const customer = await gateway.signUp()
    const { key } = await gateway.data(createApiKey, { body: { name: 'x' } }, { token: customer.token })
    const bearer = path.startsWith('/v1') ? key : customer.token
    const slow = [begin(path, bearer), begin(path, bearer)]
    const drips = setInterval(() => {
      for (const { send } of slow) send(' ')
    }, 100)
    expect(await Promise.all(slow.map(({ status }) => status))).toEqual([408, 408])
    for (const { body } of slow) expect(codeOf(JSON.parse(await body))).toBe('body_too_slow')
    clearInterval(drips)
    // One whole body after them is read, though both had taken all the room.
    // On a busy computer a whole one may come too slowly as well.
    const whole = async () => {
      const { status } = await fetch(gateway.origin + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
        body: ' '.repeat(LENGTH),
      })
      return status
    }
    await expect.poll(whole).toSatisfy((status: number) => status === 400 || status === 413)
  },
)
