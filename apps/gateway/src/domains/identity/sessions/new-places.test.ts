import { afterAll, beforeAll, expect, test } from 'vitest'
import { createIdentityBench, eventually, type IdentityBench } from '../../../../test/identity-bench.ts'

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:138.0) Gecko/20100101 Firefox/138.0'
const NEWER_FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:139.0) Gecko/20100101 Firefox/139.0'
const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/136.0.0.0 Safari/537.36'
const HOME = '203.0.113.7'
const AWAY = '198.51.100.20'
const DAY_MS = 24 * 3_600_000

let bench: IdentityBench
let count = 0
beforeAll(async () => {
  bench = await createIdentityBench()
})
afterAll(() => bench.close())

test('[R1.7] [B12] a sign-in from a new network or browser is told to the owner, the first one is not', async () => {
  const { userId, email } = await someone()
  await signIn(userId, HOME, FIREFOX)
  await signIn(userId, AWAY, FIREFOX)
  await signIn(userId, HOME, CHROME)
  await settled()
  const texts = (await mails(email)).map(({ text }) => text)
  expect(texts).toHaveLength(2)
  expect(texts.some(text => text.includes(AWAY) && text.includes('Firefox, Linux'))).toBe(true)
  expect(texts.some(text => text.includes(HOME) && text.includes('Chrome, Windows'))).toBe(true)
})

test('one from a network and a browser that were there before is not, whatever its version', async () => {
  const { userId, email } = await someone()
  await signIn(userId, HOME, FIREFOX)
  await signIn(userId, HOME, NEWER_FIREFOX)
  await signIn(userId, HOME, FIREFOX)
  await settled()
  expect(await mails(email)).toEqual([])
})

test('one whose network and browser are new together is told once', async () => {
  const { userId, email } = await someone()
  await signIn(userId, HOME, FIREFOX)
  await signIn(userId, AWAY, CHROME)
  await signIn(userId, AWAY, CHROME)
  await settled()
  expect(await mails(email)).toHaveLength(1)
})

test('the first one in a long time, to an account whose sessions are forgotten, is told', async () => {
  const { userId, email } = await someone()
  bench.advance(400 * DAY_MS)
  await signIn(userId, HOME, FIREFOX)
  await settled()
  expect(await mails(email)).toHaveLength(1)
})

test('the words of a made-up browser do not come into the mail', async () => {
  const { userId, email } = await someone()
  await signIn(userId, HOME, FIREFOX)
  await signIn(userId, HOME, 'Your account is blocked: go to evil.example')
  await settled()
  const [mail] = await mails(email)
  expect(mail?.text).toContain('not known')
  expect(mail?.text).not.toContain('evil')
})

async function someone() {
  const email = `place-${count++}@example.com`
  const { userId } = await bench.identity.createVerifiedUser({ email, displayName: 'Ada', language: 'en' })
  return { userId, email }
}

async function signIn(userId: string, address: string, userAgent: string): Promise<string> {
  const secret = await bench.identity.createSignInLink(userId)
  return await bench.identity.signInByLink(secret, { address, userAgent, stay: true })
}

/** Waits until a mail that was queued later than those in question has come: then they have, too. */
async function settled(): Promise<void> {
  const { email } = await someone()
  await bench.identity.requestPasswordReset(email)
  await eventually('the mail of the marker', async () => (await bench.mailsTo(email)).length > 0)
  const { rows } = await bench.database.pool.query<{ n: number }>(
    `select count(*)::int as n from pgboss.job where state in ('created', 'active', 'retry')`,
  )
  if (rows[0]?.n !== 0) await settled()
}

async function mails(email: string) {
  return (await bench.mailsTo(email)).filter(({ subject }) => subject.includes('sign-in'))
}
