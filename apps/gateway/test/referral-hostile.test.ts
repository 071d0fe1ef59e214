import { randomUUID } from 'node:crypto'
import { signup } from '@berth/contract/account'
import { deleteAccount } from '@berth/contract/account-security'
import { listCredits } from '@berth/contract/credits'
import { getInvitation } from '@berth/contract/invitation'
import {
  chooseSettlement,
  confirmPaypalAccount,
  downloadReferralRecords,
  listReferralOrders,
  listReferralQuarters,
  listReferralRecords,
  setPaypalAccount,
} from '@berth/contract/referral'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { RATE_LIMITS } from '../src/platform/http/rate-limits.ts'
import { eventually, PASSWORD, signUpBody } from './identity-bench.ts'
import { createReferralPeople, type Person } from './referral-people.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

// Goal: whoever is up to no good earns nothing twice, reads nothing of others and breaks nothing (R2.11, R9.7, R6.4).
// Method: a whole gateway by HTTP, asked as no console asks it, by several accounts at once.

const VISA = '4242 4242 4242 4242'
const AMEX = '3782 822463 10005'
const DEBIT = '4000 0566 5566 5556'
const MASTERCARD = '5555 5555 5555 4444'
const UNIT = 1_000_000n

let gateway: TestGateway
let people: ReturnType<typeof createReferralPeople>
let mira: Person
let aheadMs = 0
const clock = { now: () => new Date(Date.now() + aheadMs) }
beforeAll(async () => {
  gateway = await startGateway({ clock })
  people = createReferralPeople(gateway)
})
afterAll(() => gateway.stop())
beforeEach(async () => {
  mira = await gateway.signUp()
})

const codeOf = async (of = mira) => (await people.summaryOf(of)).code
const earnedBy = async (of = mira) => BigInt((await people.summaryOf(of)).total_earnings_micro)
const creditsOf = async ({ token }: Person) =>
  (await gateway.data(listCredits, {}, { token })).items.filter(({ kind }) => kind === 'referral')
const booksBalance = async () => expect(await gateway.gateway.billing.checkBooks()).toEqual([])
/** Lets whatever was told be heard. */
const heard = (what: string, is: () => Promise<boolean>) => eventually(what, is)

/** A path as no client would write it. */
const visit = async (path: string) => {
  const answer = await fetch(`${gateway.origin}/r/${path}`, { redirect: 'manual' })
  return { status: answer.status, location: answer.headers.get('location') }
}

test.each([
  ['nothing but a NUL', '%00'],
  ['a NUL', 'a%00b'],
  ['bytes that are no text', '%ff%fe'],
  ['a sign of Kelvin, which is small as a k', '%E2%84%AA'],
  ['letters that are wide', '%EF%BC%AD%EF%BD%89ra'],
  ['a path that climbs', '%2e%2e%2f%2e%2e%2fadmin'],
  ['another host', '%2F%2Fevil.example'],
  ['another host, the other way round', '%5C%5Cevil.example'],
  ['another address', 'https:evil.example'],
  ['a script', 'javascript:alert(1)'],
  ['an address behind it', 'a?next=https://evil.example'],
  ['a question mark', 'a%3Fnext=x'],
  ['a hash', 'a%23x'],
  ['another mode', 'a&mode=login'],
  ['what is longer than any', 'x'.repeat(8_000)],
])('[R2.11] a link with %s for a code leads to a sign-up or nowhere', async (_, path) => {
  const { status, location } = await visit(path)
  expect(status).not.toBe(500)
  if (status !== 302) expect(location).toBeNull()
  else expect(location).toMatch(/^\/auth\?mode=signup(&ref=[a-z0-9-]+)?$/)
})

test('[R2.11] whatever is asked for as a code, an answer says known or not, and no code of somebody is found by a pattern', async () => {
  const code = await codeOf()
  for (const asked of [
    '%',
    '_'.repeat(11),
    `${code}%`,
    "' or 1=1 --",
    '\u212Aelvin',
    `${code}\u0000`,
    '🦊',
    '\\',
  ]) {
    const { httpStatus, envelope } = await gateway.call(getInvitation, { query: { code: asked } })
    expect([200, 400]).toContain(httpStatus)
    if (envelope.status === 'ok') expect(envelope.data.known).toBe(false)
  }
  expect((await gateway.call(getInvitation, { query: { code: 'x'.repeat(201) } })).httpStatus).toBe(400)
})

