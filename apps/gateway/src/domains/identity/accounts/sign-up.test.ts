import { getAccount, login, signup } from '@berth/contract/account'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createIdentityBench,
  eventually,
  type IdentityBench,
  loginBody,
  PASSWORD,
  secretIn,
  signUpBody,
} from '../../../../test/identity-bench.ts'
import { userAccount } from '../tables.ts'

let bench: IdentityBench
beforeAll(async () => {
  bench = await createIdentityBench({ realPasswordCost: true })
})
afterAll(() => bench.close())

describe('signing up', () => {
  test('[R7.1] [R1.8] answers organization/email, stores argon2id, opens a wallet and mails a link', async () => {
    const answer = await bench.call(signup, {
      body: signUpBody(' Ada@Example.COM ', { referralCode: 'friend-1', language: 'ko' }),
    })
    expect(answer.data).toBe('berth/ada@example.com')
    const [row] = await bench.database.db
      .select()
      .from(userAccount)
      .where(eq(userAccount.email, 'ada@example.com'))
    expect(row).toMatchObject({
      displayName: 'Ada',
      referralCode: 'friend-1',
      language: 'ko',
      emailVerifiedAt: null,
    })
    expect(row?.passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(await bench.billing.balanceCents(row?.id ?? '')).toBe(0)
    const mails = await eventually('the activation mail', async () => {
      const found = await bench.mailsTo('ada@example.com')
      return found.length > 0 && found
    })
    expect(mails).toHaveLength(1)
    expect(mails[0]?.text).toContain('http://127.0.0.1:8080/activty?token=')
    expect(mails[0]?.text).toContain('회원 가입')
  })

  test('[R3.1] [R4.1] the fetched account has all fields, and the token that was sent', async () => {
    await bench.call(signup, { body: signUpBody('fields@example.com') })
    const token = (await bench.call(login, { body: loginBody('fields@example.com') })).data ?? ''
    const { data, sub, name } = await bench.call(getAccount, {}, { token })
    expect([sub, name]).toEqual([data?.id, 'fields@example.com'])
    expect(data).toEqual({
      owner: 'berth',
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      accountId: expect.stringMatching(/^1\d{5}$/),
      name: 'fields@example.com',
      email: 'fields@example.com',
      emailVerified: false,
      displayName: 'Ada',
      avatar: '',
      type: 'normal-user',
      provider: '',
      createdTime: bench.clock.now().toISOString(),
      password: '***',
      needUpdatePassword: false,
      balance: 0,
      accessToken: token,
      properties: {},
    })
  })

  test('twenty at once make one account with one wallet, and all have the same answer', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        bench.call(signup, { body: signUpBody(index % 2 ? 'twice@example.com' : 'TWICE@example.com') }),
      ),
    )
    expect(answers.filter(({ data }) => data === 'berth/twice@example.com')).toHaveLength(20)
    const { rows } = await bench.database.db.execute(
      sql`select count(*)::int as n from wallet w join user_account u on u.id = w.user_id where u.email = 'twice@example.com'`,
    )
    expect(rows).toEqual([{ n: 1 }])
  })

  test.each([
    ['[R5.1] a name of blanks', { name: '   ' }, 'name: username_required'],
    ['[R5.1] a name with an emoji', { name: 'Ada 🚀' }, 'name: username_emoji'],
    ['[R5.1] a name that is too long', { name: 'a'.repeat(65) }, 'name: too_long'],
    ['[R5.3] an address that is none', { email: 'ada@', username: 'ada@' }, 'email: email'],
    ['another login name than the address', { username: 'other@example.com' }, 'username: not_allowed'],
    ['another application', { application: 'other' }, 'application: not_allowed'],
    ['another organization', { organization: 'built-in' }, 'organization: not_allowed'],
    ['a referral code that is too long', { referralCode: 'x'.repeat(201) }, 'referralCode: too_long'],
    ['terms and password, both wrong,', { password: 'weak', agreement: false }, 'agreement: terms'],
  ])('%s is refused at its field, and nothing is stored', (_, change, field) =>
    expectRefused(change, 'validation_failed', field),
  )

  test.each([
    ['a short one', 'Ab1-xyz'],
    ['no upper case', 'abcdef-7'],
    ['no lower case', 'ABCDEF-7'],
    ['no number', 'Abcdef-x'],
    ['no special character', 'Abcdefg7'],
  ])('[R5.2] [R8.1] a password that is too weak is said as such: %s', (_, password) =>
    expectRefused({ password }, 'password_too_weak', 'password: password'),
  )

  test.each([
    ['not agreed to', false],
    ['left out', undefined],
  ])('[R5.3] [R8.1] terms that were %s are asked for', (_, agreement) =>
    expectRefused({ agreement }, 'terms_required', 'agreement: terms'),
  )

  async function expectRefused(change: object, code: string, field: string): Promise<void> {
    const before = await countAccounts()
    const body = { ...signUpBody('nobody@example.com'), ...change }
    const answer = await bench.call(signup, { body: body as ReturnType<typeof signUpBody> })
    expect(answer.code).toBe(code)
    expect(answer.fields).toContain(field)
    expect(await countAccounts()).toBe(before)
  }
})

