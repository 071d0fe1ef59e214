import { APPLICATION, getAccount, getApplication, login, loginBy, logout } from '@berth/contract/account'
import { confirmSignIn } from '@berth/contract/account-security'
import { beginProviderSignIn, link, unlink } from '@berth/contract/account-sign-in'
import { RECENT_SIGN_IN_MS } from '@berth/contract/limits'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type CasdoorServer, startCasdoorServer } from '../../../../test/casdoor-server.ts'
import {
  createIdentityBench,
  type IdentityBench,
  loginBody,
  names,
  PASSWORD,
} from '../../../../test/identity-bench.ts'
import { createCasdoorSource } from '../../../drivers/identity/casdoor/casdoor-source.ts'
import { systemClock } from '../../../platform/clock.ts'
import { systemIds } from '../../../platform/ids.ts'

let casdoor: CasdoorServer
let bench: IdentityBench
let count = 0
beforeAll(async () => {
  casdoor = await startCasdoorServer()
  const source = createCasdoorSource({ settings: casdoor.settings, clock: systemClock, ids: systemIds })
  bench = await createIdentityBench({ source })
})
afterAll(async () => {
  await bench.close()
  await casdoor.close()
})
beforeEach(() => {
  const item = (name: string, type: string, more = {}) => ({
    name,
    canSignIn: true,
    provider: { category: 'OAuth', type, displayName: name, clientId: `${name}-id`, scopes: '', ...more },
  })
  const customAuthUrl = 'https://login.acme.example/authorize?audience=1'
  casdoor.behaviour.application = {
    providers: [
      item('GitHub', 'GitHub'),
      item('acme', 'Custom', { customAuthUrl, scopes: 'openid+email', enablePkce: true }),
      item('chat', 'WeChat'),
    ],
  }
})

