import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startApi } from '../../api/client.ts'
import { beginProvider, takeProviderVisit } from './provider-visit.ts'

const ANSWER = {
  url: 'https://login.acme.example/auth?state=ours&nonce=n',
  browserKey: 'only-here',
  redirectUri: 'https://berth.example/callback',
}
const kept = new Map<string, string>()
const left: string[] = []

beforeEach(() => {
  kept.clear()
  left.length = 0
  vi.stubGlobal('sessionStorage', {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => kept.set(name, value),
    removeItem: (name: string) => kept.delete(name),
  })
  vi.stubGlobal('location', { assign: (url: string) => left.push(url) })
  vi.stubGlobal('fetch', async () => Response.json({ status: 'ok', msg: '', data: ANSWER }))
  startApi({
    origin: '',
    readToken: () => null,
    readLanguage: () => 'en',
    keys: { take: () => '', settle: () => {} },
    textOf: code => code,
    onFailure: () => {},
  })
})
afterEach(() => vi.unstubAllGlobals())

test('what began is remembered in this tab, once, before the browser leaves', async () => {
  await beginProvider('acme', 'link', '/settings')
  expect(left).toEqual([ANSWER.url])
  expect(takeProviderVisit()).toEqual({
    provider: 'acme',
    method: 'link',
    state: 'ours',
    browserKey: 'only-here',
    redirectUri: ANSWER.redirectUri,
    returnTo: '/settings',
  })
  expect(takeProviderVisit()).toBeNull()
})

test.each(['', 'null', '{', '{"provider":"acme"}', '[]', '"x"'])('%j in its place is nothing', text => {
  kept.set('berth.provider-visit', text)
  expect(takeProviderVisit()).toBeNull()
})
