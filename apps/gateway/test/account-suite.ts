import { randomUUID } from 'node:crypto'
import {
  APPLICATION,
  endOtherSessions,
  getAccount,
  getApplication,
  listSessions,
  login,
  logout,
  resetPassword,
  sendResetPasswordEmail,
  sendVerifyEmail,
  signup,
  updateUser,
  verifyEmail,
} from '@berth/contract/account'
import { confirmSignIn, deleteAccount, sendSignInCode, setPassword } from '@berth/contract/account-security'
import { unlink } from '@berth/contract/account-sign-in'
import { ACTIVATION_RESEND_WAIT_MS, RECENT_SIGN_IN_MS, SIGN_IN_CODE_LIFE_MS } from '@berth/contract/limits'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type createIdentityBench,
  eventually,
  type IdentityBench,
  loginBody,
  names,
  PASSWORD,
  secretIn,
  signUpBody,
} from './identity-bench.ts'

const NEW_PASSWORD = 'Other-Harbour-8'
const THIRD_PASSWORD = 'Third-Harbour-9'

/** Who keeps the accounts, and how a test reaches behind the calls. */
export interface AccountKeeper {
  createBench: () => ReturnType<typeof createIdentityBench>
  /** Demands a new password of an account. */
  expirePassword(bench: IdentityBench, email: string): Promise<void>
  /** Takes an account's password away, as if another service had made it; left out where nothing can. */
  takePassword?(bench: IdentityBench, email: string): Promise<void>
  close?(): Promise<void>
}

/**
 * What the account calls do, whoever keeps the accounts (R1.8): the same tests run against the embedded identity and
 * against a Casdoor server.
 * @param name Of the keeper, for the titles.
 */
