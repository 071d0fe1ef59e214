import { ACTIVATION_RESEND_WAIT_MS } from '@berth/contract/limits'
import { keep, readKept } from '../device-storage.ts'

/**
 * Where an account's wait is kept: its tabs share it, and a reload does not end it (R2.16).
 * @param userId Another account on this device does not wait.
 */
export function waitKey(userId: string): string {
  return `berth.verify-wait.${userId}`
}

/**
 * Starts the wait after an activation mail.
 * @param userId Whose mail it was.
 * @param now The clock of this device, in milliseconds.
 */
export function startWait(userId: string, now: number): void {
  keep(waitKey(userId), String(now))
}

/**
 * What is left of the wait. The clock of the device may be set while it runs: then it ends early or begins again, but
 * it never lasts longer than it would.
 * @param userId Whose mail it was.
 * @param now The clock of this device, in milliseconds.
 * @returns Milliseconds; 0 when there is nothing to wait for.
 */
export function waitLeft(userId: string, now: number): number {
  const kept = readKept(waitKey(userId))
  if (kept === null) return 0
  const startedAt = /^\d{1,15}$/.test(kept) ? Number(kept) : Number.NEGATIVE_INFINITY
  // It cannot have begun later than now: the clock went back.
  if (startedAt > now) startWait(userId, now)
  const left = Math.min(startedAt, now) + ACTIVATION_RESEND_WAIT_MS - now
  if (left > 0) return left
  keep(waitKey(userId), null)
  return 0
}