test('[R6.1] a guest may not fetch an account', async () => {
  expect((await bench.call(getAccount, {})).code).toBe('login_required')
  expect(await bench.call(getAccount, {}, { token: 'nonsense' })).toMatchObject({
    httpStatus: 401,
    code: 'login_expired',
  })
})

test('a verified customer can be made, and enters by a link that works once', async () => {
  const { userId } = await bench.identity.createVerifiedUser({
    email: 'Grace@example.com',
    displayName: 'Grace',
    language: 'en',
  })
  const secret = await bench.identity.createSignInLink(userId)
  const body = { ...loginBody('', secret), signinMethod: 'Link' as const }
  const clicks = await Promise.all(Array.from({ length: 20 }, () => bench.call(login, { body })))
  const tokens = clicks.flatMap(({ data }) => data ?? [])
  expect(tokens).toHaveLength(1)
  expect(clicks.filter(({ code }) => code === 'sign_in_link_invalid')).toHaveLength(19)
  const account = await bench.call(getAccount, {}, { token: tokens[0] ?? '' })
  expect(account.data).toMatchObject({ id: userId, email: 'grace@example.com', emailVerified: true })
  // An account without a password is entered by no password.
  expect((await bench.call(login, { body: loginBody('grace@example.com', secret) })).code).toBe(
    'login_tries_left',
  )
})

test('a sign-in link is over after a day, and is no activation link', async () => {
  const { userId } = await bench.identity.createVerifiedUser({
    email: 'late@example.com',
    displayName: 'Late',
    language: 'en',
  })
  const secret = await bench.identity.createSignInLink(userId)
  const place = { address: '203.0.113.7', userAgent: 'test', stay: true }
  await expect(bench.identity.verifyEmail(secret, place)).rejects.toMatchObject({
    code: 'verify_link_invalid',
  })
  bench.advance(24 * 3_600_000)
  await expect(bench.identity.signInByLink(secret, place)).rejects.toMatchObject({
    code: 'sign_in_link_invalid',
  })
})

test('an activation link does not sign in', async () => {
  await bench.call(signup, { body: signUpBody('purpose@example.com') })
  const [mail] = await eventually('the activation mail', async () => {
    const found = await bench.mailsTo('purpose@example.com')
    return found.length > 0 && found
  })
  const body = { ...loginBody('', secretIn(mail?.text ?? '')), signinMethod: 'Link' as const }
  expect((await bench.call(login, { body })).code).toBe('sign_in_link_invalid')
})

test('the demo customer is made once, verified and with 25 dollars, however many gateways start', async () => {
  const made = await Promise.all(Array.from({ length: 5 }, () => bench.identity.createDemoCustomer()))
  expect(made.filter(({ created }) => created)).toHaveLength(1)
  expect(new Set(made.map(({ userId }) => userId)).size).toBe(1)
  expect(await bench.billing.balanceCents(made[0]?.userId ?? '')).toBe(2_500)
  expect((await bench.call(login, { body: loginBody('demo@berth.local', PASSWORD) })).code).toBe(
    'login_tries_left',
  )
})

async function countAccounts(): Promise<number> {
  return (await bench.database.db.select({ id: userAccount.id }).from(userAccount)).length
}