export function accountSuite(name: string, keeper: AccountKeeper): void {
  describe(`[R1.8] accounts kept by ${name}`, () => {
    let bench: IdentityBench
    beforeAll(async () => {
      bench = await keeper.createBench()
    })
    afterAll(async () => {
      await bench.close()
      await keeper.close?.()
    })

    const someAddress = () => `${randomUUID()}@example.com`
    const signIn = (email: string, password = PASSWORD, address?: string) =>
      bench.call(login, { body: loginBody(email, password) }, address === undefined ? {} : { address })
    const whoIs = (token: string) => bench.call(getAccount, {}, { token })

    async function someone(): Promise<{ email: string; token: string }> {
      const email = someAddress()
      expect((await bench.call(signup, { body: signUpBody(email) })).code).toBeNull()
      return { email, token: (await signIn(email)).data ?? '' }
    }

    /** The secret of the newest link to an address that leads to a page, once there are that many. */
    async function linkTo(email: string, page: 'activty' | 'reset-password', count = 1): Promise<string> {
      const mails = await eventually(`mail ${count} to ${email}`, async () => {
        const found = (await bench.mailsTo(email)).filter(({ text }) => text.includes(`/${page}?`))
        return found.length >= count && found
      })
      return secretIn(mails[0]?.text ?? '')
    }

    const askForReset = (email: string) => bench.call(sendResetPasswordEmail, { body: { email, ...names } })
    const reset = (token: string, password = NEW_PASSWORD) =>
      bench.call(resetPassword, { body: { ...names, token, password } })
    const verify = (token: string) => bench.call(verifyEmail, { query: { application: APPLICATION, token } })

    async function resetLink(email: string): Promise<string> {
      await askForReset(email)
      return await linkTo(email, 'reset-password')
    }

    describe('the application', () => {
      test('[R7.1] [R3.2] is described by the name that the console asks with, without secrets', async () => {
        const { data } = await bench.call(getApplication, { query: { id: `admin/${APPLICATION}` } })
        expect(data).toMatchObject({ owner: 'admin', enableSignUp: true, clientSecret: '***' })
        expect(data?.signinMethods.map(({ name }) => name)).toContain('Password')
        expect(data?.organizationObj).toMatchObject({ passwordObfuscatorType: '' })
      })

      test('is null by another name, and a malformed id is refused', async () => {
        expect(await bench.call(getApplication, { query: { id: 'admin/other' } })).toMatchObject({
          data: null,
          code: null,
        })
        expect((await bench.call(getApplication, { query: { id: 'other' } })).code).toBe('validation_failed')
      })
    })

    describe('signing up', () => {
      test('[R7.1] makes an account with a wallet, and mails an activation link', async () => {
        const email = someAddress()
        const { data } = await bench.call(signup, { body: signUpBody(email.toUpperCase()) })
        expect(data).toMatch(/^[\w-]+\/\S+$/)
        const token = (await signIn(email)).data ?? ''
        expect((await whoIs(token)).data).toMatchObject({
          id: expect.stringMatching(/^[0-9a-f-]{36}$/),
          accountId: expect.stringMatching(/^1\d{5}$/),
          email,
          emailVerified: false,
          displayName: 'Ada',
          balance: 0,
          needUpdatePassword: false,
          accessToken: token,
        })
        const account = (await whoIs(token)).data
        expect(data).toBe(`${account?.owner}/${email}`)
        expect(await linkTo(email, 'activty')).toMatch(/\S{40,}/)
      })

      test('[R9.3] opens the wallet in the currency that is asked for, dollars by themselves', async () => {
        const walletOf = async (choice: { currency?: 'EUR' }) => {
          const email = someAddress()
          await bench.call(signup, { body: signUpBody(email, choice) })
          const account = (await whoIs((await signIn(email)).data ?? '')).data
          return (await bench.billing.balance(account?.id ?? '')).currency
        }
        expect(await walletOf({ currency: 'EUR' })).toBe('EUR')
        expect(await walletOf({})).toBe('USD')
      })

      test('[R2.11] tells of the code that it came by, and of none where there is none', async () => {
        const accountBy = async (choice: { referralCode?: string }) => {
          const email = someAddress()
          await bench.call(signup, { body: signUpBody(email, choice) })
          return (await whoIs((await signIn(email)).data ?? '')).data?.id
        }
        const code = `friend-${Math.random().toString(36).slice(2)}`
        await accountBy({})
        const userId = await accountBy({ referralCode: code })
        await expect.poll(() => bench.referred).toMatchObject([{ userId, code }])
      })

      test('by an address that has an account answers as any other, makes none, and changes nothing', async () => {
        const email = someAddress()
        const sign = (more: Record<string, unknown> = {}) =>
          bench.call(signup, { body: signUpBody(email, more) })
        const first = await sign()
        const before = await whoIs((await signIn(email)).data ?? '')
        const again = await sign({ name: 'Mallory', password: NEW_PASSWORD })
        expect(again).toEqual(first)
        const shouted = signUpBody(email.toUpperCase(), { password: NEW_PASSWORD })
        expect(await bench.call(signup, { body: shouted })).toEqual(first)
        expect((await signIn(email, NEW_PASSWORD)).code).toBe('login_tries_left')
        const after = await whoIs((await signIn(email)).data ?? '')
        expect(after.data).toEqual({ ...before.data, accessToken: after.data?.accessToken })
      })

      test('by an address that has an account is told to its owner, once a minute', async () => {
        const email = someAddress()
        const sign = () => bench.call(signup, { body: signUpBody(email) })
        const told = async () =>
          (await bench.mailsTo(email)).filter(({ subject }) => subject.includes('already'))
        await sign()
        for (let times = 0; times < 3; times += 1) await sign()
        const [mail] = await eventually('the mail to the owner', async () => {
          const mails = await told()
          return mails.length > 0 && mails
        })
        expect(mail?.text.split('\n')).toContain('http://127.0.0.1:8080/auth')
        bench.advance(ACTIVATION_RESEND_WAIT_MS)
        await sign()
        await eventually('the next one', async () => (await told()).length > 1)
        expect(await told()).toHaveLength(2)
      })

      test('ten times at once makes one account', async () => {
        const email = someAddress()
        const answers = await Promise.all(
          Array.from({ length: 10 }, (_, index) =>
            bench.call(signup, { body: signUpBody(index % 2 ? email : email.toUpperCase()) }),
          ),
        )
        expect(new Set(answers.map(answer => JSON.stringify(answer))).size).toBe(1)
        expect(answers[0]?.code).toBeNull()
        expect((await signIn(email)).code).toBeNull()
      })

      test.each([
        ['[R5.2] a weak password', { password: 'abcdefgh' }, 'password_too_weak', 'password: password'],
        ['[R5.1] an emoji in the name', { name: 'Ada 🚀' }, 'validation_failed', 'name: username_emoji'],
        ['another application', { application: 'other' }, 'validation_failed', 'application: not_allowed'],
        ['another organization', { organization: 'other' }, 'validation_failed', 'organization: not_allowed'],
      ])('with %s is refused', async (_, more, code, field) => {
        const answer = await bench.call(signup, { body: signUpBody(someAddress(), more) })
        expect(answer).toMatchObject({ code, fields: [field] })
      })
    })

    test.each([
      ['many have', 'Sunshine-7', 'password_common'],
      ['is the name with signs around it', 'Lovelace#1815', 'password_personal'],
    ])('an account is not made with a password that %s', async (_, password, rule) => {
      const email = someAddress()
      const body = signUpBody(email, { name: 'Ada Lovelace', password })
      expect(await bench.call(signup, { body })).toMatchObject({
        code: 'password_too_weak',
        fields: [`password: ${rule}`],
      })
      expect((await bench.call(signup, { body: { ...body, password: PASSWORD } })).code).toBeNull()
    })

    describe('signing in', () => {
      test('[R7.1] takes the address in any spelling, and each time opens a session of its own', async () => {
        const { email, token } = await someone()
        const other = (await signIn(` ${email.toUpperCase()} `)).data ?? ''
        expect(other).not.toBe(token)
        expect((await bench.call(listSessions, {}, { token })).data).toHaveLength(2)
      })

      test('[R8.1] by a wrong password says how many tries are left, then nothing opens from there', async () => {
        const { email } = await someone()
        for (const tries of [4, 3, 2, 1]) {
          expect(await signIn(email, 'wrong')).toMatchObject({ code: 'login_tries_left', number: tries })
        }
        expect(await signIn(email, 'wrong')).toMatchObject({ code: 'login_frozen', number: 15 })
        expect(await signIn(email)).toMatchObject({ code: 'login_frozen' })
      })

      test('by a name that nobody has is answered like a wrong password', async () => {
        const email = someAddress()
        for (const tries of [4, 3, 2, 1]) {
          expect(await signIn(email, 'wrong')).toMatchObject({ code: 'login_tries_left', number: tries })
        }
        expect(await signIn(email, 'wrong')).toMatchObject({ code: 'login_frozen', number: 15 })
      })

      test('by the right password forgets the wrong ones', async () => {
        const { email } = await someone()
        for (let tries = 0; tries < 3; tries += 1) await signIn(email, 'wrong')
        expect((await signIn(email)).code).toBeNull()
        expect(await signIn(email, 'wrong')).toMatchObject({ code: 'login_tries_left', number: 4 })
      })

      test('[R4.10] opens nothing while a new password is demanded, until one is set by mail', async () => {
        const { email, token } = await someone()
        await keeper.expirePassword(bench, email)
        expect((await signIn(email)).code).toBe('password_expired')
        expect((await reset(await resetLink(email))).code).toBeNull()
        expect((await whoIs(token)).code).toBe('login_expired')
        const fresh = (await signIn(email, NEW_PASSWORD)).data ?? ''
        expect((await whoIs(fresh)).data).toMatchObject({ needUpdatePassword: false })
      })
    })

    describe('the activation link', () => {
      test('[R7.1] verifies the address once', async () => {
        const { email, token } = await someone()
        const secret = await linkTo(email, 'activty')
        expect((await verify(secret)).data).toEqual({ email })
        expect((await whoIs(token)).data?.emailVerified).toBe(true)
        expect((await verify(secret)).code).toBe('verify_link_invalid')
        expect((await verify('made-up')).code).toBe('verify_link_invalid')
      })

      test('is mailed again after a minute, and asking tells nothing of an address', async () => {
        const { email } = await someone()
        await linkTo(email, 'activty')
        const ask = (to: string) =>
          bench.call(sendVerifyEmail, { body: { email: to, ...names, method: 'signup' } })
        expect((await ask(email)).code).toBe('verify_mail_wait')
        bench.advance(ACTIVATION_RESEND_WAIT_MS)
        expect(await ask(email)).toMatchObject({ code: null, data: null })
        expect((await verify(await linkTo(email, 'activty', 2))).data).toEqual({ email })
        const nobody = someAddress()
        expect(await ask(nobody)).toMatchObject({ code: null, data: null })
        expect((await ask(nobody)).code).toBe('verify_mail_wait')
      })
    })

    describe('the reset link', () => {
      test('[R7.1] sets the new password once, ends every session, and verifies the address', async () => {
        const { email, token } = await someone()
        const secret = await resetLink(email)
        expect(await reset(secret)).toMatchObject({ data: null, code: null })
        expect((await whoIs(token)).code).toBe('login_expired')
        expect((await signIn(email)).code).toBe('login_tries_left')
        const fresh = (await signIn(email, NEW_PASSWORD)).data ?? ''
        expect((await whoIs(fresh)).data).toMatchObject({ email, emailVerified: true })
        expect((await reset(secret, THIRD_PASSWORD)).code).toBe('reset_link_expired')
      })

      test('lets one of ten at once through', async () => {
        const { email } = await someone()
        const secret = await resetLink(email)
        const answers = await Promise.all(
          Array.from({ length: 10 }, (_, index) => reset(secret, `Harbour-Nr-${index}`)),
        )
        const won = answers.flatMap(({ code }, index) => (code === null ? [index] : []))
        expect(won).toHaveLength(1)
        expect((await signIn(email, `Harbour-Nr-${won[0]}`)).code).toBeNull()
      })

      test('[R5.2] stays good when the password is too weak, or the one until now', async () => {
        const { email } = await someone()
        const secret = await resetLink(email)
        expect(await reset(secret, 'weak')).toMatchObject({
          code: 'password_too_weak',
          fields: ['password: password'],
        })
        expect(await reset(secret, 'P@ssw0rd1!')).toMatchObject({
          code: 'password_too_weak',
          fields: ['password: password_common'],
        })
        expect((await reset(secret, PASSWORD)).fields).toEqual(['password: password_same'])
        expect((await reset(secret)).code).toBeNull()
      })

      test('lets its owner in who used the tries up', async () => {
        const { email } = await someone()
        for (let tries = 0; tries < 5; tries += 1) await signIn(email, 'wrong')
        expect((await signIn(email)).code).toBe('login_frozen')
        expect((await reset(await resetLink(email))).code).toBeNull()
        expect((await signIn(email, NEW_PASSWORD)).code).toBeNull()
      })

      test('goes to nobody whose address is unknown, which the answer does not tell', async () => {
        const email = someAddress()
        expect(await askForReset(email)).toMatchObject({ data: null, code: null })
        expect((await askForReset(email)).code).toBe('reset_mail_wait')
        const known = await someone()
        await resetLink(known.email)
        expect(await bench.mailsTo(email)).toEqual([])
      })

      test('[R8.1] that is made up or cut off says so', async () => {
        expect((await reset('made-up')).code).toBe('reset_link_expired')
        expect((await reset('')).code).toBe('reset_link_invalid')
      })
    })

    describe('a password that its owner changes', () => {
      async function change(token: string, oldPassword: string, newPassword: string) {
        const { data } = await whoIs(token)
        const body = { userOwner: data?.owner ?? '', userName: data?.name ?? '', oldPassword, newPassword }
        return await bench.call(setPassword, { body }, { token })
      }

      test('[R7.1] ends the other sessions, and the old one is over', async () => {
        const { email, token } = await someone()
        const other = (await signIn(email)).data ?? ''
        expect(await change(token, PASSWORD, NEW_PASSWORD)).toMatchObject({ code: null, data: null })
        expect((await whoIs(token)).code).toBeNull()
        expect((await whoIs(other)).code).toBe('login_expired')
        expect((await signIn(email)).code).toBe('login_tries_left')
        expect((await signIn(email, NEW_PASSWORD)).code).toBeNull()
      })

      test('[R5.2] needs the old one, and is another and strong one', async () => {
        const { email, token } = await someone()
        expect((await change(token, 'wrong', NEW_PASSWORD)).fields).toEqual(['oldPassword: password_wrong'])
        expect((await change(token, '', NEW_PASSWORD)).fields).toEqual(['oldPassword: password_wrong'])
        expect((await change(token, PASSWORD, PASSWORD)).fields).toEqual(['newPassword: password_same'])
        expect(await change(token, PASSWORD, 'weak')).toMatchObject({ code: 'password_too_weak' })
        const own = await change(token, PASSWORD, `${email.split('@')[0]}-A1`)
        expect(own.fields).toEqual(['newPassword: password_personal'])
        expect((await signIn(email)).code).toBeNull()
      })

      test('where there is none yet, is set by a mailed link and by no session, which it ends', async context => {
        if (!keeper.takePassword) return context.skip('this server takes no password away')
        const { email, token } = await someone()
        await keeper.takePassword(bench, email)
        for (const old of ['', PASSWORD]) {
          expect((await change(token, old, NEW_PASSWORD)).code).toBe('first_password_by_mail')
        }
        expect((await signIn(email, NEW_PASSWORD)).code).toBe('login_tries_left')
        expect((await reset(await resetLink(email))).code).toBeNull()
        expect((await whoIs(token)).code).toBe('login_expired')
        const fresh = (await signIn(email, NEW_PASSWORD)).data ?? ''
        expect((await change(fresh, NEW_PASSWORD, THIRD_PASSWORD)).code).toBeNull()
      })

      test('[R6.4] is nobody else’s', async () => {
        const { token } = await someone()
        const other = (await whoIs((await someone()).token)).data
        const body = {
          userOwner: other?.owner ?? '',
          userName: other?.name ?? '',
          oldPassword: PASSWORD,
          newPassword: NEW_PASSWORD,
        }
        expect((await bench.call(setPassword, { body }, { token })).code).toBe('not_found')
        expect((await signIn(other?.email ?? '')).code).toBeNull()
      })
    })

    describe('a session of somebody who signed in a while ago', () => {
      const cut = async (token: string) =>
        (await bench.call(unlink, { body: { providerType: 'GitHub' } }, { token })).code
      const confirm = (token: string, body: { password?: string; code?: string }) =>
        bench.call(confirmSignIn, { body }, { token })
      const DONE = 'oauth_not_linked'

      test('does again what outlasts it once the password confirms who has it', async () => {
        const { email, token } = await someone()
        expect(await cut(token)).toBe(DONE)
        bench.advance(RECENT_SIGN_IN_MS + 1)
        const other = (await signIn(email)).data ?? ''
        expect(await cut(token)).toBe('recent_sign_in_required')
        expect((await confirm(token, { password: 'wrong' })).fields).toEqual(['password: password_wrong'])
        expect((await confirm(token, {})).fields).toEqual(['password: required'])
        expect(await cut(token)).toBe('recent_sign_in_required')
        expect((await confirm(token, { password: PASSWORD })).code).toBeNull()
        expect(await cut(token)).toBe(DONE)
        expect(await cut(other)).toBe(DONE)
        bench.advance(RECENT_SIGN_IN_MS + 1)
        expect(await cut(token)).toBe('recent_sign_in_required')
      })

      test('is no second way of guessing the password', async () => {
        const { email, token } = await someone()
        for (let tries = 0; tries < 4; tries += 1) await confirm(token, { password: 'wrong' })
        expect((await confirm(token, { password: 'wrong' })).code).toBe('login_frozen')
        expect((await signIn(email)).code).toBe('login_frozen')
      })

      test('is confirmed by a mailed code where there is no password, in the session that asked', async context => {
        if (!keeper.takePassword) return context.skip('this server takes no password away')
        const { email, token } = await someone()
        const thief = (await signIn(email)).data ?? ''
        await keeper.takePassword(bench, email)
        bench.advance(RECENT_SIGN_IN_MS + 1)
        for (const password of ['', PASSWORD]) {
          expect((await confirm(token, { password })).code).toBe('validation_failed')
        }
        const leave = () => bench.call(deleteAccount, { body: { email } }, { token })
        expect((await leave()).code).toBe('recent_sign_in_required')
        const code = await mailedCode(email, token)
        expect((await bench.call(sendSignInCode, {}, { token })).code).toBe('sign_in_code_wait')
        expect((await confirm(thief, { code })).fields).toEqual(['code: code_wrong'])
        expect((await confirm(token, { code: ` ${code.slice(0, 4)} ${code.slice(4)}` })).code).toBeNull()
        expect((await confirm(token, { code })).fields).toEqual(['code: code_wrong'])
        expect(await cut(thief)).toBe('recent_sign_in_required')
        expect((await leave()).code).toBeNull()
      })

      test('has five tries at a code, at once or in a row, and a quarter of an hour', async () => {
        const { email, token } = await someone()
        const code = await mailedCode(email, token)
        const guesses = Array.from(
          { length: 5 },
          (_, index) => `${(Number(code[0]) + index + 1) % 10}${code.slice(1)}`,
        )
        await Promise.all(guesses.map(guess => confirm(token, { code: guess })))
        expect((await confirm(token, { code })).fields).toEqual(['code: code_wrong'])
        const other = (await signIn(email)).data ?? ''
        bench.advance(ACTIVATION_RESEND_WAIT_MS)
        const late = await mailedCode(email, other, 2)
        bench.advance(SIGN_IN_CODE_LIFE_MS)
        expect((await confirm(other, { code: late })).fields).toEqual(['code: code_wrong'])
      })

      async function mailedCode(email: string, token: string, count = 1): Promise<string> {
        expect((await bench.call(sendSignInCode, {}, { token })).code).toBeNull()
        const [mail] = await eventually(`code ${count} to ${email}`, async () => {
          const found = (await bench.mailsTo(email)).filter(({ subject }) => /code/.test(subject))
          return found.length >= count && found
        })
        return /^\d{8}$/m.exec(mail?.text ?? '')?.[0] ?? ''
      }
    })

    describe('an account that its owner deletes', () => {
      test('[R7.1] is gone with its sessions, and the address can sign up anew', async () => {
        const { email, token } = await someone()
        const before = (await whoIs(token)).data?.id
        const leave = (password: string, typed = email) =>
          bench.call(deleteAccount, { body: { email: typed, password } }, { token })
        expect((await leave('wrong')).fields).toEqual(['password: password_wrong'])
        expect((await leave('')).fields).toEqual(['password: password_wrong'])
        expect((await leave(PASSWORD, someAddress())).fields).toEqual(['email: confirmation'])
        expect(await leave(PASSWORD)).toMatchObject({ code: null, data: null })
        expect((await whoIs(token)).code).toBe('login_expired')
        expect((await signIn(email)).code).toBe('login_tries_left')
        expect((await bench.call(signup, { body: signUpBody(email) })).code).toBeNull()
        const anew = (await signIn(email)).data ?? ''
        expect((await whoIs(anew)).data?.id).not.toBe(before)
      })
    })

    describe('the display name', () => {
      const rename = (id: string, token: string, displayName: string) =>
        bench.call(updateUser, { query: { id, columns: 'display_name' }, body: { displayName } }, { token })

      test('[R7.1] is changed by its owner, and the answer says whether it was another', async () => {
        const { token } = await someone()
        const { data: account } = await whoIs(token)
        const id = `${account?.owner}/${account?.name}`
        expect((await rename(id, token, 'Ada & Grace')).data).toBe('Affected')
        expect((await whoIs(token)).data?.displayName).toBe('Ada & Grace')
        expect((await rename(id, token, 'Ada & Grace')).data).toBe('Unaffected')
      })

      test('[R6.4] of somebody else is not found, and stays as it is', async () => {
        const { token } = await someone()
        const other = await someone()
        const { data } = await whoIs(other.token)
        const answer = await rename(`${data?.owner}/${data?.name}`, token, 'Mallory')
        expect(answer).toMatchObject({ httpStatus: 404, code: 'not_found' })
        expect((await whoIs(other.token)).data?.displayName).toBe('Ada')
      })
    })

    describe('a session', () => {
      test('[R7.1] is over once it is logged out of; others stay', async () => {
        const { email, token } = await someone()
        const other = (await signIn(email)).data ?? ''
        expect((await bench.call(logout, {}, { token })).data).toMatch(/\/\S+$/)
        expect(await whoIs(token)).toMatchObject({ httpStatus: 401, code: 'login_expired' })
        expect((await whoIs(other)).code).toBeNull()
        expect((await bench.call(logout, {})).data).toBeNull()
      })

      test('ends the others when its customer wants that', async () => {
        const { email, token } = await someone()
        const other = (await signIn(email)).data ?? ''
        expect((await bench.call(endOtherSessions, {}, { token })).data).toEqual({ ended: 1 })
        expect((await whoIs(other)).code).toBe('login_expired')
        expect((await whoIs(token)).code).toBeNull()
      })
    })
  })
}
