import type { Clock } from '../../../platform/clock.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import type { Ids } from '../../../platform/ids.ts'
import { postAll } from '../meters/posting.ts'
import { customerAccounts, openHouseAccount, postTransfer } from './ledger.ts'
import { creditGrant } from './tables.ts'
import { lockWallet } from './wallet.ts'

/**
 * Gives a customer credits. Idempotent by id; the same id with another amount is a mistake of the program. What ran
 * before is posted first, so that what an empty wallet could not pay stays waived.
 * @param input.reason A key of the console's texts, such as `demo`.
 */
export async function grantCredit(
  tx: Transaction,
  deps: { clock: Clock; ids: Ids },
  input: { id: string; userId: string; amountMicro: bigint; reason: string },
): Promise<void> {
  const { id, userId, amountMicro, reason } = input
  const { currency } = await lockWallet(tx, userId)
  await postAll(tx, deps, userId)
  await tx
    .insert(creditGrant)
    .values({ id, userId, amountMicro, reason, createdAt: deps.clock.now() })
    .onConflictDoNothing()
  await postTransfer(tx, deps, {
    key: `credit:${id}`,
    from: await openHouseAccount(tx, 'promotions', currency),
    to: customerAccounts(userId).credits,
    amountMicro,
    kind: 'credit',
    refId: id,
    userId,
    at: deps.clock.now(),
  })
}
