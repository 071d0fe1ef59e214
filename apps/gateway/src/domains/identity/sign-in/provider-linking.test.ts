import { login, resetPassword, sendResetPasswordEmail, signup } from '@berth/contract/account'
import { deleteAccount } from '@berth/contract/account-security'
import { beginProviderSignIn, linkProperties, unlink } from '@berth/contract/account-sign-in'
import { LANGUAGES, RECENT_SIGN_IN_MS } from '@berth/contract/limits'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  eventually,
  loginBody,
  names,
  PASSWORD,
  secretIn,
  signUpBody,
} from '../../../../test/identity-bench.ts'
import { closeCustomer } from '../../customers/customers.ts'
import { SIGN_IN_METHOD_TEXTS } from '../mails/sign-in-method-mail.ts'
import { linkedIdentity, userAccount } from '../tables.ts'
import { createProviderBench, type ProviderBench } from './provider-fixture.ts'

let bench: ProviderBench
let count = 0
beforeAll(async () => {
  bench = await createProviderBench()
})
afterAll(() => bench.close())

describe('linking', () => {
  test('opens the account from then on, shows in it, and is mailed to its owner', async () => {
    const { token, email, id } = await someone()
    const service = newLogin()
    bench.oidc.people.set(service, { email: 'work@example.com', preferred_username: 'ada' })
    expect(await linkTo('acme', token, service)).toMatchObject({ data: 'acme', code: null })
    expect((await bench.account(token))?.properties).toEqual({
      oauth_acme_id: service,
      oauth_acme_username: 'ada',
      oauth_acme_email: 'work@example.com',
    })
    expect((await bench.signIn('acme', service)).account).toMatchObject({ id, email, provider: '' })
    const mail = await mailAbout(email, 'was linked')
    expect(mail.subject).toBe('Acme was linked to your Berth account')
    expect(mail.text).toContain('http://127.0.0.1:8080/settings')
    expect(await bench.mailsTo('work@example.com')).toEqual([])
  })

  test('what is linked already changes nothing', async () => {
    const { token } = await someone()
    const service = newLogin()
    expect((await linkTo('acme', token, service)).code).toBeNull()
    expect((await linkTo('acme', token, service)).code).toBeNull()
  })

  test('takes no identity of another account', async () => {
    const service = newLogin()
    const owner = await bench.signIn('acme', `${service}@example.org`)
    const { token } = await someone()
    expect((await linkTo('acme', token, `${service}@example.org`)).code).toBe('oauth_linked_elsewhere')
    expect((await bench.account(token))?.properties).toEqual({})
    expect((await bench.signIn('acme', `${service}@example.org`)).account.id).toBe(owner.account.id)
  })

  test('takes one identity of each service', async () => {
    const { token } = await someone()
    const first = newLogin()
    await linkTo('acme', token, first)
    expect((await linkTo('acme', token, newLogin())).code).toBe('oauth_already_linked')
    expect((await bench.account(token))?.properties.oauth_acme_id).toBe(first)
  })

  test('is for the one who began it: another session, and signing in, get nothing from it', async () => {
    const mine = await someone()
    const theirs = await someone()
    const service = newLogin()
    const begun = () => bench.visit('acme', service, { method: 'link', token: mine.token })
    expect((await bench.linkBack(await begun(), theirs.token)).code).toBe('oauth_failed')
    expect((await bench.enter(await begun())).code).toBe('oauth_failed')
    // A visit that was planted: begun for signing in, handed to somebody's link call.
    expect((await bench.linkBack(await bench.visit('acme', service), mine.token)).code).toBe('oauth_failed')
    for (const { token } of [mine, theirs]) expect((await bench.account(token))?.properties).toEqual({})
  })

  test('[R1.7] comes too late where the account was closed meanwhile, and links nothing', async () => {
    const { token, id } = await someone()
    const service = newLogin()
    const back = await bench.visit('acme', service, { method: 'link', token })
    await bench.database.db.transaction(tx => closeCustomer(tx, { userId: id, at: bench.clock.now() }))
    expect((await bench.linkBack(back, token)).code).toBe('login_expired')
    expect((await bench.account(token))?.properties).toEqual({})
  })

  test('needs somebody who has signed in of late, from the beginning', async () => {
    const body = { ...names, provider: 'acme', method: 'link' as const }
    expect((await bench.call(beginProviderSignIn, { body })).code).toBe('login_required')
    const { token, email } = await someone()
    bench.advance(RECENT_SIGN_IN_MS + 1)
    expect((await bench.call(beginProviderSignIn, { body }, { token })).code).toBe('recent_sign_in_required')
    await bench.database.db
      .update(userAccount)
      .set({ needUpdatePassword: true })
      .where(eq(userAccount.email, email))
    bench.advance(60_000)
    expect((await bench.call(beginProviderSignIn, { body }, { token })).code).toBe('password_expired')
  })
})

