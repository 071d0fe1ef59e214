import { describe, expect, test } from 'vitest'
import { COMMANDS } from '../commands.ts'
import { UsageError } from './answer.ts'
import { parseCommand } from './parse-command.ts'

const parse = (typed: string) =>
  parseCommand(
    COMMANDS,
    typed.split(' ').filter(word => word !== ''),
  )

const GIVE = 'credits give a@b.example --amount 5 --kind bonus'
const CREATE = 'coupons create CODE --amount 5 --currency USD'

describe('[R6.5] what an operator types', () => {
  test.each([
    ['images queue', 'images queue', {}],
    ['--json images queue', 'images queue', {}],
    ['images show-reports im-abcdefg', 'images show-reports', { id: 'im-abcdefg' }],
    ['images approve im-abcdefg --seen 3f', 'images approve', { id: 'im-abcdefg', seen: '3f' }],
    ['images take-down im-abcdefg --reason=why', 'images take-down', { id: 'im-abcdefg', reason: 'why' }],
    ['books check --json', 'books check', {}],
    // A spelling of before.
    ['coupons end code', 'coupons close', { code: 'CODE' }],
    [
      'refunds create --payment t_1 --amount 12.34 --id case-17',
      'refunds create',
      { payment: 't_1', amount: 1_234, id: 'case-17' },
    ],
    [
      `${GIVE} --ends 2026-12-31`,
      'credits give',
      {
        customer: 'a@b.example',
        amount: 5_000_000n,
        kind: 'bonus',
        reason: null,
        ends: new Date('2027-01-01'),
      },
    ],
    // Of one day.
    [
      `${CREATE} --from 2026-12-31 --until 2026-12-31`,
      'coupons create',
      { from: new Date('2026-12-31'), until: new Date('2027-01-01'), 'models-only': false },
    ],
  ])('%s', (typed, name, given) => {
    const asked = parse(typed)
    if (asked.kind !== 'command') throw new Error('help')
    expect(`${asked.command.noun} ${asked.command.verb}`).toBe(name)
    expect(asked.given).toMatchObject(given)
    expect(asked.json).toBe(typed.includes('--json'))
  })

  test.each([
    ['', null, null],
    ['--help', null, null],
    ['help', null, null],
    ['coupons', 'coupons', null],
    ['coupons -h', 'coupons', null],
    ['coupons create --help', 'coupons', 'create'],
    ['help coupons create', 'coupons', 'create'],
  ])('%s asks for help', (typed, noun, verb) => {
    expect(parse(typed)).toMatchObject({ kind: 'help', noun, command: verb === null ? null : { verb } })
  })

  test.each([
    ['volumes queue', /no volumes here\. .*--help/],
    ['image queue', /no image here: did you mean images\?/],
    ['books burn', /books cannot burn\. There is check\./],
    ['coupons lst', /coupons cannot lst: did you mean list\?/],
    ['books check all', /all is too much for books check/],
    ['books check --seen 3f', /--seen does not go with books check: it goes with images approve/],
    ['images reports im-abcdefg', /too much/],
    ['images close-reports', /id of it is missing/],
    ['images approve', /id is missing/],
    ['images approve im-abcdefg im-bcdefgh', /too much/],
    ['images approve im-abcdefg', /--seen/],
    ['images approve im-abcdefg --seen=', /--seen is empty/],
    ['images approve im-abcdefg --reason=x', /goes with .*images reject and images take-down/],
    ['images reject im-abcdefg', /Say why/],
    ['images reject im-abcdefg --reason=', /Say why/],
    ['images reject im-abcdefg --reason=why --reason=whyelse', /--reason is there twice/],
    [`images reject im-abcdefg --reason=${'x'.repeat(501)}`, /at most 500/],
    ['images queue --jsn', /--jsn/],
    ['images queue --dry-run', /--dry-run does not go with images queue/],
    ['coupons close CODE --yes', /--yes does not go/],
    ['credits give', /Which customer/],
    ['credits list', /Which customer/],
    ['credits list a b', /b is too much/],
    ['credits list a --amount 5', /--amount does not go with credits list/],
    ['credits give a --kind bonus', /Say with --amount/],
    ['credits give a --amount -5 --kind bonus', /^Say after --amount what it is; .* as --amount=-5\./],
    ['credits give a --amount=-5 --kind bonus', /--amount|more than nothing|decimals/],
    ['credits give a --amount 0 --kind bonus', /more than nothing/],
    ['credits give a --amount 1.234 --kind bonus', /two decimals/],
    ['credits give a --amount 10000000 --kind bonus', /less than ten million/],
    ['credits give a --amount=-5 --kind bonus', /more than nothing/],
    ['credits give a --amount 5', /Say with --kind/],
    ['credits give a --amount 5 --kind coupon', /--kind takes bonus/],
    [`${GIVE} --ends 2026-02-30`, /--ends takes a day/],
    [`${GIVE} --ends tomorrow`, /--ends takes a day/],
    [`${GIVE} --id case-17`, /takes a UUID/],
    [`${GIVE} --reason=`, /has words/],
    [`${GIVE} --reason ${'x'.repeat(101)}`, /at most 100/],
    ['coupons create', /code is missing/],
    ['coupons show', /Which coupon/],
    ['coupons end CODE more', /more is too much/],
    ['coupons end CODE --total 3', /--total does not go with coupons close: it goes with coupons create/],
    ['coupons create ABC --amount 5 --currency USD', /4 to 40/],
    ['coupons create --amount 5 --currency USD -- -ABCD', /4 to 40/],
    ['coupons create CODE --currency USD', /Say with --amount/],
    ['coupons create CODE --amount 5', /Say with --currency/],
    ['coupons create CODE --amount 5 --currency GBP', /USD or EUR/],
    [`${CREATE} --from 2026-12-32`, /--from takes a day/],
    [`${CREATE} --until 31.12.2026`, /--until takes a day/],
    [`${CREATE} --per-customer 0`, /--per-customer takes a whole number from 1/],
    [`${CREATE} --total 1.5`, /--total takes a whole number from 1/],
    [`${CREATE} --credit-days 3651`, /from 1 to 3650/],
    [`${CREATE} --min-paid 0`, /--min-paid takes more than nothing/],
    ['refunds create', /Say with --payment/],
    ['refunds create --payment t_1 --amount 0.001', /two decimals/],
    ['refunds create --payment t_1 --id=a/b', /at most 60 letters/],
  ])('%s is refused in words', (typed, words) => {
    expect(() => parse(typed)).toThrow(UsageError)
    expect(() => parse(typed)).toThrow(words)
  })
})
