import { ACTIVATION_RESEND_WAIT_MS } from '@berth/contract/limits'
import type { Clock } from '../../../platform/clock.ts'
import type { Queryable } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { type AttemptRule, type Attempts, attemptKey } from './attempts.ts'

const DAY_MS = 24 * 3_600_000

/** One mail to an address each minute (R2.16). */
const WAIT_RULE: AttemptRule = {
  max: 1,
  windowMs: ACTIVATION_RESEND_WAIT_MS,
  blockMs: ACTIVATION_RESEND_WAIT_MS,
}
/** And so many each day, so that nobody's mailbox is filled by strangers. */
export const DAY_RULE: AttemptRule = { max: 10, windowMs: DAY_MS, blockMs: DAY_MS }
export const MAIL_ATTEMPTS_KEPT_MS = DAY_MS

/** Kinds of mail that anybody can bring about, counted apart. */
const KEYS = {
  activation: ['mail-wait', 'mail-day'],
  code: ['code-mail-wait', 'code-mail-day'],
  reset: ['reset-mail-wait', 'reset-mail-day'],
  known: ['known-mail-wait', 'known-mail-day'],
} as const
type LimitedMail = keyof typeof KEYS

/** What one that was asked for is answered when there were enough. */
const CODES = {
  activation: 'verify_mail_wait',
  code: 'sign_in_code_wait',
  reset: 'reset_mail_wait',
} as const
type AskedMail = keyof typeof CODES

/** Limits how often a mail goes to an address, whether or not somebody has an account by it. */
export function createMailLimits({ attempts, clock }: { attempts: Attempts; clock: Clock }) {
  /** Counts one more. @returns Null, or until when there were enough. */
  async function count(q: Queryable, kind: LimitedMail, email: string): Promise<Date | null> {
    const [wait, day] = KEYS[kind]
    return (
      (await attempts.take(q, attemptKey(wait, email), WAIT_RULE)) ??
      (await attempts.take(q, attemptKey(day, email), DAY_RULE))
    )
  }

  return {
    /**
     * Counts the first mail to a new account, which does not wait for the minute to be over.
     * @returns False when the address got enough of them today.
     */
    async first(q: Queryable, kind: AskedMail, email: string): Promise<boolean> {
      const [wait, day] = KEYS[kind]
      await attempts.add(q, attemptKey(wait, email), WAIT_RULE)
      return (await attempts.take(q, attemptKey(day, email), DAY_RULE)) === null
    },

    /**
     * Counts a mail that somebody asks for.
     * @throws ApiError `verify_mail_wait`, `reset_mail_wait` or `sign_in_code_wait` {seconds} when there were enough.
     */
    async take(q: Queryable, kind: AskedMail, email: string): Promise<void> {
      const until = await count(q, kind, email)
      if (!until) return
      const seconds = Math.max(1, Math.ceil((until.getTime() - clock.now().getTime()) / 1_000))
      throw new ApiError(CODES[kind], { values: { seconds } })
    },

    /** Counts a mail that nobody asked for. @returns False where there were enough: then none goes out, and nobody is told. */
    passes: async (q: Queryable, kind: Exclude<LimitedMail, AskedMail>, email: string): Promise<boolean> =>
      (await count(q, kind, email)) === null,
  }
}
export type MailLimits = ReturnType<typeof createMailLimits>
