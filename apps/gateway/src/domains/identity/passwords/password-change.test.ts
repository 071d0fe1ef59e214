import { getAccount, login, resetPassword, sendResetPasswordEmail, signup } from '@berth/contract/account'
import { setPassword } from '@berth/contract/account-security'
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

const NEW_PASSWORD = 'Other-Harbour-8'
const WRONG = 'Wrong-Horse-7'
const THIEF = '198.51.100.66'

let bench: IdentityBench
let count = 0
beforeAll(async () => {
  bench = await createIdentityBench()
})
afterAll(() => bench.close())

describe('setting a password', () => {
  test('[R7.1] by a form makes the old one worthless and ends the other sessions, not this one', async () => {
    const { email, token } = await someone()
    const other = await signIn(email, PASSWORD)
    expect(await change(email, token)).toMatchObject({ data: null, code: null })
    expect((await bench.call(getAccount, {}, { token: other })).code).toBe('login_expired')
    expect((await bench.call(getAccount, {}, { token })).code).toBeNull()
    expect((await bench.call(login, { body: loginBody(email) })).code).toBe('login_tries_left')
    expect(await signIn(email, NEW_PASSWORD)).toMatch(/^ey/)
  })

  test('voids the reset and sign-in links that are on their way', async () => {
    const { userId, email, token } = await someone()
    const link = await bench.identity.createSignInLink(userId)
    await bench.call(sendResetPasswordEmail, { body: { ...names, email } })
    const secret = secretIn((await mailAbout(email, 'Choose a new')).text)
    await change(email, token)
    const reset = { ...names, token: secret, password: 'Third-Harbour-9' }
    expect((await bench.call(resetPassword, { body: reset })).code).toBe('reset_link_expired')
    const place = { address: THIEF, userAgent: 'test', stay: true }
    await expect(bench.identity.signInByLink(link, place)).rejects.toMatchObject({
      code: 'sign_in_link_invalid',
    })
  })

  test.each(['', WRONG])('with “%s” for the old one is refused, and changes nothing', async oldPassword => {
    const { email, token } = await someone()
    const answer = await change(email, token, { oldPassword })
    expect(answer).toMatchObject({ code: 'validation_failed', fields: ['oldPassword: password_wrong'] })
    expect(await signIn(email, PASSWORD)).toMatch(/^ey/)
  })

  test('a stolen session cannot guess: wrong ones are counted with those of the log-in form', async () => {
    const { email, token } = await someone()
    const from = { token, address: THIEF }
    const guess = (oldPassword: string) =>
      bench.call(setPassword, { body: form(email, { oldPassword }) }, from)
    for (let tries = 0; tries < 4; tries++) expect((await guess(WRONG)).code).toBe('validation_failed')
    expect((await guess(WRONG)).code).toBe('login_frozen')
    expect((await guess(PASSWORD)).code).toBe('login_frozen')
    expect((await bench.call(login, { body: loginBody(email) }, { address: THIEF })).code).toBe(
      'login_frozen',
    )
    // The owner, elsewhere, is not locked out.
    expect((await change(email, token)).code).toBeNull()
  })

  test.each(['short-1A', 'without-digits', 'nothing special 7'])('[R5.2] “%s” is too weak', async weak => {
    const { email, token } = await someone()
    const newPassword = weak === 'short-1A' ? 'Sh-1' : weak
    const answer = await change(email, token, { newPassword })
    expect(answer).toMatchObject({ code: 'password_too_weak', fields: ['newPassword: password'] })
  })

  test('the one that it was until now is refused', async () => {
    const { email, token } = await someone()
    const answer = await change(email, token, { newPassword: PASSWORD })
    expect(answer).toMatchObject({ code: 'validation_failed', fields: ['newPassword: password_same'] })
  })

  test('[R6.4] of somebody else is not found, like one of nobody', async () => {
    const { email, token } = await someone()
    const other = await someone()
    for (const [userOwner, userName] of [
      ['berth', other.email],
      ['berth', 'nobody@example.com'],
      ['built-in', email],
    ] as const) {
      const answer = await change(email, token, { userOwner, userName })
      expect(answer).toMatchObject({ httpStatus: 404, code: 'not_found' })
    }
    expect(await signIn(other.email, PASSWORD)).toMatch(/^ey/)
  })

  test('of two at once with the same old one, one is set', async () => {
    const { email, token } = await someone()
    const words = ['First-Harbour-1', 'Second-Harbour-2']
    const [first, second] = words.map(newPassword => () => change(email, token, { newPassword }))
    if (!first || !second) throw new Error('two words were expected')
    const answers = await inTurn(bench.database.db, email, first, second)
    expect(answers.filter(({ code }) => code === null)).toHaveLength(1)
  })
})

describe('the mail about a new password', () => {
  test('goes to the account’s address, with where it was set and what to do', async () => {
    const { email, token } = await someone()
    await change(email, token, {}, '198.51.100.20')
    const mail = await mailAbout(email, 'password')
    expect(mail.text).toContain('198.51.100.20')
    expect(mail.text).toContain('2026-03-01 12:')
    expect(mail.text.split('\n')).toContain('http://127.0.0.1:8080/auth')
  })

  test('also when it was set by a reset link, and though no other mails are wanted', async () => {
    const { userId, email } = await someone()
    const mails = { new_sign_in: false, key_added: false, top_up_receipt: false, instance_trouble: false }
    await bench.notifications.set(userId, {
      mails: { ...mails, balance_low: false, offer_watch: false },
      alert_hours: [],
    })
    await bench.call(sendResetPasswordEmail, { body: { ...names, email } })
    const token = secretIn((await mailAbout(email, 'Choose a new')).text)
    await bench.call(resetPassword, { body: { ...names, token, password: NEW_PASSWORD } })
    expect((await mailAbout(email, 'was changed')).text).toContain('203.0.113.7')
  })

  test('does not go to an address that nobody has shown to be theirs', async () => {
    const marker = await someone()
    const email = `change-${count++}@example.com`
    await bench.call(signup, { body: signUpBody(email) })
    await change(email, await signIn(email, PASSWORD))
    await change(marker.email, marker.token)
    await mailAbout(marker.email, 'was changed')
    expect((await bench.mailsTo(email)).map(({ subject }) => subject)).toEqual([
      'Activate your Berth account',
    ])
  })
})

const someone = () => bench.customer(`change-${count++}@example.com`)

function form(email: string, more: Record<string, string> = {}) {
  const base = { userOwner: 'berth', userName: email, oldPassword: PASSWORD, newPassword: NEW_PASSWORD }
  return { ...base, ...more }
}

function change(email: string, token: string, more: Record<string, string> = {}, address?: string) {
  const from = { token, ...(address !== undefined && { address }) }
  return bench.call(setPassword, { body: form(email, more) }, from)
}

async function signIn(email: string, password: string): Promise<string> {
  const { data } = await bench.call(login, { body: loginBody(email, password) })
  return data ?? ''
}

function mailAbout(email: string, words: string) {
  return eventually(`a mail to ${email} about ${words}`, async () =>
    (await bench.mailsTo(email)).find(({ subject }) => subject.includes(words)),
  )
}
