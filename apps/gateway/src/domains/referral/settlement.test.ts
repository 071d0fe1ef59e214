import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createReferralFixture, type ReferralFixture } from './referral-fixture.ts'
import { referralPayout } from './tables.ts'

/**
 * Goal: a quarter is settled as its customer chose, once, or carried over whole (R9.7, R2.25).
 * Method: the domain on the real billing domain and a real database; its rounds run when the test says so.
 */

let fixture: ReferralFixture
let mira: string
beforeAll(async () => {
  fixture = await createReferralFixture()
})
afterAll(() => fixture.database.drop())
let year = 2026
beforeEach(async () => {
  // Each test has a year of its own, in which it begins in January.
  year += 2
  await fixture.passTo(`${year}-01-05T00:00:00Z`)
  mira = await fixture.person()
})

const PAGE = { page: 1, page_size: 20 }
const quarters = async (of = mira) => (await fixture.referral.quarters(of, PAGE)).items
const quarter = async (name: string) => (await quarters()).find(one => one.quarter === name)
const creditsOf = async (userId: string) => (await fixture.billing.totals(fixture.db, userId)).creditsMicro
const news = () => fixture.newsOf(mira).filter(({ news }) => news !== 'earned')
const paypal = () => `mira-${year}@example.org`
const q = (number: number) => `${year}-Q${number}`

/** Has a friend earn so many times five: by the first top-up, and by what they spend in cash after their five of credits. */
async function earn(fives: number): Promise<void> {
  const friend = await fixture.friendOf(mira)
  const cash = BigInt(fives - 1) * 100_000_000n
  await fixture.pay(friend, Math.max(1_000, Number(cash / 10_000n)))
  if (cash === 0n) return
  await fixture.spend(friend, cash + 5_000_000n)
  await fixture.referral.settle()
}

async function confirmPaypal(): Promise<void> {
  const email = paypal()
  await fixture.referral.paypal.set(mira, email)
  await fixture.sendMails()
  const { text = '' } = fixture.mails.findLast(({ to }) => to === email) ?? {}
  await fixture.referral.paypal.confirm(mira, /paypal=([\w-]+)/.exec(text)?.[1] ?? '')
}

