import {
  getAccount,
  login,
  logout,
  resetPassword,
  sendResetPasswordEmail,
  signup,
} from '@berth/contract/account'
import { ACTIVATION_RESEND_WAIT_MS } from '@berth/contract/limits'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createIdentityBench,
  eventually,
  type IdentityBench,
  loginBody,
  names,
  PASSWORD,
  secretIn,
  signUpBody,
} from '../../../../test/identity-bench.ts'
import { inTurn } from '../../../../test/in-turn.ts'
import { SESSION_CACHE_MS } from '../sessions/session-cache.ts'
import { linkToken, userAccount } from '../tables.ts'
import { RESET_LINK_HOURS } from './password-reset.ts'

const NEW_PASSWORD = 'Other-Harbour-8'

let bench: IdentityBench
let count = 0
beforeAll(async () => {
  bench = await createIdentityBench()
})
afterAll(() => bench.close())

describe('a reset link', () => {
  test('[R7.1] sets the new password once, and the old one is over', async () => {
    const { email, secret } = await asked()
    expect(await reset(secret)).toMatchObject({ data: null, code: null })
    expect((await tryLogin(email, PASSWORD)).code).toBe('login_tries_left')
    expect((await tryLogin(email, NEW_PASSWORD)).data).toMatch(/^ey/)
    expect((await reset(secret, 'Third-Harbour-9')).code).toBe('reset_link_expired')
  })

  test('lets one of ten at once through', async () => {
    const { secret } = await asked()
    const answers = await Promise.all(Array.from({ length: 10 }, () => reset(secret)))
    expect(answers.filter(({ code }) => code === null)).toHaveLength(1)
  })

  test('[R8.1] is over after an hour, and says that a new one can be asked for', async () => {
    const { secret } = await asked()
    bench.advance(RESET_LINK_HOURS * 3_600_000)
    expect(await reset(secret)).toMatchObject({
      code: 'reset_link_expired',
      msg: 'The reset link has expired, please request a new one',
    })
  })

  test('[R8.1] without its token is invalid', async () => {
    for (const token of ['', undefined]) {
      const body = { ...names, password: NEW_PASSWORD, ...(token === undefined ? {} : { token }) }
      expect(await bench.call(resetPassword, { body })).toMatchObject({
        code: 'reset_link_invalid',
        msg: 'The reset link is invalid: its token is missing',
      })
    }
  })

  test('that is made up, of another kind, or for another application, sets nothing', async () => {
    const { email, secret } = await asked()
    expect((await reset('made-up')).code).toBe('reset_link_expired')
    const [activation] = (await bench.mailsTo(email)).filter(({ text }) => text.includes('/activty?'))
    expect((await reset(secretIn(activation?.text ?? ''))).code).toBe('reset_link_expired')
    const body = { ...names, application: 'other', token: secret, password: NEW_PASSWORD }
    const other = await bench.call(resetPassword, { body })
    expect(other).toMatchObject({ code: 'validation_failed', fields: ['application: not_allowed'] })
    expect((await tryLogin(email, PASSWORD)).code).toBeNull()
  })

  test('is worthless once the account has another address', async () => {
    const { email, secret } = await asked()
    await bench.database.db
      .update(userAccount)
      .set({ email: `new-${email}` })
      .where(eq(userAccount.email, email))
    expect((await reset(secret)).code).toBe('reset_link_expired')
  })

  test('ends the older ones when it is used', async () => {
    const { email, secret } = await asked()
    bench.advance(ACTIVATION_RESEND_WAIT_MS)
    await ask(email)
    const newer = await secretTo(email, 2)
    expect((await reset(newer)).code).toBeNull()
    expect((await reset(secret, 'Third-Harbour-9')).code).toBe('reset_link_expired')
  })

  test('is stored as a hash alone, and is not at rest in the queue', async () => {
    const { secret } = await asked()
    const { rows } = await bench.database.db.execute<{ all: string }>(
      sql`select (select json_agg(t)::text from link_token t) || (select json_agg(j)::text from pgboss.job j) as all`,
    )
    expect(rows[0]?.all).toContain('reset_password')
    expect(rows[0]?.all).not.toContain(secret)
  })
})

describe('the new password', () => {
  test.each([
    ['[R5.2] too short', 'Ab1-xyz', 'password: password'],
    ['[R5.2] without a special character', 'Abcdefg7', 'password: password'],
  ])('%s is too weak, and the link stays good', async (_, password, field) => {
    const { secret } = await asked()
    expect(await reset(secret, password)).toMatchObject({ code: 'password_too_weak', fields: [field] })
    expect((await reset(secret)).code).toBeNull()
  })

  test('is another than the old one', async () => {
    const { secret } = await asked()
    expect(await reset(secret, PASSWORD)).toMatchObject({ fields: ['password: password_same'] })
    expect((await reset(secret)).code).toBeNull()
  })
})

