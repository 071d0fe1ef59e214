import type { Currency } from '@berth/contract/limits'
import { formatExact, microFromCents } from '@berth/contract/money'
import { PAYOUTS_LISTED_MAX, type PayoutDesk, type PayoutSaid } from '../domains/referral/payout-desk.ts'
import type { Payout } from '../domains/referral/payouts.ts'
import { type Answer, NotFound, Refused } from './line/answer.ts'
import { changing, looking, type OperatorContext, optional, required } from './line/command.ts'
import { counted, minute } from './line/said.ts'
import { type Column, facts, table } from './line/table.ts'
import { isUuid, oneOf, path, sentence, shaped, UUID_VALUE, word } from './line/values.ts'
import { newFile } from './new-file.ts'

const STATES = ['queued', 'sending', 'sent', 'unclear', 'paid', 'failed'] as const
const WHYS = ['account_refused', 'account_unknown', 'not_accepted', 'other'] as const
const REFERENCE_CHARS_MAX = 200

const id = required(word('<payout>'), 'Its id, from list or the file', 'Which payout? Its id is missing.')
const SAY_REFERENCE = 'Say with --reference what PayPal calls the payment: it is kept for the books.'
const FILE_NAME = shaped(
  '<f-…>',
  /^f-[0-9a-f-]{36}$/,
  'A file that was made before is named f-…, as export said then.',
)
const POURS = 'The file takes standard output: say with --to where it is written, and --json tells of it.'

