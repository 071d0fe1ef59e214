import { CREDIT_KINDS, type CreditLot } from '@berth/contract/credits'
import type { Currency } from '@berth/contract/limits'
import { centsFromText, isCurrency, microFromCents } from '@berth/contract/money'
import { isCouponCode } from '../domains/billing/credits/coupon-desk.ts'
import { USAGE, UsageError } from './usage.ts'

/** A kind that operators give: coupons give their own. */
type GivenKind = Exclude<CreditLot['kind'], 'coupon'>

export type CreditsCommand = { group: 'credits'; json: boolean; customer: string } & (
  | { act: 'list' }
  | { act: 'give'; amountMicro: bigint; kind: GivenKind; reason: string; endsAt: Date | null; id?: string }
)

/** A coupon as it was typed. */
export interface TypedCoupon {
  code: string
  currency: Currency
  amountMicro: bigint
  startsAt?: Date
  endsAt: Date | null
  perCustomerMax: number
  totalMax: number | null
  firstTopupOnly: boolean
  paidMinMicro: bigint
  creditDays: number | null
  modelsOnly: boolean
}

export type CouponsCommand = { group: 'coupons'; json: boolean } & (
  | { act: 'list' }
  | { act: 'show' | 'end'; code: string }
  | { act: 'create'; coupon: TypedCoupon }
)

const GIVEN_KINDS = CREDIT_KINDS.filter((kind): kind is GivenKind => kind !== 'coupon')
const DAY_MS = 86_400_000
/** Of credits: what a line of a list holds. */
const CREDIT_REASON_CHARS_MAX = 100
/** How often a coupon can be redeemed, and for how many days its credits are there: more than anybody asks for. */
const TIMES_MAX = 1_000_000
const CREDIT_DAYS_MAX = 3_650
const GRANT_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** What only credits and coupons take, as `parseArgs` wants it. */
export const CREDIT_OPTIONS = {
  kind: { type: 'string' },
  ends: { type: 'string' },
  currency: { type: 'string' },
  from: { type: 'string' },
  until: { type: 'string' },
  'per-customer': { type: 'string' },
  total: { type: 'string' },
  'min-paid': { type: 'string' },
  'credit-days': { type: 'string' },
  'first-topup-only': { type: 'boolean' },
  'models-only': { type: 'boolean' },
} as const

type Option = keyof typeof CREDIT_OPTIONS | 'amount' | 'id' | 'payment' | 'reason' | 'seen'
type Values = { json: boolean } & { [option in Option]?: string | boolean | undefined }

const OF_GIVE: Option[] = ['amount', 'kind', 'reason', 'ends', 'id']
const OF_CREATE: Option[] = [
  ...(['amount', 'currency', 'from', 'until', 'per-customer', 'total'] as const),
  ...(['first-topup-only', 'min-paid', 'credit-days', 'models-only'] as const),
]

/** Refuses what only credits and coupons take. @throws UsageError. */
export function requireNoCredits(values: Values): void {
  const [given] = Object.keys(CREDIT_OPTIONS).filter(option => values[option as Option] !== undefined)
  if (given !== undefined) throw new UsageError(`--${given} goes with credits and coupons.\n\n${USAGE}`)
}

/** Reads what comes after `credits` (R6.5). @throws UsageError with words for the operator. */
export function readCredits([act, customer, ...more]: string[], values: Values): CreditsCommand {
  if (act !== 'give' && act !== 'list') {
    throw new UsageError(`Credits cannot ${act ?? 'do nothing'}.\n\n${USAGE}`)
  }
  requireLittle(more)
  requireOnly(values, act === 'give' ? OF_GIVE : [], `credits ${act}`)
  if (!customer?.trim()) {
    throw new UsageError(
      `Which customer? An address, an account number or an account’s id is missing.\n\n${USAGE}`,
    )
  }
  const whose = { group: 'credits', json: values.json, customer } as const
  if (act === 'list') return { ...whose, act }
  const id = text(values.id)
  if (id !== undefined && !GRANT_ID.test(id.toLowerCase())) {
    throw new UsageError('An --id is a UUID, such as uuidgen makes.')
  }
  return {
    ...whose,
    act,
    amountMicro: amountOf('amount', text(values.amount)),
    kind: kindOf(text(values.kind)),
    reason: reasonOf(text(values.reason)),
    endsAt: endOfDay('ends', text(values.ends)),
    ...(id === undefined ? {} : { id: id.toLowerCase() }),
  }
}

