import type { Transaction } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Account } from '../accounts/accounts-store.ts'

/** A password that somebody who is signed in was asked for. */
interface Proof {
  /** The account as it was read before. */
  user: Account
  typed: string
  /** Network address of the caller. */
  address: string
  /** Where the form asks for the password. */
  field: string
}

/**
 * Asks for the password of somebody who is signed in already, before what a stolen session must not do. Wrong ones
 * are counted together with those of the log-in form, so that a session is no second way of guessing.
 */
export interface PasswordProof {
  /**
   * Looks at the typed password.
   * @returns False where the account has none: then nothing was proven.
   * @throws ApiError `validation_failed` {password_wrong} at the field, `login_frozen` or `too_many_requests`.
   */
  check(proof: Proof): Promise<boolean>
  /**
   * Confirms it in the transaction that it was asked for, and locks the account.
   * @returns The account as it is under the lock.
   * @throws ApiError as `check`, or `login_expired` where the account was deleted meanwhile.
   */
  accept(tx: Transaction, proof: Proof): Promise<Account>
}

/** The error of a password that is not the account's. */
export function wrongPassword(field: string): ApiError {
  return new ApiError('validation_failed', { fields: [{ path: field, rule: 'password_wrong' }] })
}