/** Pays customers what they earned by referring, where that is done by hand, and shows who is refused (R9.7, R6.5). */
export const payoutsCommands = [
  looking({
    noun: 'payouts',
    verb: 'list',
    summary: 'Payouts that are not finished, the oldest first',
    arguments: {},
    options: {
      state: optional(oneOf(STATES), 'Only those in one state'),
      after: optional(UUID_VALUE, 'Those after this one: the next page of a long list'),
    },
    examples: [
      ['payouts list', 'what waits, is on its way, or has to be looked for at PayPal'],
      ['payouts list --state unclear', 'what PayPal never answered: say what became of it'],
    ],
    async run(context, given) {
      const all = await (await desk(context)).list({
        ...(given.state === null ? {} : { states: [given.state] }),
        ...(given.after === null ? {} : { after: given.after }),
      })
      const last = all.length === PAYOUTS_LISTED_MAX ? all.at(-1)?.id : undefined
      if (last !== undefined) context.note(`There may be more: payouts list --after ${last}`)
      const text = all.length === 0 ? 'There are no such payouts.\n' : table(all, COLUMNS, context.columns)
      return { data: all.map(wireOf), text }
    },
  }),
  changing({
    noun: 'payouts',
    verb: 'export',
    summary: 'Takes all payouts that wait to be paid by hand into one file (CSV)',
    details:
      'Each is in one file alone, and counts as sent from then on: pay them, and say of each what became of it. A file that ' +
      'was lost is made once more with --again, with what of it is not finished.',
    arguments: {},
    options: {
      to: optional(path('<file>'), 'Where it is written, and none is yet; without it: standard output'),
      again: optional(FILE_NAME, 'A file that was made before, once more'),
    },
    examples: [
      ['payouts export --dry-run', 'how many wait, and what they come to'],
      ['payouts export --to /safe/payouts-2026-q4.csv', 'takes them into a file that only its owner reads'],
      ['payouts export --again f-0193… > again.csv', 'the same once more, of what is not finished'],
    ],
    async plan(context, given) {
      const payouts = await desk(context)
      const again = given.again ?? undefined
      const sums = await payouts.wouldExport(again)
      if (sums.length === 0) throw nothingIn(again)
      const target = given.to === null ? null : newFile(given.to)
      return {
        says: [exportWords(sums, again)],
        data: { payouts: sums.reduce((all, { count }) => all + count, 0), sums: sums.map(wireOfSum) },
        target: again ?? target?.path ?? 'standard output',
        ...(target === null ? { poursInstead: POURS } : {}),
        async act() {
          // Opened before anything is taken: a file that cannot be written takes nothing.
          const written = target?.open()
          const made = await payouts.export(again)
          if (made === null) {
            written?.remove()
            throw nothingIn(again)
          }
          const { batchId, count, body } = made
          context.note(`The file is ${batchId}: payouts export --again ${batchId} makes it once more.`)
          await (written ? written.fill(body) : context.pour(body))
          const file = target?.path ?? null
          return {
            data: { batch_id: batchId, payouts: count, file },
            text: file === null ? '' : `${counted(count, 'payout')} in ${file}.\n`,
          }
        },
      }
    },
  }),
  changing({
    noun: 'payouts',
    verb: 'mark-paid',
    summary: 'Says that a payout was paid: its customer is told by mail',
    arguments: { id },
    options: {
      reference: required(
        sentence(REFERENCE_CHARS_MAX, SAY_REFERENCE),
        'What PayPal calls the payment',
        SAY_REFERENCE,
      ),
    },
    examples: [['payouts mark-paid 0193… --reference 8XK41…', 'once for each line of the file']],
    async plan(context, given) {
      const payouts = await desk(context)
      const payout = await found(payouts, given.id)
      refuse(payout, payout.state === 'failed' ? 'failed_already' : 'done')
      return {
        says: [
          payout.state === 'paid'
            ? `${words(payout)} is paid already: nothing changes.`
            : `${words(payout)} counts as paid; the customer is told.`,
        ],
        ...about(payout),
        async act() {
          refuse(payout, await payouts.markPaid(payout.id, given.reference))
          return answer(await found(payouts, payout.id))
        },
      }
    },
  }),
  changing({
    noun: 'payouts',
    verb: 'mark-failed',
    summary: 'Says that a payout was not paid and never will be: its customer chooses anew',
    details:
      'They are told by mail, and the money is owed again. Of what was sent to PayPal, look there first: what PayPal pays ' +
      'after all is paid twice.',
    destroys: true,
    arguments: { id },
    options: { why: optional(oneOf(WHYS), 'Why, which its customer reads; without it: other') },
    examples: [
      ['payouts mark-failed 0193… --why account_refused', 'the account takes no money'],
      ['payouts mark-failed 0193… --confirm 0193…', 'one that PayPal had, and has not paid'],
    ],
    async plan(context, given) {
      const payouts = await desk(context)
      const payout = await found(payouts, given.id)
      refuse(payout, payout.state === 'paid' ? 'paid_already' : 'done')
      const why = given.why ?? 'other'
      const isAtPaypal = payout.driver !== 'by-hand' && payout.state !== 'failed'
      return {
        says: [
          payout.state === 'failed'
            ? `${words(payout)} has failed already: nothing changes.`
            : `${words(payout)} counts as not paid (${why}); the customer is told, and chooses anew.`,
          ...(isAtPaypal ? ['PayPal was asked to pay it: what it pays after all is paid twice.'] : []),
        ],
        ...about(payout),
        ...(isAtPaypal ? { confirm: payout.id } : {}),
        async act() {
          refuse(payout, await payouts.markFailed(payout.id, why))
          return answer(await found(payouts, payout.id))
        },
      }
    },
  }),
  looking({
    noun: 'payouts',
    verb: 'refused',
    summary:
      'Friends who are known to be their own referrers, or others who were rewarded before, and by what; the newest are last',
    details:
      'They earn nothing. IS names the account whose card, PayPal account or browser they have. Customers read only that the terms do not cover them.',
    arguments: {},
    options: {},
    examples: [['payouts refused', 'who, and whether by a card, a PayPal account or a browser']],
    async run(context) {
      const all = await (await desk(context)).refused()
      const data = all.map(row => ({
        ...{ id: row.id, friend_id: row.friendId, referrer_id: row.referrerId },
        ...{ same_person_by: row.samePersonBy, same_person_as: row.samePersonAs },
        ...{ same_person_at: row.samePersonAt?.toISOString() ?? null },
      }))
      const text = all.length === 0 ? 'Nobody is refused.\n' : table(all, REFUSED_COLUMNS, context.columns)
      return { data, text }
    },
  }),
]

const desk = async ({ installation }: OperatorContext): Promise<PayoutDesk> =>
  (await installation()).referral.payouts

