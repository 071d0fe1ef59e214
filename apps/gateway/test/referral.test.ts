import { randomUUID } from 'node:crypto'
import { login } from '@berth/contract/account'
import { beginProviderSignIn } from '@berth/contract/account-sign-in'
import { listCredits } from '@berth/contract/credits'
import { getInvitation } from '@berth/contract/invitation'
import {
  chooseSettlement,
  confirmPaypalAccount,
  downloadReferralOrders,
  downloadReferralRecords,
  getPaypalAccount,
  listReferralOrders,
  listReferralQuarters,
  removePaypalAccount,
  resendPaypalMail,
  setPaypalAccount,
} from '@berth/contract/referral'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { quarterAt } from '../src/domains/referral/quarters.ts'
import { referralPayout } from '../src/domains/referral/tables.ts'
import type { PayoutDriver } from '../src/drivers/payouts/port.ts'
import { createIdentityProviders } from '../src/drivers/sign-in/create-providers.ts'
import { eventually, names } from './identity-bench.ts'
import { OIDC_CLIENT, type OidcServer, passService, startOidcServer } from './oidc-server.ts'
import { createReferralPeople, type Person } from './referral-people.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

/**
 * Goal: referrals over the real HTTP API, from a link to what it earns (R2.11, R3.13, R9.7).
 * Method: a whole gateway; friends sign up as the console does it.
 */

let gateway: TestGateway
let oidc: OidcServer
let people: ReturnType<typeof createReferralPeople>
let mira: Person
let aheadMs = 0
const clock = { now: () => new Date(Date.now() + aheadMs) }
beforeAll(async () => {
  oidc = await startOidcServer()
  const acme = { type: 'oidc' as const, issuer: oidc.issuer, scopes: 'openid email profile', ...OIDC_CLIENT }
  gateway = await startGateway({
    clock,
    identityProviders: createIdentityProviders([{ ...acme, name: 'acme', display_name: 'Acme' }], { clock }),
  })
  people = createReferralPeople(gateway)
})
afterAll(async () => {
  await gateway.stop()
  await oidc.stop()
})
beforeEach(async () => {
  mira = await gateway.signUp()
})

const summaryOf = (by: { token: string } = mira) => people.summaryOf(by)
const recordsOf = (by: { token: string } = mira, query = {}) => people.recordsOf(by, query)

