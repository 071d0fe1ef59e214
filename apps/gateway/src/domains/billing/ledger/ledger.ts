import type { Currency } from '@berth/contract/limits'
import { inArray } from 'drizzle-orm'
import type { Transaction } from '../../../platform/database/database.ts'
import { statement } from '../../../platform/database/statement.ts'
import type { Ids } from '../../../platform/ids.ts'
import { ledgerAccount, ledgerTransfer } from './tables.ts'

/**
 * What posting a transfer can answer, in the order in which it is checked: of several that apply, the first is
 * given. Numbers are never reused. `done` is no error; `final` will never succeed and is a mistake of the
 * program, so it is thrown and ends the transaction; `transient` may succeed when the account holds more.
 */
export const LEDGER_RESULTS = {
  amount_not_positive: { number: 1, verdict: 'final' },
  accounts_equal: { number: 2, verdict: 'final' },
  from_account_not_found: { number: 3, verdict: 'final' },
  to_account_not_found: { number: 4, verdict: 'final' },
  currencies_differ: { number: 5, verdict: 'final' },
  exists_with_other_content: { number: 6, verdict: 'final' },
  exists: { number: 7, verdict: 'done' },
  exceeds_balance: { number: 8, verdict: 'transient' },
  posted: { number: 0, verdict: 'done' },
} as const

export type LedgerResult = keyof typeof LEDGER_RESULTS
export type LedgerFailure = Exclude<LedgerResult, 'posted' | 'exists'>

/** A transfer that the ledger refused. Nothing catches it but the edge: its transaction must not commit. */
class LedgerError extends Error {
  readonly code: LedgerFailure
  constructor(code: LedgerFailure, key: string) {
    super(`ledger: ${code} for transfer ${key}`)
    this.name = 'LedgerError'
    this.code = code
  }
}

export type HouseKind = 'revenue' | 'promotions' | 'write_off' | 'receivable' | 'earnings' | 'payouts'

/** Ids of a customer's two accounts. */
export const customerAccounts = (userId: string) => ({
  cash: `user:${userId}:cash`,
  credits: `user:${userId}:credits`,
})

/** Id of a house account. */
export const houseAccount = (kind: HouseKind, currency: Currency) => `house:${kind}:${currency}`

/** Id of what a payment platform owes the house. */
const clearingAccount = (platform: string, currency: Currency) => `house:clearing:${platform}:${currency}`

/**
 * Makes sure that a house account exists.
 * @returns Its id.
 */
export async function openHouseAccount(
  tx: Transaction,
  kind: HouseKind | { clearing: string },
  currency: Currency,
): Promise<string> {
  const clearing = typeof kind === 'object'
  const id = clearing ? clearingAccount(kind.clearing, currency) : houseAccount(kind, currency)
  await tx
    .insert(ledgerAccount)
    .values({ id, kind: clearing ? 'clearing' : kind, userId: null, currency, balanceMicro: null })
    .onConflictDoNothing()
  return id
}

/** Opens a customer's two accounts at zero. Idempotent. */
export async function openCustomerAccounts(
  tx: Transaction,
  userId: string,
  currency: Currency,
): Promise<void> {
  const { cash, credits } = customerAccounts(userId)
  await tx
    .insert(ledgerAccount)
    .values([
      { id: cash, kind: 'cash', userId, currency, balanceMicro: 0n },
      { id: credits, kind: 'credits', userId, currency, balanceMicro: 0n },
    ])
    .onConflictDoNothing()
}

export interface Transfer {
  /** Made from what the transfer is for: the same purpose must always make the same key (B2). */
  key: string
  from: string
  to: string
  amountMicro: bigint
  kind: 'topup' | 'usage' | 'credit' | 'credit_end' | 'write_off' | 'refund' | 'repay' | 'earning' | 'payout'
  /** The top-up, refund, usage interval, grant, end of a grant, reward or payout. */
  refId: string
  /** The customer whom it concerns: the caller holds the lock of that customer's wallet. */
  userId: string
  /** The moment that it is for: now, or the end of the day whose usage it pays. */
  at: Date
}

/** Accounts of the house, by id. */
export type Houses = ReadonlyMap<string, { kind: HouseKind; currency: Currency }>

/** Transfers that one statement writes. */
const TRANSFERS_AT_ONCE_MAX = 1_000

type Posted = 'posted' | 'exists'

/**
 * Posts a transfer once, however often it is called with its key (B2).
 * @returns `posted`, or `exists` when the same transfer was posted before.
 * @throws LedgerError for everything else that `LEDGER_RESULTS` names.
 */
export async function postTransfer(tx: Transaction, deps: { ids: Ids }, transfer: Transfer): Promise<Posted> {
  const [result] = await postTransfers(tx, deps, [transfer])
  if (!result) throw new Error('a transfer got no answer')
  return result
}

/**
 * Posts many transfers, each once, in as many statements as one takes (B2). The caller holds the wallets' locks of all
 * customers whom they concern. An account is never below zero after them; between two of them it may be.
 * @param houses Accounts of the house that are opened where they are not there yet; left out: none.
 * @returns What each came to, in their order.
 * @throws LedgerError for everything else that `LEDGER_RESULTS` names: then none of them may be committed.
 */
export async function postTransfers(
  tx: Transaction,
  deps: { ids: Ids },
  transfers: readonly Transfer[],
  houses: Houses = new Map(),
): Promise<Posted[]> {
  const results: Posted[] = []
  for (let at = 0; at < transfers.length; at += TRANSFERS_AT_ONCE_MAX) {
    results.push(...(await postSome(tx, deps, transfers.slice(at, at + TRANSFERS_AT_ONCE_MAX), houses)))
  }
  return results
}

