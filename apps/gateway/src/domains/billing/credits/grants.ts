import type { CreditLot } from '@berth/contract/credits'
import { and, eq, gt, isNull, or } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import type { Ids } from '../../../platform/ids.ts'
import { customerAccounts, openHouseAccount, postTransfer } from '../ledger/ledger.ts'
import { lockWallet } from '../ledger/wallet.ts'
import { postAll } from '../meters/posting.ts'
import { creditGrant } from './tables.ts'

/** A lot of credits to give. */
export interface Grant {
  id: string
  userId: string
  amountMicro: bigint
  kind: CreditLot['kind']
  /** A key of the console's texts, such as `demo`; of a coupon its code. */
  reason: string
  /** Whether it pays for models alone. Left out: what is given as `free` or for a check-in does. */
  modelsOnly?: boolean
  /** From when on it is not there any more. Left out: it has no end. */
  endsAt?: Date | null
  /** Whether it settles what the customer has earned by referring; else it is given. */
  settles?: boolean
}

/**
 * Gives a customer credits, as a lot of their own (R3.8). Idempotent by id; the same id with another amount is a mistake
 * of the program. What ran before is posted first, so that what an empty wallet could not pay stays waived.
 */
export async function grantCredit(
  tx: Transaction,
  deps: { clock: Clock; ids: Ids },
  grant: Grant,
): Promise<void> {
  const { id, userId, amountMicro, kind, reason, endsAt = null, settles = false } = grant
  const { modelsOnly = kind === 'free' || kind === 'check_in' } = grant
  const { currency } = await lockWallet(tx, userId)
  await postAll(tx, deps, userId)
  const at = deps.clock.now()
  await tx
    .insert(creditGrant)
    .values({
      id,
      userId,
      amountMicro,
      restMicro: amountMicro,
      kind,
      reason,
      modelsOnly,
      endsAt,
      createdAt: at,
    })
    .onConflictDoNothing()
  await postTransfer(tx, deps, {
    key: `credit:${id}`,
    from: await openHouseAccount(tx, settles ? 'earnings' : 'promotions', currency),
    to: customerAccounts(userId).credits,
    amountMicro,
    kind: 'credit',
    refId: id,
    userId,
    at,
  })
}

/**
 * Ends a customer's lot now: what of it was used stays used, and what is set aside pays for that alone. One that has ended
 * stays as it is.
 */
export async function endGrant(
  tx: Transaction,
  deps: { clock: Clock; ids: Ids },
  { userId, grantId }: { userId: string; grantId: string },
): Promise<void> {
  await lockWallet(tx, userId)
  const now = deps.clock.now()
  await tx
    .update(creditGrant)
    .set({ endsAt: now })
    .where(
      and(
        eq(creditGrant.id, grantId),
        eq(creditGrant.userId, userId),
        or(isNull(creditGrant.endsAt), gt(creditGrant.endsAt, now)),
      ),
    )
  await postAll(tx, deps, userId)
}
