import { type SQL, sql } from 'drizzle-orm'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type BillingFixture, createBillingFixture, UNIT } from '../billing-fixture.ts'

let fixture: BillingFixture
let userId: string

/** Books with lots that were used, that ended and that a coupon gave, and nothing wrong. */
beforeEach(async () => {
  fixture = await createBillingFixture()
  userId = await fixture.customer()
  const endsAt = new Date(fixture.clock.now().getTime() + 3_600_000)
  for (const modelsOnly of [false, true]) {
    const lot = { userId, amountMicro: 5n * UNIT, kind: 'bonus', reason: 'test', modelsOnly, endsAt } as const
    await fixture.billing.couponDesk.give(lot)
  }
  await fixture.billing.couponDesk.create({
    ...{ code: 'LAUNCH20', currency: 'USD', amountMicro: 20n * UNIT, modelsOnly: false, endsAt: null },
    ...{ perCustomerMax: 1, totalMax: null, firstTopupOnly: false, paidMinMicro: 0n, creditDays: null },
  })
  await fixture.billing.redeemCoupon({ userId, idempotencyKey: 'k', code: 'LAUNCH20' })
  await fixture.open({ userId, instanceId: 'i-a' })
  fixture.clock.advance(2 * 3_600)
  await fixture.close({ userId, instanceId: 'i-a' })
  expect(await fixture.billing.checkBooks()).toEqual([])
})
afterEach(() => fixture.database.drop())

/** One row for each way in which lots can be wrong: what breaks them, and what the audit must say. */
const DAMAGES: [string, SQL, RegExp][] = [
  [
    'a lot that has more than the account',
    sql`update credit_grant set rest_micro = rest_micro + 1 where kind = 'coupon'`,
    /credits are what is left of their lots: .*: 19000000 in the account, 19000001 in the lots/,
  ],
  [
    'a lot that was used by nobody',
    sql`update credit_use set amount_micro = amount_micro - 1 where grant_id in
      (select id from credit_grant where kind = 'coupon')`,
    /a lot is what was used of it.*: 20000000 given, 999999 used, 0 ended, 19000000 left/,
  ],
  [
    'a stretch whose credits no lot gave',
    sql`delete from credit_use where grant_id in (select id from credit_grant where kind = 'coupon')`,
    /credits of a stretch are those of the lots.*: 2000000 by the stretch, 1000000 by the lots/,
  ],
  [
    'credits for models that paid for a machine',
    sql`update credit_grant set models_only = true where kind = 'coupon'`,
    /paid for models alone: .*: instance i-a/,
  ],
  [
    'an end without its entry',
    sql`update credit_end set id = gen_random_uuid()`,
    /an end of credits has its one entry: .* 0 entries of 0/,
  ],
  [
    'an end of another amount',
    sql`update credit_end set amount_micro = 7`,
    /an end of credits has its one entry: .*: 1 entries of 4000000/,
  ],
  [
    'credits that are left although they ended',
    sql`update credit_grant set ended_at = now() where kind = 'coupon'`,
    /no more is left than is set aside: .*: 19000000 left, 0 set aside/,
  ],
  [
    'a coupon that counts wrongly',
    sql`update coupon set redeemed = 2`,
    /a coupon was redeemed as often as it says.*LAUNCH20: 2 by its row, 1 redeemed/,
  ],
  [
    'a coupon that gave another amount',
    sql`update coupon set amount_micro = 1`,
    /LAUNCH20: 1 by its row, 1 redeemed, of which 0 gave its amount/,
  ],
  [
    'credits of a coupon that nobody redeemed',
    sql`delete from coupon_redemption`,
    /a lot of a coupon that nobody redeemed/,
  ],
]

test.each(DAMAGES)('[B2] [R3.8] the audit finds %s', async (_name, damage, told) => {
  await fixture.db.execute(damage)
  expect((await fixture.billing.checkBooks()).join('\n')).toMatch(told)
})