describe('[R2.11] a link', () => {
  test('leads to a sign-up with its code, and anything else to one without', async () => {
    const { link, code } = await summaryOf()
    expect(code).toMatch(/^test-[a-z2-9]{6}$/)
    expect(link).toBe(`${gateway.origin}/r/${code}`)
    const visit = async (path: string) => {
      const response = await fetch(`${gateway.origin}/r/${path}`, { redirect: 'manual' })
      return [response.status, response.headers.get('location')]
    }
    expect(await visit(code)).toEqual([302, `/auth?mode=signup&ref=${code}`])
    expect(await visit(code.toUpperCase())).toEqual([302, `/auth?mode=signup&ref=${code}`])
    for (const other of ['%2F%2Fevil.example', 'a%0d%0aset-cookie:x', 'x'.repeat(200), '-', 'a&b']) {
      expect(await visit(other)).toEqual([302, '/auth?mode=signup'])
    }
    expect((await summaryOf()).code).toBe(code)
    expect((await summaryOf(await gateway.signUp())).code).not.toBe(code)
  })

  test('says what it brings before there is an account, and of a code that nobody has that it is not known', async () => {
    const { code } = await summaryOf()
    const said = (asked: string) => gateway.data(getInvitation, { query: { code: asked } })
    const terms = { friend_reward: 500, first_topup: 1_000 }
    expect(await said(code)).toEqual({ known: true, ...terms })
    expect(await said(` ${code.toUpperCase()}`)).toEqual({ known: true, ...terms })
    expect(await said(`${code}x`)).toEqual({ known: false, ...terms })
  })

  test('counts who signs up by it, and earns both their five at the first ten', async () => {
    const { code } = await summaryOf()
    const friend = await people.signUpBy(code)
    const [record] = await eventually('the friend', async () => {
      const { items } = await recordsOf()
      return items.length > 0 && items
    })
    expect(record).toMatchObject({ user_email: 'f…@fastmail.com', rebate_rate: 5, rebate_amount_micro: '0' })
    expect(JSON.stringify(record)).not.toContain(friend.email)
    await people.pay(friend, 999, '4242 4242 4242 4242')
    await people.pay(friend, 100, '4242 4242 4242 4242')
    await eventually('the reward', async () => (await summaryOf()).total_earnings_micro === '5000000')
    expect(await summaryOf()).toMatchObject({
      ...{ registered_users: 1, registered_this_quarter: 1, effective_consumers: 1, order_rewards: 1 },
      ...{
        settled_earnings_micro: '0',
        quarter: { state: 'open', first_topups: 1, amount_micro: '5000000' },
      },
    })
    const { items } = await gateway.data(listCredits, {}, { token: friend.token })
    expect(items).toMatchObject([
      { kind: 'referral', amount_micro: '5000000', expiration_date: null, models_only: false },
    ])
    expect((await gateway.data(listCredits, {}, { token: mira.token })).items).toEqual([])
    expect((await recordsOf()).items).toMatchObject([{ state: 'recharged', order_amount_micro: '9990000' }])
  })

  test('counts who signs up by it through another service, too', async () => {
    const { code } = await summaryOf()
    const body = { ...names, provider: 'acme', method: 'signup' as const }
    const { url, browserKey, redirectUri } = await gateway.data(beginProviderSignIn, { body })
    oidc.people.set('noah', { email: 'noah@example.org', email_verified: true, name: 'Noah' })
    const back = await passService(url, { login: 'noah' })
    const { code: given = '', state = '', iss } = Object.fromEntries(back.searchParams)
    const known = { provider: 'acme', code: given, state, browserKey, redirectUri, method: 'signup' as const }
    const token = await gateway.data(login, {
      body: { ...names, type: 'token' as const, ...known, ...(iss && { iss }), referralCode: code },
    })
    expect(token).not.toBe('')
    expect((await eventually('the friend', async () => (await recordsOf()).items[0]))?.user_email).toBe(
      'n…@example.org',
    )
    expect((await recordsOf()).items).toMatchObject([{ state: 'not_recharged' }])
  })

  test('of whoever signs in from the same browser earns nothing, and says no more than that', async () => {
    const { code } = await summaryOf()
    const device = randomUUID()
    const place = { address: '127.0.0.1', userAgent: 'test', stay: true, device }
    const secret = await gateway.gateway.identity.createSignInLink(mira.userId)
    await gateway.gateway.identity.signInByLink(secret, place)
    const twin = await people.signUpBy(code, { device })
    await eventually('the friend', async () => (await recordsOf()).total === 1)
    await people.pay(twin, 2_500)
    await eventually('the look', async () => (await recordsOf()).items[0]?.state === 'invalid')
    expect((await recordsOf()).items).toMatchObject([{ state_reason: 'not_eligible' }])
    expect(await summaryOf()).toMatchObject({ total_earnings_micro: '0' })
    expect(await gateway.gateway.referral.payouts.refused()).toContainEqual(
      expect.objectContaining({ friendId: twin.userId, samePersonBy: 'device' }),
    )
  })
})

