import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BillingFixture, createBillingFixture } from '../domains/billing/billing-fixture.ts'
import { findNamed } from '../domains/identity/accounts/accounts-store.ts'
import { userAccount } from '../domains/identity/tables.ts'
import type { Operated } from './operated.ts'
import { createOperatorFixture } from './type-commands-fixture.ts'

let fixture: BillingFixture
let operator: ReturnType<typeof createOperatorFixture>
beforeAll(async () => {
  fixture = await createBillingFixture()
  const customerNamed = (named: string) => findNamed(fixture.db, named)
  const identity = { customerNamed } as Operated['identity']
  operator = createOperatorFixture({ ...fixture, installation: { billing: fixture.billing, identity } })
})
afterAll(async () => {
  expect(await fixture.billing.checkBooks()).toEqual([])
  await fixture.database.drop()
})

/** Runs what an operator types, words apart by single spaces; it must work. */
async function run(typed: string): Promise<{ data: unknown; text: string }> {
  const data = await operator.json(...typed.split(' '))
  // An answer for people is that of a command that only looks.
  return { data, text: / (list|show) ?/.test(typed) ? (await operator.type(typed)).out : '' }
}

/** Runs what is to be refused. */
async function refused(typed: string, exit: number, words: string): Promise<void> {
  const { exit: ended, out, err } = await operator.type(typed)
  expect([ended, out], typed).toEqual([exit, ''])
  expect(err, typed).toContain(words)
}

/** A customer with an account. */
async function account({ currency = 'USD' as 'USD' | 'EUR' } = {}) {
  const id = await fixture.customer({ currency })
  const [made] = await fixture.db
    .insert(userAccount)
    .values({ id, email: `${id}@example.com`, displayName: 'Ada', createdAt: fixture.clock.now() })
    .returning()
  return { id, email: `${id}@example.com`, number: made?.number ?? 0 }
}

const balanceOf = async (userId: string) => (await fixture.billing.balance(userId)).account_balance
const redeem = (userId: string, code: string) =>
  fixture.billing.redeemCoupon({ userId, idempotencyKey: randomUUID(), code })

test('[R6.5] an operator gives credits by address, number or id, in the currency of the wallet', async () => {
  const { id, email, number } = await account({ currency: 'EUR' })
  const { data } = await run(
    `credits give ${email.toUpperCase()} --amount 12.34 --kind bonus --ends 2026-12-31`,
  )
  expect(data).toMatchObject({
    ...{ user_id: id, kind: 'bonus', reason: 'operator', currency: 'EUR', amount_micro: '12340000' },
    expiration_date: '2027-01-01T00:00:00.000Z',
  })
  await run(`credits give ${number} --amount 1 --kind sla --reason outage`)
  await run(`credits give ${id} --amount 2 --kind referral`)
  expect(await balanceOf(id)).toMatchObject({ amount: 1_534, amount_credits: 1_534 })
  const list = (await run(`credits list ${number}`)).text.trimEnd().split('\n')
  expect(list).toHaveLength(4)
  expect(list[1]).toMatch(/€12\.34 +€12\.34 +active +1 Jan 2027, 00:00 UTC +all +bonus: operator/)
  expect(list.join('\n')).toContain('sla: outage')
})

test('[R6.5] credits that are given again by their id are given once, and an id stands for nothing else', async () => {
  const { id, email } = await account()
  await run(`credits give ${email} --amount 5 --kind bonus`)
  const named = /--id (\S+)/.exec(operator.noted.at(-1) ?? '')?.[1]
  await run(`credits give ${email} --amount 5 --kind bonus --id ${named}`)
  expect(await balanceOf(id)).toMatchObject({ amount: 500 })
  const other = await account()
  for (const odd of [
    `${email} --amount 6 --kind bonus`,
    `${email} --amount 5 --kind sla`,
    `${email} --amount 5 --kind bonus --reason why`,
    `${email} --amount 5 --kind bonus --ends 2026-12-31`,
    `${other.email} --amount 5 --kind bonus`,
  ]) {
    await refused(`credits give ${odd} --id ${named}`, 1, 'stands for other credits')
  }
  expect(await balanceOf(id)).toMatchObject({ amount: 500 })
  expect(await balanceOf(other.id)).toMatchObject({ amount: 0 })
})

