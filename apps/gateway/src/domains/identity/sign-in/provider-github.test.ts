import { beginProviderSignIn } from '@berth/contract/account-sign-in'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { GithubPerson } from '../../../../test/github-server.ts'
import { names } from '../../../../test/identity-bench.ts'
import { createProviderBench, type ProviderBench } from './provider-fixture.ts'

const MONA: GithubPerson = {
  id: 583_231,
  login: 'mona',
  name: 'Mona Lisa',
  emails: [
    { email: 'private@example.com', primary: false, verified: true, visibility: null },
    { email: 'mona@example.com', primary: true, verified: true, visibility: 'private' },
  ],
}

let bench: ProviderBench
beforeAll(async () => {
  bench = await createProviderBench()
})
afterAll(() => bench.close())

test('GitHub’s verified primary address makes a verified account, found again by the number', async () => {
  const { account } = await signIn(MONA)
  expect(account).toMatchObject({
    email: 'mona@example.com',
    emailVerified: true,
    displayName: 'Mona Lisa',
    provider: 'github',
    properties: {
      oauth_GitHub_id: '583231',
      oauth_GitHub_username: 'mona',
      oauth_GitHub_email: 'mona@example.com',
    },
  })
  const renamed = await signIn({ ...MONA, login: 'lisa', name: null, emails: [] })
  expect(renamed.account.id).toBe(account.id)
})

test('a primary address that is not verified there is not verified here', async () => {
  const emails = [{ email: 'new@example.com', primary: true, verified: false, visibility: null }]
  const { account } = await signIn({ id: 2, login: 'hubot', name: null, emails })
  expect(account).toMatchObject({ email: 'new@example.com', emailVerified: false, displayName: 'hubot' })
})

test('without a primary address there is no account', async () => {
  const emails = [{ email: 'second@example.com', primary: false, verified: true, visibility: null }]
  expect((await attempt({ id: 3, login: 'nobody', name: null, emails })).code).toBe('oauth_email_missing')
})

test.each([
  ['a code that GitHub did not give', { code: 'made-up' }],
  ['a state that is not ours', { state: 'made-up' }],
  ['another browser', { browserKey: 'made-up' }],
])('%s opens nothing', async (_, change) => {
  bench.github.logIn(MONA)
  expect((await bench.enter({ ...(await bench.visit('github', '')), ...change })).code).toBe('oauth_failed')
})

test('an API that refuses its own token fails the sign-in', async () => {
  expect((await attempt(null)).code).toBe('oauth_failed')
})

test('the browser is sent with PKCE and without a secret', async () => {
  const body = { ...names, provider: 'github', method: 'signup' as const }
  const { data } = await bench.call(beginProviderSignIn, { body })
  const query = Object.fromEntries(new URL(data?.url ?? '').searchParams)
  expect(query).toMatchObject({ scope: 'read:user user:email', code_challenge_method: 'S256' })
  expect(JSON.stringify(query)).not.toContain('a-secret')
})

async function attempt(person: GithubPerson | null) {
  bench.github.logIn(person)
  return await bench.enter(await bench.visit('github', ''))
}

async function signIn(person: GithubPerson) {
  bench.github.logIn(person)
  return await bench.signIn('github', '')
}
