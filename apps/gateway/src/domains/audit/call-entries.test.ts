import { calls } from '@berth/contract/calls'
import { describe, expect, test } from 'vitest'
import type { CallDone } from '../../platform/http/call-done.ts'
import { entryOfCall } from './call-entries.ts'

const caller = { userId: 'u', sessionId: 's', emailVerified: true }
const done = (part: Partial<CallDone>): CallDone => {
  const call = callOf('instance.stop')
  const base = { call, caller, params: undefined, body: undefined, data: undefined, errorCode: null }
  return { ...base, address: '::1', userAgent: 'test', ...part }
}

/** The rule of the log, written out: a new call is noted unless it only looks, or is a guest’s. */
describe('[B12] of the contract’s calls by somebody who is signed in', () => {
  const notNoted = ['gpu_spec.list', 'instance.check-resource']
  test.each(calls.map(call => [call.operation, call] as const))('%s', (operation, call) => {
    const isNoted =
      operation === 'account.logout' ||
      (call.method !== 'GET' && call.audience !== 'guest' && !notNoted.includes(operation))
    expect(entryOfCall(done({ call })) !== null).toBe(isNoted)
    expect(entryOfCall(done({ call, caller: null }))).toBeNull()
  })
})

test.each([
  ['the path', { params: { id: 'i-1' }, body: { instance_id: 'i-2' }, data: { id: 'i-3' } }, 'i-1'],
  ['the body', { body: { instance_id: 'i-2' }, data: { instance_id: 'i-3' } }, 'i-2'],
  ['the answer', { body: { name: 'x' }, data: { instance_id: 'i-3' } }, 'i-3'],
  ['a service', { body: { provider: 'github', code: 'secret', state: 'secret' }, data: 'GitHub' }, 'github'],
  ['nothing', { body: { password: 'Secret-1', email: 'a@b.c' }, data: null }, ''],
  ['no id that is none of ours', { params: { id: 'Correct Horse 7!' } }, ''],
  ['no number', { data: { id: 7 } }, ''],
])('the target is what is named by %s', (_, part, target) => {
  expect(entryOfCall(done(part))).toMatchObject({ target })
})

function callOf(operation: string) {
  const call = calls.find(one => one.operation === operation)
  if (!call) throw new Error(`no call ${operation}`)
  return call
}
