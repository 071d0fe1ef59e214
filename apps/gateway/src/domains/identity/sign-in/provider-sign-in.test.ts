import { getApplication, loginBy, signup } from '@berth/contract/account'
import { beginProviderSignIn } from '@berth/contract/account-sign-in'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually, loginBody, names, secretIn, signUpBody } from '../../../../test/identity-bench.ts'
import { passService } from '../../../../test/oidc-server.ts'
import { linkedIdentity, providerVisit, userAccount } from '../tables.ts'
import { createProviderBench, type ProviderBench } from './provider-fixture.ts'
import { PROVIDER_VISIT_MS } from './provider-visits.ts'

let bench: ProviderBench
beforeAll(async () => {
  bench = await createProviderBench()
})
afterAll(() => bench.close())

describe('a first sign-in through another service', () => {
  test('[R3.2] is offered by the application, in the spelling of Casdoor and without a secret', async () => {
    const { data } = await bench.call(getApplication, { query: { id: 'admin/berth-console' } })
    expect(data?.providers.map(({ name }) => name)).toEqual(['acme', 'other', 'github'])
    expect(data?.providers[0]).toMatchObject({
      name: 'acme',
      canSignUp: true,
      canSignIn: true,
      canUnlink: true,
      prompted: false,
      rule: 'None',
      provider: {
        category: 'OAuth',
        type: 'Custom',
        displayName: 'Acme',
        clientId: 'berth',
        clientSecret: '***',
      },
    })
    expect(data?.providers[2]).toMatchObject({ provider: { type: 'GitHub', displayName: 'GitHub' } })
    expect(JSON.stringify(data)).not.toContain('a-secret-of-the-tests')
  })

  test('makes a verified account with a wallet, without a password and without a mail', async () => {
    bench.oidc.people.set('u-1', { email: 'Anna@Example.org', email_verified: true, name: 'Anna Lind' })
    const { account } = await bench.signIn('acme', 'u-1', { language: 'ja', referralCode: 'friend-7' })
    expect(account).toMatchObject({
      email: 'anna@example.org',
      name: 'anna@example.org',
      displayName: 'Anna Lind',
      emailVerified: true,
      provider: 'acme',
      balance: 0,
      properties: { oauth_acme_id: 'u-1', oauth_acme_username: '', oauth_acme_email: 'Anna@Example.org' },
    })
    const [row] = await rowsOf('anna@example.org')
    expect(row).toMatchObject({ passwordHash: null, language: 'ja', referralCode: 'friend-7' })
    // A marker after it in the queue: when its mail is there, the other would be too.
    await bench.call(signup, { body: signUpBody('marker@example.org') })
    await eventually('the marker', async () => (await bench.mailsTo('marker@example.org')).length > 0)
    expect(await bench.mailsTo('anna@example.org')).toEqual([])
  })

  test('leaves the address unverified where the service has no proof of it, and mails the activation link', async () => {
    for (const [login, verified] of [
      ['u-2', { email_verified: false }],
      ['u-3', {}],
    ] as const) {
      const email = `${login}@example.org`
      bench.oidc.people.set(login, { email, ...verified })
      const { account } = await bench.signIn('acme', login)
      expect(account).toMatchObject({ email, emailVerified: false })
      const [mail] = await eventually('the mail', async () => {
        const mails = await bench.mailsTo(email)
        return mails.length > 0 && mails
      })
      expect(secretIn(mail?.text ?? '')).not.toBe('')
    }
  })

  test('makes nothing where the service gives no address, or none that is one', async () => {
    const before = await bench.database.db.$count(userAccount)
    for (const email of [undefined, 'nobody', 'a@b@c']) {
      bench.oidc.people.set('u-4', email === undefined ? {} : { email, email_verified: true })
      expect((await bench.enter(await bench.visit('acme', 'u-4'))).code).toBe('oauth_email_missing')
    }
    expect(await bench.database.db.$count(userAccount)).toBe(before)
  })

  test.each([
    ['their name', { name: ' Ada ', preferred_username: 'ada' }, 'Ada', 'names-0'],
    ['their login where the name has emoji', { name: 'Ada 🚀', preferred_username: 'ada' }, 'ada', 'names-1'],
    ['what stands before the @ where there is nothing else', {}, 'names-2', 'names-2'],
  ])('calls them by %s', async (_, claims, displayName, login) => {
    bench.oidc.people.set(login, { email: `${login}@example.org`, email_verified: true, ...claims })
    expect((await bench.signIn('acme', login)).account.displayName).toBe(displayName)
  })
})