test('[R2.11] a sign-up goes on with any code at all, and is refused one of more than 200 characters', async () => {
  for (const referralCode of ['x'.repeat(200), '%', "'; drop table referral; --", '\u0000', '\uD800', '🦊']) {
    const body = signUpBody(`odd-${randomUUID()}@fastmail.com`, { referralCode })
    const { httpStatus } = await gateway.call(signup, { body })
    expect([200, 400]).toContain(httpStatus)
  }
  const body = signUpBody(`odd-${randomUUID()}@fastmail.com`, { referralCode: 'x'.repeat(201) })
  expect((await gateway.call(signup, { body })).httpStatus).toBe(400)
})

test('[R2.11] whoever tries codes one after the other is stopped as any caller is', async () => {
  const strict = await startGateway({ rateLimits: { ...RATE_LIMITS, general_per_minute: 60 } })
  try {
    const asked = Array.from({ length: 100 }, (_, at) =>
      strict.call(getInvitation, { query: { code: `test-${at}` } }),
    )
    const statuses = (await Promise.all(asked)).map(({ httpStatus }) => httpStatus)
    expect(statuses.filter(status => status === 200).length).toBeLessThanOrEqual(60)
    expect(statuses.filter(status => status === 429).length).toBeGreaterThanOrEqual(40)
  } finally {
    await strict.stop()
  }
})

test('[R9.7] many top-ups at once are rewarded once, on both sides', async () => {
  const friend = await people.signUpBy(await codeOf())
  await Promise.all(Array.from({ length: 8 }, () => people.pay(friend, 1_000, AMEX)))
  await heard('the reward', async () => (await earnedBy()) > 0n)
  await gateway.gateway.referral.settle()
  expect(await earnedBy()).toBe(5n * UNIT)
  expect(await creditsOf(friend)).toHaveLength(1)
  await booksBalance()
})

test('[R9.7] a top-up that goes back while others come leaves a reward only where $10 stay', async () => {
  const friend = await people.signUpBy(await codeOf())
  const { transaction_id: first } = await people.pay(friend, 1_000, DEBIT)
  await Promise.all([
    gateway.gateway.billing.refunds.create({ id: randomUUID(), paymentId: first, amountCents: 1_000 }),
    people.pay(friend, 999, DEBIT),
  ])
  await gateway.passTimeAtCards()
  await heard('the look', async () => {
    const [record] = (await people.recordsOf(mira)).items
    return record?.paid_micro === '9990000'
  })
  await gateway.gateway.referral.settle()
  expect(await earnedBy()).toBe(0n)
  await booksBalance()
})

test('[R9.7] whoever deletes their account and comes again by the same link with the same card earns nothing more', async () => {
  const code = await codeOf()
  const first = await people.signUpBy(code)
  await people.pay(first, 1_000, VISA)
  await heard('the reward', async () => (await earnedBy()) > 0n)
  const body = { email: first.email, password: PASSWORD }
  await gateway.data(deleteAccount, { body }, { token: first.token })
  // The address is free again, and its new account is a friend like any other.
  const again = await people.signUpBy(code, { email: first.email })
  await people.pay(again, 2_000, VISA)
  await heard('the look', async () =>
    (await people.recordsOf(mira)).items.some(({ state }) => state === 'invalid'),
  )
  await gateway.gateway.referral.settle()
  expect(await earnedBy()).toBe(5n * UNIT)
  expect(await creditsOf(again)).toEqual([])
  await booksBalance()
})

test('[R9.7] two choices at once settle a quarter once, by one of them', async () => {
  // Each test before this one had its cards, and theirs are known as those of others.
  await gateway.database.db.execute(sql`delete from referral_rewarded_mark`)
  for (const card of [VISA, DEBIT, MASTERCARD, AMEX]) {
    await people.pay(await people.signUpBy(await codeOf()), 1_000, card)
  }
  await heard('what four friends earned', async () => (await earnedBy()) === 20n * UNIT)
  const quarter = (await people.summaryOf(mira)).quarter
  aheadMs += Date.parse(quarter.until) + 7 * 3_600_000 - clock.now().getTime()
  const token = await signedInAgain(mira)
  await gateway.gateway.referral.settle()
  const params = { quarter: quarter.quarter }
  const answers = await Promise.all(
    Array.from({ length: 8 }, () =>
      gateway.call(chooseSettlement, { params, body: { reward_type: 'bonus' } }, { token }),
    ),
  )
  expect(answers.filter(({ httpStatus }) => httpStatus === 200)).toHaveLength(1)
  for (const { envelope } of answers) {
    if (envelope.status === 'error') expect(envelope.code).toBe('settlement_closed')
  }
  expect(await creditsOf({ ...mira, token })).toMatchObject([{ amount_micro: '20000000' }])
  await booksBalance()
})

