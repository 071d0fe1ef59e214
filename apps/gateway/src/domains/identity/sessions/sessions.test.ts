import { getAccount, login, logout, signup, verifyEmail } from '@berth/contract/account'
import { eq, sql } from 'drizzle-orm'
import { decodeJwt, decodeProtectedHeader, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createIdentityBench,
  eventually,
  type IdentityBench,
  loginBody,
  secretIn,
  signUpBody,
} from '../../../../test/identity-bench.ts'
import { session } from '../tables.ts'
import { createSessionCache, SESSION_CACHE_MS } from './session-cache.ts'
import { LAST_SEEN_STEP_MS, SESSION_MS, SESSIONS_PER_USER_MAX } from './sessions.ts'

let bench: IdentityBench
let count = 0
beforeAll(async () => {
  bench = await createIdentityBench()
})
afterAll(() => bench.close())

describe('access tokens', () => {
  test('[R3.1] are JWTs that name customer and session, and last a year', async () => {
    const { token, email } = await signedIn()
    const { data } = await bench.call(getAccount, {}, { token })
    const kid = expect.stringMatching(/^[0-9a-f]{16}$/)
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'EdDSA', typ: 'JWT', kid })
    const claims = decodeJwt(token)
    expect(claims).toEqual({
      iss: 'berth',
      aud: 'berth-console',
      sub: data?.id,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
      iat: Math.floor(bench.clock.now().getTime() / 1_000),
      exp: Math.floor((bench.clock.now().getTime() + SESSION_MS) / 1_000),
    })
    expect(JSON.stringify(claims)).not.toContain(email)
  })

  test('[R4.1] that were changed, forged, or signed by nobody are nobody’s', async () => {
    const { token } = await signedIn()
    const claims = decodeJwt(token)
    const [head, body, signature] = token.split('.')
    const forged = [
      '',
      'nonsense',
      `${head}.${body}.`,
      `${head}.${body}.${signature?.replace(/^./, first => (first === 'A' ? 'B' : 'A'))}`,
      `${head}.${Buffer.from(JSON.stringify({ ...claims, sub: 'x' })).toString('base64url')}.${signature}`,
      new UnsecuredJWT(claims).encode(),
      await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new Uint8Array(32).fill(7)),
    ]
    for (const one of forged) expect(await bench.identity.authenticate(one)).toBeNull()
    expect(await bench.identity.authenticate(token)).toMatchObject({ userId: claims.sub })
  })

  test('are over when the session is: after a day where the customer did not want to stay', async () => {
    const email = await someone()
    const body = { ...loginBody(email), autoSignin: false }
    const token = (await bench.call(login, { body })).data ?? ''
    bench.advance(24 * 3_600_000 - 1_000)
    expect(await bench.identity.authenticate(token)).not.toBeNull()
    bench.advance(1_000)
    expect(await bench.identity.authenticate(token)).toBeNull()
  })
})

describe('ending a session', () => {
  test('[R7.1] logout ends the one session, here and on every replica', async () => {
    const replica = await bench.replica()
    const { token, email } = await signedIn()
    const second = (await bench.call(login, { body: loginBody(email) })).data ?? ''
    for (const one of [token, second]) {
      expect(await bench.identity.authenticate(one)).not.toBeNull()
      expect(await replica.authenticate(one)).not.toBeNull()
    }
    const caller = await bench.identity.authenticate(token)
    const isOpen = () => bench.identity.isSessionOpen(caller?.sessionId ?? '')
    let changes = 0
    const unwatch = await replica.watchSessions(() => {
      changes += 1
    })
    expect(await isOpen()).toBe(true)
    expect((await bench.call(logout, {}, { token })).data).toBe(`berth/${email}`)
    expect(await isOpen()).toBe(false)
    await eventually('who watches sessions is told', async () => changes > 0)
    unwatch()
    expect(await bench.identity.authenticate(token)).toBeNull()
    // The clock stands, so that the replica learns it by being told and not because its memory ran out.
    await eventually('the replica forgets', async () => (await replica.authenticate(token)) === null)
    expect(await bench.identity.authenticate(second)).not.toBeNull()
    expect(await replica.authenticate(second)).not.toBeNull()
    expect((await bench.call(logout, {}, { token })).data).toBeNull()
  })

  test('a replica that was not told finds out when its memory runs out', async () => {
    const { token } = await signedIn()
    const caller = await bench.identity.authenticate(token)
    await bench.database.db
      .update(session)
      .set({ revokedAt: bench.clock.now() })
      .where(eq(session.id, caller?.sessionId ?? ''))
    expect(await bench.identity.authenticate(token)).not.toBeNull()
    bench.advance(SESSION_CACHE_MS)
    expect(await bench.identity.authenticate(token)).toBeNull()
  })

  test('a call that comes after logout neither shares nor leaves behind an answer from before it', async () => {
    const { token } = await signedIn()
    const caller = await bench.identity.authenticate(token)
    bench.advance(SESSION_CACHE_MS)
    const held = holdAnswers()
    const early = bench.identity.authenticate(token)
    await held.asked
    held.others()
    if (caller) await bench.identity.signOut(caller)
    expect(await bench.identity.authenticate(token)).toBeNull()
    held.release()
    await early
    expect(await bench.identity.authenticate(token)).toBeNull()
  })

  test('the oldest session ends when there are too many', async () => {
    const { token, email } = await signedIn()
    await bench.database.db.execute(
      sql`insert into session (id, user_id, created_at, expires_at, last_seen_at, proven_at, user_agent, address)
          select gen_random_uuid(), user_id, created_at + interval '1 second', expires_at, last_seen_at, proven_at, '', ''
          from session, generate_series(1, ${SESSIONS_PER_USER_MAX - 1})
          where user_id = (select id from user_account where email = ${email})`,
    )
    expect(await bench.identity.authenticate(token)).not.toBeNull()
    bench.advance(2_000)
    const newest = (await bench.call(login, { body: loginBody(email) })).data ?? ''
    expect(await bench.identity.authenticate(newest)).not.toBeNull()
    await eventually('the oldest ends', async () => (await bench.identity.authenticate(token)) === null)
  })
})

