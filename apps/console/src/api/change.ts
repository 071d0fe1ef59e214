import type { listAuditLog } from '@berth/contract/account-security'
import type { CallData, CallInput, ChangingCall } from '@berth/contract/call'
import { rereadUntold } from './cache-lifecycle.ts'
import { requestChange } from './client.ts'

export interface ChangeOptions {
  /** Its caller shows the failure itself, as forms do, so that there is no toast (R8.2). */
  silent?: boolean
  /** Says done as soon as the gateway has, and reads again behind it what the change made old. */
  behind?: boolean
  /** Cancels the call from outside. */
  signal?: AbortSignal
  /** The body of a call that takes bytes. */
  bytes?: Blob
}

/** Every change that is noted and leaves anything to read makes this one old. Its name alone, so that its schemas stay with their page. */
const AUDIT_LOG: (typeof listAuditLog)['operation'] = 'account.audit-log'

/**
 * Carries out a call that changes something, then reads again what it made old, as its `stales` says; what a stream tells
 * meanwhile is not read again. In a component use `useChange`.
 * @returns What the call answered, once those of these reads that are on the screen have their answers; whether these
 *   fail is shown where they are.
 * @throws ApiError where the change was not done; it has been toasted unless `silent` is set.
 */
export async function sendChange<C extends ChangingCall>(
  call: C,
  input: CallInput<C>,
  { behind = false, ...options }: ChangeOptions = {},
): Promise<CallData<C>> {
  const data = await requestChange(call, input, options)
  const reads = rereadUntold(staleReads(call))
  if (!behind) await reads
  return data
}

/** Operations of the reads that a change makes old. */
export function staleReads({ stales, audit }: ChangingCall): string[] {
  if ('because' in stales) return []
  return audit !== null && 'target' in audit ? [...stales, AUDIT_LOG] : [...stales]
}