test('[R2.25] a quarter is named by its owner alone: of another’s nobody reads or chooses anything', async () => {
  const friend = await people.signUpBy(await codeOf())
  await heard('the friend', async () => (await people.recordsOf(mira)).total === 1)
  const eve = await gateway.signUp()
  // Whatever is sent along to say whose it is.
  for (const more of ['user_id', 'userId', 'referrer_id', 'id']) {
    for (const call of [
      listReferralRecords,
      listReferralOrders,
      listReferralQuarters,
      downloadReferralRecords,
    ]) {
      const url = new URL(`${gateway.origin}/gateway${call.path}`)
      url.searchParams.set(more, mira.userId)
      const answer = await fetch(url, { headers: { authorization: `Bearer ${eve.token}` } })
      const text = await answer.text()
      expect(text).not.toContain('f…@')
      expect(text).not.toContain(friend.userId)
    }
  }
  for (const quarter of ['2026-Q3', '2999-Q1', '2026-Q0', '2026-Q10', '%2e%2e', "2026-Q3' or '1"]) {
    const { httpStatus } = await gateway.call(
      chooseSettlement,
      { params: { quarter }, body: { reward_type: 'bonus' } },
      { token: eve.token },
    )
    expect([400, 404]).toContain(httpStatus)
  }
})

test('[R3.13] what is searched for is a text, whatever stands in it', async () => {
  await people.signUpBy(await codeOf())
  await heard('the friend', async () => (await people.recordsOf(mira)).total === 1)
  for (const search of ['%', '_', '\\', "'", '\u0000', '\uD800', '🦊', 'x'.repeat(2_000)]) {
    const { httpStatus, envelope } = await gateway.call(
      listReferralRecords,
      { query: { search } },
      { token: mira.token },
    )
    expect([200, 400]).toContain(httpStatus)
    if (envelope.status === 'ok') expect(envelope.data.total).toBe(0)
  }
})

test('[R6.4] the file of invited users is no program, however a friend calls their mailbox', async () => {
  const code = await codeOf()
  await people.signUpBy(code, { email: `+cmd-${randomUUID()}@fastmail.com` })
  await people.signUpBy(code, { email: `-cmd-${randomUUID()}@fastmail.com` })
  await heard('the friends', async () => (await people.recordsOf(mira)).total === 2)
  const text = await gateway.data(downloadReferralRecords, {}, { token: mira.token })
  const cells = text
    .split('\r\n')
    .slice(1, -1)
    .map(line => line.split(',')[0])
  expect(cells.toSorted()).toEqual(["'+…@fastmail.com", "'-…@fastmail.com"])
})

test('[R5.11] a link of a PayPal account counts once of many at once, and a guess counts never', async () => {
  const email = `paypal-${randomUUID()}@example.org`
  await gateway.data(setPaypalAccount, { body: { paypal_account: email } }, { token: mira.token })
  const token = await people.mailedToken(email)
  const confirm = (guess: string, by = mira) =>
    gateway.call(confirmPaypalAccount, { body: { token: guess } }, { token: by.token })
  const guesses = [
    'null',
    'undefined',
    '%',
    `${token} `,
    `${token}\u0000`,
    token.toLowerCase(),
    token.slice(1),
    '0',
  ]
  for (const guess of guesses) {
    expect([400, 410]).toContain((await confirm(guess)).httpStatus)
  }
  const eve = await gateway.signUp()
  await gateway.data(setPaypalAccount, { body: { paypal_account: email } }, { token: eve.token })
  expect((await confirm(token, eve)).httpStatus).toBe(410)
  const statuses = await Promise.all(Array.from({ length: 6 }, async () => (await confirm(token)).httpStatus))
  expect(statuses.toSorted()).toEqual([200, 410, 410, 410, 410, 410])
})

/** Long after the first sign-in a session may be over. */
async function signedInAgain({ userId }: Person): Promise<string> {
  const secret = await gateway.gateway.identity.createSignInLink(userId)
  return await gateway.gateway.identity.signInByLink(secret, {
    ...{ address: '127.0.0.1', userAgent: 'test', stay: true },
  })
}
