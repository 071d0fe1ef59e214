import {
  APPLICATION,
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
import { deleteAccount } from '@berth/contract/account-security'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type CasdoorServer, type FakeUser, startCasdoorServer } from '../../../../test/casdoor-server.ts'
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
import { createCasdoorSource } from '../../../drivers/identity/casdoor/casdoor-source.ts'
import { systemClock } from '../../../platform/clock.ts'
import { systemIds } from '../../../platform/ids.ts'
import { session, userAccount } from '../tables.ts'

const NEW_PASSWORD = 'Other-Harbour-8'
const HOUR_MS = 3_600_000

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
  casdoor.behaviour.instead = null
})

describe('the row that stands for an account of Casdoor', () => {
  test('[R1.8] has its id, its own wallet, and no password', async () => {
    const user = addUser({ emailVerified: true, avatar: 'https://example.com/ada.png' })
    const token = await tokenOf(user)
    const row = await rowOf(user)
    expect(row).toMatchObject({
      id: user.id,
      externalId: user.id,
      email: user.email,
      passwordHash: null,
      avatar: 'https://example.com/ada.png',
      emailVerifiedAt: bench.clock.now(),
    })
    expect(await bench.billing.balanceCents(user.id)).toBe(0)
    const { data } = await whoIs(token)
    expect(data).toMatchObject({ owner: 'harbour', name: user.name, id: user.id, password: '***' })
  })

  test('has an id of its own where Casdoor’s is none that fits', async () => {
    const user = addUser({ id: 'number-17' })
    const id = (await whoIs(await tokenOf(user))).data?.id
    expect(id).toMatch(/^[0-9a-f-]{36}$/)
    expect((await whoIs(await tokenOf(user))).data?.id).toBe(id)
  })

  test('is made once by ten first sign-ins at once', async () => {
    const user = addUser()
    const answers = await Promise.all(Array.from({ length: 10 }, () => signIn(user.email)))
    expect(answers.map(({ code }) => code)).toEqual(Array(10).fill(null))
    const ids = await Promise.all(answers.map(async ({ data }) => (await whoIs(data ?? '')).data?.id))
    expect(new Set(ids)).toEqual(new Set([user.id]))
  })

  test('takes over what changes in Casdoor: name, address, and whether it is verified', async () => {
    const user = addUser()
    const token = await tokenOf(user)
    expect((await whoIs(token)).data?.emailVerified).toBe(false)
    const email = `moved-${user.email}`
    Object.assign(user, { email, displayName: 'Countess', emailVerified: true })
    expect((await whoIs(token)).data).toMatchObject({ email, displayName: 'Countess', emailVerified: true })
    expect(await bench.identity.authenticate(token)).toMatchObject({ emailVerified: true })
    expect((await whoIs(await tokenOf(user))).data?.id).toBe(user.id)
  })

  test('gives its address up to another account of Casdoor that has it now, and keeps its wallet', async () => {
    const former = addUser()
    const token = await tokenOf(former)
    const { email } = former
    Object.assign(former, { email: `moved-${email}` })
    const latter = addUser({ email })
    expect((await whoIs(await tokenOf(latter))).data).toMatchObject({ id: latter.id, email })
    expect((await whoIs(token)).data).toMatchObject({ id: former.id, email: `moved-${email}` })
  })

  test('gives its address up when its account is deleted; what it owned stays with it', async () => {
    const former = addUser()
    const token = await tokenOf(former)
    casdoor.users.splice(casdoor.users.indexOf(former), 1)
    const latter = addUser({ email: former.email })
    expect((await whoIs(await tokenOf(latter))).data?.id).toBe(latter.id)
    expect((await whoIs(token)).code).toBe('user_not_found')
    expect((await rowOf(former))?.email).toBe(`${former.id}@none.invalid`)
  })

  test('refuses a second account of Casdoor by the same address', async () => {
    const first = addUser()
    await tokenOf(first)
    const second = addUser({ email: first.email, plainPassword: NEW_PASSWORD })
    casdoor.users.unshift(...casdoor.users.splice(casdoor.users.indexOf(second), 1))
    expect((await signIn(first.email, NEW_PASSWORD)).code).toBe('email_taken')
  })
})

