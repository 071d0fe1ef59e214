import { parseArgs } from 'node:util'
import { centsFromText } from '@berth/contract/money'
import {
  type CouponsCommand,
  CREDIT_OPTIONS,
  type CreditsCommand,
  readCoupons,
  readCredits,
  requireNoCredits,
} from './read-credits.ts'
import { USAGE, UsageError } from './usage.ts'

export type ImagesCommand = { json: boolean } & (
  | { act: 'queue' | 'reports' }
  | { act: 'show' | 'show-reports' | 'close-reports'; id: string }
  | { act: 'approve'; id: string; seen: string }
  | { act: 'reject' | 'take-down'; id: string; reason: string }
)

/** What an operator asked for. */
export type OperatorCommand =
  | (ImagesCommand & { group: 'images' })
  | { group: 'books'; act: 'check'; json: boolean }
  | RefundsCommand
  | CreditsCommand
  | CouponsCommand

export type RefundsCommand = { group: 'refunds'; json: boolean } & (
  | { act: 'list' }
  | { act: 'create'; paymentId: string; amountCents?: number; id?: string }
)

const REASON_CHARS_MAX = 500

/**
 * Reads what an operator typed.
 * @returns Null where help is wanted.
 * @throws UsageError with words for the operator.
 */
export function readCommand(args: string[]): OperatorCommand | null {
  const { values, positionals } = parse(args)
  if (values.help || positionals.length === 0) return null
  const [group, ...rest] = positionals
  if (group === 'credits') return readCredits(rest, values)
  if (group === 'coupons') return readCoupons(rest, values)
  requireNoCredits(values)
  if (group === 'refunds') return readRefunds(rest, values)
  requireNone(values)
  if (group === 'books') return readBooks(rest, values)
  if (group !== 'images') throw new UsageError(`There is no ${group} here.\n\n${USAGE}`)
  return { group, ...readImages(rest, values) }
}

type Values = ReturnType<typeof parse>['values']

function readBooks([act, ...more]: string[], { json, reason, seen }: Values): OperatorCommand {
  if (act !== 'check') throw new UsageError(`Books cannot ${act ?? 'do nothing'}.\n\n${USAGE}`)
  if (more.length > 0) throw new UsageError(`${more.join(' ')} is too much.\n\n${USAGE}`)
  if (reason !== undefined) throw new UsageError(`--reason goes with reject and take-down.\n\n${USAGE}`)
  if (seen !== undefined) throw new UsageError(`--seen goes with approve.\n\n${USAGE}`)
  return { group: 'books', act, json }
}

function readImages([act, id, ...more]: string[], { json, reason, seen }: Values): ImagesCommand {
  if (more.length > 0) throw new UsageError(`${more.join(' ')} is too much.\n\n${USAGE}`)
  if (reason !== undefined && act !== 'reject' && act !== 'take-down') {
    throw new UsageError(`--reason goes with reject and take-down.\n\n${USAGE}`)
  }
  if (seen !== undefined && act !== 'approve') throw new UsageError(`--seen goes with approve.\n\n${USAGE}`)
  switch (act) {
    case 'queue':
    case 'reports':
      if (id !== undefined) throw new UsageError(`${id} is too much.\n\n${USAGE}`)
      return { json, act }
    case 'show':
    case 'show-reports':
    case 'close-reports':
      return { json, act, id: required(id) }
    case 'approve':
      return { json, act, id: required(id), seen: seenOf(seen) }
    case 'reject':
    case 'take-down':
      return { json, act, id: required(id), reason: reasonOf(reason) }
    default:
      throw new UsageError(`Images cannot ${act ?? 'do nothing'}.\n\n${USAGE}`)
  }
}

const REFUND_ID = /^[\w.:-]{1,60}$/

/** What only `refunds create` takes. */
function requireNone({ payment, amount, id }: Values): void {
  if (payment === undefined && amount === undefined && id === undefined) return
  throw new UsageError(`--payment, --amount and --id go with refunds create.\n\n${USAGE}`)
}

function readRefunds([act, ...more]: string[], values: Values): RefundsCommand {
  const { json, payment, amount, id, reason, seen } = values
  if (more.length > 0) throw new UsageError(`${more.join(' ')} is too much.\n\n${USAGE}`)
  if (reason !== undefined || seen !== undefined) {
    throw new UsageError(`--reason and --seen go with images.\n\n${USAGE}`)
  }
  if (act === 'list') {
    requireNone(values)
    return { group: 'refunds', json, act }
  }
  if (act !== 'create') throw new UsageError(`Refunds cannot ${act ?? 'do nothing'}.\n\n${USAGE}`)
  if (!payment) throw new UsageError('Say with --payment what to give back: the id of a top-up, t_….')
  if (id !== undefined && !REFUND_ID.test(id)) {
    throw new UsageError('An --id has at most 60 letters, digits, dots, dashes and colons.')
  }
  const named = id === undefined ? {} : { id }
  return { group: 'refunds', json, act, paymentId: payment, ...centsOf(amount), ...named }
}

/** Whole cents: a refund is never rounded. */
function centsOf(amount: string | undefined): { amountCents?: number } {
  if (amount === undefined) return {}
  const cents = /^\d{1,7}(\.\d{1,2})?$/.test(amount) ? centsFromText(amount) : null
  if (cents !== null && cents > 0) return { amountCents: cents }
  throw new UsageError('An --amount is more than nothing and has at most two decimals, such as 12.34.')
}

function parse(args: string[]) {
  const options = {
    json: { type: 'boolean', default: false },
    reason: { type: 'string' },
    seen: { type: 'string' },
    payment: { type: 'string' },
    amount: { type: 'string' },
    id: { type: 'string' },
    ...CREDIT_OPTIONS,
    help: { type: 'boolean', short: 'h', default: false },
  } as const
  try {
    return parseArgs({ args, options, allowPositionals: true })
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`)
  }
}

function required(id: string | undefined): string {
  if (id === undefined) throw new UsageError(`Which image? Its id is missing.\n\n${USAGE}`)
  return id
}

function seenOf(seen: string | undefined): string {
  if (seen) return seen
  throw new UsageError('Say with --seen what you looked at: show prints it, and it changes with the image.')
}

function reasonOf(reason: string | undefined): string {
  const words = reason?.replace(/\s+/g, ' ').trim() ?? ''
  if (words === '') throw new UsageError('Say why with --reason: its customer reads it.')
  if (words.length > REASON_CHARS_MAX)
    throw new UsageError(`A reason has at most ${REASON_CHARS_MAX} characters.`)
  return words
}