/** Reads what comes after `coupons` (R6.5). @throws UsageError with words for the operator. */
export function readCoupons([act, code, ...more]: string[], values: Values): CouponsCommand {
  const { json } = values
  if (act !== 'create' && act !== 'list' && act !== 'show' && act !== 'end') {
    throw new UsageError(`Coupons cannot ${act ?? 'do nothing'}.\n\n${USAGE}`)
  }
  requireLittle(act === 'list' && code !== undefined ? [code, ...more] : more)
  requireOnly(values, act === 'create' ? OF_CREATE : [], `coupons ${act}`)
  if (act === 'list') return { group: 'coupons', json, act }
  if (code === undefined) throw new UsageError(`Which coupon? Its code is missing.\n\n${USAGE}`)
  if (!isCouponCode(code)) {
    throw new UsageError('A code has 4 to 40 letters, digits, - and _, and begins with a letter or a digit.')
  }
  if (act !== 'create') return { group: 'coupons', json, act, code }
  return { group: 'coupons', json, act, coupon: couponOf(code, values) }
}

function couponOf(code: string, values: Values): TypedCoupon {
  const amountMicro = amountOf('amount', text(values.amount))
  const currency = currencyOf(text(values.currency))
  const startsAt = dayOf('from', text(values.from))
  const endsAt = endOfDay('until', text(values.until))
  if (startsAt && endsAt && endsAt <= startsAt) {
    throw new UsageError('--until is before --from: nobody could redeem it.')
  }
  const minPaid = text(values['min-paid'])
  return {
    ...{ code, currency, amountMicro, endsAt },
    ...(startsAt === null ? {} : { startsAt }),
    perCustomerMax: countOf('per-customer', text(values['per-customer']), TIMES_MAX) ?? 1,
    totalMax: countOf('total', text(values.total), TIMES_MAX),
    firstTopupOnly: values['first-topup-only'] === true,
    paidMinMicro: minPaid === undefined ? 0n : amountOf('min-paid', minPaid),
    creditDays: countOf('credit-days', text(values['credit-days']), CREDIT_DAYS_MAX),
    modelsOnly: values['models-only'] === true,
  }
}

const text = (value: string | boolean | undefined) => (typeof value === 'string' ? value : undefined)

function requireLittle(more: string[]): void {
  if (more.length > 0) throw new UsageError(`${more.join(' ')} is too much.\n\n${USAGE}`)
}

function requireOnly(values: Values, wanted: Option[], command: string): void {
  const all: Option[] = [...OF_GIVE, ...OF_CREATE, 'payment', 'seen']
  const odd = all.find(option => values[option] !== undefined && !wanted.includes(option))
  if (odd !== undefined) throw new UsageError(`--${odd} does not go with ${command}.\n\n${USAGE}`)
}

/** Whole cents: what is given is never rounded. */
function amountOf(option: 'amount' | 'min-paid', typed: string | undefined): bigint {
  if (typed === undefined) throw new UsageError(`Say with --${option} how much, such as 12.34.`)
  const cents = /^\d{1,7}(\.\d{1,2})?$/.test(typed) ? centsFromText(typed) : null
  if (cents !== null && cents > 0) return microFromCents(cents)
  throw new UsageError(
    `--${option} takes more than nothing, less than ten million and two decimals at most, such as 12.34.`,
  )
}

function kindOf(typed: string | undefined): GivenKind {
  const kind = GIVEN_KINDS.find(one => one === typed)
  if (kind) return kind
  throw new UsageError(`Say with --kind what they are given for: ${GIVEN_KINDS.join(', ')}.`)
}

function reasonOf(typed: string | undefined): string {
  if (typed === undefined) return 'operator'
  const words = typed.replace(/\s+/g, ' ').trim()
  if (words === '') throw new UsageError('A --reason that is given has words; without it, it is operator.')
  if (words.length > CREDIT_REASON_CHARS_MAX) {
    throw new UsageError(`A --reason of credits has at most ${CREDIT_REASON_CHARS_MAX} characters.`)
  }
  return words
}

function currencyOf(typed: string | undefined): Currency {
  if (typed !== undefined && isCurrency(typed)) return typed
  throw new UsageError('Say with --currency which one: USD or EUR.')
}

/** Where a day of UTC begins; null where none was typed. */
function dayOf(option: 'from' | 'until' | 'ends', typed: string | undefined): Date | null {
  if (typed === undefined) return null
  const at = /^[1-9]\d{3}-\d\d-\d\d$/.test(typed) ? new Date(`${typed}T00:00:00.000Z`) : null
  // A 30th of February is another day for JavaScript.
  if (at && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(typed)) return at
  throw new UsageError(`--${option} takes a day, such as 2026-12-31.`)
}

/** The moment after a day that is a last one. */
function endOfDay(option: 'until' | 'ends', typed: string | undefined): Date | null {
  const day = dayOf(option, typed)
  return day && new Date(day.getTime() + DAY_MS)
}

function countOf(
  option: 'per-customer' | 'total' | 'credit-days',
  typed: string | undefined,
  max: number,
): number | null {
  if (typed === undefined) return null
  const count = /^\d{1,9}$/.test(typed) ? Number(typed) : 0
  if (count >= 1 && count <= max) return count
  throw new UsageError(`--${option} takes a whole number from 1 to ${max}.`)
}
