import {
  endOtherSessions,
  endSession,
  getAccount,
  listSessions,
  login,
  signup,
  updateUser,
} from '@berth/contract/account'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createIdentityBench,
  eventually,
  type IdentityBench,
  loginBody,
  signUpBody,
} from '../../../../test/identity-bench.ts'
import { LAST_SEEN_STEP_MS } from '../sessions/sessions.ts'

let bench: IdentityBench
let count = 0
beforeAll(async () => {
  bench = await createIdentityBench()
})
afterAll(() => bench.close())

describe('the display name', () => {
  test('[R7.1] is changed by a form, and the answer says whether it was another', async () => {
    const { email, token } = await someone()
    expect((await rename(email, token, 'Ada & Grace')).data).toBe('Affected')
    expect((await bench.call(getAccount, {}, { token })).data?.displayName).toBe('Ada & Grace')
    expect((await rename(email, token, '  Ada & Grace ')).data).toBe('Unaffected')
  })

  test.each([
    ['[R5.1] with an emoji', 'Ada 🚀', 'username_emoji'],
    ['[R5.1] that is empty', ' ', 'username_required'],
    ['that is too long', 'a'.repeat(65), 'too_long'],
  ])('%s is refused', async (_, name, rule) => {
    const { email, token } = await someone()
    expect((await rename(email, token, name)).fields).toEqual([`displayName: ${rule}`])
    expect((await bench.call(getAccount, {}, { token })).data?.displayName).toBe('Ada')
  })

  test('of somebody else is not found, and stays as it is', async () => {
    const { token } = await someone()
    const other = await someone()
    for (const email of [other.email, 'nobody@example.com', '']) {
      expect(await rename(email, token, 'Mallory')).toMatchObject({ httpStatus: 404, code: 'not_found' })
    }
    const { data } = await bench.call(getAccount, {}, { token: other.token })
    expect(data?.displayName).toBe('Ada')
  })

  test.each(['email_verified', 'display_name,email_verified', 'is_admin', ''])(
    'is the only column: “%s” is refused',
    async columns => {
      const { email, token } = await someone()
      const query = { id: `berth/${email}`, columns: columns as 'display_name' }
      const answer = await bench.call(updateUser, { query, body: { displayName: 'New' } }, { token })
      expect(answer.fields).toEqual(['columns: not_allowed'])
    },
  )

  test('changes nothing else, whatever else the form holds', async () => {
    const { email, token } = await someone()
    const query = { id: `berth/${email}`, columns: 'display_name' } as const
    const body = { displayName: 'New', emailVerified: 'true', balance: '100', email: 'x@example.com' }
    expect((await bench.call(updateUser, { query, body }, { token })).data).toBe('Affected')
    const { data } = await bench.call(getAccount, {}, { token })
    expect(data).toMatchObject({ displayName: 'New', emailVerified: false, balance: 0, email })
  })
})

describe('sessions', () => {
  test('are listed with where they are from and when they were used, the last one first', async () => {
    const { email, token } = await someone()
    bench.advance(2 * LAST_SEEN_STEP_MS)
    const second = await signIn(email, '198.51.100.20')
    const { data } = await bench.call(listSessions, {}, { token: second })
    expect(data?.map(({ address, current }) => [address, current])).toEqual(
      expect.arrayContaining([
        ['198.51.100.20', true],
        ['203.0.113.7', false],
      ]),
    )
    expect(data?.[0]).toMatchObject({
      current: true,
      userAgent: 'node',
      createdTime: bench.clock.now().toISOString(),
      lastSeenTime: bench.clock.now().toISOString(),
    })
    expect((await bench.call(listSessions, {}, { token })).data).toHaveLength(2)
  })

  test('can be ended one by one, at once', async () => {
    const replica = await bench.replica()
    const { email, token } = await someone()
    const second = await signIn(email)
    expect(await replica.authenticate(second)).not.toBeNull()
    const id = await otherSession(token)
    expect((await bench.call(endSession, { params: { id } }, { token })).code).toBeNull()
    expect((await bench.call(getAccount, {}, { token: second })).code).toBe('login_expired')
    expect((await bench.call(getAccount, {}, { token })).code).toBeNull()
    await eventually('the replica forgets', async () => (await replica.authenticate(second)) === null)
    expect((await bench.call(endSession, { params: { id } }, { token })).code).toBe('not_found')
    expect((await bench.call(listSessions, {}, { token })).data).toHaveLength(1)
  })

  test('[R6.4] of somebody else are not found, like those that do not exist', async () => {
    const { token } = await someone()
    const victim = await someone()
    const [theirs] = (await bench.call(listSessions, {}, { token: victim.token })).data ?? []
    for (const id of [theirs?.id ?? '', '01890000-0000-7000-8000-000000000000', 'no-uuid']) {
      const answer = await bench.call(endSession, { params: { id } }, { token })
      expect(answer).toMatchObject({ httpStatus: 404, code: 'not_found' })
    }
    expect((await bench.call(getAccount, {}, { token: victim.token })).code).toBeNull()
  })

  test('can be ended all but the one that asks, and nobody else’s are', async () => {
    const bystander = await someone()
    const { email, token } = await someone()
    const others = [await signIn(email), await signIn(email)]
    expect((await bench.call(endOtherSessions, {}, { token })).data).toEqual({ ended: 2 })
    for (const other of others) {
      expect((await bench.call(getAccount, {}, { token: other })).code).toBe('login_expired')
    }
    for (const kept of [token, bystander.token]) {
      expect((await bench.call(getAccount, {}, { token: kept })).code).toBeNull()
    }
    expect((await bench.call(endOtherSessions, {}, { token })).data).toEqual({ ended: 0 })
  })

  test('that nobody used for 30 days are over, and those in use go on', async () => {
    const { email, token: idle } = await someone()
    const used = await signIn(email)
    for (let days = 0; days < 30; days += 10) {
      bench.advance(10 * 24 * 3_600_000)
      expect((await bench.call(getAccount, {}, { token: used })).code).toBeNull()
    }
    expect((await bench.call(listSessions, {}, { token: used })).data).toHaveLength(1)
    expect((await bench.call(getAccount, {}, { token: idle })).code).toBe('login_expired')
    expect((await bench.call(getAccount, {}, { token: used })).code).toBeNull()
  })

  test('that are over by themselves are not listed', async () => {
    const { email, token } = await someone()
    await bench.call(login, { body: { ...loginBody(email), autoSignin: false } })
    expect((await bench.call(listSessions, {}, { token })).data).toHaveLength(2)
    bench.advance(24 * 3_600_000)
    expect((await bench.call(listSessions, {}, { token })).data).toHaveLength(1)
  })
})

async function someone(): Promise<{ email: string; token: string }> {
  count += 1
  const email = `settled-${count}@example.com`
  await bench.call(signup, { body: signUpBody(email) })
  return { email, token: await signIn(email) }
}

async function signIn(email: string, address?: string): Promise<string> {
  const { data } = await bench.call(login, { body: loginBody(email) }, address ? { address } : {})
  return data ?? ''
}

async function otherSession(token: string): Promise<string> {
  const { data } = await bench.call(listSessions, {}, { token })
  return data?.find(({ current }) => !current)?.id ?? ''
}

function rename(email: string, token: string, displayName: string) {
  const query = { id: `berth/${email}`, columns: 'display_name' } as const
  return bench.call(updateUser, { query, body: { displayName } }, { token })
}