async function postSome(
  tx: Transaction,
  { ids }: { ids: Ids },
  transfers: readonly Transfer[],
  houses: Houses,
): Promise<Posted[]> {
  const accounts = await readAccounts(tx, transfers)
  // In one order, so that two who open them for the first time do not wait for each other.
  const missing = [...houses].filter(([id]) => !accounts.has(id)).toSorted(([a], [b]) => (a < b ? -1 : 1))
  for (const [id, { kind, currency }] of missing) {
    await openHouseAccount(tx, kind, currency)
    accounts.set(id, { currency, owner: null })
  }
  for (const transfer of transfers) requireSound(transfer, accounts)
  const inserted = await insertTransfers(tx, ids, transfers)
  // Of two with the same key, the first is the one that was written.
  const isNew = transfers.map(({ key }) => inserted.delete(key))
  await requireSame(
    tx,
    transfers.filter((_, at) => !isNew[at]),
  )
  const posted = transfers.filter((_, at) => isNew[at])
  await changeBalances(tx, posted, accounts)
  return isNew.map(fresh => (fresh ? 'posted' : 'exists'))
}

/** What the ledger must know of an account: its currency, and the customer whose it is; null is the house. */
type Accounts = Map<string, { currency: Currency; owner: string | null }>

async function readAccounts(tx: Transaction, transfers: readonly Transfer[]): Promise<Accounts> {
  const named = [...new Set(transfers.flatMap(({ from, to }) => [from, to]))]
  const rows = await namedAccounts(tx, named)
  return new Map(rows.map(({ id, currency, owner }) => [id, { currency, owner }]))
}

const namedAccounts = statement<{ id: string; currency: Currency; owner: string | null }>(
  'ledger_accounts',
  'select id, currency, user_id as owner from ledger_account where id = any($1::text[])',
)

/** What is wrong with a transfer whatever was posted before. */
function requireSound({ key, from, to, amountMicro }: Transfer, accounts: Accounts): void {
  if (amountMicro <= 0n) throw new LedgerError('amount_not_positive', key)
  if (from === to) throw new LedgerError('accounts_equal', key)
  const source = accounts.get(from)
  const target = accounts.get(to)
  if (!source) throw new LedgerError('from_account_not_found', key)
  if (!target) throw new LedgerError('to_account_not_found', key)
  if (source.currency !== target.currency) throw new LedgerError('currencies_differ', key)
}

/** @returns The keys of those that were not there. */
async function insertTransfers(
  tx: Transaction,
  ids: Ids,
  transfers: readonly Transfer[],
): Promise<Set<string>> {
  const entries = transfers.map(({ amountMicro, at, ...transfer }) => ({
    id: ids.uuid(),
    ...transfer,
    micro: `${amountMicro}`,
    at: at.toISOString(),
  }))
  const rows = await insertEntries(tx, JSON.stringify(entries))
  return new Set(rows.map(({ key }) => key))
}

const insertEntries = statement<{ key: string }>(
  'ledger_entries',
  `insert into ledger_transfer
    (id, key, from_account, to_account, amount_micro, kind, ref_id, user_id, created_at)
  select "id", "key", "from", "to", "micro", "kind", "refId", "userId", "at"
  from json_to_recordset($1::json) as entry("id" uuid, "key" text, "from" text, "to" text,
    "micro" bigint, "kind" text, "refId" uuid, "userId" uuid, "at" timestamptz)
  on conflict (key) do nothing
  returning key`,
)

/** Their keys are taken: by the same transfers, or by others, which is a mistake of the program. */
async function requireSame(tx: Transaction, transfers: readonly Transfer[]): Promise<void> {
  if (transfers.length === 0) return
  const keys = transfers.map(({ key }) => key)
  const rows = await tx.select().from(ledgerTransfer).where(inArray(ledgerTransfer.key, keys))
  const known = new Map(rows.map(row => [row.key, row]))
  for (const { key, from, to, amountMicro, kind, refId, userId } of transfers) {
    const row = known.get(key)
    const same =
      row?.fromAccount === from &&
      row.toAccount === to &&
      row.amountMicro === amountMicro &&
      row.kind === kind &&
      row.refId === refId &&
      row.userId === userId
    if (!same) throw new LedgerError('exists_with_other_content', key)
  }
}

/** Changes what customers' accounts hold, each once and never to below zero. The house's keep no balance. */
async function changeBalances(
  tx: Transaction,
  transfers: readonly Transfer[],
  accounts: Accounts,
): Promise<void> {
  const changes = new Map<string, { micro: bigint; key: string }>()
  const add = (id: string, micro: bigint, key: string) => {
    if (accounts.get(id)?.owner === null) return
    changes.set(id, { micro: (changes.get(id)?.micro ?? 0n) + micro, key })
  }
  for (const { key, from, to, amountMicro } of transfers) {
    add(from, -amountMicro, key)
    add(to, amountMicro, key)
  }
  if (changes.size === 0) return
  const asked = [...changes].map(([id, { micro }]) => ({ id, micro: `${micro}` }))
  const rows = await addToBalances(tx, JSON.stringify(asked), [...changes.keys()])
  for (const { id } of rows) changes.delete(id)
  for (const { key } of changes.values()) throw new LedgerError('exceeds_balance', key)
}

/** The ids are said once more as values: so the database looks them up, and not through all accounts. */
const addToBalances = statement<{ id: string }>(
  'ledger_balances',
  `update ledger_account a set balance_micro = a.balance_micro + change.micro
  from json_to_recordset($1::json) as change(id text, micro bigint)
  where a.id = change.id and a.balance_micro + change.micro >= 0 and a.id = any($2::text[])
  returning a.id`,
)
