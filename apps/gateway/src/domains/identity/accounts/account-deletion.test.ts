import { getAccount, login, sendResetPasswordEmail, signup } from '@berth/contract/account'
import { deleteAccount } from '@berth/contract/account-security'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createIdentityBench,
  eventually,
  type IdentityBench,
  loginBody,
  names,
  PASSWORD,
  signUpBody,
} from '../../../../test/identity-bench.ts'
import { inTurn } from '../../../../test/in-turn.ts'
import { sha256Hex } from '../../../platform/hash.ts'
import { linkedIdentity, linkToken, session, userAccount } from '../tables.ts'
import { DAY_RULE } from '../throttles/mail-limits.ts'

let bench: IdentityBench
let count = 0
beforeAll(async () => {
  bench = await createIdentityBench()
})
afterAll(() => bench.close())

describe('deleting an account', () => {
  test('[R1.7] leaves a row without a name, and nothing that lets anybody in', async () => {
    const { userId, email, token } = await someone()
    const { db } = bench.database
    const link = await bench.identity.createSignInLink(userId)
    await db.insert(linkedIdentity).values({
      id: crypto.randomUUID(),
      userId,
      provider: 'github',
      subject: '42',
      username: 'ada',
      email,
      linkedAt: bench.clock.now(),
    })
    expect(await remove(token, email)).toMatchObject({ data: null, code: null })

    const [row] = await db.select().from(userAccount).where(eq(userAccount.id, userId))
    expect(row).toMatchObject({
      email: `deleted-${userId}`,
      displayName: '',
      avatar: '',
      passwordHash: null,
      referralCode: null,
      emailVerifiedAt: null,
      deletedAt: bench.clock.now(),
    })
    expect(await db.select().from(linkedIdentity).where(eq(linkedIdentity.userId, userId))).toEqual([])
    expect(await db.select().from(linkToken).where(eq(linkToken.userId, userId))).toEqual([])
    const sessions = await db.select().from(session).where(eq(session.userId, userId))
    expect(sessions.every(one => one.revokedAt !== null && one.address === '' && one.userAgent === '')).toBe(
      true,
    )

    expect((await bench.call(getAccount, {}, { token })).code).toBe('login_expired')
    expect((await bench.call(login, { body: loginBody(email) })).code).toBe('login_tries_left')
    expect((await bench.call(login, { body: loginBody(`deleted-${userId}`) })).code).toBe('login_tries_left')
    const place = { address: '203.0.113.7', userAgent: 'test', stay: true }
    await expect(bench.identity.signInByLink(link, place)).rejects.toMatchObject({
      code: 'sign_in_link_invalid',
    })
    await expect(bench.identity.createSignInLink(userId)).rejects.toMatchObject({ code: 'user_not_found' })
    // However somebody comes to be let in: no session opens.
    const late = { hash: sha256Hex('late'), purpose: 'sign_in', userId, email: `deleted-${userId}` } as const
    const expiresAt = new Date(bench.clock.now().getTime() + 60_000)
    await db.insert(linkToken).values({ ...late, createdAt: bench.clock.now(), expiresAt })
    await expect(bench.identity.signInByLink('late', place)).rejects.toMatchObject({ code: 'login_failed' })
  })

  test('is over on every replica', async () => {
    const { email, token } = await someone()
    const replica = await bench.replica()
    expect(await replica.authenticate(token)).not.toBeNull()
    await remove(token, email)
    await eventually('the replica forgets', async () => (await replica.authenticate(token)) === null)
  })

  test('says farewell to the address that was the account’s', async () => {
    const { email, token } = await someone()
    await remove(token, email)
    const mail = await eventually('the farewell', async () =>
      (await bench.mailsTo(email)).find(({ subject }) => subject.includes('deleted')),
    )
    expect(mail.text).toContain('2026-03-01 12:')
  })

  test('frees the address for a new account, which is another one', async () => {
    const { userId, email, token } = await someone()
    await remove(token, email)
    expect((await bench.call(signup, { body: signUpBody(email) })).code).toBeNull()
    const again = (await bench.call(login, { body: loginBody(email) })).data ?? ''
    const account = (await bench.call(getAccount, {}, { token: again })).data
    expect(account?.id).not.toBe(userId)
    expect(account).toMatchObject({ emailVerified: false, balance: 0 })
  })

  test('signing up again and again does not fill a mailbox', async () => {
    const email = `delete-${count++}@example.com`
    for (let round = 0; round < DAY_RULE.max + 3; round++) {
      await bench.call(signup, { body: signUpBody(email) })
      const { data } = await bench.call(login, { body: loginBody(email) })
      expect((await remove(data ?? '', email)).code).toBeNull()
    }
    await bench.call(sendResetPasswordEmail, { body: { ...names, email: 'x@example.com' } })
    const marker = await someone()
    await remove(marker.token, marker.email)
    await eventually(
      'mails that were queued later',
      async () => (await bench.mailsTo(marker.email)).length > 0,
    )
    expect((await bench.mailsTo(email)).length).toBeLessThanOrEqual(DAY_RULE.max)
  })

  test('needs the address, typed', async () => {
    const { email, token } = await someone()
    const answer = await remove(token, 'other@example.com')
    expect(answer).toMatchObject({ code: 'validation_failed', fields: ['email: confirmation'] })
    expect((await bench.call(getAccount, {}, { token })).code).toBeNull()
    expect((await remove(token, email.toUpperCase())).code).toBeNull()
  })

  test('needs the password, and wrong ones are counted with those of the log-in form', async () => {
    const { email, token } = await someone()
    for (const password of ['', 'Wrong-Horse-7', 'Wrong-Horse-8', 'Wrong-Horse-9']) {
      const answer = await remove(token, email, password)
      expect(answer).toMatchObject({ code: 'validation_failed', fields: ['password: password_wrong'] })
    }
    expect((await remove(token, email, 'Wrong-Horse-10')).code).toBe('login_frozen')
    expect((await remove(token, email)).code).toBe('login_frozen')
    expect((await bench.call(getAccount, {}, { token })).code).toBeNull()
  })

  test('of an account without a password needs the address alone', async () => {
    const { email, token } = await someone({ password: false })
    expect((await remove(token, email, '')).code).toBeNull()
  })

  test('what a call of before adds meanwhile is swept up', async () => {
    const { userId, email, token } = await someone()
    await remove(token, email)
    const { db } = bench.database
    await db.insert(linkedIdentity).values({
      id: crypto.randomUUID(),
      userId,
      provider: 'github',
      subject: 'late',
      username: 'ada',
      email,
      linkedAt: bench.clock.now(),
    })
    await bench.identity.purge()
    expect(await db.select().from(linkedIdentity).where(eq(linkedIdentity.userId, userId))).toEqual([])
  })

  describe.each(['password', 'link'] as const)('with somebody who signs in by %s at the same time', way => {
    async function entered() {
      const account = await someone()
      const secret = await bench.identity.createSignInLink(account.userId)
      const place = { address: '203.0.113.7', userAgent: 'test', stay: true }
      const captcha = { type: '', token: '', captchaId: '' }
      const enter = () =>
        way === 'link'
          ? bench.identity.signInByLink(secret, place)
          : bench.identity.signInByPassword(account.email, PASSWORD, place, captcha)
      return { ...account, enter }
    }

    async function expectNoSession(userId: string) {
      const open = await bench.database.db.select().from(session).where(eq(session.userId, userId))
      expect(open.filter(({ revokedAt }) => revokedAt === null)).toEqual([])
    }

    test('ends the session that was being made', async () => {
      const { userId, email, token, enter } = await entered()
      const [its, removed] = await inTurn(bench.database.db, email, enter, () => remove(token, email))
      expect(removed.code).toBeNull()
      expect((await bench.call(getAccount, {}, { token: its })).code).toBe('login_expired')
      await expectNoSession(userId)
    })

    test('lets none be made any more', async () => {
      const { userId, email, token, enter } = await entered()
      const refusal = () => enter().then(() => null, String)
      const [removed, refused] = await inTurn(bench.database.db, email, () => remove(token, email), refusal)
      expect([removed.code, refused]).toEqual([null, expect.any(String)])
      await expectNoSession(userId)
    })
  })

  test('a name that is given to it at the same time is not kept', async () => {
    const { userId, email } = await someone()
    const { db } = bench.database
    const renaming = await db.transaction(async tx => {
      await tx
        .update(userAccount)
        .set({ displayName: '', deletedAt: bench.clock.now() })
        .where(eq(userAccount.id, userId))
      const under = bench.identity.rename({ userId, id: `berth/${email}`, displayName: 'Countess' })
      await eventually('the renaming waits for the account', async () => {
        const { rows } = await db.execute(
          sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return rows.length > 0
      })
      return { under }
    })
    expect(await renaming.under).toBe(false)
    const [row] = await db.select().from(userAccount).where(eq(userAccount.id, userId))
    expect(row?.displayName).toBe('')
  })

  test('nothing is added to a deleted account', async () => {
    const { userId, email, token } = await someone()
    const choice = await bench.notifications.get(userId)
    await remove(token, email)
    await expect(bench.notifications.set(userId, choice)).rejects.toMatchObject({ code: 'login_expired' })
  })
})

async function someone({ password = true }: { password?: boolean } = {}) {
  const email = `delete-${count++}@example.com`
  if (password) return await bench.customer(email)
  const { userId } = await bench.identity.createVerifiedUser({ email, displayName: 'Ada', language: 'en' })
  const secret = await bench.identity.createSignInLink(userId)
  const place = { address: '203.0.113.7', userAgent: 'node', stay: true }
  return { userId, email, token: await bench.identity.signInByLink(secret, place) }
}

function remove(token: string, email: string, password: string = PASSWORD) {
  return bench.call(deleteAccount, { body: { email, password } }, { token })
}
