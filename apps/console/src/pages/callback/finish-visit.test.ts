import { expect, test } from 'vitest'
import type { ProviderVisit } from '../../app/session/provider-visit.ts'
import { finishVisit, readAnswer } from './finish-visit.ts'

const VISIT: ProviderVisit = {
  provider: 'acme',
  method: 'signin',
  state: 'ours',
  browserKey: 'key',
  redirectUri: 'https://berth.example/callback',
  returnTo: '/payments',
}

test('the address is read as the other service writes it', () => {
  expect(readAnswer('?code=c&state=s&iss=https%3A%2F%2Fa.example')).toEqual({
    code: 'c',
    state: 's',
    iss: 'https://a.example',
    error: '',
  })
  expect(readAnswer('')).toEqual({ code: '', state: '', iss: '', error: '' })
})

test.each([
  ['a tab that began nothing', '?code=c&state=ours', null],
  ['a code that was planted', '?code=c&state=theirs', VISIT],
  ['an address without anything', '', VISIT],
])('%s is a lost visit, and nothing is asked of the gateway', async (_, search, visit) => {
  expect(await finishVisit(readAnswer(search), visit)).toEqual({ failure: 'lost', message: null, visit })
})

test.each([
  ['somebody who turned back is told so', 'access_denied', 'oauth_denied'],
  ['anything else has failed', 'server_error', 'oauth_failed'],
])('[R8.1] %s', async (_, error, failure) => {
  const answer = readAnswer(`?error=${error}&state=ours`)
  expect(await finishVisit(answer, VISIT)).toEqual({ failure, message: null, visit: VISIT })
})
