import { and, eq, inArray, isNotNull, ne } from 'drizzle-orm'
import type { Transaction } from '../../platform/database/database.ts'
import { sha256Hex } from '../../platform/hash.ts'
import { mailboxOf } from './mailbox-of.ts'
import type { ReferralDeps } from './referral-deps.ts'
import { paypalAccount, type referral, rewardedMark, SAME_PERSON_BY } from './tables.ts'

type Deps = Pick<ReferralDeps, 'billing' | 'devicesOf' | 'contactOf'>
type Friend = Pick<typeof referral.$inferSelect, 'friendId' | 'referrerId' | 'reachedAt'>

/** By what a person is known in more than one account. */
interface Mark {
  kind: (typeof SAME_PERSON_BY)[number]
  hash: string
}

/** That a friend is somebody else, too. */
export interface SamePerson {
  by: Mark['kind']
  /** The other account. */
  as: string | null
}

/**
 * Whether a friend is known to be their own referrer, or, until they count for the first time, somebody for whom a reward was
 * given before, whoever's friend that was: they have paid with one card, are paid to one PayPal account, or were signed in from one browser.
 * @returns Null where nothing says so.
 */
export async function findSamePerson(
  tx: Transaction,
  deps: Deps,
  { friendId, referrerId, reachedAt }: Friend,
): Promise<SamePerson | null> {
  const marks = await marksOf(tx, deps, friendId)
  const ofReferrer = new Set((await marksOf(tx, deps, referrerId)).map(keyOf))
  const shared = surest(marks.filter(mark => ofReferrer.has(keyOf(mark))))
  if (shared) return { by: shared.kind, as: referrerId }
  return reachedAt === null ? await findRewarded(tx, friendId, marks) : null
}

/**
 * Keeps by what both sides of a reward are known, so that nobody else is rewarded for it. Of two who come at once one waits
 * for the other's transaction.
 * @returns Who was rewarded before for something of the friend's, who then is not to count. Null: the friend counts.
 */
export async function claimMarks(
  tx: Transaction,
  deps: Deps,
  { friendId, referrerId, reachedAt }: Friend,
): Promise<SamePerson | null> {
  const marks = await marksOf(tx, deps, friendId)
  const made = await keep(tx, friendId, marks)
  // Whoever counts already keeps what they have: it is the later one who is refused.
  const before = reachedAt === null ? await findRewarded(tx, friendId, marks) : null
  if (before === null) await keep(tx, referrerId, await marksOf(tx, deps, referrerId))
  else await tx.delete(rewardedMark).where(and(eq(rewardedMark.userId, friendId), isOneOf(made)))
  return before
}

/** Forgets the addresses of an account that was deleted: unlike the other marks they can be guessed from a hash. */
export async function forgetMarks(tx: Transaction, userId: string): Promise<void> {
  await tx.delete(rewardedMark).where(and(eq(rewardedMark.userId, userId), eq(rewardedMark.kind, 'paypal')))
}

/**
 * An address is where its account is paid to, or would be: one that its owner has shown to be theirs. Any other could be
 * typed by somebody who wants nobody to be rewarded for it.
 */
async function marksOf(tx: Transaction, deps: Deps, userId: string): Promise<Mark[]> {
  const accounts = await tx
    .select({ email: paypalAccount.email })
    .from(paypalAccount)
    .where(and(eq(paypalAccount.userId, userId), isNotNull(paypalAccount.confirmedAt)))
  const contact = await deps.contactOf(tx, userId)
  const boxes = [...accounts, ...(contact?.isVerified ? [contact] : [])].map(({ email }) => mailboxOf(email))
  const of = (kind: Mark['kind'], hashes: Iterable<string>) => [...hashes].map(hash => ({ kind, hash }))
  return [
    ...of('card', await deps.billing.cardsOf(tx, userId)),
    ...of('paypal', new Set(boxes.map(box => sha256Hex(box)))),
    ...of('device', await deps.devicesOf(tx, userId)),
  ]
}

async function findRewarded(
  tx: Transaction,
  friendId: string,
  marks: readonly Mark[],
): Promise<SamePerson | null> {
  const found = surest(
    await tx
      .select()
      .from(rewardedMark)
      .where(and(isOneOf(marks), ne(rewardedMark.userId, friendId))),
  )
  return found ? { by: found.kind, as: found.userId } : null
}

/** @returns Those that nobody had. */
async function keep(tx: Transaction, userId: string, marks: readonly Mark[]): Promise<Mark[]> {
  if (marks.length === 0) return []
  // In one order, so that no two who have some in common wait for each other.
  const sorted = marks.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
  return await tx
    .insert(rewardedMark)
    .values(sorted.map(mark => ({ ...mark, userId })))
    .onConflictDoNothing()
    .returning()
}

const keyOf = ({ kind, hash }: Mark) => `${kind} ${hash}`

function surest<Kind extends Mark>(marks: readonly Kind[]): Kind | undefined {
  const rank = ({ kind }: Mark) => SAME_PERSON_BY.indexOf(kind)
  return marks.toSorted((one, other) => rank(one) - rank(other))[0]
}

/** Hashes of different kinds are never the same. */
const isOneOf = (marks: readonly Mark[]) =>
  inArray(
    rewardedMark.hash,
    marks.map(({ hash }) => hash),
  )
