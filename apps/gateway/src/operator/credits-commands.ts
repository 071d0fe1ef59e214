import type { CreditLot } from '@berth/contract/credits'
import { PAGE_SIZE_MAX } from '@berth/contract/limits'
import { formatExact } from '@berth/contract/money'
import type { Billing } from '../domains/billing/billing.ts'
import { GrantRefused } from '../domains/billing/credits/coupon-desk.ts'
import type { Clock } from '../platform/clock.ts'
import type { Ids } from '../platform/ids.ts'
import type { CreditsCommand } from './read-credits.ts'
import { Refused, UsageError } from './usage.ts'

interface CreditsDeps {
  clock: Clock
  ids: Pick<Ids, 'uuid'>
  note(line: string): void
  /** The id of the customer whom an address, an account number or an id names; null for nobody. */
  customerNamed(named: string): Promise<string | null>
}

/**
 * Does what an operator asked for: gives a customer credits, or lists them (R3.8, R6.5). An id that is left out is made,
 * and printed, so that a retry can name it.
 * @throws Refused where there is no such customer, or the id stands for other credits. @throws UsageError for an end
 *   that has passed.
 */
export async function runCredits(
  { couponDesk, credits }: Pick<Billing, 'couponDesk' | 'credits'>,
  { clock, ids, note, customerNamed }: CreditsDeps,
  command: CreditsCommand,
): Promise<{ data: unknown; text: string }> {
  const userId = await customerNamed(command.customer)
  if (userId === null) throw new Refused('There is no such customer.')
  if (command.act === 'list') {
    const list = await credits(userId, { page: 1, page_size: PAGE_SIZE_MAX })
    const more = list.total - list.items.length
    const rest = more > 0 ? `${more} older ones are not shown.\n` : ''
    const text = list.items.length === 0 ? 'They have no credits.\n' : list.items.map(lineOf).join('')
    return { data: { user_id: userId, ...list }, text: `${text}${rest}` }
  }
  const { amountMicro, kind, reason, endsAt } = command
  if (endsAt !== null && endsAt <= clock.now()) {
    throw new UsageError('--ends is a day that has passed: they would be gone at once.')
  }
  const id = command.id ?? ids.uuid()
  // Before anything is done: whoever loses the answer names it again.
  if (command.id === undefined)
    note(`The credits’ id is ${id}; the same command with --id ${id} gives nothing more.`)
  try {
    await couponDesk.give({ id, userId, amountMicro, kind, reason, endsAt })
  } catch (error) {
    if (error instanceof GrantRefused) throw new Refused(error.message)
    throw error
  }
  const { currency } = await credits(userId, { page: 1, page_size: 1 })
  const data = {
    ...{ id, user_id: userId, kind, reason, currency, amount_micro: amountMicro.toString() },
    expiration_date: endsAt?.toISOString() ?? null,
  }
  return { data, text: `${id}  ${formatExact(amountMicro, currency)} ${kind} given to ${userId}\n` }
}

const day = (at: string | null) => at?.slice(0, 10) ?? ''

function lineOf({ id, kind, reason, currency, status, ...lot }: CreditLot): string {
  const left = formatExact(BigInt(lot.left_micro), currency)
  const amount = formatExact(BigInt(lot.amount_micro), currency)
  const ends = lot.expiration_date === null ? 'no end' : `ends ${lot.expiration_date.slice(0, 16)} UTC`
  const models = lot.models_only ? ', models only' : ''
  // What an operator typed, or a code: without what a terminal would obey.
  const why = reason.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
  return `${id}  ${day(lot.effect_date)}  ${left} of ${amount} left  ${status}, ${ends}${models}  ${kind}: ${why}\n`
}
