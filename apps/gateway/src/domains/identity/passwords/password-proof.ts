import type { Transaction } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { type Account, findByIdForUpdate } from '../accounts/accounts-store.ts'
import { type LoginThrottle, SLOWED_LOGIN_WAIT_MS } from '../throttles/login-throttle.ts'
import type { Passwords } from './passwords.ts'

interface PasswordProofDeps {
  passwords: Pick<Passwords, 'check'>
  throttle: Pick<LoginThrottle, 'admit' | 'refuse' | 'accept'>
  /** Waits; tests pass one that only notes how long. */
  pause: (ms: number) => Promise<void>
}

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
export function createPasswordProof({ passwords, throttle, pause }: PasswordProofDeps) {
  return {
    /**
     * Looks at the typed password; an account without one needs none.
     * @throws ApiError `validation_failed` {password_wrong} at the field, `login_frozen` or `too_many_requests`.
     */
    async check({ user, typed, address, field }: Proof): Promise<void> {
      if (user.passwordHash === null) return
      const admitted = await throttle.admit(user.email, address)
      if (admitted.slowed) await pause(SLOWED_LOGIN_WAIT_MS)
      if (await passwords.check(user.passwordHash, typed)) return
      const refusal = await throttle.refuse(user.email, address, admitted)
      throw refusal.code === 'login_frozen' ? refusal : wrong(field)
    },

    /**
     * Confirms it in the transaction that it was asked for, and locks the account. Wrong ones may have used up the
     * tries meanwhile, and the password may be another one by now.
     * @returns The account as it is under the lock.
     * @throws ApiError as `check`, or `login_expired` where the account was deleted meanwhile.
     */
    async accept(tx: Transaction, { user, address, field }: Proof): Promise<Account> {
      // Counts are locked before the account, as signing in does.
      if (user.passwordHash !== null) await throttle.accept(tx, user.email, address)
      const current = await findByIdForUpdate(tx, user.id)
      if (!current || current.deletedAt) throw new ApiError('login_expired')
      if (current.passwordHash !== user.passwordHash) throw wrong(field)
      return current
    },
  }
}
export type PasswordProof = ReturnType<typeof createPasswordProof>

function wrong(field: string): ApiError {
  return new ApiError('validation_failed', { fields: [{ path: field, rule: 'password_wrong' }] })
}
