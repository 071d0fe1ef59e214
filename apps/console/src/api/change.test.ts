import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { endSession, logout } from '@berth/contract/account'
import { removeSshKey } from '@berth/contract/ssh-keys'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { ApiError } from './api-error.ts'
import { registerCache, registerReader } from './cache-lifecycle.ts'
import { sendChange } from './change.ts'
import { startApi } from './client.ts'
import { createIdempotencyKeys } from './idempotency-keys.ts'

const ID = '01890000-0000-7000-8000-000000000000'

let server: Server
let answer: (response: ServerResponse) => void
let toasted: string[] = []
let reread: string[] = []
let readsAnswer: () => Promise<void> = async () => {}

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume()
    answer(response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  startApi({
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    readToken: () => 'the-token',
    readLanguage: () => 'en',
    keys: createIdempotencyKeys(new Map() as never),
    textOf: code => code,
    onFailure: (error: ApiError, { silent }) => void (silent || toasted.push(error.code)),
  })
  registerCache({
    rest: () => {},
    clear: () => {},
    resume: () => {},
    invalidate: async operation => {
      reread.push(operation)
      await readsAnswer()
    },
  })
})
afterEach(() => {
  toasted = []
  reread = []
  readsAnswer = async () => {}
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

test('what a change made old is read again, the audit log with it', async () => {
  answer = done
  await sendChange(removeSshKey, { params: { id: ID } })
  expect(reread).toEqual(['ssh_key.list', 'account.audit-log'])
})

test('it is done when these reads are, or before them where its caller wants that', async () => {
  answer = done
  const reads = Promise.withResolvers<void>()
  readsAnswer = () => reads.promise
  await sendChange(removeSshKey, { params: { id: ID } }, { behind: true })
  let isDone = false
  const waiting = sendChange(removeSshKey, { params: { id: ID } }).then(() => {
    isDone = true
  })
  await expect.poll(() => reread.length).toBe(4)
  expect(isDone).toBe(false)
  reads.resolve()
  await waiting
})

test('a read that fails does not make the change fail, and one that is kept elsewhere is read too', async () => {
  answer = done
  const looked: string[] = []
  registerReader('account.sessions', async () => {
    looked.push('sessions')
    throw new Error('the network is away')
  })
  readsAnswer = () => Promise.reject(new Error('the network is away'))
  await sendChange(endSession, { params: { id: ID } })
  expect(looked).toEqual(['sessions'])
})

test('nothing is read again after the end of a session, whose reads would all be refused', async () => {
  answer = done
  await sendChange(logout, {})
  expect(reread).toEqual([])
})

test('[R8.2] a change that was refused reads nothing again, and is toasted unless its caller shows it', async () => {
  answer = response => {
    response.writeHead(404)
    response.end(JSON.stringify({ status: 'error', code: 'not_found', msg: 'Gone.', data: null }))
  }
  const send = (silent: boolean) => sendChange(removeSshKey, { params: { id: ID } }, { silent })
  await expect(send(true)).rejects.toMatchObject({ code: 'not_found' })
  await expect(send(false)).rejects.toMatchObject({ code: 'not_found' })
  expect({ reread, toasted }).toEqual({ reread: [], toasted: ['not_found'] })
})

function done(response: ServerResponse): void {
  response.end(JSON.stringify({ status: 'ok', msg: '', data: null }))
}