async function found(payouts: PayoutDesk, named: string): Promise<Payout> {
  const payout = isUuid(named) ? await payouts.show(named) : null
  if (payout === null) throw new NotFound('There is no such payout.')
  return payout
}

/** @throws Refused where that cannot be said of it. */
function refuse(payout: Payout, said: PayoutSaid): void {
  if (said === 'not_found') throw new NotFound('There is no such payout.')
  if (said === 'not_exported' || payout.state === 'queued') {
    throw new Refused(`${words(payout)} waits: nobody has been asked to pay it. payouts export comes first.`)
  }
  if (said === 'paid_already') throw new Refused(`${words(payout)} was said to be paid.`)
  if (said === 'failed_already') {
    throw new Refused(`${words(payout)} was said to have failed, and its customer has chosen anew, or will.`)
  }
}

const nothingIn = (again: string | undefined) =>
  again === undefined
    ? new Refused('Nothing waits to be paid by hand.')
    : new NotFound(`No file is called ${again}, or all of it is finished.`)

const money = (cents: number, currency: Currency) => formatExact(microFromCents(cents), currency)
const amountOf = ({ cents, currency }: Payout) => money(cents, currency)
const words = (payout: Payout) => `The payout ${payout.id} of ${amountOf(payout)} to ${payout.email}`

function exportWords(sums: Awaited<ReturnType<PayoutDesk['wouldExport']>>, again: string | undefined) {
  const total = sums.reduce((all, { count }) => all + count, 0)
  const amounts = sums.map(({ cents, currency }) => money(cents, currency)).join(' and ')
  return again === undefined
    ? `${counted(total, 'payout')} of ${amounts} in all go into a new file, and count as sent.`
    : `${counted(total, 'payout')} of ${amounts} in all are written once more, as ${again}: nothing changes.`
}

const about = (payout: Payout) => ({ data: wireOf(payout), target: payout.id, userId: payout.userId })

const answer = (payout: Payout): Answer => ({
  data: wireOf(payout),
  text: facts([
    ['Payout', payout.id],
    ['Customer', payout.userId],
    ['Quarter', payout.quarter],
    ['Amount', amountOf(payout)],
    ['To', payout.email],
    ['State', payout.state],
    ['Reference', payout.reference],
    ['Why', payout.failure],
  ]),
})

const wireOfSum = ({ currency, count, cents }: { currency: Currency; count: number; cents: number }) => ({
  ...{ currency, payouts: count, amount_micro: microFromCents(cents).toString() },
})

/** As the gateway spells names. */
function wireOf(payout: Payout) {
  const { id, quarter, email, currency, state, driver, failure, reference } = payout
  return {
    ...{ id, user_id: payout.userId, quarter, email, currency, state, driver, failure, reference },
    amount_micro: microFromCents(payout.cents).toString(),
    fee_micro: payout.feeMicro.toString(),
    batch_id: payout.batchId,
    created_at: payout.createdAt.toISOString(),
    sent_at: payout.sentAt?.toISOString() ?? null,
    finished_at: payout.finishedAt?.toISOString() ?? null,
  }
}

const COLUMNS: Column<Payout>[] = [
  { title: 'ID', of: payout => payout.id },
  { title: 'QUARTER', of: payout => payout.quarter },
  { title: 'AMOUNT', of: amountOf, right: true },
  { title: 'TO', of: payout => payout.email },
  { title: 'BY', of: payout => payout.driver },
  { title: 'STATE', of: payout => payout.state },
  { title: 'SINCE', of: payout => minute(payout.finishedAt ?? payout.sentAt ?? payout.createdAt) },
  { title: 'FILE', of: payout => payout.batchId ?? '' },
]

const REFUSED_COLUMNS: Column<Awaited<ReturnType<PayoutDesk['refused']>>[number]>[] = [
  { title: 'FRIEND', of: row => row.friendId },
  { title: 'REFERRER', of: row => row.referrerId },
  { title: 'IS', of: row => row.samePersonAs ?? '' },
  { title: 'BY', of: row => row.samePersonBy ?? '' },
  { title: 'SINCE', of: row => (row.samePersonAt ? minute(row.samePersonAt) : '') },
]
