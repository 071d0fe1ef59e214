import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { closeCustomer } from '../customers/customers.ts'
import { createReferralFixture, type ReferralFixture } from './referral-fixture.ts'
import { rewardedMark } from './tables.ts'

/**
 * Goal: who came by whose link earns their referrer what the terms say, no more and no less, whatever becomes of what was paid
 * (R1.6, R9.7).
 * Method: the domain on the real billing domain and a real database; the clock is the test's.
 */

let fixture: ReferralFixture
let mira: string
beforeAll(async () => {
  fixture = await createReferralFixture()
})
afterAll(() => fixture.database.drop())
beforeEach(async () => {
  mira = await fixture.person()
})

const PAGE = { page: 1, page_size: 20 }
const records = async (of = mira) => (await fixture.referral.records(of, PAGE)).items
const orders = async (of = mira) => (await fixture.referral.orders(of, PAGE)).items
const summary = (of = mira) => fixture.referral.summary(of)
const creditsOf = async (userId: string) => (await fixture.billing.totals(fixture.db, userId)).creditsMicro
const books = () => fixture.billing.checkBooks()

describe('[R4.9] the states of a friend', () => {
  test('go from not activated to not recharged to recharged', async () => {
    const friend = await fixture.friendOf(mira, { isVerified: false })
    expect(await records()).toMatchObject([
      { state: 'not_activated', state_reason: null, order_payment_time: null, order_amount_micro: null },
    ])
    fixture.contacts.set(friend, { email: 'john@fastmail.com', isVerified: true })
    await fixture.db.transaction(tx => fixture.referral.lookAtUser(tx, friend))
    expect(await records()).toMatchObject([
      { state: 'not_recharged', user_email: expect.stringMatching(/^p…@fastmail/) },
    ])
    await fixture.pay(friend, 400)
    expect(await records()).toMatchObject([
      { state: 'not_recharged', paid_micro: '4000000', order_amount_micro: '4000000' },
    ])
    await fixture.pay(friend, 600)
    expect(await records()).toMatchObject([{ state: 'recharged', paid_micro: '10000000' }])
    expect(await summary()).toMatchObject({ registered_users: 1, effective_consumers: 1 })
  })

  test('become invalid for what was paid and went back, and say so as a fact; paying again mends it', async () => {
    const friend = await fixture.friendOf(mira)
    const payment = await fixture.pay(friend, 1_000)
    expect(await summary()).toMatchObject({ total_earnings_micro: '5000000' })
    await fixture.giveBack(payment, 1)
    expect(await records()).toMatchObject([{ state: 'invalid', state_reason: 'topup_returned' }])
    expect(await summary()).toMatchObject({ total_earnings_micro: '0', effective_consumers: 0 })
    expect(await creditsOf(friend)).toBe(0n)
    await fixture.pay(friend, 100)
    expect(await records()).toMatchObject([{ state: 'recharged' }])
    expect(await summary()).toMatchObject({ total_earnings_micro: '5000000' })
    // The friend's own is given once: else it could be spent, and earned anew.
    expect(await creditsOf(friend)).toBe(0n)
    expect(await books()).toEqual([])
  })

  test('what was spent of the friend’s credit before the money went back is not owed, and nothing accrues from then on', async () => {
    const friend = await fixture.friendOf(mira)
    const payment = await fixture.pay(friend, 1_000)
    await fixture.spend(friend, 2_000_000n)
    await fixture.giveBack(payment, 1_000)
    expect(await records()).toMatchObject([{ state: 'invalid', state_reason: 'topup_returned' }])
    expect(await fixture.billing.totals(fixture.db, friend)).toMatchObject({
      creditsMicro: 0n,
      owedMicro: 0n,
    })
    await fixture.pay(friend, 900)
    await fixture.spend(friend, 5_000_000n)
    await fixture.referral.settle()
    expect(await records()).toMatchObject([{ state: 'invalid' }])
    expect(await summary()).toMatchObject({ total_earnings_micro: '0', effective_consumers: 0 })
    expect(await orders()).toEqual([])
    expect(await books()).toEqual([])
  })

  test.each(['card', 'paypal', 'device'] as const)(
    'are invalid for one person on both sides, known by %s, which operators alone are told',
    async by => {
      const friend = await fixture.friendOf(mira)
      if (by === 'card') await fixture.pay(mira, 500, 3)
      if (by === 'device') for (const userId of [mira, friend]) fixture.devices.set(userId, 'kitchen')
      if (by === 'paypal') await fixture.payTo(mira, fixture.contacts.get(friend)?.email ?? '')
      await fixture.pay(friend, 2_500, by === 'card' ? 3 : 1)
      expect(await records()).toMatchObject([{ state: 'invalid', state_reason: 'not_eligible' }])
      expect(await summary()).toMatchObject({ total_earnings_micro: '0', effective_consumers: 0 })
      expect(await creditsOf(friend)).toBe(0n)
      expect(JSON.stringify(await records())).not.toMatch(/same_person|card|paypal|device/)
      expect(await fixture.referral.payouts.refused()).toContainEqual(
        expect.objectContaining({ friendId: friend, referrerId: mira, samePersonBy: by, samePersonAs: mira }),
      )
      expect(await books()).toEqual([])
    },
  )

  test('are one person by one mailbox, whatever stands behind a plus', async () => {
    const own = await fixture.person({ email: 'farmer@fastmail.com' })
    const { code } = await fixture.referral.summary(own)
    const friend = await fixture.person({ email: 'farmer+1@fastmail.com' })
    await fixture.captureBy(friend, code)
    await fixture.pay(friend, 1_000)
    expect(await records(own)).toMatchObject([{ state: 'invalid', state_reason: 'not_eligible' }])
    expect(await creditsOf(friend)).toBe(0n)
  })

  test('are nobody’s but their own for an address that somebody else has typed and never confirmed', async () => {
    // Somebody has their reward in the name of two addresses that are not theirs: as where they are paid, and as their own.
    const email = 'victim@fastmail.com'
    const eve = await fixture.person({ email: 'other-victim@fastmail.com', isVerified: false })
    await fixture.referral.paypal.set(eve, email)
    await fixture.pay(await fixture.friendOf(eve), 1_000)
    expect(await summary(eve)).toMatchObject({ total_earnings_micro: '5000000' })
    const { code } = await fixture.referral.summary(mira)
    for (const address of [email, 'other-victim@fastmail.com']) {
      const friend = await fixture.person({ email: address })
      await fixture.captureBy(friend, code)
      await fixture.pay(friend, 1_000)
      expect(await creditsOf(friend)).toBe(5_000_000n)
    }
    expect(await summary()).toMatchObject({ total_earnings_micro: '10000000', effective_consumers: 2 })
  })

  test('what was earned is taken back when they turn out to be one person later, before it is settled', async () => {
    const friend = await fixture.friendOf(mira)
    await fixture.pay(friend, 2_500, 1)
    await fixture.spend(friend, 10_000_000n)
    await fixture.referral.settle()
    expect(await summary()).toMatchObject({ total_earnings_micro: '5250000' })
    await fixture.pay(mira, 500, 1)
    await fixture.pay(friend, 100, 1)
    expect(await summary()).toMatchObject({ total_earnings_micro: '0' })
    expect(await orders()).toEqual([])
    expect(await books()).toEqual([])
  })

  test.each(['card', 'paypal', 'device'] as const)(
    'are invalid where somebody was rewarded before for the same %s, whoever’s friend that was, and the first keeps it',
    async by => {
      const noah = await fixture.person()
      const email = `farm-${by}@fastmail.com`
      const farm = async (referrer: string) => {
        const friend = await fixture.friendOf(referrer)
        if (by === 'paypal') await fixture.payTo(friend, email)
        if (by === 'device') fixture.devices.set(friend, 'farm')
        await fixture.pay(friend, 1_000, by === 'card' ? 2 : undefined)
        return friend
      }
      const first = await farm(mira)
      const later = [await farm(mira), await farm(noah), await farm(mira)]
      // Whoever deletes an account and comes again is no other. An address is forgotten with its account.
      fixture.contacts.set(first, null)
      await fixture.forget(first)
      if (by !== 'paypal') later.push(await farm(noah), await farm(mira))
      else expect(await fixture.db.$count(rewardedMark, eq(rewardedMark.userId, first))).toBe(1)
      expect(await summary()).toMatchObject({ total_earnings_micro: '5000000', effective_consumers: 1 })
      expect(await summary(noah)).toMatchObject({ total_earnings_micro: '0' })
      expect(await creditsOf(first)).toBe(5_000_000n)
      for (const friend of later) expect(await creditsOf(friend)).toBe(0n)
      const states = [...(await records()), ...(await records(noah))].map(one => one.state_reason)
      expect(states.filter(reason => reason === 'not_eligible')).toHaveLength(later.length)
      for (const friendId of later) {
        expect(await fixture.referral.payouts.refused()).toContainEqual(
          expect.objectContaining({ friendId, samePersonBy: by, samePersonAs: first }),
        )
      }
      expect(await books()).toEqual([])
    },
  )

  test('are invalid for a browser of somebody who was rewarded as a referrer; who counts already keeps it, whatever they share later', async () => {
    const friend = await fixture.friendOf(mira)
    fixture.devices.set(mira, 'desk')
    await fixture.pay(friend, 1_000)
    const noah = await fixture.person()
    const twin = await fixture.friendOf(noah)
    fixture.devices.set(twin, 'desk')
    await fixture.pay(twin, 1_000)
    expect(await records(noah)).toMatchObject([{ state: 'invalid', state_reason: 'not_eligible' }])
    // Who counts already keeps it, whatever another one is known by later.
    const good = await fixture.friendOf(noah)
    await fixture.pay(good, 1_000)
    fixture.devices.set(good, 'desk')
    await fixture.pay(good, 1_000)
    expect((await records(noah)).find(one => one.state === 'recharged')?.paid_micro).toBe('20000000')
    expect(await summary(noah)).toMatchObject({ total_earnings_micro: '5000000' })
  })

  test('of several who pay with one card at once one is rewarded', async () => {
    const referrers = [mira, await fixture.person(), await fixture.person(), await fixture.person()]
    const friends = await Promise.all(referrers.map(referrer => fixture.friendOf(referrer)))
    for (const friend of friends) {
      fixture.devices.set(friend, 'one of many at once')
      await fixture.payUnheard(friend, 1_000)
    }
    await Promise.all(
      friends.map(friend => fixture.db.transaction(tx => fixture.referral.lookAtUser(tx, friend))),
    )
    const earned = await Promise.all(referrers.map(async of => (await summary(of)).total_earnings_micro))
    expect(earned.toSorted()).toEqual(['0', '0', '0', '5000000'])
    const credits = await Promise.all(friends.map(creditsOf))
    expect(credits.reduce((sum, one) => sum + one)).toBe(5_000_000n)
    await fixture.hear()
    expect(await Promise.all(referrers.map(async of => (await summary(of)).total_earnings_micro))).toEqual(
      earned,
    )
    expect(await books()).toEqual([])
  })

  test('an account with a wallet of another currency does not count', async () => {
    const friend = await fixture.friendOf(mira, { currency: 'EUR' })
    await fixture.pay(friend, 2_500)
    expect(await records()).toMatchObject([{ state: 'invalid', state_reason: 'other_currency' }])
  })

  test('of a referrer who is gone nothing is earned any more, by neither side', async () => {
    const friend = await fixture.friendOf(mira)
    const { code } = await fixture.referral.summary(mira)
    await fixture.db.transaction(tx => closeCustomer(tx, { userId: mira, at: fixture.clock.now() }))
    await fixture.forget(mira)
    await fixture.pay(friend, 2_500)
    await fixture.spend(friend, 10_000_000n)
    await fixture.referral.settle()
    expect(await creditsOf(friend)).toBe(0n)
    expect(await orders()).toEqual([])
    // Nor does anybody come by their link.
    const late = await fixture.person()
    await fixture.captureBy(late, code)
    expect((await fixture.referral.invitation(code)).known).toBe(false)
    expect(await records()).toHaveLength(1)
    expect(await books()).toEqual([])
  })

  test('a deleted friend is named no more; what was earned stays', async () => {
    const friend = await fixture.friendOf(mira)
    await fixture.pay(friend, 1_000)
    fixture.contacts.set(friend, null)
    await fixture.forget(friend)
    expect(await records()).toMatchObject([{ user_email: null, state: 'recharged' }])
    const early = await fixture.friendOf(mira)
    fixture.contacts.set(early, null)
    await fixture.forget(early)
    expect((await records())[0]).toMatchObject({
      user_email: null,
      state: 'invalid',
      state_reason: 'account_deleted',
    })
  })
})