describe('unlinking', () => {
  test('closes that way in, and is mailed to the owner', async () => {
    const { token, email, id } = await someone()
    const service = `${newLogin()}@example.org`
    await linkTo('acme', token, service)
    expect(await cut(token, { providerType: 'Custom', providerName: 'acme', user: { id } })).toMatchObject({
      data: null,
      code: null,
    })
    expect((await bench.account(token))?.properties).toEqual({})
    await mailAbout(email, 'was unlinked')
    // The identity is nobody's now: it makes an account of its own.
    expect((await bench.signIn('acme', service)).account.id).not.toBe(id)
  })

  test('the only way in is refused, until there is another', async () => {
    const service = `${newLogin()}@example.org`
    const { token, account } = await bench.signIn('acme', service)
    const acme = { providerType: 'Custom', providerName: 'acme' }
    expect((await cut(token, acme)).code).toBe('oauth_last_way_in')
    await linkTo('other', token, newLogin())
    expect((await cut(token, acme)).code).toBeNull()
    expect((await cut(token, { providerType: 'Custom', providerName: 'other' })).code).toBe(
      'oauth_last_way_in',
    )
    expect((await bench.account(token))?.id).toBe(account.id)
  })

  test('two at once leave one way in', async () => {
    const { token } = await bench.signIn('acme', `${newLogin()}@example.org`)
    await linkTo('other', token, newLogin())
    const answers = await Promise.all(
      ['acme', 'other'].map(providerName => cut(token, { providerType: 'Custom', providerName })),
    )
    expect(answers.map(({ code }) => code).sort()).toEqual([null, 'oauth_last_way_in'].sort())
  })

  test('takes the one of that type that is linked, where none is named', async () => {
    const { token } = await someone()
    await linkTo('other', token, newLogin())
    expect((await cut(token, { providerType: 'GitHub' })).code).toBe('oauth_not_linked')
    expect((await cut(token, { providerType: 'Custom', providerName: 'acme' })).code).toBe('oauth_not_linked')
    expect((await cut(token, { providerType: 'Custom' })).code).toBeNull()
    expect((await cut(token, { providerType: 'Custom' })).code).toBe('oauth_not_linked')
  })

  test('[R6.4] somebody else’s account is not found', async () => {
    const mine = await someone()
    const theirs = await someone()
    await linkTo('acme', theirs.token, newLogin())
    for (const id of [theirs.id, 'nobody']) {
      expect(await cut(mine.token, { providerType: 'Custom', user: { id } })).toMatchObject({
        code: 'not_found',
      })
    }
    expect((await bench.account(theirs.token))?.properties.oauth_acme_id).toBeDefined()
  })
})

describe('a password that is set by mail', () => {
  test('ends the way in of whoever made the account with an address that was not theirs', async () => {
    const [service, email] = [newLogin(), `${newLogin()}@example.org`]
    bench.oidc.people.set(service, { email, email_verified: false })
    await bench.signIn('acme', service)
    await setPasswordByMail(email)
    expect((await bench.enter(await bench.visit('acme', service))).code).toBe('oauth_email_taken')
    const { data: token } = await bench.call(login, { body: loginBody(email) })
    expect((await bench.account(token ?? ''))?.properties).toEqual({})
  })

  test('leaves what was linked when the address was proven', async () => {
    const email = `${newLogin()}@example.org`
    const { account } = await bench.signIn('acme', email)
    await setPasswordByMail(email)
    expect((await bench.signIn('acme', email)).account.id).toBe(account.id)
  })
})

