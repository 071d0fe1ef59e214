import type { Instance } from '@berth/contract/instances'
import { formatMicro, microFromCents } from '@berth/contract/money'
import type { Account } from '../domains/identity/accounts/accounts-store.ts'
import { ApiError } from '../platform/http/api-error.ts'
import { CUSTOMER, customerNamed, customersCredit } from './credits-commands.ts'
import { Refused } from './line/answer.ts'
import { changing, flag, looking, optional, required } from './line/command.ts'
import { counted, day, fromNow, lasting, minute } from './line/said.ts'
import { type Column, facts, table } from './line/table.ts'
import { sentence, upTo, word } from './line/values.ts'

const REASON_CHARS_MAX = 300
/** What runs of a suspended customer goes on for so long, unless another time is said. */
const NOTICE_HOURS = 24
const NOTICE_HOURS_MAX = 720
const HOUR_MS = 3_600_000

/** Customers: who they are, how they stand, and whether they are let in (R6.5). */
export const customersCommands = [
  looking({
    noun: 'customers',
    verb: 'find',
    summary: 'Accounts by address, account number, id, or a part of an address or a name',
    arguments: {
      what: required(
        word('<what>'),
        'An address, a number, an id, or a part of an address or a name',
        'Whom? An address, a number, an id or a part of them is missing.',
      ),
    },
    options: {},
    examples: [
      ['customers find ada@', 'everybody whose address has that in it, the newest hundred'],
      ['customers find 100001', 'by the number that customers read to support'],
    ],
    async run({ columns, installation }, given) {
      const found = await (await installation()).identity.desk.find(given.what)
      const text = found.length === 0 ? 'Nobody is found.\n' : table(found, ACCOUNT_COLUMNS, columns)
      return { data: found.map(wireOf), text }
    },
  }),
  looking({
    noun: 'customers',
    verb: 'show',
    summary: 'One account: what it has, what runs, and how it stands',
    arguments: { customer: CUSTOMER },
    options: {},
    examples: [['customers show ada@example.com', 'balance, instances, sessions']],
    async run(context, given) {
      const userId = await customerNamed(context, given.customer)
      const { identity, billing, instances } = await context.installation()
      const { account, sessions, suspension } = await identity.desk.show(userId)
      const balance = await billing.balance(userId)
      const list = await instances.list(userId)
      const { amount, amount_available, amount_credits, amount_freeze, amount_owed } = balance.account_balance
      const money = (cents: number) => formatMicro(microFromCents(cents), balance.currency)
      const now = context.clock.now()
      const about = facts([
        ['Account', `${account.number}  ${account.email}`],
        ['Id', account.id],
        ['Name', account.displayName],
        ['Since', minute(account.createdAt)],
        ['Address', account.emailVerifiedAt ? `verified ${day(account.emailVerifiedAt)}` : 'not verified'],
        ['Language', account.language],
        ['Open sessions', String(sessions)],
        [
          'Suspended',
          suspension &&
            `${fromNow(suspension.since, now)}: ${suspension.reason}${machinesWords(suspension, now)}`,
        ],
        ['Balance', `${money(amount)}, of which ${money(amount_credits)} are credits`],
        ['Available', money(amount_available)],
        ['Set aside', money(amount_freeze)],
        ['Owed', amount_owed > 0 ? money(amount_owed) : null],
        [
          'Spends',
          `${formatMicro(BigInt(balance.burn_micro_per_hour), balance.currency, 4)} an hour${
            balance.lasts_seconds === null ? '' : `, lasts ${lasting(balance.lasts_seconds * 1_000)}`
          }`,
        ],
      ])
      const runs = list.length === 0 ? 'No instances.\n' : table(list, INSTANCE_COLUMNS, context.columns)
      const data = {
        ...wireOf(account),
        sessions,
        suspension: suspension && {
          since: suspension.since.toISOString(),
          reason: suspension.reason,
          machines_until: suspension.machinesUntil?.toISOString() ?? null,
        },
        balance,
        instances: list.map(({ instance_id, name, status, region_code }) => ({
          ...{ instance_id, name, status, region_code },
        })),
      }
      return { data, text: `${about}\n${runs}` }
    },
  }),
  customersCredit,
  changing({
    noun: 'customers',
    verb: 'suspend',
    summary: 'Keeps a customer out: nobody signs in, calls are refused, what runs is stopped',
    details:
      'Sessions end at once, and keys for calls and SSH open nothing. What runs is stopped after a notice by mail, or at ' +
      'once with --at-once; nothing is deleted, and the books go on. customers resume lets them in again.',
    destroys: true,
    arguments: { customer: CUSTOMER },
    options: {
      reason: required(
        sentence(REASON_CHARS_MAX, 'Say why with --reason: other operators read it.'),
        'Why, for operators alone',
        'Say why with --reason: other operators read it.',
      ),
      hours: optional(
        upTo(NOTICE_HOURS_MAX),
        `For how many hours what runs goes on; without it ${NOTICE_HOURS}`,
      ),
      'at-once': flag('Stops what runs at once'),
    },
    examples: [
      ['customers suspend ada@example.com --reason "chargeback, case 17"', 'asks for the address once more'],
      [
        'customers suspend 100001 --reason "mines coins" --at-once --yes',
        'stops what runs, and asks nothing',
      ],
    ],
    async plan(context, given) {
      const { clock, installation } = context
      if (given['at-once'] && given.hours !== null) throw new Refused('--at-once leaves no --hours.')
      const userId = await customerNamed(context, given.customer)
      const { identity, instances } = await installation()
      const { account } = await identity.desk.show(userId)
      const running = (await instances.list(userId)).filter(({ status }) => status === 'running').length
      const hours = given['at-once'] ? 0 : (given.hours ?? NOTICE_HOURS)
      const when = hours === 0 ? 'at once' : `in ${counted(hours, 'hour')}`
      return {
        says: [
          `${account.email} is suspended and told by mail: nobody signs in, and calls are refused.`,
          `${counted(running, 'running instance')} ${running === 1 ? 'is' : 'are'} stopped ${when}.`,
        ],
        data: { user_id: userId, running, hours },
        confirm: account.email,
        target: account.email,
        userId,
        async act() {
          const machinesUntil = new Date(clock.now().getTime() + hours * HOUR_MS)
          const ended = await identity.desk.suspend({ userId, reason: given.reason, machinesUntil })
          return {
            data: { user_id: userId, sessions_ended: ended, machines_until: machinesUntil.toISOString() },
            text: `${account.email} is suspended. ${counted(ended, 'session')} ended; what runs is stopped ${
              hours === 0 ? 'within seconds' : minute(machinesUntil)
            }.\n`,
          }
        },
      }
    },
  }),
  changing({
    noun: 'customers',
    verb: 'resume',
    summary: 'Lets a suspended customer in again; what was stopped stays stopped',
    arguments: { customer: CUSTOMER },
    options: {},
    examples: [['customers resume ada@example.com', 'they sign in as before']],
    async plan(context, given) {
      const userId = await customerNamed(context, given.customer)
      const { desk } = (await context.installation()).identity
      const { account, suspension } = await desk.show(userId)
      if (suspension === null) throw new Refused(`${account.email} is not suspended.`)
      return {
        says: [`${account.email} is let in again.`],
        data: { user_id: userId },
        target: account.email,
        userId,
        async act() {
          await desk.resume(userId)
          return { data: { user_id: userId }, text: `${account.email} is let in again.\n` }
        },
      }
    },
  }),
  changing({
    noun: 'customers',
    verb: 'erase',
    summary: 'Deletes an account for good, as its owner would',
    details:
      'What names a person is gone then; the books stay. It is refused while there are instances, volumes or images, or a ' +
      'payment whose outcome is not known.',
    destroys: true,
    arguments: { customer: CUSTOMER },
    options: {},
    examples: [
      ['customers erase ada@example.com --dry-run', 'says what is in the way'],
      ['customers erase ada@example.com --confirm ada@example.com', 'deletes it'],
    ],
    async plan(context, given) {
      const userId = await customerNamed(context, given.customer)
      const { identity } = await context.installation()
      const { account } = await identity.desk.show(userId)
      await inWords(identity.requireErasable(userId))
      return {
        says: [
          `The account of ${account.email} is deleted for good, and what is left of its balance is lost to it.`,
        ],
        data: { user_id: userId },
        confirm: account.email,
        target: userId,
        detail: `The account ${account.number} is deleted for good.`,
        userId,
        async act() {
          await inWords(identity.eraseAccount(userId))
          return { data: { user_id: userId }, text: `The account of ${account.email} is deleted.\n` }
        },
      }
    },
  }),
]

