import { formatExact } from '@berth/contract/money'
import type { Billing } from '../domains/billing/billing.ts'
import type { Coupon } from '../domains/billing/credits/coupons.ts'
import type { Clock } from '../platform/clock.ts'
import { ApiError } from '../platform/http/api-error.ts'
import type { CouponsCommand } from './read-credits.ts'
import { Refused, UsageError } from './usage.ts'

/**
 * Does what an operator asked for: makes coupons, shows and ends them (R3.8, R6.5).
 * @throws Refused where a code is taken, or none has it. @throws UsageError for an end that has passed.
 */
export async function runCoupons(
  { couponDesk }: Pick<Billing, 'couponDesk'>,
  clock: Clock,
  command: CouponsCommand,
): Promise<{ data: unknown; text: string }> {
  switch (command.act) {
    case 'list': {
      const all = await couponDesk.list()
      const text = all.length === 0 ? 'There are no coupons.\n' : all.map(lineOf).join('')
      return { data: all.map(wireOf), text }
    }
    case 'show':
      return answer(await found(couponDesk.show(command.code)))
    case 'end':
      return answer(await found(couponDesk.end(command.code)))
    case 'create': {
      const { coupon } = command
      if (coupon.endsAt !== null && coupon.endsAt <= clock.now()) {
        throw new UsageError('--until is a day that has passed: nobody could redeem it.')
      }
      const made = await couponDesk.create(coupon)
      if (!made) throw new Refused(`There is a coupon ${coupon.code.toUpperCase()} already.`)
      return answer(made)
    }
  }
}

const answer = (coupon: Coupon) => ({ data: wireOf(coupon), text: lineOf(coupon) })

async function found(coupon: Promise<Coupon>): Promise<Coupon> {
  try {
    return await coupon
  } catch (error) {
    if (error instanceof ApiError && error.code === 'coupon_not_found') {
      throw new Refused('There is no such coupon.')
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

const minute = (at: Date) => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`

function lineOf(coupon: Coupon): string {
  const { code, currency, amountMicro, startsAt, endsAt, redeemed, totalMax, paidMinMicro } = coupon
  const conditions = [
    `from ${minute(startsAt)}`,
    ...(endsAt === null ? [] : [`until ${minute(endsAt)}`]),
    `${coupon.perCustomerMax} for each customer`,
    ...(coupon.firstTopupOnly ? ['after the first top-up'] : []),
    ...(paidMinMicro > 0n ? [`from ${formatExact(paidMinMicro, currency)} paid in`] : []),
    ...(coupon.creditDays === null ? [] : [`credits for ${coupon.creditDays} days`]),
    ...(coupon.modelsOnly ? ['models only'] : []),
  ]
  const times = `redeemed ${redeemed}${totalMax === null ? '' : ` of ${totalMax}`}`
  return `${code}  ${formatExact(amountMicro, currency)}  ${times}  ${conditions.join(', ')}\n`
}
