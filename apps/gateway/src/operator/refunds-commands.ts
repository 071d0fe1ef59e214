import { RefundRefused, type RefundRequest } from '../domains/billing/payments/refund-requests.ts'
import { Refused } from './line/answer.ts'
import { changing, looking, optional, required } from './line/command.ts'
import { minute } from './line/said.ts'
import { type Column, facts, table } from './line/table.ts'
import { CENTS, shaped, word } from './line/values.ts'

const ID_WORDS = 'An --id has at most 60 letters, digits, dots, dashes and colons.'

/** Gives payments back, and lists who was given what (R6.5). */
export const refundsCommands = [
  changing({
    noun: 'refunds',
    verb: 'create',
    summary: 'Gives a payment back, as far as its money is not spent',
    details:
      'The customer is told by mail and has a credit note. Where the platform does not answer, a gateway that runs ' +
      'finishes it.',
    arguments: {},
    options: {
      payment: required(
        word('<t_…>'),
        'The top-up',
        'Say with --payment what to give back: the id of a top-up, t_….',
      ),
      amount: optional(CENTS, 'Only so much of it'),
      id: optional(
        shaped('<words>', /^[\w.:-]{1,60}$/, ID_WORDS),
        'Names the refund: the same again refunds nothing more',
      ),
    },
    examples: [
      ['refunds create --payment t_6f1c… --dry-run', 'says how much is left of a top-up'],
      ['refunds create --payment t_6f1c… --amount 12.34 --id case-17', 'gives a part back, once'],
    ],
    async plan({ ids, note, installation }, given) {
      const { refunds } = (await installation()).billing
      const id = given.id ?? ids.uuid()
      const wanted = {
        id,
        paymentId: given.payment,
        ...(given.amount === null ? {} : { amountCents: given.amount }),
      }
      const would = await inWords(refunds.preview(wanted))
      return {
        says: [`${amountOf(would)} of t_${would.intentId} are given back.`],
        data: { payment_id: `t_${would.intentId}`, amount_cents: would.amountCents },
        target: `t_${would.intentId}`,
        userId: would.userId,
        async act() {
          // Before anything is done: whoever loses the answer names it again.
          if (given.id === null)
            note(`The refund's id is ${id}; the same command with --id ${id} refunds nothing more.`)
          const request = await inWords(refunds.create(wanted))
          return { data: wireOf(request), text: pageOf(request) }
        },
      }
    },
  }),
  looking({
    noun: 'refunds',
    verb: 'list',
    summary: 'The newest hundred',
    arguments: {},
    options: {},
    examples: [['refunds list', 'who was given what, and how it stands']],
    async run({ columns, installation }) {
      const all = await (await installation()).billing.refunds.list()
      return {
        data: all.map(wireOf),
        text: all.length === 0 ? 'Nothing was refunded.\n' : table(all, COLUMNS, columns),
      }
    },
  }),
]

async function inWords(request: Promise<RefundRequest>): Promise<RefundRequest> {
  try {
    return await request
  } catch (error) {
    throw error instanceof RefundRefused ? new Refused(error.message) : error
  }
}

function wireOf({ id, intentId, userId, amountCents, state, failure, createdAt, finishedAt }: RefundRequest) {
  return {
    id,
    payment_id: `t_${intentId}`,
    user_id: userId,
    amount_cents: amountCents,
    state,
    failure,
    created_at: createdAt.toISOString(),
    finished_at: finishedAt?.toISOString() ?? null,
  }
}

const SAID: Record<RefundRequest['state'], string> = {
  asked: 'asked; the platform has not answered yet, and a gateway that runs finishes it',
  done: 'done; the customer is told by mail and has a credit note',
  refused: 'refused by the platform',
}

// Without a sign: the currency is the payment's.
const amountOf = ({ amountCents }: RefundRequest) => (amountCents / 100).toFixed(2)
const stateOf = ({ state, failure }: RefundRequest) =>
  `${SAID[state]}${failure === null ? '' : `: ${failure}`}`

const COLUMNS: Column<RefundRequest>[] = [
  { title: 'ID', of: request => request.id },
  { title: 'PAYMENT', of: ({ intentId }) => `t_${intentId}` },
  { title: 'AMOUNT', of: amountOf, right: true },
  { title: 'ASKED', of: ({ createdAt }) => minute(createdAt) },
  { title: 'STATE', of: stateOf },
]

const pageOf = (request: RefundRequest) =>
  facts([
    ['Refund', request.id],
    ['Payment', `t_${request.intentId}`],
    ['Amount', amountOf(request)],
    ['State', stateOf(request)],
  ])