describe('services that Casdoor knows', () => {
  test('[R3.2] are listed where the gateway can send a browser there', async () => {
    const { data } = await bench.call(getApplication, { query: { id: `admin/${APPLICATION}` } })
    expect(data?.providers.map(({ name }) => name)).toEqual(['GitHub', 'acme'])
    expect((await begin('chat')).code).toBe('unknown_sign_in_method')
    expect((await begin('nothing')).code).toBe('unknown_sign_in_method')
  })

  test('are visited with a state of the gateway’s, and a challenge where the provider takes one', async () => {
    const github = new URL((await begin('GitHub')).data?.url ?? '')
    expect(github.origin + github.pathname).toBe('https://github.com/login/oauth/authorize')
    expect(Object.fromEntries(github.searchParams)).toEqual({
      client_id: 'GitHub-id',
      redirect_uri: 'http://127.0.0.1:8080/callback',
      scope: 'user:email read:user',
      response_type: 'code',
      state: expect.stringMatching(/^[\w-]{43}$/),
    })
    const acme = new URL((await begin('acme')).data?.url ?? '')
    expect(Object.fromEntries(acme.searchParams)).toMatchObject({
      audience: '1',
      scope: 'openid email',
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    })
  })

  test('[R7.1] open the account that Casdoor has or makes for them', async () => {
    const email = someAddress()
    const first = (await enter('GitHub', `s-${email}|${email}`)).data ?? ''
    expect((await whoIs(first)).data).toMatchObject({ email, emailVerified: true, owner: 'harbour' })
    const again = (await enter('GitHub', `s-${email}|${email}`)).data ?? ''
    expect((await whoIs(again)).data?.id).toBe((await whoIs(first)).data?.id)
  })

  test('send their verifier to Casdoor only where a challenge went along', async () => {
    for (const [provider, sent] of [
      ['GitHub', false],
      ['acme', true],
    ] as const) {
      const email = someAddress()
      await enter(provider, `s-${email}|${email}`)
      const body = JSON.parse(casdoor.seen.filter(({ path }) => path === 'login').at(-1)?.body ?? '{}')
      expect(typeof body.codeVerifier === 'string').toBe(sent)
      expect(body).toMatchObject({ state: 'harbour-console', redirectUri: 'http://127.0.0.1:8080/callback' })
    }
  })

  test('open nothing by a visit that was planted, used, or refused', async () => {
    const { data } = await begin('GitHub')
    const state = new URL(data?.url ?? '').searchParams.get('state') ?? ''
    const back = { ...returned('GitHub', 's|a@example.com'), state, browserKey: 'another' }
    expect((await bench.call(loginBy, { params: { method: 'provider' }, body: back })).code).toBe(
      'oauth_failed',
    )
    const own = { ...back, browserKey: data?.browserKey ?? '' }
    expect((await bench.call(loginBy, { params: { method: 'provider' }, body: own })).code).toBe(
      'oauth_failed',
    )
    expect((await enter('GitHub', 'bad')).code).toBe('oauth_failed')
    expect((await enter('GitHub', 'nobody|')).code).toBe('oauth_email_missing')
  })

  test('[R7.1] are linked to the account that began it, and unlinked', async () => {
    const user = casdoor.addUser({ email: someAddress() })
    const token = (await bench.call(login, { body: loginBody(user.email) })).data ?? ''
    bench.advance(RECENT_SIGN_IN_MS + 1)
    expect((await begin('GitHub', token)).code).toBe('recent_sign_in_required')
    expect((await bench.call(confirmSignIn, { body: { password: PASSWORD } }, { token })).code).toBeNull()
    expect((await join('GitHub', 'subject-1', token)).data).toBe('GitHub')
    expect((await whoIs(token)).data?.properties).toMatchObject({ oauth_GitHub_id: 'subject-1' })
    expect((await whoIs((await enter('GitHub', 'subject-1|')).data ?? '')).data?.id).toBe(user.id)

    expect((await join('acme', 'subject-9', token)).data).toBe('acme')
    expect((await whoIs(token)).data?.properties).toMatchObject({ oauth_acme_id: 'subject-9' })

    const other = casdoor.addUser({ email: someAddress() })
    const others = (await bench.call(login, { body: loginBody(other.email) })).data ?? ''
    expect((await join('GitHub', 'subject-1', others)).code).toBe('oauth_linked_elsewhere')

    const away = () => bench.call(unlink, { body: { providerType: 'GitHub' } }, { token })
    expect(await away()).toMatchObject({ code: null, data: null })
    expect((await away()).code).toBe('oauth_not_linked')
  })

  test('stay linked while they are the only way in', async () => {
    const email = someAddress()
    const token = (await enter('GitHub', `s-${email}|${email}`)).data ?? ''
    const answer = await bench.call(unlink, { body: { providerType: 'GitHub' } }, { token })
    expect(answer.code).toBe('oauth_last_way_in')
  })

  test('are linked by nobody whose token at Casdoor is over: logging in anew helps', async () => {
    const user = casdoor.addUser({ email: someAddress() })
    const token = (await bench.call(login, { body: loginBody(user.email) })).data ?? ''
    casdoor.tokens.clear()
    expect((await join('GitHub', 'subject-2', token)).code).toBe('login_expired')
    await bench.call(logout, {}, { token })
  })
})

function someAddress(): string {
  count += 1
  return `visitor-${count}@example.com`
}

const whoIs = (token: string) => bench.call(getAccount, {}, { token })

function begin(provider: string, token?: string) {
  const method = token === undefined ? ('signin' as const) : ('link' as const)
  const from = { origin: 'http://127.0.0.1:8080', ...(token !== undefined && { token }) }
  return bench.call(beginProviderSignIn, { body: { ...names, provider, method } }, from)
}

function returned(provider: string, code: string) {
  return { ...names, type: 'token' as const, provider, code }
}

async function visit(provider: string, token?: string) {
  const { data } = await begin(provider, token)
  const state = new URL(data?.url ?? '').searchParams.get('state') ?? ''
  return { state, browserKey: data?.browserKey ?? '', redirectUri: data?.redirectUri ?? '' }
}

/** Signs in as somebody who came back from a service with a code. */
async function enter(provider: string, code: string) {
  const body = { ...returned(provider, code), ...(await visit(provider)) }
  return await bench.call(loginBy, { params: { method: 'provider' }, body })
}

/** Links what a service gave to the account of a token. */
async function join(provider: string, code: string, token: string) {
  const body = { ...names, provider, code, ...(await visit(provider, token)) }
  return await bench.call(link, { body }, { token })
}
