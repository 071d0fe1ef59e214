import type { Currency } from '@berth/contract/limits'
import { and, eq, gte, inArray, sql } from 'drizzle-orm'
import type { Transaction } from '../../../platform/database/database.ts'
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

export type HouseKind = 'revenue' | 'promotions' | 'write_off' | 'receivable'

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
  kind: 'topup' | 'usage' | 'credit' | 'credit_end' | 'write_off' | 'refund' | 'repay'
  /** The top-up, refund, usage interval, grant, or end of a grant. */
  refId: string
  /** The customer whom it concerns: the caller holds the lock of that customer's wallet. */
  userId: string
  /** The moment that it is for: now, or the end of the day whose usage it pays. */
  at: Date
}

/**
 * Posts a transfer once, however often it is called with its key (B2).
 * @returns `posted`, or `exists` when the same transfer was posted before.
 * @throws LedgerError for everything else that `LEDGER_RESULTS` names.
 */
export async function postTransfer(
  tx: Transaction,
  { ids }: { ids: Ids },
  transfer: Transfer,
): Promise<'posted' | 'exists'> {
  const { key, from, to, amountMicro, kind, refId, userId, at } = transfer
  if (amountMicro <= 0n) throw new LedgerError('amount_not_positive', key)
  if (from === to) throw new LedgerError('accounts_equal', key)
  const accounts = await tx
    .select({ id: ledgerAccount.id, currency: ledgerAccount.currency, owner: ledgerAccount.userId })
    .from(ledgerAccount)
    .where(inArray(ledgerAccount.id, [from, to]))
  const source = accounts.find(({ id }) => id === from)
  const target = accounts.find(({ id }) => id === to)
  if (!source) throw new LedgerError('from_account_not_found', key)
  if (!target) throw new LedgerError('to_account_not_found', key)
  if (source.currency !== target.currency) throw new LedgerError('currencies_differ', key)

  const inserted = await tx
    .insert(ledgerTransfer)
    .values({
      id: ids.uuid(),
      key,
      fromAccount: from,
      toAccount: to,
      amountMicro,
      kind,
      refId,
      userId,
      createdAt: at,
    })
    .onConflictDoNothing({ target: ledgerTransfer.key })
    .returning({ id: ledgerTransfer.id })
  if (inserted.length === 0) return await requireSame(tx, transfer)

  if (source.owner !== null) await take(tx, transfer)
  if (target.owner !== null) {
    await tx
      .update(ledgerAccount)
      .set({ balanceMicro: sql`${ledgerAccount.balanceMicro} + ${amountMicro}` })
      .where(eq(ledgerAccount.id, to))
  }
  return 'posted'
}

/** Takes from a customer's account, never below zero. */
async function take(tx: Transaction, { key, from, amountMicro }: Transfer): Promise<void> {
  const taken = await tx
    .update(ledgerAccount)
    .set({ balanceMicro: sql`${ledgerAccount.balanceMicro} - ${amountMicro}` })
    .where(and(eq(ledgerAccount.id, from), gte(ledgerAccount.balanceMicro, amountMicro)))
    .returning({ id: ledgerAccount.id })
  if (taken.length === 0) throw new LedgerError('exceeds_balance', key)
}

/** The key is taken: by the same transfer, or by another, which is a mistake of the program. */
async function requireSame(tx: Transaction, transfer: Transfer): Promise<'exists'> {
  const { key, from, to, amountMicro, kind, refId, userId } = transfer
  const [row] = await tx.select().from(ledgerTransfer).where(eq(ledgerTransfer.key, key))
  const same =
    row?.fromAccount === from &&
    row.toAccount === to &&
    row.amountMicro === amountMicro &&
    row.kind === kind &&
    row.refId === refId &&
    row.userId === userId
  if (!same) throw new LedgerError('exists_with_other_content', key)
  return 'exists'
}