describe('a quarter that has ended', () => {
  test('[R9.7] below $20 is carried over, and counts in the next one', async () => {
    await earn(3)
    await fixture.passTo(`${year}-04-02T00:00:00Z`)
    expect(await quarter(q(1))).toMatchObject({
      state: 'carried_over',
      amount_micro: '15000000',
      carried_to: null,
    })
    expect(await quarter(q(2))).toMatchObject({
      state: 'open',
      carried_in_micro: '15000000',
      amount_micro: '15000000',
    })
    await earn(1)
    await fixture.passTo(`${year}-07-02T00:00:00Z`)
    expect(await quarter(q(1))).toMatchObject({ carried_to: q(2), total_earnings_micro: '15000000' })
    expect(await quarter(q(2))).toMatchObject({
      state: 'choosing',
      carried_in_micro: '15000000',
      amount_micro: '20000000',
    })
    expect(news()).toEqual([{ news: 'choose', quarter: q(2), amountMicro: '20000000' }])
  })

  test('[R9.7] without a choice is a bonus after 30 days, reminded of a week before', async () => {
    await earn(4)
    await fixture.passTo(`${year}-04-02T00:00:00Z`)
    expect(await quarter(q(1))).toMatchObject({
      ...{ state: 'choosing', reward_type: null, choose_until: `${year}-05-01T00:00:00.000Z` },
      ...{
        bonus_micro: '20000000',
        cash_micro: '16000000',
        cash_fee_micro: '4000000',
        pending_payout_micro: '20000000',
      },
    })
    await fixture.passTo(`${year}-04-23T23:00:00Z`)
    expect(news().map(({ news }) => news)).toEqual(['choose'])
    await fixture.passTo(`${year}-04-24T00:00:00Z`)
    await fixture.passTo(`${year}-04-30T23:59:00Z`)
    expect(news().map(({ news }) => news)).toEqual(['choose', 'reminder'])
    expect(await creditsOf(mira)).toBe(0n)
    await fixture.passTo(`${year}-05-01T00:00:00Z`)
    await fixture.passTo(`${year}-05-02T00:00:00Z`)
    expect(await creditsOf(mira)).toBe(20_000_000n)
    expect(await quarter(q(1))).toMatchObject({
      ...{ state: 'credited', reward_type: 'bonus', payout_method: 'credits', fee_micro: '0' },
      ...{ settled_payout_micro: '20000000', pending_payout_micro: '0', choose_until: null },
    })
    expect(news().map(({ news }) => news)).toEqual(['choose', 'reminder', 'credited'])
    expect(await fixture.referral.summary(mira)).toMatchObject({
      ...{
        total_earnings_micro: '20000000',
        settled_earnings_micro: '20000000',
        settled_payout_micro: '20000000',
      },
    })
    expect(await fixture.billing.checkBooks()).toEqual([])
  })

  test('[R9.7] leaves thirty days to choose from when it is closed, where no gateway was there to close it', async () => {
    await earn(4)
    await fixture.passTo(`${year}-05-20T00:00:00Z`)
    expect(await quarter(q(1))).toMatchObject({
      state: 'choosing',
      choose_until: `${year}-06-19T00:00:00.000Z`,
    })
    await fixture.passTo(`${year}-06-18T23:00:00Z`)
    expect(await creditsOf(mira)).toBe(0n)
    await fixture.passTo(`${year}-06-19T00:00:00Z`)
    expect(await creditsOf(mira)).toBe(20_000_000n)
  })

  test('[R2.25] is a bonus at once where that is chosen, also while it ran', async () => {
    await earn(4)
    await fixture.referral.choose(mira, q(1), 'bonus')
    await fixture.passTo(`${year}-04-01T05:00:00Z`)
    expect(await creditsOf(mira)).toBe(0n)
    await fixture.passTo(`${year}-04-01T06:00:00Z`)
    expect(await creditsOf(mira)).toBe(20_000_000n)
    // Who has chosen is not asked.
    expect(news().map(({ news }) => news)).toEqual(['credited'])
    await earn(4)
    await fixture.passTo(`${year}-07-03T00:00:00Z`)
    expect(await fixture.referral.choose(mira, q(2), 'bonus')).toMatchObject({ state: 'credited' })
    expect(await creditsOf(mira)).toBe(40_000_000n)
    await expect(fixture.referral.choose(mira, q(2), 'cash')).rejects.toMatchObject({
      code: 'settlement_closed',
    })
    expect(await creditsOf(mira)).toBe(40_000_000n)
  })

  test('[R9.7] is paid as money less 20%, 72 hours after the choice, to an account that stays as it is', async () => {
    await earn(5)
    await fixture.passTo(`${year}-04-02T00:00:00Z`)
    await expect(fixture.referral.choose(mira, q(1), 'cash')).rejects.toMatchObject({
      code: 'paypal_required',
    })
    await confirmPaypal()
    const chosen = await fixture.referral.choose(mira, q(1), 'cash')
    expect(chosen).toMatchObject({
      ...{
        state: 'to_be_paid',
        payout_at: `${year}-04-05T00:00:00.000Z`,
        paypal_account: paypal(),
      },
      ...{ pending_payout_micro: '20000000', fee_micro: '5000000', payout_method: 'paypal' },
    })
    for (const change of [
      () => fixture.referral.paypal.set(mira, 'other@example.org'),
      () => fixture.referral.paypal.remove(mira),
    ]) {
      await expect(change()).rejects.toMatchObject({
        code: 'paypal_frozen',
        values: { until: `${year}-04-05 00:00` },
      })
    }
    await fixture.passTo(`${year}-04-04T23:59:00Z`)
    expect(await quarter(q(1))).toMatchObject({ state: 'to_be_paid' })
    await fixture.passTo(`${year}-04-05T00:00:00Z`)
    await fixture.passTo(`${year}-04-05T01:00:00Z`)
    expect(await quarter(q(1))).toMatchObject({ state: 'paying' })
    const file = await fixture.referral.payouts.export()
    expect(file?.count).toBe(1)
    const [payout] = (await fixture.referral.payouts.list()).filter(({ userId }) => userId === mira)
    expect(payout).toMatchObject({ cents: 2_000, email: paypal(), state: 'sent' })
    expect(await fixture.referral.payouts.markPaid(payout?.id ?? '', 'PP-1')).toBe('done')
    expect(await fixture.referral.payouts.markPaid(payout?.id ?? '', 'PP-1')).toBe('done')
    expect(await fixture.referral.payouts.markFailed(payout?.id ?? '')).toBe('paid_already')
    expect(await quarter(q(1))).toMatchObject({
      state: 'paid',
      settled_payout_micro: '20000000',
      fee_micro: '5000000',
    })
    expect(await fixture.referral.summary(mira)).toMatchObject({
      ...{ settled_earnings_micro: '25000000', settled_payout_micro: '20000000' },
    })
    expect(news().map(({ news }) => news)).toEqual(['choose', 'paypal_changed', 'scheduled', 'paid'])
    // It was owed and is no more: it never was part of the balance.
    expect(await creditsOf(mira)).toBe(0n)
    expect(await fixture.billing.checkBooks()).toEqual([])
  })

  test('waits for an account that is not confirmed, and is a bonus where it never is', async () => {
    await earn(4)
    await fixture.referral.paypal.set(mira, `late-${year}@example.org`)
    await fixture.referral.choose(mira, q(1), 'cash')
    await fixture.passTo(`${year}-04-02T00:00:00Z`)
    await fixture.passTo(`${year}-04-20T00:00:00Z`)
    expect(await quarter(q(1))).toMatchObject({ state: 'choosing', reward_type: 'cash', payout_at: null })
    await fixture.passTo(`${year}-05-01T00:00:00Z`)
    expect(await quarter(q(1))).toMatchObject({ state: 'credited', reward_type: 'bonus' })
  })

  test('goes back to the bonus until the money is handed over', async () => {
    await earn(4)
    await confirmPaypal()
    await fixture.referral.choose(mira, q(1), 'cash')
    await fixture.passTo(`${year}-04-01T06:00:00Z`)
    expect(await quarter(q(1))).toMatchObject({
      state: 'to_be_paid',
      payout_at: `${year}-04-04T06:00:00.000Z`,
    })
    expect(await fixture.referral.choose(mira, q(1), 'bonus')).toMatchObject({ state: 'credited' })
    await fixture.passTo(`${year}-04-06T00:00:00Z`)
    expect(await fixture.db.$count(referralPayout, eq(referralPayout.userId, mira))).toBe(0)
  })

  test('money that did not arrive is owed again, and chosen anew', async () => {
    await earn(4)
    await confirmPaypal()
    await fixture.referral.choose(mira, q(1), 'cash')
    await fixture.passTo(`${year}-04-01T06:00:00Z`)
    await fixture.passTo(`${year}-04-05T00:00:00Z`)
    const [payout] = (await fixture.referral.payouts.list()).filter(({ userId }) => userId === mira)
    const id = payout?.id ?? ''
    // What is in no file would be in the next one as well.
    expect(await fixture.referral.payouts.markPaid(id, 'PP-2')).toBe('not_exported')
    await fixture.referral.payouts.export()
    expect(await fixture.referral.payouts.markFailed(id, 'account_refused')).toBe('done')
    expect(await fixture.referral.payouts.markPaid(id, 'PP-2')).toBe('failed_already')
    expect(await quarter(q(1))).toMatchObject({
      ...{ state: 'failed', failure: 'account_refused', reward_type: null, amount_micro: '20000000' },
      choose_until: `${year}-05-05T00:00:00.000Z`,
    })
    expect(await fixture.billing.checkBooks()).toEqual([])
    expect(await fixture.referral.choose(mira, q(1), 'cash')).toMatchObject({ state: 'to_be_paid' })
    await fixture.passTo(`${year}-04-09T00:00:00Z`)
    await fixture.referral.payouts.export()
    const [again] = (await fixture.referral.payouts.list()).filter(({ userId }) => userId === mira)
    expect(again?.id).not.toBe(id)
    await fixture.referral.payouts.markPaid(again?.id ?? '', 'PP-3')
    expect(await quarter(q(1))).toMatchObject({ state: 'paid', settled_payout_micro: '16000000' })
    expect(await fixture.billing.checkBooks()).toEqual([])
  })

  test('what is known late counts in the quarter that runs, and what is taken back in that which is not settled', async () => {
    const friend = await fixture.friendOf(mira)
    const payment = await fixture.pay(friend, 50_000)
    await earn(3)
    await fixture.passTo(`${year}-04-02T00:00:00Z`)
    expect(await quarter(q(1))).toMatchObject({ state: 'choosing', amount_micro: '20000000' })
    await fixture.giveBack(payment, 49_500)
    expect(await quarter(q(1))).toMatchObject({ state: 'carried_over', amount_micro: '15000000' })
    await fixture.pay(friend, 1_000)
    await fixture.passTo(`${year}-07-02T00:00:00Z`)
    expect(await quarter(q(2))).toMatchObject({
      state: 'choosing',
      total_earnings_micro: '5000000',
      amount_micro: '20000000',
    })
    await fixture.referral.choose(mira, q(2), 'bonus')
    // It is settled: what goes back now takes nothing back.
    const last = await fixture.pay(friend, 1_000)
    await fixture.giveBack(last, 1_000)
    expect(await fixture.referral.summary(mira)).toMatchObject({ total_earnings_micro: '20000000' })
    expect(await fixture.billing.checkBooks()).toEqual([])
  })

  test('nothing is paid to an account that is a friend’s, though nobody saw it when it was earned', async () => {
    await earn(4)
    const [friend = ''] = [...fixture.contacts.keys()].slice(-1)
    await confirmPaypal()
    await fixture.referral.choose(mira, q(1), 'cash')
    await fixture.passTo(`${year}-04-01T06:00:00Z`)
    fixture.contacts.set(friend, { email: paypal(), isVerified: true })
    await fixture.passTo(`${year}-04-05T00:00:00Z`)
    expect(await quarter(q(1))).toMatchObject({ state: 'carried_over', amount_micro: '0' })
    expect(await fixture.db.$count(referralPayout, eq(referralPayout.userId, mira))).toBe(0)
    expect(await fixture.billing.checkBooks()).toEqual([])
  })

  test("nobody chooses another customer's quarter, nor one that is not there", async () => {
    await earn(4)
    await fixture.passTo(`${year}-04-02T00:00:00Z`)
    const stranger = await fixture.person()
    await expect(fixture.referral.choose(stranger, q(1), 'bonus')).rejects.toMatchObject({
      code: 'not_found',
    })
    await expect(fixture.referral.choose(mira, q(4), 'bonus')).rejects.toMatchObject({ code: 'not_found' })
    await expect(fixture.referral.choose(mira, '2000-Q1', 'bonus')).rejects.toMatchObject({
      code: 'not_found',
    })
    expect(await quarter(q(1))).toMatchObject({ state: 'choosing' })
  })

  test('two gateways that look at once settle it once', async () => {
    await earn(4)
    await fixture.referral.choose(mira, q(1), 'bonus')
    fixture.clock.advance(90 * 86_400)
    const other = fixture.referralWith({})
    await Promise.all([fixture.referral.settle(), other.settle(), fixture.referral.settle(), other.settle()])
    expect(await creditsOf(mira)).toBe(20_000_000n)
    expect(news().filter(({ news }) => news === 'credited')).toHaveLength(1)
    expect(await fixture.billing.checkBooks()).toEqual([])
  })
})
