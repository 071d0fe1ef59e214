import { login, loginBy, logout, signup } from '@berth/contract/account'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  createIdentityBench,
  type IdentityBench,
  loginBody,
  PASSWORD,
  signUpBody,
} from '../../../../test/identity-bench.ts'
import { attemptKey } from './attempts.ts'
import { ACCOUNT_RULE, NETWORK_RULE, SLOWED_LOGIN_WAIT_MS } from './login-throttle.ts'
import { networkOf } from './network.ts'

const WRONG = 'Wrong-Horse-7'
const HOME = '198.51.100.1'
const STRANGER = '203.0.113.99'

let bench: IdentityBench
let count = 0
beforeAll(async () => {
  bench = await createIdentityBench()
})
afterAll(() => bench.close())

test('[R7.1] a password signs in by both calls, with the address in any spelling', async () => {
  const email = await someone()
  expect((await tryLogin(email.toUpperCase(), PASSWORD)).data).toMatch(/^ey/)
  const byMethod = await bench.call(loginBy, { params: { method: 'password' }, body: loginBody(email) })
  expect(byMethod.data).toMatch(/^ey/)
})

test('wrong passwords count down, then freeze for the minutes that are said, then are forgotten', async () => {
  const email = await someone()
  for (const tries of [4, 3, 2, 1]) {
    const answer = await tryLogin(email, WRONG)
    expect(answer).toMatchObject({ code: 'login_tries_left', number: tries })
  }
  expect(await tryLogin(email, WRONG)).toMatchObject({ code: 'login_frozen', number: 15 })
  bench.advance(10 * 60_000)
  // Frozen is frozen, for the right password too: else freezing would tell which one it is.
  expect(await tryLogin(email, PASSWORD)).toMatchObject({ code: 'login_frozen', number: 5 })
  bench.advance(5 * 60_000)
  expect((await tryLogin(email, PASSWORD)).code).toBeNull()
  expect(await tryLogin(email, WRONG)).toMatchObject({ number: 4 })
})

test('a stranger who guesses does not lock the owner out', async () => {
  const email = await someone()
  for (let guess = 0; guess < 6; guess++) await tryLogin(email, WRONG, STRANGER)
  expect((await tryLogin(email, PASSWORD, STRANGER)).code).toBe('login_frozen')
  expect((await tryLogin(email, PASSWORD, HOME)).code).toBeNull()
})

test('a right password begins the count anew', async () => {
  const email = await someone()
  for (let guess = 0; guess < 4; guess++) await tryLogin(email, WRONG)
  expect((await tryLogin(email, PASSWORD)).code).toBeNull()
  expect(await tryLogin(email, WRONG)).toMatchObject({ number: 4 })
})

test('of thirty guesses at once no more than five have a chance', async () => {
  const email = await someone()
  const guesses = await Promise.all(Array.from({ length: 30 }, () => tryLogin(email, WRONG, STRANGER)))
  expect(guesses.filter(({ code }) => code === 'login_tries_left').length).toBeLessThanOrEqual(4)
  // The right one among the later guesses is not let in any more.
  expect((await tryLogin(email, PASSWORD, STRANGER)).code).toBe('login_frozen')
})

test('a right guess is not let in when the tries were used up while it was looked at', async () => {
  const email = await someone()
  await tryLogin(email, WRONG, STRANGER)
  const key = attemptKey('login', email, networkOf(STRANGER))
  const { db } = bench.database
  const { right } = await db.transaction(async tx => {
    await tx.execute(sql`select 1 from attempt where key = ${key} for update`)
    const right = tryLogin(email, PASSWORD, STRANGER)
    // Its password has been found right, and it waits for the count that is held here.
    await expect.poll(waitingForLocks).toBe(1)
    await tx.execute(sql`update attempt set count = 5, blocked_until = '2100-01-01' where key = ${key}`)
    return { right }
  })
  expect((await right).code).toBe('login_frozen')
  await db.execute(sql`delete from attempt where key = ${key}`)
})

test('twenty right sign-ins at once all go through', async () => {
  const email = await someone()
  const answers = await Promise.all(Array.from({ length: 20 }, () => tryLogin(email, PASSWORD)))
  expect(answers.map(({ code }) => code)).toEqual(Array(20).fill(null))
})

test('a name that nobody has is answered step by step like one that somebody has', async () => {
  const known = await someone()
  const answersOf = async (name: string) => {
    const answers = []
    for (let guess = 0; guess < 7; guess++) {
      answers.push(await tryLogin(name, WRONG, '192.0.2.44'))
    }
    return answers
  }
  expect(await answersOf('nobody@example.com')).toEqual(await answersOf(known))
})

test('a name that nobody has costs as much work as a wrong password', async () => {
  const known = await someone()
  const work: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] }
  // Processor time of this process, in which nothing else runs: other work beside it does not move it.
  const guess = async (kind: keyof typeof work, name: string, address: string) => {
    const before = process.cpuUsage()
    await tryLogin(name, WRONG, address)
    const { user, system } = process.cpuUsage(before)
    work[kind].push(user + system)
  }
  for (let turn = 0; turn < 15; turn++) {
    await guess('known', known, `192.0.11.${turn}`)
    await guess('unknown', 'stranger@example.com', `192.0.10.${turn}`)
  }
  // Half is far from what leaving out the hash would make.
  expect(median(work.unknown)).toBeGreaterThan(median(work.known) / 2)
})