describe('an account that was made here before there was a Casdoor', () => {
  test('is its owner’s once Casdoor has verified the address, and its sessions end', async () => {
    const email = someAddress()
    const language = 'ja'
    const { userId } = await bench.identity.createVerifiedUser({ email, displayName: 'Ada', language })
    const secret = await bench.identity.createSignInLink(userId)
    const place = { address: '127.0.0.1', userAgent: '', stay: true }
    const before = await bench.identity.signInByLink(secret, place)
    const user = addUser({ email, emailVerified: true })
    expect((await whoIs(await tokenOf(user))).data?.id).toBe(userId)
    expect((await whoIs(before)).code).toBe('login_expired')
  })

  test('is not taken over by who merely typed its address into Casdoor', async () => {
    const email = someAddress()
    await bench.identity.createVerifiedUser({ email, displayName: 'Ada', language: 'en' })
    addUser({ email, emailVerified: false })
    expect((await signIn(email)).code).toBe('email_taken')
    const stranger = await bench.call(signup, { body: signUpBody(email) })
    expect(stranger).toEqual({
      ...(await bench.call(signup, { body: signUpBody(someAddress()) })),
      data: `harbour/${email}`,
    })
    await eventually('the mail to the owner', async () => (await bench.mailsTo(email)).length > 0)
  })
})

test('an account of Casdoor that takes the address of one that was made here is told so', async () => {
  const email = someAddress()
  await bench.identity.createVerifiedUser({ email, displayName: 'Ada', language: 'en' })
  const user = addUser({ emailVerified: true })
  const token = await tokenOf(user)
  Object.assign(user, { email })
  expect((await whoIs(token)).code).toBe('email_taken')
  expect((await signIn(email)).code).toBe('email_taken')
})

describe('an account that is deleted here', () => {
  test('does not come back by what Casdoor said of it before', async () => {
    const user = addUser()
    const token = await tokenOf(user)
    let go = () => {}
    const isHeld = new Promise<void>(resolve => {
      casdoor.behaviour.afterwards = async ({ path }) => {
        if (path !== 'get-user') return
        resolve()
        await new Promise<void>(release => {
          go = release
        })
      }
    })
    const slow = whoIs(token)
    await isHeld
    casdoor.behaviour.afterwards = null
    const body = { email: user.email, password: PASSWORD }
    expect((await bench.call(deleteAccount, { body }, { token })).code).toBeNull()
    go()
    expect((await slow).code).toBe('user_not_found')
    const { db } = bench.database
    expect(await db.$count(userAccount, eq(userAccount.email, user.email))).toBe(0)
    expect(await rowOf(user)).toBeUndefined()
  })
})

describe('an account that Casdoor blocks', () => {
  test.each([
    ['forbidden', (user: FakeUser) => Object.assign(user, { isForbidden: true })],
    ['marked as deleted', (user: FakeUser) => Object.assign(user, { isDeleted: true })],
    ['gone', (user: FakeUser) => casdoor.users.splice(casdoor.users.indexOf(user), 1)],
  ])('because it is %s is not found, and all of its sessions end', async (_, block) => {
    const user = addUser()
    const tokens = [await tokenOf(user), await tokenOf(user)]
    block(user)
    expect((await whoIs(tokens[0] ?? '')).code).toBe('user_not_found')
    for (const token of tokens) expect(await bench.identity.authenticate(token)).toBeNull()
  })

  test('says so at the next sign-in, and gets no mails', async () => {
    const user = addUser({ isForbidden: true })
    expect((await signIn(user.email)).code).toBe('account_blocked')
    await askForReset(user.email)
    const other = addUser()
    await askForReset(other.email)
    await linkTo(other.email)
    expect(await bench.mailsTo(user.email)).toEqual([])
  })
})