describe('[R9.7] what is earned', () => {
  test('$5 for each side at first top-ups adding up to $10, once, and 5% of cash alone', async () => {
    const friend = await fixture.friendOf(mira)
    await fixture.pay(friend, 999)
    expect(await creditsOf(friend)).toBe(0n)
    await fixture.pay(friend, 501)
    await fixture.pay(friend, 1_000)
    expect(await creditsOf(friend)).toBe(5_000_000n)
    expect(await creditsOf(mira)).toBe(0n)
    expect(await orders()).toMatchObject([
      {
        kind: 'first_topup',
        rebate_amount_micro: '5000000',
        rebate_rate: null,
        order_amount_micro: '15000000',
      },
    ])
    // Five of it is the credit, which earns nothing.
    await fixture.spend(friend, 8_333_333n)
    await fixture.referral.settle()
    const [rebate] = (await orders()).filter(({ kind }) => kind === 'rebate')
    expect(rebate).toMatchObject({
      ...{ order_amount_micro: '8333333', cash_payment_amount_micro: '3333333', rebate_rate: 5 },
      rebate_amount_micro: '166666',
    })
    await fixture.spend(friend, 1_000_007n)
    await fixture.referral.settle()
    expect(await summary()).toMatchObject({
      total_earnings_micro: (5_000_000n + ((3_333_333n + 1_000_007n) * 5n) / 100n).toString(),
      quarter: { spent_micro: '4333340', first_topups: 1, state: 'open' },
    })
    expect(fixture.newsOf(mira)).toEqual([{ news: 'earned', quarter: null, amountMicro: '5000000' }])
    expect(await books()).toEqual([])
  })

  test('[R2.28] [R3.13] each friend is listed with what they spent and what that earned, in the quarter that is asked for', async () => {
    const [noah, ida] = [await fixture.friendOf(mira), await fixture.friendOf(mira)]
    for (const friend of [noah, ida]) await fixture.pay(friend, 3_000)
    // Five of each sum are the credit, which earns nothing.
    await fixture.spend(noah, 15_000_000n)
    await fixture.spend(ida, 5_000_200n)
    await fixture.referral.settle()
    const spent = { rebate_rate: 5, cash_payment_amount_micro: '10000000', rebate_amount_micro: '500000' }
    const little = { rebate_rate: 5, cash_payment_amount_micro: '200', rebate_amount_micro: '10' }
    const shown = await records()
    expect(shown).toMatchObject([
      { ...little, total_rebate_amount_micro: '10' },
      { ...spent, total_rebate_amount_micro: '500000' },
    ])
    const nothing = { cash_payment_amount_micro: '0', rebate_amount_micro: '0' }
    expect((await fixture.referral.records(mira, { ...PAGE, quarter: '2020-Q1' })).items).toMatchObject([
      { ...nothing, total_rebate_amount_micro: '10' },
      { ...nothing, total_rebate_amount_micro: '500000' },
    ])
  })

  test('money that was to go back and did not counts again', async () => {
    const friend = await fixture.friendOf(mira)
    const payment = await fixture.pay(friend, 1_000)
    await fixture.giveBack(payment, 1_000)
    expect(await records()).toMatchObject([{ state: 'invalid' }])
    await fixture.failRefund(payment, 1_000)
    expect(await records()).toMatchObject([{ state: 'recharged' }])
    expect(await summary()).toMatchObject({ total_earnings_micro: '5000000' })
    expect(await books()).toEqual([])
  })

  test('an event that comes twice, late or in another order earns nothing more', async () => {
    const friend = await fixture.friendOf(mira)
    await fixture.pay(friend, 1_000)
    for (let count = 0; count < 3; count += 1) {
      await fixture.db.transaction(tx => fixture.referral.lookAtUser(tx, friend))
      await fixture.referral.settle()
    }
    expect(await summary()).toMatchObject({ total_earnings_micro: '5000000' })
    expect(await creditsOf(friend)).toBe(5_000_000n)
  })

  test('cash that was spent and then taken back earns nothing until it is paid again', async () => {
    const friend = await fixture.friendOf(mira)
    const payment = await fixture.pay(friend, 3_000)
    await fixture.spend(friend, 25_000_000n)
    await fixture.referral.settle()
    // Five were credits: 20 of 30 in cash, of which 5 are 1.00.
    expect(await summary()).toMatchObject({ quarter: { spent_micro: '20000000', rebate_micro: '1000000' } })
    await fixture.dispute(payment, 1_500)
    await fixture.referral.settle()
    // Of 15 that stayed 15 are spent: 5 are owed.
    expect(await summary()).toMatchObject({ quarter: { spent_micro: '15000000', rebate_micro: '750000' } })
    await fixture.pay(friend, 1_000)
    await fixture.referral.settle()
    expect(await summary()).toMatchObject({ quarter: { spent_micro: '20000000', rebate_micro: '1000000' } })
    expect(await books()).toEqual([])
  })

  test('somebody has one referrer, never themselves, and a code that nobody has is none', async () => {
    const noah = await fixture.person()
    const friend = await fixture.friendOf(mira)
    const { code } = await summary(noah)
    await fixture.captureBy(friend, code)
    await fixture.captureBy(noah, code)
    await fixture.captureBy(await fixture.person(), 'nobody-has7it')
    expect(await records(noah)).toEqual([])
    expect(await records()).toHaveLength(1)
  })
})