test('a network that guesses over many accounts has to wait, but not on accounts that it signed in to', async () => {
  const own = await someone()
  const other = await someone()
  expect((await tryLogin(own, PASSWORD, '192.0.2.1')).code).toBeNull()
  for (let guess = 0; guess < NETWORK_RULE.max; guess++) {
    await tryLogin(`guess-${guess}@example.com`, WRONG, '192.0.2.1')
  }
  expect(await tryLogin(other, PASSWORD, '192.0.2.1')).toMatchObject({
    code: 'too_many_requests',
    number: 900,
  })
  expect((await tryLogin(own, PASSWORD, '192.0.2.1')).code).toBeNull()
  expect((await tryLogin(other, PASSWORD, '192.0.2.2')).code).toBeNull()
  bench.advance(15 * 60_000 + 1)
  expect((await tryLogin(other, PASSWORD, '192.0.2.1')).code).toBeNull()
})

test('an account that is guessed at from many networks slows strangers down and never its owner', async () => {
  const email = await someone()
  expect((await tryLogin(email, PASSWORD, HOME)).code).toBeNull()
  for (let guess = 0; guess < ACCOUNT_RULE.max; guess++) await tryLogin(email, WRONG, `10.0.0.${guess}`)
  bench.pauses.length = 0
  expect((await tryLogin(email, PASSWORD, HOME)).code).toBeNull()
  expect(bench.pauses).toEqual([])
  expect(await tryLogin(email, WRONG, '10.0.1.1')).toMatchObject({ number: 1 })
  expect(await tryLogin(email, WRONG, '10.0.1.1')).toMatchObject({ code: 'login_frozen' })
  // The owner on a new network waits, and comes in.
  expect((await tryLogin(email, PASSWORD, '10.0.2.2')).code).toBeNull()
  expect(bench.pauses).toEqual([SLOWED_LOGIN_WAIT_MS, SLOWED_LOGIN_WAIT_MS, SLOWED_LOGIN_WAIT_MS])
})

test('a whole IPv6 network counts as one', async () => {
  const email = await someone()
  for (let guess = 0; guess < 5; guess++) await tryLogin(email, WRONG, `2001:db8:1:2::${guess}`)
  expect((await tryLogin(email, PASSWORD, '2001:db8:1:2:ffff::1')).code).toBe('login_frozen')
  expect((await tryLogin(email, PASSWORD, '2001:db8:1:3::1')).code).toBeNull()
})

test('another application, organization, type or method is refused', async () => {
  const email = await someone()
  const answers = [
    await bench.call(login, { body: { ...loginBody(email), application: 'other' } }),
    await bench.call(login, { body: { ...loginBody(email), organization: 'other' } }),
    await bench.call(login, { body: { ...loginBody(email), type: 'code' as 'token' } }),
    await bench.call(login, { body: { ...loginBody(email), signinMethod: 'LDAP' as 'Password' } }),
    await bench.call(loginBy, { params: { method: 'ldap' as 'link' }, body: loginBody(email) }),
  ]
  expect(answers.map(({ code, fields }) => [code, fields])).toEqual([
    ['validation_failed', ['application: not_allowed']],
    ['validation_failed', ['organization: not_allowed']],
    ['validation_failed', ['type: not_allowed']],
    ['validation_failed', ['signinMethod: not_allowed']],
    // A path with another method is no path of ours.
    ['not_found', []],
  ])
})

test('an expired password signs nobody in, and is told from a wrong one', async () => {
  const email = await someone()
  await bench.database.db.execute(
    sql`update user_account set need_update_password = true where email = ${email}`,
  )
  expect((await tryLogin(email, PASSWORD)).code).toBe('password_expired')
  expect((await tryLogin(email, WRONG)).code).toBe('login_tries_left')
})

test('signing out without a session changes nothing', async () => {
  expect(await bench.call(logout, {})).toMatchObject({ data: null, code: null })
})

test('counts that have no use any more are removed', async () => {
  await tryLogin('purge@example.com', WRONG)
  bench.advance(25 * 3_600_000)
  await bench.identity.purge()
  const { rows } = await bench.database.db.execute(sql`select count(*)::int as n from attempt`)
  expect(rows).toEqual([{ n: 0 }])
})

async function someone(): Promise<string> {
  count += 1
  const email = `someone-${count}@example.com`
  expect((await bench.call(signup, { body: signUpBody(email) })).code).toBeNull()
  return email
}

async function waitingForLocks(): Promise<number> {
  const { rows } = await bench.database.db.execute<{ n: number }>(
    sql`select count(*)::int as n from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows[0]?.n ?? 0
}

function tryLogin(username: string, password: string, address = HOME) {
  return bench.call(login, { body: loginBody(username, password) }, { address })
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