describe('signing in again', () => {
  test('opens the same account, also when the address there is another one by now', async () => {
    const first = await bench.signIn('acme', 'again@example.org')
    bench.oidc.people.set('again@example.org', { email: 'elsewhere@example.org', email_verified: true })
    const second = await bench.signIn('acme', 'again@example.org')
    expect(second.account).toMatchObject({ id: first.account.id, email: 'again@example.org' })
    expect(second.token).not.toBe(first.token)
    expect(await rowsOf('elsewhere@example.org')).toEqual([])
  })

  test('by the method in the address as well', async () => {
    await bench.signIn('acme', 'by-method@example.org')
    const body = { ...names, type: 'token' as const, ...(await bench.visit('acme', 'by-method@example.org')) }
    expect((await bench.call(loginBy, { params: { method: 'provider' }, body })).data).toMatch(/^ey/)
  })

  test('the same id at two services is two people', async () => {
    await bench.signIn('acme', 'same@example.org')
    expect((await bench.enter(await bench.visit('other', 'same@example.org'))).code).toBe('oauth_email_taken')
  })

  test('two first sign-ins at once make one account', async () => {
    const backs = [
      await bench.visit('acme', 'twice@example.org'),
      await bench.visit('acme', 'twice@example.org'),
    ]
    const answers = await Promise.all(backs.map(back => bench.enter(back)))
    expect(answers.map(({ code }) => code)).toEqual([null, null])
    expect(await rowsOf('twice@example.org')).toHaveLength(1)
  })

  test('[R4.10] is refused where a new password is needed first', async () => {
    await bench.signIn('acme', 'expired@example.org')
    await change('expired@example.org', { needUpdatePassword: true })
    expect((await bench.enter(await bench.visit('acme', 'expired@example.org'))).code).toBe(
      'password_expired',
    )
  })

  test('is refused where the account was deleted', async () => {
    await bench.signIn('acme', 'deleted@example.org')
    await change('deleted@example.org', { deletedAt: bench.clock.now() })
    expect((await bench.enter(await bench.visit('acme', 'deleted@example.org'))).code).toBe('oauth_failed')
  })
})

describe('an account is never taken over by an address', () => {
  test.each([
    ['not verified at the service', false, false],
    ['verified at the service', true, false],
    ['verified at both', true, true],
  ])('%s', async (_, atService, here) => {
    const email = `owner-${atService}-${here}@example.org`
    await bench.call(signup, { body: signUpBody(email) })
    if (here) await change(email, { emailVerifiedAt: bench.clock.now() })
    const [before] = await rowsOf(email)
    bench.oidc.people.set(email, { email: email.toUpperCase(), email_verified: atService })
    const answer = await bench.enter(await bench.visit('acme', email))
    expect(answer).toMatchObject({ code: 'oauth_email_taken', data: null })
    expect(await rowsOf(email)).toEqual([before])
    expect(await linksOf(before?.id ?? '')).toEqual([])
  })
})