describe('setting it', () => {
  test('ends every session, here and on every replica', async () => {
    const replica = await bench.replica()
    const { email, secret } = await asked()
    const token = (await tryLogin(email, PASSWORD)).data ?? ''
    expect(await replica.authenticate(token)).not.toBeNull()
    expect((await bench.call(getAccount, {}, { token })).code).toBeNull()
    await reset(secret)
    expect((await bench.call(getAccount, {}, { token })).code).toBe('login_expired')
    await eventually('the replica forgets', async () => (await replica.authenticate(token)) === null)
  })

  test('verifies the address, which the mail has reached', async () => {
    const { email, secret } = await asked()
    await reset(secret)
    const token = (await tryLogin(email, NEW_PASSWORD)).data ?? ''
    expect((await bench.call(getAccount, {}, { token })).data).toMatchObject({ emailVerified: true })
  })

  test('[R4.10] makes an expired password good again', async () => {
    const { email, secret } = await asked()
    await bench.database.db
      .update(userAccount)
      .set({ needUpdatePassword: true })
      .where(eq(userAccount.email, email))
    expect((await tryLogin(email, PASSWORD)).code).toBe('password_expired')
    await reset(secret)
    expect((await tryLogin(email, NEW_PASSWORD)).code).toBeNull()
  })

  test('[R4.10] a session whose password has expired may only log out', async () => {
    const { email, secret } = await asked()
    const token = (await tryLogin(email, PASSWORD)).data ?? ''
    await bench.database.db
      .update(userAccount)
      .set({ needUpdatePassword: true })
      .where(eq(userAccount.email, email))
    bench.advance(SESSION_CACHE_MS)
    expect(await bench.call(getAccount, {}, { token })).toMatchObject({
      code: 'password_expired',
      msg: 'Password has expired, please reset your password',
    })
    expect((await bench.call(logout, {}, { token })).data).toBe(`berth/${email}`)
    expect((await reset(secret)).code).toBeNull()
  })

  test('forgets the wrong passwords of its own network, and not those of a stranger’s', async () => {
    const { email, secret } = await asked()
    const stranger = '198.51.100.9'
    for (let wrong = 0; wrong < 5; wrong++) {
      await tryLogin(email, 'Wrong-Harbour-1')
      await tryLogin(email, 'Wrong-Harbour-1', stranger)
    }
    expect((await tryLogin(email, PASSWORD)).code).toBe('login_frozen')
    await reset(secret)
    expect((await tryLogin(email, NEW_PASSWORD)).code).toBeNull()
    expect((await tryLogin(email, NEW_PASSWORD, stranger)).code).toBe('login_frozen')
  })

  test('leaves no session to somebody who signs in with the old password at the same time', async () => {
    const { email, secret } = await asked()
    const resetting = () => reset(secret)
    const entering = () => tryLogin(email, PASSWORD)
    const [set, late] = await inTurn(bench.database.db, email, resetting, entering)
    expect([set.code, late.data]).toEqual([null, null])
    expect(late.code).toBe('login_failed')
  })

  test('ends the session of somebody who was signing in with the old password before', async () => {
    const { email, secret } = await asked()
    const resetting = () => reset(secret)
    const entering = () => tryLogin(email, PASSWORD)
    const [early, set] = await inTurn(bench.database.db, email, entering, resetting)
    expect([early.code, set.code]).toEqual([null, null])
    expect((await bench.call(getAccount, {}, { token: early.data ?? '' })).code).toBe('login_expired')
  })
})

describe('asking for the mail', () => {
  test('is answered the same whether or not an address is known', async () => {
    const known = await someone()
    for (const round of ['sent', 'too early']) {
      const answers = []
      for (const email of [known, 'unknown@example.com']) answers.push(await ask(email))
      expect(new Set(answers.map(answer => JSON.stringify(answer))).size, round).toBe(1)
      expect(answers[0]?.code).toBe(round === 'sent' ? null : 'reset_mail_wait')
    }
    await secretTo(known, 1)
    // A marker after them in the queue: when its mail is there, the other would be too.
    await asked()
    expect(await bench.mailsTo('unknown@example.com')).toEqual([])
    expect(
      await bench.database.db.select().from(linkToken).where(eq(linkToken.email, 'unknown@example.com')),
    ).toEqual([])
  })

  test('comes in the language of the account', async () => {
    const email = 'hangul@example.com'
    await bench.call(signup, { body: signUpBody(email, { language: 'ko' }) })
    await ask(email)
    await secretTo(email, 1)
    expect((await bench.mailsTo(email)).some(({ text }) => text.includes('새 비밀번호'))).toBe(true)
  })

  test('for another organization is refused at its field', async () => {
    const body = { ...names, organization: 'other', email: 'a@example.com' }
    const answer = await bench.call(sendResetPasswordEmail, { body })
    expect(answer).toMatchObject({ code: 'validation_failed', fields: ['organization: not_allowed'] })
  })
})

/** An account whose reset mail has come. */
async function asked(): Promise<{ email: string; secret: string }> {
  const email = await someone()
  expect((await ask(email)).code).toBeNull()
  return { email, secret: await secretTo(email, 1) }
}

async function someone(): Promise<string> {
  count += 1
  const email = `forgetful-${count}@example.com`
  await bench.call(signup, { body: signUpBody(email) })
  // The activation mail as well, so that tests can tell the two apart.
  await eventually('the activation mail', async () => (await bench.mailsTo(email)).length > 0)
  return email
}

/** The secret of the newest reset mail, once there are so many. */
async function secretTo(email: string, wanted: number): Promise<string> {
  const mails = await eventually(`${wanted} reset mails to ${email}`, async () => {
    const found = (await bench.mailsTo(email)).filter(({ text }) => text.includes('/reset-password?'))
    return found.length >= wanted && found
  })
  return secretIn(mails[0]?.text ?? '')
}

function ask(email: string) {
  return bench.call(sendResetPasswordEmail, { body: { ...names, email } })
}

function reset(token: string, password = NEW_PASSWORD) {
  return bench.call(resetPassword, { body: { ...names, token, password } })
}

function tryLogin(email: string, password: string, address?: string) {
  return bench.call(login, { body: loginBody(email, password) }, address ? { address } : {})
}