test('[R6.5] nobody’s credits are refused in words, and so is an end that has passed', async () => {
  const { id, email } = await account()
  for (const nobody of ['nobody@example.com', '1', randomUUID(), '99999999999999999999']) {
    await refused(`credits give ${nobody} --amount 5 --kind bonus`, 3, 'There is no such customer.')
    await refused(`credits list ${nobody}`, 3, 'There is no such customer.')
  }
  await refused(`credits give ${email} --amount 5 --kind bonus --ends 2026-03-09`, 2, 'has passed')
  await run(`credits give ${email} --amount 5 --kind bonus --ends 2026-03-10`)
  expect(await balanceOf(id)).toMatchObject({ amount: 500 })
})

test('[R3.8] a coupon that an operator makes is redeemed as it says, shown, and ended', async () => {
  const first = await account()
  const made = await run(
    'coupons create Spring-20 --amount 20 --currency USD --until 2026-04-01 --total 2 --credit-days 30 --models-only',
  )
  expect(made.data).toMatchObject({
    ...{ code: 'SPRING-20', currency: 'USD', amount_micro: '20000000', models_only: true, redeemed: 0 },
    ...{ per_customer_max: 1, total_max: 2, credit_days: 30, ends_at: '2026-04-02T00:00:00.000Z' },
    ...{ first_topup_only: false, paid_min_micro: '0', starts_at: fixture.clock.now().toISOString() },
  })
  expect(await redeem(first.id, 'spring-20')).toMatchObject({ models_only: true, left_micro: '20000000' })
  await expect(redeem(first.id, 'SPRING-20')).rejects.toMatchObject({ code: 'coupon_used' })
  const shown = await run('coupons show spring-20')
  expect(shown.text).toMatch(/SPRING-20\nAmount +\$20\.00\nRedeemed +1 of 2\n/)
  expect(shown.text).toContain('models only')
  expect((await run('coupons list')).text).toContain('SPRING-20')
  await run('coupons end spring-20')
  const second = await account()
  await expect(redeem(second.id, 'SPRING-20')).rejects.toMatchObject({ code: 'coupon_ended' })
  expect((await run(`credits list ${first.email}`)).text).toContain('active')
})

test('[R3.8] what a coupon asks of top-ups, and its first day, hold as they are typed', async () => {
  const { id } = await account()
  await run('coupons create FIRST-1 --amount 1 --currency USD --first-topup-only --per-customer 3')
  await run('coupons create PAID-10 --amount 1 --currency USD --min-paid 10')
  await run('coupons create LATER-1 --amount 1 --currency USD --from 2026-03-11')
  await expect(redeem(id, 'FIRST-1')).rejects.toMatchObject({ code: 'coupon_first_topup_only' })
  await expect(redeem(id, 'PAID-10')).rejects.toMatchObject({ code: 'coupon_minimum' })
  await expect(redeem(id, 'LATER-1')).rejects.toMatchObject({ code: 'coupon_not_yet' })
  expect((await run('coupons show FIRST-1')).data).toMatchObject({ per_customer_max: 3, total_max: null })
})

test('[R6.5] a code that is taken, one that nobody made and an end that has passed are refused in words', async () => {
  await run('coupons create TAKEN --amount 20 --currency USD')
  await refused('coupons create taken --amount 30 --currency EUR', 1, 'There is a coupon TAKEN already.')
  expect((await run('coupons show TAKEN')).data).toMatchObject({ amount_micro: '20000000' })
  for (const verb of ['show', 'end', 'close']) {
    await refused(`coupons ${verb} NOBODYS`, 3, 'There is no such coupon.')
  }
  await refused('coupons create LATE --amount 20 --currency USD --until 2026-03-09', 2, 'has passed')
  await refused('coupons show LATE', 3, 'no such coupon')
})
