import { expect, test } from 'vitest'
import { readCommand } from './read-command.ts'
import { UsageError } from './usage.ts'

const GIVE = 'credits give a@b.example --amount 5 --kind bonus'
const CREATE = 'coupons create CODE --amount 5 --currency USD'

test.each([
  ['credits', /cannot do nothing/],
  ['credits burn', /cannot burn/],
  ['credits give', /Which customer/],
  ['credits list', /Which customer/],
  ['credits list a b', /b is too much/],
  ['credits list a --amount 5', /--amount does not go with credits list/],
  ['credits give a --kind bonus', /Say with --amount/],
  ['credits give a --amount 0 --kind bonus', /more than nothing/],
  ['credits give a --amount 1.234 --kind bonus', /two decimals/],
  ['credits give a --amount 10000000 --kind bonus', /less than ten million/],
  ['credits give a --amount=-5 --kind bonus', /more than nothing/],
  ['credits give a --amount 5', /Say with --kind/],
  ['credits give a --amount 5 --kind coupon', /Say with --kind/],
  [`${GIVE} --ends 2026-02-30`, /--ends takes a day/],
  [`${GIVE} --ends tomorrow`, /--ends takes a day/],
  [`${GIVE} --id case-17`, /is a UUID/],
  [`${GIVE} --reason=`, /has words/],
  [`${GIVE} --reason ${'x'.repeat(101)}`, /at most 100/],
  [`${GIVE} --total 3`, /--total does not go with credits give/],
  [`${GIVE} --seen 3f`, /--seen does not go/],
  [`${GIVE} --payment t_1`, /--payment does not go/],
  ['coupons', /cannot do nothing/],
  ['coupons burn CODE', /cannot burn/],
  ['coupons list CODE', /CODE is too much/],
  ['coupons show', /Which coupon/],
  ['coupons end CODE more', /more is too much/],
  ['coupons end CODE --total 3', /--total does not go with coupons end/],
  ['coupons create ABC --amount 5 --currency USD', /4 to 40/],
  ['coupons create -- -ABCD', /4 to 40/],
  ['coupons create CODE --currency USD', /Say with --amount/],
  ['coupons create CODE --amount 5', /Say with --currency/],
  ['coupons create CODE --amount 5 --currency GBP', /USD or EUR/],
  [`${CREATE} --from 2026-12-32`, /--from takes a day/],
  [`${CREATE} --until 31.12.2026`, /--until takes a day/],
  [`${CREATE} --from 2026-12-31 --until 2026-12-30`, /before --from/],
  [`${CREATE} --per-customer 0`, /--per-customer takes a whole number from 1/],
  [`${CREATE} --total 1.5`, /--total takes a whole number from 1/],
  [`${CREATE} --credit-days 3651`, /from 1 to 3650/],
  [`${CREATE} --min-paid 0`, /--min-paid takes more than nothing/],
  [`${CREATE} --reason why`, /--reason does not go with coupons create/],
  ['images queue --kind bonus', /--kind goes with credits and coupons/],
  ['refunds list --models-only', /--models-only goes with credits and coupons/],
  ['books check --total 3', /--total goes with credits and coupons/],
])('[R6.5] %s is refused in words', (typed, words) => {
  const read = () => readCommand(typed.split(' '))
  expect(read).toThrow(UsageError)
  expect(read).toThrow(words)
})

test('[R6.5] a coupon of one day is redeemed on that day', () => {
  const command = readCommand(`${CREATE} --from 2026-12-31 --until 2026-12-31`.split(' '))
  expect(command).toMatchObject({
    coupon: {
      startsAt: new Date('2026-12-31T00:00:00.000Z'),
      endsAt: new Date('2027-01-01T00:00:00.000Z'),
    },
  })
})
