import type { Currency } from '@berth/contract/limits'
import { centsCeil, centsFloor, formatMicro, microFromCents } from '@berth/contract/money'
import { and, eq, inArray, isNull, sum } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { together } from '../../../platform/database/together.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Ids } from '../../../platform/ids.ts'
import { endKept, readLots } from '../credits/lots.ts'
import { least } from '../ledger/least.ts'
import { walletHold } from '../ledger/tables.ts'
import { lockWallet, readTotals } from '../ledger/wallet.ts'
import { ofSubject, type Subject } from '../subject.ts'
import { endCredits, postAll, postNearFloor } from './posting.ts'
import { usageInterval } from './tables.ts'

/**
 * Sets money aside for a subject, in place of what was set aside for it before. What the subject has used until now is paid
 * from that, and not from what is set aside now.
 * @throws ApiError `insufficient_balance` when less is available.
 */
export async function hold(
  tx: Transaction,
  deps: { clock: Clock; ids: Ids },
  input: { userId: string; subject: Subject; amountMicro: bigint },
): Promise<void> {
  const { userId, subject, amountMicro } = input
  await lockWallet(tx, userId)
  const isOpen = and(ofSubject(usageInterval, input), isNull(usageInterval.endedAt))
  if ((await tx.$count(usageInterval, isOpen)) > 0) await postAll(tx, deps, userId)
  await releaseHold(tx, deps, input)
  await requireAvailable(tx, deps.clock, userId, amountMicro)
  await tx.insert(walletHold).values({
    id: deps.ids.uuid(),
    userId,
    subjectKind: subject.kind,
    subjectId: subject.id,
    amountMicro,
    createdAt: deps.clock.now(),
  })
}

/** What calls of models may take of a wallet, one after the other. */
export interface ModelPurse {
  currency: Currency
  /** What is left for calls to take, credits for models alone as well. */
  roomMicro(): bigint
  /**
   * Sets money aside for a call, first of the credits that only models can be paid with; nothing is written yet.
   * @throws ApiError `insufficient_balance` when less is available.
   */
  take(callId: string, amountMicro: bigint): void
  /** Writes down what was set aside. */
  write(): Promise<void>
}

/**
 * Opens a wallet for calls of models that begin together: what there is is read once for all of them, and each takes what
 * those before it have left. The caller holds the wallet's lock.
 */
export async function openModelPurse(
  tx: Transaction,
  deps: { clock: Clock; ids: Ids },
  userId: string,
): Promise<ModelPurse> {
  const [totals, [open]] = await together([
    readTotals(tx, deps.clock, userId),
    tx
      .select({ micro: sum(walletHold.freeMicro).mapWith(BigInt) })
      .from(walletHold)
      .where(and(eq(walletHold.userId, userId), isNull(walletHold.releasedAt))),
  ])
  const { currency } = totals
  let { availableMicro } = totals
  // As far as no other call has those.
  let freeMicro = totals.freeMicro - (open?.micro ?? 0n)
  const holds: (typeof walletHold.$inferInsert)[] = []
  return {
    currency,
    roomMicro: () => availableMicro + (freeMicro > 0n ? freeMicro : 0n),
    take(callId, wholeMicro) {
      const ownFreeMicro = freeMicro > 0n ? least(freeMicro, wholeMicro) : 0n
      const amountMicro = wholeMicro - ownFreeMicro
      if (amountMicro > availableMicro) throw insufficient(amountMicro, availableMicro, currency)
      freeMicro -= ownFreeMicro
      availableMicro -= amountMicro
      holds.push({
        ...{ id: deps.ids.uuid(), userId, subjectKind: 'model_call', subjectId: callId },
        ...{ amountMicro, freeMicro: ownFreeMicro, createdAt: deps.clock.now() },
      })
    },
    async write() {
      if (holds.length > 0) await tx.insert(walletHold).values(holds)
    },
  }
}

/**
 * Refuses what a wallet cannot pay now. The caller holds its lock.
 * @param subject What is set aside for it may be used as well.
 * @throws ApiError `insufficient_balance` with what is needed, in whole cents, and what there is.
 */
export async function requireAvailable(
  tx: Transaction,
  clock: Clock,
  userId: string,
  amountMicro: bigint,
  subject?: Subject,
): Promise<void> {
  const { availableMicro: freeMicro, currency } = await readTotals(tx, clock, userId)
  const availableMicro = freeMicro + (subject ? await heldMicro(tx, userId, subject) : 0n)
  if (availableMicro < amountMicro) throw insufficient(amountMicro, availableMicro, currency)
}

function insufficient(neededMicro: bigint, availableMicro: bigint, currency: Currency): ApiError {
  return new ApiError('insufficient_balance', {
    values: {
      needed: formatMicro(microFromCents(centsCeil(neededMicro)), currency),
      available: formatMicro(microFromCents(centsFloor(availableMicro)), currency),
    },
  })
}

async function heldMicro(tx: Transaction, userId: string, subject: Subject): Promise<bigint> {
  const [open] = await tx
    .select()
    .from(walletHold)
    .where(and(ofSubject(walletHold, { userId, subject }), isNull(walletHold.releasedAt)))
  return open ? open.amountMicro - open.usedMicro : 0n
}

/**
 * Makes what is left of a subject's hold available again; none open: nothing. What the subject has used of it is
 * posted first. Credits that were set aside when they ended are let go with it: those are not available again.
 */
export async function releaseHold(
  tx: Transaction,
  deps: { clock: Clock; ids: Ids },
  { userId, subject }: { userId: string; subject: Subject },
): Promise<void> {
  const { currency } = await lockWallet(tx, userId)
  await endCredits(tx, deps, userId)
  const kept = (await readLots(tx, userId)).some(({ ended }) => ended)
  if (kept) await postAll(tx, deps, userId)
  else await postNearFloor(tx, deps, userId)
  const [released] = await tx
    .update(walletHold)
    .set({ releasedAt: deps.clock.now() })
    .where(and(ofSubject(walletHold, { userId, subject }), isNull(walletHold.releasedAt)))
    .returning()
  if (!kept || !released) return
  const leftMicro = released.amountMicro - released.usedMicro
  await endKept(tx, deps, { userId, currency, holdId: released.id, leftMicro })
}

/** Writes down that holds are let go. The caller holds the wallet's lock, and has posted what was used of them. */
export async function markReleased(tx: Transaction, holdIds: string[], releasedAt: Date): Promise<void> {
  await tx.update(walletHold).set({ releasedAt }).where(inArray(walletHold.id, holdIds))
}