test('verifying the address counts at once, on other replicas when they are told', async () => {
  const replica = await bench.replica()
  const { token, email } = await signedIn()
  expect(await bench.identity.authenticate(token)).toMatchObject({ emailVerified: false })
  expect(await replica.authenticate(token)).toMatchObject({ emailVerified: false })
  const [mail] = await eventually('the mail', async () => {
    const found = await bench.mailsTo(email)
    return found.length > 0 && found
  })
  const query = { application: 'berth-console', token: secretIn(mail?.text ?? '') }
  await bench.call(verifyEmail, { query })
  expect(await bench.identity.authenticate(token)).toMatchObject({ emailVerified: true })
  await eventually('the replica knows', async () => (await replica.authenticate(token))?.emailVerified)
})

test('when a session was last used is written once a minute', async () => {
  const { token } = await signedIn()
  const caller = await bench.identity.authenticate(token)
  const lastSeen = async () => {
    const [row] = await bench.database.db
      .select({ at: session.lastSeenAt })
      .from(session)
      .where(eq(session.id, caller?.sessionId ?? ''))
    return row?.at.getTime()
  }
  const start = bench.clock.now().getTime()
  bench.advance(LAST_SEEN_STEP_MS - 1_000)
  await bench.identity.authenticate(token)
  expect(await lastSeen()).toBe(start)
  bench.advance(SESSION_CACHE_MS)
  await bench.identity.authenticate(token)
  expect(await lastSeen()).toBe(start + LAST_SEEN_STEP_MS - 1_000 + SESSION_CACHE_MS)
})

test('a remembered token asks the database nothing', async () => {
  const { token } = await signedIn()
  await bench.identity.authenticate(token)
  let queries = 0
  const original = bench.database.pool.query
  bench.database.pool.query = ((...args: Parameters<typeof original>) => {
    queries += 1
    return original.apply(bench.database.pool, args)
  }) as typeof original
  try {
    for (let call = 0; call < 100; call++) await bench.identity.authenticate(token)
  } finally {
    bench.database.pool.query = original
  }
  expect(queries).toBe(0)
})

test('the memory of tokens is bounded, and drops what was not asked for the longest', () => {
  const cache = createSessionCache({ clock: bench.clock, max: 3 })
  const keep = (key: string) =>
    cache.keep(
      key,
      { sessionId: `s-${key}`, userId: 'u', caller: null },
      new Date(bench.clock.now().getTime() + 60_000),
      cache.generation(),
    )
  for (const key of ['a', 'b', 'c', 'a', 'd']) keep(key)
  expect(cache.size()).toBe(3)
  expect(['a', 'b', 'c', 'd'].map(key => cache.find(key) !== undefined)).toEqual([true, false, true, true])
})

/** Holds the answer of the next query on the pool; `others` lets later ones through. */
function holdAnswers() {
  const { pool } = bench.database
  const original = pool.query
  const asked = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  pool.query = (async (...args: Parameters<typeof original>) => {
    const answer = await original.apply(pool, args)
    asked.resolve()
    await gate.promise
    return answer
  }) as unknown as typeof original
  return {
    asked: asked.promise,
    others: () => {
      pool.query = original
    },
    release: () => gate.resolve(),
  }
}

async function someone(): Promise<string> {
  count += 1
  const email = `someone-${count}@example.com`
  await bench.call(signup, { body: signUpBody(email) })
  return email
}

async function signedIn(): Promise<{ token: string; email: string }> {
  const email = await someone()
  return { token: (await bench.call(login, { body: loginBody(email) })).data ?? '', email }
}