describe('while somebody signs in through a service', () => {
  test('unlinking it, as a reset does, leaves no session', async () => {
    const service = `${newLogin()}@example.org`
    const { account } = await bench.signIn('acme', service)
    const back = await bench.visit('acme', service)
    const { db } = bench.database
    const entering = await db.transaction(async tx => {
      await tx.select().from(userAccount).where(eq(userAccount.id, account.id)).for('update')
      const under = bench.enter(back)
      await eventually('the sign-in waits for the account', isSomebodyWaiting)
      await tx.delete(linkedIdentity).where(eq(linkedIdentity.userId, account.id))
      return { under }
    })
    expect(await entering.under).toMatchObject({ code: 'oauth_failed', data: null })
  })

  test('deleting the account leaves nothing linked', async () => {
    for (let round = 0; round < 5; round++) {
      const { token, email, id } = await someone()
      const back = await bench.visit('acme', newLogin(), { method: 'link', token })
      const body = { email, password: PASSWORD }
      const [removed] = await Promise.all([
        bench.call(deleteAccount, { body }, { token }),
        bench.linkBack(back, token),
      ])
      expect(removed.code).toBeNull()
      expect(await bench.database.db.$count(linkedIdentity, eq(linkedIdentity.userId, id))).toBe(0)
    }
  })
})

describe('the mail about a way in', () => {
  test('goes to nobody whose address is not proven', async () => {
    const email = `${newLogin()}@example.com`
    await bench.call(signup, { body: signUpBody(email) })
    const { data: token } = await bench.call(login, { body: loginBody(email, PASSWORD) })
    expect((await linkTo('acme', token ?? '', newLogin())).code).toBeNull()
    // A marker after it in the queue: when its mail is there, the other would be too.
    const marker = await someone()
    await linkTo('acme', marker.token, newLogin())
    await mailAbout(marker.email, 'was linked')
    expect((await bench.mailsTo(email)).filter(({ subject }) => subject.includes('linked'))).toEqual([])
  })

  const values = { brand: 'Berth', service: 'Acme', link: 'https://berth.example/settings' }
  const scripts = { en: /please/, zh: /您/, ja: /[ぁ-ん]/, ko: /[가-힣]/ }

  test.each(LANGUAGES)('[R1.9] is whole in %s', language => {
    const { linked, unlinked } = SIGN_IN_METHOD_TEXTS
    const texts = [linked[language], unlinked[language]]
    expect(new Set(texts.map(text => text.subject(values))).size).toBe(2)
    for (const text of texts) {
      expect(text.subject(values)).toMatch(/Acme.*Berth|Berth.*Acme/)
      expect(text.body(values)).toHaveLength(5)
      expect(text.body(values)).toContain(values.link)
      expect(text.body(values).join(' ')).toMatch(scripts[language])
    }
  })
})

test('the keys of properties follow the type, or the name where Casdoor has no type for it', () => {
  expect(linkProperties({ name: 'github', provider: { type: 'GitHub' } }).id).toBe('oauth_GitHub_id')
  expect(linkProperties({ name: 'acme', provider: { type: 'Custom' } }).id).toBe('oauth_acme_id')
})

function newLogin(): string {
  count += 1
  return `login-${count}`
}

async function isSomebodyWaiting(): Promise<boolean> {
  const { rows } = await bench.database.db.execute(
    sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows.length > 0
}

/** A customer with a password and a proven address, signed in. */
async function someone(): Promise<{ token: string; email: string; id: string }> {
  const email = `${newLogin()}@example.com`
  await bench.call(signup, { body: signUpBody(email) })
  await bench.database.db
    .update(userAccount)
    .set({ emailVerifiedAt: bench.clock.now() })
    .where(eq(userAccount.email, email))
  const { data: token } = await bench.call(login, { body: loginBody(email, PASSWORD) })
  return { token: token ?? '', email, id: (await bench.account(token ?? ''))?.id ?? '' }
}

async function linkTo(provider: string, token: string, service: string) {
  return await bench.linkBack(await bench.visit(provider, service, { method: 'link', token }), token)
}

function cut(token: string, body: { providerType: string; providerName?: string; user?: { id: string } }) {
  return bench.call(unlink, { body }, { token })
}

async function mailAbout(email: string, words: string) {
  return await eventually(`a mail to ${email} that says ${words}`, async () =>
    (await bench.mailsTo(email)).find(({ subject }) => subject.includes(words)),
  )
}

async function setPasswordByMail(email: string): Promise<void> {
  await bench.call(sendResetPasswordEmail, { body: { ...names, email } })
  const mail = await mailAbout(email, 'password')
  const body = { ...names, token: secretIn(mail.text), password: PASSWORD }
  expect((await bench.call(resetPassword, { body })).code).toBeNull()
}
