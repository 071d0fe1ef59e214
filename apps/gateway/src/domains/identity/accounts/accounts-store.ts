import { LANGUAGES, type Language } from '@berth/contract/limits'
import { and, eq, isNull, ne } from 'drizzle-orm'
import type { Queryable, Transaction } from '../../../platform/database/database.ts'
import { userAccount } from '../tables.ts'

export type Account = typeof userAccount.$inferSelect

/** Looks whose address it is; null for nobody's. */
export type FindAddressee = (email: string) => Promise<Account | null>

/** The account with that login name, or null. */
export async function findByEmail(q: Pick<Queryable, 'select'>, email: string): Promise<Account | null> {
  const [row] = await q.select().from(userAccount).where(eq(userAccount.email, email))
  return row ?? null
}

/** The account with that id, or null. */
export async function findById(q: Pick<Queryable, 'select'>, id: string): Promise<Account | null> {
  const [row] = await q.select().from(userAccount).where(eq(userAccount.id, id))
  return row ?? null
}

const ACCOUNT_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** What PostgreSQL holds in a number of eight bytes, whatever was typed. */
const ACCOUNT_NUMBER = /^[0-9]{1,15}$/

/**
 * The account that an operator means (R6.5). @param named An address, the number that customers read to support, or an id.
 * @returns Its id; null for nobody's, and for one that was deleted.
 */
export async function findNamed(q: Pick<Queryable, 'select'>, named: string): Promise<string | null> {
  const name = named.trim().toLowerCase()
  const isIt = ACCOUNT_ID.test(name)
    ? eq(userAccount.id, name)
    : ACCOUNT_NUMBER.test(name)
      ? eq(userAccount.number, Number(name))
      : eq(userAccount.email, name)
  const [row] = await q
    .select({ id: userAccount.id })
    .from(userAccount)
    .where(and(isIt, isNull(userAccount.deletedAt)))
  return row?.id ?? null
}

/**
 * The account with that id under a lock that holds back changes of it until the transaction ends: a session that
 * is opened under it is seen by whoever changes the password next.
 */
export async function findByIdShared(tx: Transaction, id: string): Promise<Account | null> {
  const [row] = await tx.select().from(userAccount).where(eq(userAccount.id, id)).for('share')
  return row ?? null
}

/**
 * Where mails of a customer go. None go where nobody has shown that the address is theirs: whoever signed up with
 * somebody's address must not be able to fill that person's mailbox.
 * @returns Null for such an account, one that is deleted, and one that does not exist.
 */
export async function findRecipient(
  q: Pick<Queryable, 'select'>,
  userId: string,
): Promise<{ email: string; language: Language } | null> {
  const account = await findById(q, userId)
  if (!account?.emailVerifiedAt || account.deletedAt) return null
  return { email: account.email, language: languageOf(account.language) }
}

/** What an account is called on pages; null where it is gone. */
export async function findDisplayName(q: Pick<Queryable, 'select'>, userId: string): Promise<string | null> {
  const account = await findById(q, userId)
  return account && !account.deletedAt ? account.displayName : null
}

/** The account with that id, locked for a change; null where there is none. */
export async function findByIdForUpdate(tx: Transaction, id: string): Promise<Account | null> {
  const [row] = await tx.select().from(userAccount).where(eq(userAccount.id, id)).for('no key update')
  return row ?? null
}

/**
 * Adds an account.
 * @returns False when the address has one already; then nothing was changed.
 */
export async function addAccount(
  q: Pick<Queryable, 'insert'>,
  values: typeof userAccount.$inferInsert,
): Promise<boolean> {
  const rows = await q
    .insert(userAccount)
    .values(values)
    .onConflictDoNothing({ target: userAccount.email })
    .returning({ id: userAccount.id })
  return rows.length > 0
}

/**
 * Gives an account another display name.
 * @returns False when it had that name already, or is deleted: its row names nobody.
 */
export async function setDisplayName(
  q: Pick<Queryable, 'update'>,
  id: string,
  displayName: string,
): Promise<boolean> {
  const rows = await q
    .update(userAccount)
    .set({ displayName })
    .where(
      and(eq(userAccount.id, id), ne(userAccount.displayName, displayName), isNull(userAccount.deletedAt)),
    )
    .returning({ id: userAccount.id })
  return rows.length > 0
}

/** The stored language as one that the product speaks; English where it is none any more. */
export function languageOf(stored: string): Language {
  return LANGUAGES.find(language => language === stored) ?? LANGUAGES[0]
}