describe('[R3.13] lists and files', () => {
  test('show the same rows, filtered and in pages, and only their own', async () => {
    const { code } = await summaryOf()
    const friends = [await people.signUpBy(code), await people.signUpBy(code), await people.signUpBy(code)]
    await eventually('the friends', async () => (await recordsOf()).total === 3)
    const [first] = friends
    if (first) await people.pay(first, 1_000, '4000 0566 5566 5556')
    await eventually('the reward', async () => (await summaryOf()).total_earnings_micro === '5000000')
    expect(await recordsOf(mira, { state: 'recharged' })).toMatchObject({
      total: 1,
      items: [{ paid_micro: '10000000' }],
    })
    expect(await recordsOf(mira, { search: 'FASTMAIL' })).toMatchObject({ total: 3 })
    // What is masked is found by nobody.
    expect(await recordsOf(mira, { search: first?.email })).toMatchObject({ total: 0 })
    expect(await recordsOf(mira, { search: '%' })).toMatchObject({ total: 0 })
    const page = await recordsOf(mira, { page: 2, page_size: 2 })
    expect(page).toMatchObject({ total: 3, page: 2, page_size: 2 })
    expect(page.items).toHaveLength(1)
    const orders = await gateway.data(
      listReferralOrders,
      { query: { kind: 'first_topup' } },
      { token: mira.token },
    )
    expect(orders).toMatchObject({
      total: 1,
      items: [
        {
          ...{ quarter: quarterAt(clock.now()).name, user_email: 'f…@fastmail.com', rebate_rate: null },
          ...{ order_amount_micro: '10000000', rebate_amount_micro: '5000000', state: 'recharged' },
        },
      ],
    })
    const records = await gateway.data(downloadReferralRecords, {}, { token: mira.token, language: 'ko' })
    expect(records.split('\r\n')).toHaveLength(5)
    expect(records).toMatch(/^사용자,/)
    const file = await gateway.data(
      downloadReferralOrders,
      { query: { state: 'recharged' } },
      { token: mira.token },
    )
    expect(file).toContain(',first_topup,f…@fastmail.com,')
    const stranger = await gateway.signUp()
    expect(await recordsOf(stranger)).toMatchObject({ total: 0, items: [] })
    expect(
      (await gateway.data(downloadReferralOrders, {}, { token: stranger.token })).split('\r\n'),
    ).toHaveLength(2)
    expect(await gateway.data(listReferralQuarters, {}, { token: stranger.token })).toMatchObject({
      total: 1,
      items: [
        { total_earnings_micro: '0', reward_type: null, payout_method: null, settled_payout_micro: '0' },
      ],
    })
  })
})

