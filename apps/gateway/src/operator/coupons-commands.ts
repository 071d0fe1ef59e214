import { formatExact } from '@berth/contract/money'
import { isCouponCode } from '../domains/billing/credits/coupon-desk.ts'
import type { Coupon } from '../domains/billing/credits/coupons.ts'
import { ApiError } from '../platform/http/api-error.ts'
import { type Answer, NotFound, Refused, UsageError } from './line/answer.ts'
import { changing, flag, looking, optional, required, type ValueType } from './line/command.ts'
import { minute } from './line/said.ts'
import { type Column, facts, table } from './line/table.ts'
import { CURRENCY, DAY, LAST_DAY, MONEY, upTo } from './line/values.ts'

/** How often a coupon can be redeemed, and for how many days its credits are there: more than anybody asks for. */
const TIMES_MAX = 1_000_000
const CREDIT_DAYS_MAX = 3_650

const CODE: ValueType<string> = {
  hint: '<code>',
  read(typed) {
    if (isCouponCode(typed)) return typed.trim().toUpperCase()
    throw new UsageError('A code has 4 to 40 letters, digits, - and _, and begins with a letter or a digit.')
  },
}
const code = required(CODE, 'The code, in any case', 'Which coupon? Its code is missing.')

/** Makes coupons, shows and closes them (R3.8, R6.5). */
export const couponsCommands = [
  changing({
    noun: 'coupons',
    verb: 'create',
    summary: 'Makes a coupon, which customers redeem on the payments page',
    arguments: { code: { ...code, missing: 'Which coupon? Its code is missing: SPRING-20, say.' } },
    options: {
      amount: required(MONEY, 'What it gives', 'Say with --amount how much, such as 12.34.'),
      currency: required(
        CURRENCY,
        'Of the wallets that it is for',
        'Say with --currency which one: USD or EUR.',
      ),
      from: optional(DAY, 'The first day (UTC) on which it can be redeemed; without it: now'),
      until: optional(LAST_DAY, 'The last one'),
      'per-customer': optional(upTo(TIMES_MAX), 'How often one customer may redeem it; without it once'),
      total: optional(upTo(TIMES_MAX), 'How often all of them together may'),
      'first-topup-only': flag('Only who has topped up once, and not again'),
      'min-paid': optional(MONEY, 'Only who has paid in so much'),
      'credit-days': optional(upTo(CREDIT_DAYS_MAX), 'For how many days its credits are there'),
      'models-only': flag('Its credits pay for models alone'),
    },
    examples: [
      [
        'coupons create SPRING-20 --amount 20 --currency USD --until 2026-12-31 --total 100',
        '$20 for the first hundred',
      ],
      ['coupons create HELLO --amount 5 --currency EUR --first-topup-only', '€5 after the first top-up'],
    ],
    async plan({ clock, installation }, given) {
      const { from, until } = given
      if (from && until && until <= from) {
        throw new UsageError('--until is before --from: nobody could redeem it.')
      }
      if (until !== null && until <= clock.now()) {
        throw new UsageError('--until is a day that has passed: nobody could redeem it.')
      }
      const { couponDesk } = (await installation()).billing
      const taken = () => new Refused(`There is a coupon ${given.code} already.`)
      if (await isThere(couponDesk.show(given.code))) throw taken()
      const coupon = {
        code: given.code,
        currency: given.currency,
        amountMicro: given.amount,
        endsAt: until,
        ...(from === null ? {} : { startsAt: from }),
        perCustomerMax: given['per-customer'] ?? 1,
        totalMax: given.total,
        firstTopupOnly: given['first-topup-only'],
        paidMinMicro: given['min-paid'] ?? 0n,
        creditDays: given['credit-days'],
        modelsOnly: given['models-only'],
      }
      return {
        says: [`A coupon ${given.code} of ${formatExact(given.amount, given.currency)} is made.`],
        data: { code: given.code },
        target: given.code,
        async act() {
          const made = await couponDesk.create(coupon)
          if (!made) throw taken()
          return answer(made)
        },
      }
    },
  }),
  looking({
    noun: 'coupons',
    verb: 'list',
    summary: 'The newest five hundred',
    arguments: {},
    options: {},
    examples: [['coupons list', 'how often each was redeemed, and what it asks']],
    async run({ columns, installation }) {
      const all = await (await installation()).billing.couponDesk.list()
      const text = all.length === 0 ? 'There are no coupons.\n' : table(all, COLUMNS, columns)
      return { data: all.map(wireOf), text }
    },
  }),
  looking({
    noun: 'coupons',
    verb: 'show',
    summary: 'One of them',
    arguments: { code },
    options: {},
    examples: [['coupons show SPRING-20', 'how often it was redeemed, and what it asks']],
    async run({ installation }, given) {
      return answer(await found((await installation()).billing.couponDesk.show(given.code)))
    },
  }),
  changing({
    noun: 'coupons',
    verb: 'close',
    formerly: ['end'],
    summary: 'Nobody redeems it any more',
    details: 'What was redeemed stays, and a code is never free again.',
    arguments: { code },
    options: {},
    examples: [['coupons close SPRING-20', 'from now on it is refused as ended']],
    async plan({ installation }, given) {
      const { couponDesk } = (await installation()).billing
      const { code: kept, redeemed } = await found(couponDesk.show(given.code))
      return {
        says: [`The coupon ${kept} is closed; ${redeemed} redeemed it.`],
        data: { code: kept },
        target: kept,
        act: async () => answer(await found(couponDesk.end(kept))),
      }
    },
  }),
]