describe('while Casdoor does not answer', () => {
  test('sessions go on, by what it last said, for a day', async () => {
    const user = addUser({ emailVerified: true })
    const token = await tokenOf(user)
    casdoor.behaviour.instead = () => 500
    expect((await whoIs(token)).data).toMatchObject({ id: user.id, email: user.email, emailVerified: true })
    expect((await bench.call(listSessions, {}, { token })).data).toHaveLength(1)
    bench.advance(24 * HOUR_MS + 1)
    expect(await whoIs(token)).toMatchObject({ httpStatus: 503, code: 'identity_unavailable' })
    expect((await bench.call(listSessions, {}, { token })).data).toHaveLength(1)
  })

  test('signing in, up and renaming say so, and count nothing as wrong', async () => {
    const user = addUser()
    const token = await tokenOf(user)
    casdoor.behaviour.instead = () => 500
    for (let tries = 0; tries < 6; tries += 1) {
      expect(await signIn(user.email)).toMatchObject({ httpStatus: 503, code: 'identity_unavailable' })
    }
    const query = { id: `harbour/${user.name}`, columns: 'display_name' as const }
    const outcomes = [
      await bench.call(signup, { body: signUpBody(someAddress()) }),
      await bench.call(updateUser, { query, body: { displayName: 'New' } }, { token }),
      await bench.call(getApplication, { query: { id: `admin/${APPLICATION}` } }),
    ]
    expect(outcomes.map(({ code }) => code)).toEqual(Array(3).fill('identity_unavailable'))
    casdoor.behaviour.instead = null
    expect((await signIn(user.email)).code).toBeNull()
  })

  test('logging out works, and a link is good for later', async () => {
    const user = addUser()
    const token = await tokenOf(user)
    await askForReset(user.email)
    const secret = await linkTo(user.email)
    casdoor.behaviour.instead = () => 500
    expect((await reset(secret)).code).toBe('identity_unavailable')
    expect((await bench.call(logout, {}, { token })).code).toBeNull()
    expect((await whoIs(token)).code).toBe('login_expired')
    casdoor.behaviour.instead = null
    expect((await reset(secret)).code).toBeNull()
  })

  test('a mail that was asked for goes out when it is back', async () => {
    const user = addUser()
    casdoor.behaviour.instead = () => 500
    expect((await askForReset(user.email)).code).toBeNull()
    const asked = casdoor.seen.length
    await eventually('a try to send it', async () => casdoor.seen.length > asked)
    casdoor.behaviour.instead = null
    expect(await linkTo(user.email)).toBeTruthy()
  })
})

describe('a password', () => {
  test('[R8.1] has the tries left that Casdoor says, where other doors used some up', async () => {
    const user = addUser({ signinWrongTimes: 3 })
    expect(await signIn(user.email, 'wrong')).toMatchObject({ code: 'login_tries_left', number: 1 })
    expect(await signIn(user.email, 'wrong')).toMatchObject({ code: 'login_frozen', number: 15 })
    expect(await signIn(user.email)).toMatchObject({ code: 'login_frozen', number: 15 })
  })

  test('of a name that nobody has is counted over all networks, as Casdoor counts', async () => {
    const nobody = someAddress()
    const user = addUser()
    for (const email of [nobody, user.email]) {
      const answers = []
      for (const address of [1, 2, 3, 4, 5, 6].map(number => `198.51.100.${number}`)) {
        const { code, number } = await bench.call(login, { body: loginBody(email, 'wrong') }, { address })
        answers.push([code, number])
      }
      expect(answers).toEqual([
        ...[4, 3, 2, 1].map(tries => ['login_tries_left', tries]),
        ['login_frozen', 15],
        ['login_frozen', 15],
      ])
    }
  })

  test('that a reset changes while it is looked at opens nothing', async () => {
    const user = addUser()
    await tokenOf(user)
    await askForReset(user.email)
    const secret = await linkTo(user.email)
    let held = () => {}
    const isHeld = new Promise<void>(resolve => {
      casdoor.behaviour.afterwards = async ({ path }) => {
        if (path !== 'login') return
        resolve()
        await new Promise<void>(go => {
          held = go
        })
      }
    })
    const slow = signIn(user.email)
    await isHeld
    casdoor.behaviour.afterwards = null
    expect((await reset(secret)).code).toBeNull()
    held()
    expect((await slow).code).toBe('login_failed')
    expect((await signIn(user.email, NEW_PASSWORD)).code).toBeNull()
  })

  test('that Casdoor’s own rules refuse is too weak, and the link stays good', async () => {
    const user = addUser()
    await askForReset(user.email)
    const secret = await linkTo(user.email)
    expect(await reset(secret, 'Harbourrr-8')).toMatchObject({
      code: 'password_too_weak',
      fields: ['password: password'],
    })
    expect((await reset(secret)).code).toBeNull()
    expect(user).toMatchObject({ emailVerified: true, signinWrongTimes: 0 })
  })
})