async function inWords(work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const count = Number(error.values?.count ?? 0)
    const words: Partial<Record<typeof error.code, string>> = {
      account_has_instances: `There ${count === 1 ? 'is' : 'are'} ${counted(count, 'instance')}: they must be gone first.`,
      account_has_volumes: `There ${count === 1 ? 'is' : 'are'} ${counted(count, 'volume')}: they must be gone first.`,
      account_has_images: `There ${count === 1 ? 'is' : 'are'} ${counted(count, 'image')}: they must be gone first.`,
      payment_pending: 'The outcome of a payment is not known yet: try again in a few minutes.',
      login_expired: 'The account is gone already.',
    }
    throw new Refused(words[error.code] ?? error.message)
  }
}

function machinesWords({ machinesUntil }: { machinesUntil: Date | null }, now: Date): string {
  return machinesUntil === null
    ? '; what ran is stopped'
    : `; what runs is stopped ${fromNow(machinesUntil, now)}`
}

const wireOf = (account: Account) => ({
  user_id: account.id,
  number: account.number,
  email: account.email,
  display_name: account.displayName,
  language: account.language,
  verified: account.emailVerifiedAt !== null,
  created_at: account.createdAt.toISOString(),
})

const ACCOUNT_COLUMNS: Column<Account>[] = [
  { title: 'NUMBER', of: account => String(account.number), right: true },
  { title: 'ADDRESS', of: account => account.email },
  { title: 'NAME', of: account => account.displayName },
  { title: 'SINCE', of: account => day(account.createdAt) },
  { title: 'ID', of: account => account.id },
]

const INSTANCE_COLUMNS: Column<Instance>[] = [
  { title: 'INSTANCE', of: instance => instance.instance_id },
  { title: 'NAME', of: instance => instance.name },
  { title: 'STATUS', of: instance => instance.status },
  { title: 'REGION', of: instance => instance.region_code },
]