describe('[R5.11] the PayPal account', () => {
  const set = (paypal_account: unknown, { token } = mira) =>
    gateway.call(setPaypalAccount, { body: { paypal_account } as never }, { token })

  test('is required and an address, and what does not fit says so', async () => {
    for (const [given, rule] of [
      ['', 'required'],
      [undefined, 'required'],
      ['   ', 'required'],
      ['mira', 'email'],
      [`${'x'.repeat(250)}@example.org`, 'email'],
    ]) {
      const { envelope } = await set(given)
      // “Please fill in all required fields”, as the seed words it.
      expect(envelope).toMatchObject({
        code: rule === 'required' ? 'required_fields' : 'validation_failed',
        fields: [{ path: 'paypal_account', rule }],
      })
    }
    expect(await gateway.data(getPaypalAccount, {}, { token: mira.token })).toBeNull()
  })

  test('is confirmed by the mail that goes there, once and by its owner alone', async () => {
    const email = `paypal-${randomUUID()}@example.org`
    expect((await set(email.toUpperCase())).envelope).toMatchObject({
      data: { paypal_account: email, state: 'unconfirmed', frozen_until: null },
    })
    const token = await people.mailedToken(email)
    const stranger = await gateway.signUp()
    const confirm = (by = mira) =>
      gateway.call(confirmPaypalAccount, { body: { token } }, { token: by.token })
    expect(await confirm(stranger)).toMatchObject({
      httpStatus: 410,
      envelope: { code: 'paypal_link_invalid' },
    })
    expect((await confirm()).envelope).toMatchObject({ data: { state: 'confirmed' } })
    expect((await confirm()).envelope).toMatchObject({ code: 'paypal_link_invalid' })
    // The same again changes nothing; another one is to be confirmed anew.
    expect((await set(email)).envelope).toMatchObject({ data: { state: 'confirmed' } })
    expect((await set(`other-${email}`)).envelope).toMatchObject({ data: { state: 'unconfirmed' } })
    await gateway.data(removePaypalAccount, {}, { token: mira.token })
    expect(await gateway.data(getPaypalAccount, {}, { token: mira.token })).toBeNull()
  })

  test('gets another mail after a minute, and no more than six in a day', async () => {
    const resend = () => gateway.call(resendPaypalMail, {}, { token: mira.token })
    expect(await resend()).toMatchObject({ httpStatus: 404 })
    await set(`paypal-${randomUUID()}@example.org`)
    expect(await resend()).toMatchObject({ httpStatus: 429, envelope: { code: 'paypal_mail_wait' } })
    const codes: unknown[] = []
    for (let count = 0; count < 6; count += 1) {
      aheadMs += 61_000
      codes.push((await resend()).httpStatus)
    }
    expect(codes).toEqual([200, 200, 200, 200, 200, 429])
  })

  test('gets six mails a day in one mailbox, whoever asks for them and whatever stands behind a plus', async () => {
    const box = `paypal-${randomUUID()}`
    const people = [await gateway.signUp(), await gateway.signUp(), await gateway.signUp()]
    const statuses: unknown[] = []
    for (let count = 0; count < 8; count += 1) {
      const address = count === 0 ? `${box}@example.org` : `${box}+${count}@Example.org`
      statuses.push((await set(address, people[count % 3])).httpStatus)
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 429, 429])
    // Somebody else's is not counted with it.
    expect((await set(`${box}-2@example.org`, people[0])).httpStatus).toBe(200)
    // An account has six as well, to whatever mailboxes.
    const own = []
    for (let count = 0; count < 7; count += 1)
      own.push((await set(`own-${count}-${box}@example.org`)).httpStatus)
    expect(own).toEqual([200, 200, 200, 200, 200, 200, 429])
  })

  test('is needed for money, and a session that was proven long ago does not change it', async () => {
    const quarter = quarterAt(clock.now()).name
    const choose = (reward_type: 'bonus' | 'cash') =>
      gateway.call(chooseSettlement, { params: { quarter }, body: { reward_type } }, { token: mira.token })
    expect(await choose('cash')).toMatchObject({ httpStatus: 409, envelope: { code: 'paypal_required' } })
    expect((await choose('bonus')).envelope).toMatchObject({
      data: { quarter, state: 'open', reward_type: 'bonus' },
    })
    aheadMs += 3_600_000
    expect(await set('mira@example.org')).toMatchObject({
      httpStatus: 403,
      envelope: { code: 'recent_sign_in_required' },
    })
  })
})

test('[R9.7] where no money is real, none is paid by PayPal', async () => {
  const asked: string[] = []
  const real: PayoutDriver = {
    ...{ name: 'paypal', test: false, byHand: false, keyKeptMs: 86_400_000 },
    pay: async ({ key }) => {
      asked.push(key)
      return { batch_id: key }
    },
    read: async () => ({ status: 'paid' }),
  }
  const demo = await startGateway({ payouts: real })
  try {
    const { userId } = await demo.signUp()
    await demo.database.db.insert(referralPayout).values({
      ...{
        id: randomUUID(),
        userId,
        quarter: '2026-Q1',
        email: 'mira@example.org',
        cents: 100,
        feeMicro: 0n,
      },
      ...{ currency: 'USD', driver: 'paypal', state: 'queued', createdAt: clock.now(), lookAt: new Date(0) },
    })
    await demo.gateway.referral.payOut()
    expect(asked).toEqual([])
    // An operator may, by hand.
    const file = await demo.gateway.referral.payouts.export()
    expect(file?.count).toBe(1)
    file?.body.destroy()
  } finally {
    await demo.stop()
  }
})
