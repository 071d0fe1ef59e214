import type { Transaction } from '../../../platform/database/database.ts'
import type { ApiError } from '../../../platform/http/api-error.ts'
import type { Account } from '../accounts/accounts-store.ts'
import type { CaptchaAnswer } from '../captcha/captcha.ts'

/** A password that somebody typed. */
interface TypedPassword {
  /** What was typed as the name, trimmed and in lower case. */
  email: string
  password: string
  /** From where, and whether to stay signed in. */
  place: { address: string; stay: boolean }
  /** To a captcha of whoever keeps the accounts elsewhere; the gateway's own was looked at before. */
  answer: CaptchaAnswer
}

export type CheckedPassword =
  | {
      isRight: true
      /**
       * Looks once more in the transaction that opens the session, under a lock that holds a change of the password back.
       * @throws ApiError `login_failed` when it was changed meanwhile.
       */
      confirm(tx: Transaction): Promise<Account>
      /** Writes down what belongs to the session. */
      keep?(tx: Transaction, sessionId: string): Promise<void>
      /** Runs after the commit. */
      done?(userId: string): void
    }
  | {
      isRight: false
      /** Whose account was tried, for the audit log; null for a name that nobody has. */
      user: Account | null
      /** @param counted What to answer by the gateway's own count. */
      refusal(counted: ApiError): ApiError
    }

/** Looks at a password, in the same time and with the same answer for a name that nobody has. */
export type CheckPassword = (typed: TypedPassword) => Promise<CheckedPassword>