describe('a link', () => {
  test('reaches an account of Casdoor that was never here', async () => {
    const user = addUser({ emailVerified: false })
    await bench.call(sendVerifyEmail, { body: { email: user.email, ...names, method: 'signup' } })
    const secret = await linkTo(user.email)
    const query = { application: APPLICATION, token: secret }
    expect((await bench.call(verifyEmail, { query })).data).toEqual({ email: user.email })
    expect(user.emailVerified).toBe(true)
  })

  test('to an address that Casdoor has changed meanwhile does nothing', async () => {
    const user = addUser()
    await askForReset(user.email)
    await bench.call(sendVerifyEmail, { body: { email: user.email, ...names, method: 'signup' } })
    const mails = await eventually('both mails', async () => {
      const found = await bench.mailsTo(user.email)
      return found.length === 2 && found
    })
    Object.assign(user, { email: `moved-${user.email}` })
    for (const { text } of mails) {
      const token = secretIn(text)
      if (text.includes('/reset-password?')) expect((await reset(token)).code).toBe('reset_link_expired')
      else {
        const answer = await bench.call(verifyEmail, { query: { application: APPLICATION, token } })
        expect(answer.code).toBe('verify_link_invalid')
      }
    }
    expect(user).toMatchObject({ emailVerified: false, plainPassword: PASSWORD })
  })
})

describe('Casdoor’s token of a session', () => {
  test('is kept sealed, is never shown, and ends with the session', async () => {
    const user = addUser()
    const token = await tokenOf(user)
    const [theirs = ''] = [...casdoor.tokens].flatMap(([key, owner]) => (owner === user ? [key] : []))
    const [row] = await bench.database.db.select().from(session).where(eq(session.userId, user.id))
    expect(row?.externalToken).toMatch(/^[0-9a-f]{16}\.[\w-]{100,}$/)
    expect(row?.externalToken).not.toContain(theirs)
    expect(JSON.stringify(await whoIs(token))).not.toContain(theirs)
    await bench.call(logout, {}, { token })
    expect(casdoor.tokens.has(theirs)).toBe(false)
  })
})

describe('names', () => {
  test('of the application and the organization are the console’s, or Casdoor’s own', async () => {
    const user = addUser()
    const theirs = { application: 'harbour-console', organization: 'harbour' }
    const { data } = await bench.call(getApplication, { query: { id: 'admin/harbour-console' } })
    expect(data).toMatchObject({ name: theirs.application, organization: theirs.organization })
    const body = { ...loginBody(user.email), ...theirs }
    expect((await bench.call(login, { body })).code).toBeNull()
    const other = await bench.call(login, { body: { ...body, organization: 'built-in' } })
    expect(other.fields).toEqual(['organization: not_allowed'])
  })
})

function someAddress(): string {
  count += 1
  return `somebody-${count}@example.com`
}

const addUser = (more: Partial<FakeUser> = {}) => casdoor.addUser({ email: someAddress(), ...more })
const signIn = (email: string, password = PASSWORD) => bench.call(login, { body: loginBody(email, password) })
const tokenOf = async (user: FakeUser) => (await signIn(user.email)).data ?? ''
const whoIs = (token: string) => bench.call(getAccount, {}, { token })
const askForReset = (email: string) => bench.call(sendResetPasswordEmail, { body: { email, ...names } })
const reset = (token: string, password = NEW_PASSWORD) =>
  bench.call(resetPassword, { body: { ...names, token, password } })

async function rowOf(user: FakeUser) {
  const [row] = await bench.database.db.select().from(userAccount).where(eq(userAccount.externalId, user.id))
  return row
}

/** The secret of the first mail to an address. */
async function linkTo(email: string): Promise<string> {
  const mails = await eventually(`a mail to ${email}`, async () => {
    const found = await bench.mailsTo(email)
    return found.length > 0 && found
  })
  return secretIn(mails[0]?.text ?? '')
}
