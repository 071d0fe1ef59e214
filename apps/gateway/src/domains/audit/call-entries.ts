import type { CallDone } from '../../platform/http/call-done.ts'
import type { AuditNote } from './audit-writer.ts'

/** Ids of ours and names of the catalogue: nothing that a person types as a secret is kept by its looks alone. */
const TARGET_PATTERN = /^[A-Za-z0-9_-]{1,64}$/

/**
 * What is to be noted of a call, done or refused: what its `audit` says, where somebody is known to have made it.
 * @returns Null for one that is not to be noted.
 */
export function entryOfCall(done: CallDone): AuditNote | null {
  const { call, caller, errorCode, address, userAgent } = done
  const { audit } = call
  if (!caller || audit === null || 'because' in audit) return null
  return {
    userId: caller.userId,
    sessionId: caller.sessionId,
    actor: 'customer',
    action: call.operation,
    target: targetOf(done, audit.target),
    refused: errorCode ?? '',
    address,
    userAgent,
  }
}

/** The id at the first of the places that holds one. Nothing else of the call's content is kept. */
function targetOf(done: CallDone, places: readonly string[]): string {
  for (const place of places) {
    const [part = '', field = ''] = place.split('.')
    const value = fieldOf(done[part as 'params' | 'body' | 'data'], field)
    if (typeof value === 'string' && TARGET_PATTERN.test(value)) return value
  }
  return ''
}

function fieldOf(part: unknown, field: string): unknown {
  return typeof part === 'object' && part !== null ? (part as Record<string, unknown>)[field] : undefined
}
