import type { CallDone } from '../../platform/http/call-done.ts'
import type { AuditNote } from './audit-writer.ts'

/**
 * Calls of guests that say something of the account whose token came along. The others (signing in, resetting a
 * password) concern accounts that only the identity domain knows, and are noted there.
 */
const GUEST_CALLS: ReadonlySet<string> = new Set(['account.logout'])

/** Calls that only look, though they are no GETs: a form asks again at each change, and would bury what was done. */
const LOOKS: ReadonlySet<string> = new Set(['instance.check-resource'])

/** Fields that name what a call is about, in the order in which they are looked for. */
const TARGET_FIELDS = [
  'id',
  'instance_id',
  'instanceId',
  'transaction_id',
  'providerName',
  'providerType',
  'provider',
] as const

/** Ids of ours and names of the catalogue: nothing that a person types as a secret is kept by its looks alone. */
const TARGET_PATTERN = /^[A-Za-z0-9_-]{1,64}$/

/**
 * What is to be noted of a call: every one of a signed-in customer that is no GET, done or refused.
 * @returns Null for one that is not to be noted.
 */
export function entryOfCall(done: CallDone): AuditNote | null {
  const { call, caller, errorCode, address, userAgent } = done
  if (!caller || call.method === 'GET' || call.retry || LOOKS.has(call.operation)) return null
  if (call.audience === 'guest' && !GUEST_CALLS.has(call.operation)) return null
  return {
    userId: caller.userId,
    sessionId: caller.sessionId,
    actor: 'customer',
    action: call.operation,
    target: targetOf(done),
    refused: errorCode ?? '',
    address,
    userAgent,
  }
}

/** The id that the call names: in its path, else in its body, else in its answer. Nothing else of them is kept. */
function targetOf({ params, body, data }: CallDone): string {
  for (const part of [params, body, data]) {
    if (typeof part !== 'object' || part === null) continue
    for (const field of TARGET_FIELDS) {
      const value = (part as Record<string, unknown>)[field]
      if (typeof value === 'string' && TARGET_PATTERN.test(value)) return value
    }
  }
  return ''
}
