import { afterAll, beforeAll, expect, test } from 'vitest'
import { floor, fraction, plus, times, ZERO } from '../../../test/year/fractions.ts'
import { createReferralFixture, type ReferralFixture } from './referral-fixture.ts'

/**
 * Goal: after ten quarters every referrer has earned, chosen, carried over and been paid to the micro-unit what a reader of the
 * terms comes to (R9.7).
 * Method: customers act by chance through a clock that the test moves; a second reckoning, by fractions and from what was done
 * alone, shares nothing with the domain.
 */

const QUARTERS = 10
const FIRST_YEAR = 2027
const REFERRERS = 3
const FRIENDS_EACH = 2
const UNIT = 1_000_000n

/** Chance that is the same each time. */
function createChance(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** A friend as somebody with pencil and paper follows them. */
class Friend {
  readonly userId: string
  /** What is there to pay from. */
  #cash = 0n
  #credits = 0n
  #paid = 0n
  #counts = false
  #hadCredit = false
  /** Cash by the quarter in which it was spent, as it is earned: what was spent before they counted counts then. */
  #waiting = ZERO
  readonly cash = Array.from({ length: QUARTERS }, () => ZERO)
  readonly rewards = Array.from({ length: QUARTERS }, () => 0n)

  constructor(userId: string) {
    this.userId = userId
  }

  pay(micro: bigint, quarter: number): void {
    this.#cash += micro
    this.#paid += micro
    if (this.#counts || this.#paid < 10n * UNIT) return
    this.#counts = true
    this.rewards[quarter] = (this.rewards[quarter] ?? 0n) + 5n * UNIT
    this.#earn(quarter, this.#waiting)
    this.#waiting = ZERO
    if (!this.#hadCredit) this.#credits += 5n * UNIT
    this.#hadCredit = true
  }

  spend(micro: bigint, quarter: number): void {
    const credits = micro < this.#credits ? micro : this.#credits
    const rest = micro - credits
    const cash = rest < this.#cash ? rest : this.#cash
    this.#credits -= credits
    this.#cash -= cash
    if (this.#counts) this.#earn(quarter, fraction(cash))
    else this.#waiting = plus(this.#waiting, fraction(cash))
  }

  #earn(quarter: number, cash: { top: bigint; bottom: bigint }): void {
    this.cash[quarter] = plus(this.cash[quarter] ?? ZERO, cash)
  }

  /** What they paid and nothing of which was spent goes back, in the quarter in which it began to count. */
  giveBackAll(quarter: number): bigint {
    const micro = this.#cash
    this.#cash = 0n
    this.#paid -= micro
    if (this.#counts) this.rewards[quarter] = (this.rewards[quarter] ?? 0n) - 5n * UNIT
    this.#counts = false
    this.#credits = 0n
    return micro
  }

  /** What they have earned for their referrer by the end of a quarter: 5% of all cash, and nothing less than a micro-unit. */
  rebateUntil(quarter: number): bigint {
    const cash = this.cash.slice(0, quarter + 1).reduce(plus, ZERO)
    return floor(times(cash, fraction(5n, 100n)))
  }
}

type Choice = 'bonus' | 'cash' | 'none'

interface Expected {
  state: string
  carriedIn: bigint
  amount: bigint
  net: bigint
  fee: bigint
}

/** All quarters of a referrer by the terms, from what their friends did and what they chose. */
function reckon(friends: readonly Friend[], choices: readonly Choice[]): Expected[] {
  let carried = 0n
  return choices.map((choice, quarter) => {
    const rewards = friends.reduce((all, friend) => all + (friend.rewards[quarter] ?? 0n), 0n)
    const rebates = friends.reduce(
      (all, friend) =>
        all + friend.rebateUntil(quarter) - (quarter > 0 ? friend.rebateUntil(quarter - 1) : 0n),
      0n,
    )
    const carriedIn = carried
    const amount = carriedIn + rewards + rebates
    if (amount < 20n * UNIT) {
      carried = amount
      return { state: 'carried_over', carriedIn, amount, net: 0n, fee: 0n }
    }
    if (choice !== 'cash') {
      carried = 0n
      return { state: 'credited', carriedIn, amount, net: amount, fee: 0n }
    }
    const cents = floor(fraction(amount, 10_000n))
    const fee = floor(times(fraction(cents), fraction(20n, 100n))) * 10_000n
    carried = amount - cents * 10_000n
    return { state: 'paid', carriedIn, amount, net: cents * 10_000n - fee, fee }
  })
}

let fixture: ReferralFixture
beforeAll(async () => {
  fixture = await createReferralFixture()
})
afterAll(() => fixture.database.drop())

const nameOf = (quarter: number) => `${FIRST_YEAR + Math.floor(quarter / 4)}-Q${(quarter % 4) + 1}`
const startOf = (quarter: number) => Date.UTC(FIRST_YEAR, quarter * 3, 1)
const passTo = (quarter: number, days: number) =>
  fixture.passTo(new Date(startOf(quarter) + days * 86_400_000).toISOString())

test('[R9.7] ten quarters come to what an independent reckoning says, to the micro-unit', {
  timeout: 400_000,
}, async () => {
  const chance = createChance(20_261_127)
  await passTo(0, 0)
  const referrers = []
  for (let at = 0; at < REFERRERS; at += 1) {
    const userId = await fixture.person()
    const friends: Friend[] = []
    for (let count = 0; count < FRIENDS_EACH; count += 1)
      friends.push(new Friend(await fixture.friendOf(userId)))
    await fixture.payTo(userId, `referrer-${at}@example.org`)
    referrers.push({ userId, friends, choices: [] as Choice[] })
  }

  const pay = async (friend: Friend, cents: number, quarter: number) => {
    friend.pay(BigInt(cents) * 10_000n, quarter)
    return await fixture.pay(friend.userId, cents)
  }
  const spend = async (friend: Friend, micro: bigint, quarter: number) => {
    friend.spend(micro, quarter)
    await fixture.spend(friend.userId, micro)
  }

  /** One friend of the last referrer pays in and takes it back at once, as often as they like. */
  const [returning] = referrers.at(-1)?.friends ?? []

  for (let quarter = 0; quarter < QUARTERS; quarter += 1) {
    // Choices of the quarter before are made until its thirtieth day.
    await passTo(quarter, 40)
    for (const { friends } of referrers) {
      for (const friend of friends) {
        if (friend === returning && quarter < 3) {
          const payment = await pay(friend, 1_500, quarter)
          await fixture.giveBack(payment, Number(friend.giveBackAll(quarter) / 10_000n))
          continue
        }
        // Of small steps it takes several quarters to ten, and much of what is spent is before that.
        await pay(friend, [300, 500, 1_234, 25_000, 60_000][chance(5)] ?? 300, quarter)
        await spend(friend, BigInt(1 + chance(200_000_000)) * 3n, quarter)
      }
    }
    await passTo(quarter, 70)
    for (const { userId, friends, choices } of referrers) {
      const [friend] = friends
      if (friend && friend !== returning) await spend(friend, BigInt(1 + chance(7_000_000)), quarter)
      const choice = (['bonus', 'cash', 'none', 'cash'] as const)[chance(4)] ?? 'none'
      choices.push(choice)
      // Half of them choose while the quarter runs, the others once it has ended.
      if (choice !== 'none' && chance(2) === 0) await fixture.referral.choose(userId, nameOf(quarter), choice)
    }
    await passTo(quarter + 1, 0.3)
    for (const { userId, choices } of referrers) {
      const choice = choices[quarter]
      const { items } = await fixture.referral.quarters(userId, { page: 1, page_size: 20 })
      const row = items.find(one => one.quarter === nameOf(quarter))
      if (choice && choice !== 'none' && row?.state === 'choosing') {
        await fixture.referral.choose(userId, nameOf(quarter), choice)
      }
    }
    await passTo(quarter + 1, 5)
    await fixture.referral.payouts.export()
    for (const { id } of await fixture.referral.payouts.list())
      await fixture.referral.payouts.markPaid(id, 'by hand')
    await passTo(quarter + 1, 31)
  }

  for (const { userId, friends, choices } of referrers) {
    const expected = reckon(friends, choices)
    const { items } = await fixture.referral.quarters(userId, { page: 1, page_size: 20 })
    const got = expected.map((_, quarter) => {
      const row = items.find(one => one.quarter === nameOf(quarter))
      return row
        ? {
            state: row.state as string,
            carriedIn: BigInt(row.carried_in_micro),
            amount: BigInt(row.amount_micro),
            net: BigInt(row.settled_payout_micro),
            fee: row.state === 'paid' ? BigInt(row.fee_micro) : 0n,
          }
        : null
    })
    expect(got).toEqual(expected.map((row, quarter) => (got[quarter] === null ? nothingIn(row) : row)))
    expect((await fixture.billing.totals(fixture.db, userId)).creditsMicro).toBe(netOf(expected, 'credited'))
    const paid = (await fixture.referral.payouts.list({ states: ['paid'] }))
      .filter(payout => payout.userId === userId)
      .reduce((all, { cents }) => all + BigInt(cents) * 10_000n, 0n)
    expect(paid).toBe(netOf(expected, 'paid'))
    // What stands beside each friend is theirs, and comes to what the quarters say.
    const { items: records } = await fixture.referral.records(userId, { page: 1, page_size: 20 })
    const brought = records.map(record => BigInt(record.total_rebate_amount_micro))
    expect(brought.toSorted(byValue)).toEqual(
      friends.map(friend => friend.rebateUntil(QUARTERS - 1)).toSorted(byValue),
    )
    const states = new Set(expected.map(({ state }) => state))
    expect([...states].sort(), 'chance met all that may become of a quarter').toEqual([
      'carried_over',
      'credited',
      'paid',
    ])
  }
  expect(await fixture.billing.checkBooks()).toEqual([])
})

const netOf = (quarters: readonly Expected[], how: string) =>
  quarters.filter(({ state }) => state === how).reduce((all, { net }) => all + net, 0n)
const byValue = (one: bigint, other: bigint) => (one < other ? -1 : 1)

/** A quarter in which nothing was earned has no row: then nothing may be expected of it either. */
function nothingIn(row: Expected): null | Expected {
  return row.state === 'carried_over' && row.amount === row.carriedIn ? null : row
}
