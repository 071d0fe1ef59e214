import type { Currency } from '@berth/contract/limits'
import { IDEMPOTENCY_KEPT_HOURS, IDEMPOTENCY_KEY_CHARS_MAX } from '@berth/contract/limits'
import { formatMicro } from '@berth/contract/money'
import { and, eq } from 'drizzle-orm'
import type { Transaction } from '../../platform/database/database.ts'
import { sha256Hex } from '../../platform/hash.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { modelCall } from './tables.ts'

/** A question that is to be asked once, by the client's `Idempotency-Key`. Only hashes, from which nobody reads it. */
export interface Once {
  key: string
  /** Of the address and the body, mixed with the client's key: who has the database cannot try out what was asked. */
  body: string
}

const KEPT_MS = IDEMPOTENCY_KEPT_HOURS * 3_600_000
const CLIENT_KEY = new RegExp(`^[\\x21-\\x7e]{1,${IDEMPOTENCY_KEY_CHARS_MAX}}$`)

/**
 * Reads the `Idempotency-Key` of a call.
 * @param given The header as it came; undefined where none did.
 * @param asked What else the question is: by which key, at which path, and its body.
 * @returns Null where there is none.
 * @throws ApiError `validation_failed` where it is no key.
 */
export function onceOf(
  given: string | string[] | undefined,
  { keyId, path, body }: { keyId: string; path: string; body: Buffer },
): Once | null {
  if (given === undefined) return null
  if (typeof given !== 'string' || !CLIENT_KEY.test(given)) {
    throw new ApiError('validation_failed', { fields: [{ path: 'Idempotency-Key', rule: 'not_allowed' }] })
  }
  const mixed = `${keyId}\n${given}\n`
  return { key: sha256Hex(mixed), body: sha256Hex(`${mixed}${path}\n`, body) }
}

/**
 * Refuses a question that was asked already. What cost nothing because it was not answered may be asked again by its key,
 * and so may what was asked long ago. The caller holds the wallet's lock.
 * @throws ApiError `idempotency_key_reused` for another question, `idempotency_in_progress` while it is being answered,
 *   `model_call_repeated` with what the answer has cost: answers are kept nowhere, so it cannot be given again.
 */
export async function requireFirst(
  tx: Transaction,
  { userId, once, now, currency }: { userId: string; once: Once; now: Date; currency: Currency },
): Promise<void> {
  const [earlier] = await tx
    .select()
    .from(modelCall)
    .where(and(eq(modelCall.userId, userId), eq(modelCall.onceKey, once.key)))
  if (!earlier) return
  const { id, status, costMicro, startedAt } = earlier
  const isOver = status !== 'running' && now.getTime() - startedAt.getTime() >= KEPT_MS
  const isUnanswered = status !== 'running' && status !== 'done' && costMicro === 0n
  if (isOver || isUnanswered) {
    await tx.update(modelCall).set({ onceKey: null, onceBody: null }).where(eq(modelCall.id, id))
    return
  }
  if (earlier.onceBody !== once.body) throw new ApiError('idempotency_key_reused')
  if (status === 'running') throw new ApiError('idempotency_in_progress', { values: { seconds: 1 } })
  throw new ApiError('model_call_repeated', {
    values: { call: id, cost: formatMicro(costMicro, currency, 6), cost_micro: String(costMicro) },
  })
}
