import { calls } from '@berth/contract/calls'
import { expect, test } from 'vitest'
import type { CallDone } from '../../platform/http/call-done.ts'
import { entryOfCall } from './call-entries.ts'

const caller = { userId: 'u', sessionId: 's', emailVerified: true, provenAt: new Date(0) }
const done = (operation: string, part: Partial<CallDone> = {}): CallDone => {
  const base = { caller, params: undefined, body: undefined, data: undefined, errorCode: null }
  return { call: callOf(operation), ...base, address: '::1', userAgent: 'test', ...part }
}

test('[B12] every call that changes something of who is signed in is noted, and no other', () => {
  const noted = calls.filter(({ operation }) => entryOfCall(done(operation)) !== null)
  // A guest's call is noted here where the token that came along is what it is about, and the pieces of a file with the
  // plan of its upload. Calls of models have a log of their own, and a check-in stands among the credits.
  const expected = calls.filter(
    call =>
      !call.readOnly &&
      (call.audience !== 'guest' || call === callOf('account.logout')) &&
      call !== callOf('file.upload') &&
      call !== callOf('check_in.take') &&
      !call.operation.startsWith('model.'),
  )
  expect(noted.map(call => call.operation)).toEqual(expected.map(call => call.operation))
})

test.each(calls.map(call => call.operation))('[B12] %s by nobody who is known is not noted', operation => {
  expect(entryOfCall(done(operation, { caller: null }))).toBeNull()
})

test.each([
  ['the path', 'instance.stop', { params: { id: 'i-1' }, data: { instance_id: 'i-3' } }, 'i-1'],
  ['the body', 'instance.start', { body: { instance_id: 'i-2' }, data: { instance_id: 'i-3' } }, 'i-2'],
  ['the answer', 'instance.deploy', { body: { name: 'x' }, data: { instance_id: 'i-3' } }, 'i-3'],
  ['a service', 'account.link', { body: { provider: 'github', code: 'c', state: 's' }, data: 'x' }, 'github'],
  ['the first place that holds one', 'account.unlink', { body: { providerType: 'GitHub' } }, 'GitHub'],
  ['a refused call, which has no answer', 'instance.deploy', { body: { name: 'x' } }, ''],
  [
    'nothing',
    'account.set-password',
    { body: { oldPassword: 'Secret-1', newPassword: 'S' }, data: null },
    '',
  ],
  ['no id that is none of ours', 'instance.stop', { params: { id: 'Correct Horse 7!' } }, ''],
  ['no number', 'ssh_key.add', { data: { id: 7 } }, ''],
])('[B12] the target is what is named by %s', (_, operation, part, target) => {
  expect(entryOfCall(done(operation, part))).toMatchObject({ target })
})

function callOf(operation: string) {
  const call = calls.find(one => one.operation === operation)
  if (!call) throw new Error(`no call ${operation}`)
  return call
}