describe('a visit', () => {
  test('has state, nonce and a challenge of its own each time, which are stored as hashes or not at all', async () => {
    const visits = [await bench.begin('acme'), await bench.begin('acme')]
    const queries = visits.map(({ url }) => new URL(url).searchParams)
    for (const name of ['state', 'nonce', 'code_challenge']) {
      const values = queries.map(query => query.get(name) ?? '')
      for (const value of values) expect(value).toMatch(/^[\w-]{43}$/)
      expect(new Set(values).size, name).toBe(2)
    }
    expect(queries[0]?.get('code_challenge_method')).toBe('S256')
    expect(queries[0]?.get('redirect_uri')).toBe(visits[0]?.redirectUri)
    const stored = JSON.stringify(await bench.database.db.select().from(providerVisit))
    expect(stored).not.toContain(queries[0]?.get('state'))
    expect(stored).not.toContain(visits[0]?.browserKey)
  })

  test('comes back to the address that customers use, or to the name of this computer that was typed', async () => {
    const from = (origin: string) =>
      bench.call(beginProviderSignIn, { body: { ...names, provider: 'acme', method: 'signin' } }, { origin })
    expect((await from('http://localhost:4000')).data?.redirectUri).toBe('http://localhost:4000/callback')
    expect((await from('http://127.0.0.1:4000')).data?.redirectUri).toBe('http://127.0.0.1:4000/callback')
  })

  test('is good once, one after the other and all at once', async () => {
    const back = await bench.visit('acme', 'replay@example.org')
    expect((await bench.enter(back)).code).toBeNull()
    expect(await bench.enter(back)).toMatchObject({ code: 'oauth_failed', data: null })
    const next = await bench.visit('acme', 'replay@example.org')
    const answers = await Promise.all(Array.from({ length: 8 }, () => bench.enter(next)))
    expect(answers.filter(({ code }) => code === null)).toHaveLength(1)
  })

  test('of somebody else’s browser opens nothing, and is over after the try', async () => {
    const planted = await bench.visit('acme', 'attacker@example.org')
    const victim = await bench.begin('acme')
    expect((await bench.enter({ ...planted, browserKey: victim.browserKey })).code).toBe('oauth_failed')
    expect((await bench.enter(planted)).code).toBe('oauth_failed')
    expect(await rowsOf('attacker@example.org')).toEqual([])
  })

  test.each(['provider', 'code', 'state', 'browserKey'] as const)('needs its %s', async part => {
    const { [part]: _, ...rest } = await bench.visit('acme', 'parts@example.org')
    const answer = await bench.call(loginBy, {
      params: { method: 'provider' },
      body: { ...names, type: 'token', ...rest },
    })
    expect(answer).toMatchObject({ code: 'validation_failed', fields: [`${part}: required`] })
  })

  test.each([
    ['its nonce was exchanged', 'nonce'],
    ['its challenge was exchanged', 'code_challenge'],
  ])('fails where %s on the way', async (_, parameter) => {
    const { url } = await bench.begin('acme')
    const foreign = new URL(url).searchParams.get(parameter) ?? ''
    const back = await bench.visit('acme', 'exchanged@example.org', {
      change: own => {
        const changed = new URL(own)
        changed.searchParams.set(parameter, foreign)
        return changed.href
      },
    })
    expect((await bench.enter(back)).code).toBe('oauth_failed')
    expect(await rowsOf('exchanged@example.org')).toEqual([])
  })

  test('fails with a code of another visit', async () => {
    const [mine, theirs] = [
      await bench.visit('acme', 'm@example.org'),
      await bench.visit('acme', 't@example.org'),
    ]
    expect((await bench.enter({ ...mine, code: theirs.code })).code).toBe('oauth_failed')
  })

  test.each([
    ['another state', { state: 'made-up' }],
    ['another provider', { provider: 'other' }],
    ['a provider that there is not', { provider: 'nobody' }],
    ['another address to come back to', { redirectUri: 'http://127.0.0.1:1/callback' }],
    ['another issuer', { iss: 'https://evil.example' }],
    ['another purpose', { method: 'signup' as const }],
  ])('fails with %s', async (_, change) => {
    const { method = 'signin', ...other } = { method: 'signin' as 'signin' | 'signup', ...change }
    const back = await bench.visit('acme', 'other@example.org')
    expect((await bench.enter({ ...back, ...other }, { method })).code).toBe('oauth_failed')
    expect(await rowsOf('other@example.org')).toEqual([])
  })

  test('is over after ten minutes, and then forgotten', async () => {
    const back = await bench.visit('acme', 'late@example.org')
    bench.advance(PROVIDER_VISIT_MS)
    expect((await bench.enter(back)).code).toBe('oauth_failed')
    await bench.begin('acme')
    bench.advance(1)
    await bench.identity.purge()
    expect(await bench.database.db.$count(providerVisit)).toBe(1)
  })

  test('that somebody turned back from is told as such by the service itself', async () => {
    const { url } = await bench.begin('acme')
    const back = await passService(url, { login: 'x', decline: true })
    expect(back.searchParams.get('error')).toBe('access_denied')
  })

  test('to a service that nobody knows, or for another application, is refused', async () => {
    const begin = (body: object) =>
      bench.call(beginProviderSignIn, { body: { ...names, provider: 'acme', method: 'signin', ...body } })
    expect((await begin({ provider: 'nobody' })).code).toBe('unknown_sign_in_method')
    expect((await begin({ application: 'x' })).fields).toEqual(['application: not_allowed'])
    expect((await begin({ method: 'steal' })).fields).toEqual(['method: not_allowed'])
  })
})

test('[R1.8] a name that was typed goes before a provider, as in Casdoor', async () => {
  const back = await bench.visit('acme', 'first@example.org')
  const body = { ...loginBody('nobody@example.org', 'Wrong-Harbour-1'), ...back }
  expect((await bench.call(loginBy, { params: { method: 'password' }, body })).code).toBe('login_tries_left')
  expect((await bench.enter(back)).code).toBeNull()
})

function rowsOf(email: string) {
  return bench.database.db.select().from(userAccount).where(eq(userAccount.email, email))
}

function linksOf(userId: string) {
  return bench.database.db.select().from(linkedIdentity).where(eq(linkedIdentity.userId, userId))
}

async function change(email: string, values: Partial<typeof userAccount.$inferInsert>): Promise<void> {
  await bench.database.db.update(userAccount).set(values).where(eq(userAccount.email, email))
}