async function isThere(coupon: Promise<Coupon>): Promise<boolean> {
  try {
    await found(coupon)
    return true
  } catch (error) {
    if (error instanceof NotFound) return false
    throw error
  }
}

async function found(coupon: Promise<Coupon>): Promise<Coupon> {
  try {
    return await coupon
  } catch (error) {
    if (error instanceof ApiError && error.code === 'coupon_not_found') {
      throw new NotFound('There is no such coupon.')
    }
    throw error
  }
}

/** As the gateway spells names. */
function wireOf(coupon: Coupon) {
  return {
    code: coupon.code,
    currency: coupon.currency,
    amount_micro: coupon.amountMicro.toString(),
    models_only: coupon.modelsOnly,
    starts_at: coupon.startsAt.toISOString(),
    ends_at: coupon.endsAt?.toISOString() ?? null,
    per_customer_max: coupon.perCustomerMax,
    total_max: coupon.totalMax,
    redeemed: coupon.redeemed,
    first_topup_only: coupon.firstTopupOnly,
    paid_min_micro: coupon.paidMinMicro.toString(),
    credit_days: coupon.creditDays,
    created_at: coupon.createdAt.toISOString(),
  }
}

const amountOf = ({ amountMicro, currency }: Coupon) => formatExact(amountMicro, currency)
const redeemedOf = ({ redeemed, totalMax }: Coupon) =>
  `${redeemed}${totalMax === null ? '' : ` of ${totalMax}`}`
const untilOf = ({ endsAt }: Coupon) => (endsAt === null ? 'closed by you' : minute(endsAt))

function asksOf(coupon: Coupon): string {
  const { currency, perCustomerMax, firstTopupOnly, paidMinMicro, creditDays, modelsOnly } = coupon
  return [
    `${perCustomerMax} for each customer`,
    ...(firstTopupOnly ? ['after the first top-up'] : []),
    ...(paidMinMicro > 0n ? [`from ${formatExact(paidMinMicro, currency)} paid in`] : []),
    ...(creditDays === null ? [] : [`credits for ${creditDays} days`]),
    ...(modelsOnly ? ['models only'] : []),
  ].join(', ')
}

const COLUMNS: Column<Coupon>[] = [
  { title: 'CODE', of: coupon => coupon.code },
  { title: 'AMOUNT', of: amountOf, right: true },
  { title: 'REDEEMED', of: redeemedOf, right: true },
  { title: 'FROM', of: ({ startsAt }) => minute(startsAt) },
  { title: 'UNTIL', of: untilOf },
  { title: 'ASKS', of: asksOf },
]

const answer = (coupon: Coupon): Answer => ({
  data: wireOf(coupon),
  text: facts([
    ['Coupon', coupon.code],
    ['Amount', amountOf(coupon)],
    ['Redeemed', redeemedOf(coupon)],
    ['From', minute(coupon.startsAt)],
    ['Until', untilOf(coupon)],
    ['Asks', asksOf(coupon)],
  ]),
})
