import { CREDIT_KINDS, type CreditLot } from '@berth/contract/credits'
import { PAGE_SIZE_MAX } from '@berth/contract/limits'
import { formatExact } from '@berth/contract/money'
import { GrantRefused } from '../domains/billing/credits/coupon-desk.ts'
import { NotFound, Refused, UsageError } from './line/answer.ts'
import { changing, looking, type OperatorContext, optional, required } from './line/command.ts'
import { counted, day, fromNow, minute } from './line/said.ts'
import { type Column, facts, table } from './line/table.ts'
import { LAST_DAY, MONEY, oneOf, sentence, UUID_VALUE, word } from './line/values.ts'

/** A kind that operators give: coupons give their own. */
type GivenKind = Exclude<CreditLot['kind'], 'coupon'>

const GIVEN_KINDS = CREDIT_KINDS.filter((kind): kind is GivenKind => kind !== 'coupon')
/** Of credits: what a line of a list holds. */
const REASON_CHARS_MAX = 100

/** Whom a command is about: an address, the number that customers read to support, or an id. */
export const CUSTOMER = required(
  word('<customer>'),
  'An address, an account number or an account’s id',
  'Which customer? An address, an account number or an account’s id is missing.',
)

/** @throws NotFound where nobody is meant. */
export async function customerNamed({ installation }: OperatorContext, named: string): Promise<string> {
  const userId = await (await installation()).identity.customerNamed(named)
  if (userId === null) throw new NotFound('There is no such customer.')
  return userId
}

const GIVE = {
  arguments: { customer: CUSTOMER },
  options: {
    amount: required(
      MONEY,
      'How much, in the currency of their wallet',
      'Say with --amount how much, such as 12.34.',
    ),
    kind: required(
      oneOf(GIVEN_KINDS),
      'What they are given for; free and check_in pay for models alone',
      `Say with --kind what they are given for: ${GIVEN_KINDS.join(', ')}.`,
    ),
    reason: optional(
      sentence(REASON_CHARS_MAX, 'A --reason that is given has words; without it, it is operator.'),
      'Why, for the lists; without it: operator',
    ),
    ends: optional(LAST_DAY, 'The last day (UTC) on which they are there'),
    id: optional(UUID_VALUE, 'Names them: the same again gives nothing more'),
  },
}

const give = (noun: string, verb: string) =>
  changing({
    noun,
    verb,
    summary: 'Gives a customer credits, which are spent before cash',
    ...GIVE,
    examples: [
      [
        `${noun} ${verb} ada@example.com --amount 12.34 --kind bonus --ends 2026-12-31`,
        'until the end of the year',
      ],
      [`${noun} ${verb} 100001 --amount 5 --kind sla --reason "sorry for Tuesday"`, 'by account number'],
    ],
    async plan(context, given) {
      const { clock, ids, note } = context
      const userId = await customerNamed(context, given.customer)
      if (given.ends !== null && given.ends <= clock.now()) {
        throw new UsageError('--ends is a day that has passed: they would be gone at once.')
      }
      const { couponDesk, credits } = (await context.installation()).billing
      const { currency } = await credits(userId, { page: 1, page_size: 1 })
      const id = given.id ?? ids.uuid()
      const amount = formatExact(given.amount, currency)
      const grant = {
        ...{ id, userId, kind: given.kind, amountMicro: given.amount },
        reason: given.reason ?? 'operator',
        endsAt: given.ends,
      }
      return {
        says: [
          `${given.customer} is given ${amount} of ${given.kind} credits, ${
            given.ends === null ? 'without an end' : `until ${minute(given.ends)}`
          }.`,
        ],
        data: { user_id: userId, amount_micro: given.amount.toString(), currency },
        target: id,
        userId,
        async act() {
          // Before anything is done: whoever loses the answer names it again.
          if (given.id === null)
            note(`The credits’ id is ${id}; the same command with --id ${id} gives nothing more.`)
          try {
            await couponDesk.give(grant)
          } catch (error) {
            throw error instanceof GrantRefused ? new Refused(error.message) : error
          }
          const data = {
            ...{ id, user_id: userId, kind: given.kind, reason: grant.reason, currency },
            amount_micro: given.amount.toString(),
            expiration_date: given.ends?.toISOString() ?? null,
          }
          const about = facts([
            ['Credits', id],
            ['Given to', userId],
            ['Amount', amount],
            ['Kind', given.kind],
            ['Ends', given.ends && `${minute(given.ends)}, ${fromNow(given.ends, clock.now())}`],
          ])
          return { data, text: about }
        },
      }
    },
  })

/** Gives customers credits, and lists them (R3.8, R6.5). */
export const creditsCommands = [
  give('credits', 'give'),
  looking({
    noun: 'credits',
    verb: 'list',
    summary: 'A customer’s credits, in the order in which they are spent',
    arguments: { customer: CUSTOMER },
    options: {},
    examples: [['credits list ada@example.com', 'a hundred, those that are spent next first']],
    async run(context, given) {
      const userId = await customerNamed(context, given.customer)
      const { credits } = (await context.installation()).billing
      const list = await credits(userId, { page: 1, page_size: PAGE_SIZE_MAX })
      const more = list.total - list.items.length
      const rest = more > 0 ? `${counted(more, 'older one is', 'older ones are')} not shown.\n` : ''
      const text =
        list.items.length === 0
          ? 'They have no credits.\n'
          : table(list.items, lotColumns(list.currency), context.columns)
      return { data: { user_id: userId, ...list }, text: `${text}${rest}` }
    },
  }),
]

/** The same under the noun that it is done to. */
export const customersCredit = give('customers', 'credit')

function lotColumns(currency: CreditLot['currency']): Column<CreditLot>[] {
  return [
    { title: 'ID', of: lot => lot.id },
    { title: 'GIVEN', of: lot => (lot.effect_date === null ? '' : day(new Date(lot.effect_date))) },
    { title: 'LEFT', of: lot => formatExact(BigInt(lot.left_micro), currency), right: true },
    { title: 'OF', of: lot => formatExact(BigInt(lot.amount_micro), currency), right: true },
    { title: 'STATUS', of: lot => lot.status },
    {
      title: 'ENDS',
      of: lot => (lot.expiration_date === null ? 'never' : minute(new Date(lot.expiration_date))),
    },
    { title: 'FOR', of: lot => (lot.models_only ? 'models' : 'all') },
    { title: 'WHY', of: lot => `${lot.kind}: ${lot.reason}` },
  ]
}
