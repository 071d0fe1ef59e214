import { ApiError } from '../../../platform/http/api-error.ts'
import { findByIdForUpdate } from '../accounts/accounts-store.ts'
import { type PasswordProof, wrongPassword } from '../passwords/password-proof.ts'
import type { Passwords } from '../passwords/passwords.ts'
import { type LoginThrottle, SLOWED_LOGIN_WAIT_MS } from '../throttles/login-throttle.ts'

interface PasswordProofDeps {
  passwords: Pick<Passwords, 'check'>
  throttle: Pick<LoginThrottle, 'admit' | 'refuse' | 'accept'>
  /** Waits; tests pass one that only notes how long. */
  pause: (ms: number) => Promise<void>
}

/** Asks for the password whose hash is in this database. */
export function createEmbeddedPasswordProof({
  passwords,
  throttle,
  pause,
}: PasswordProofDeps): PasswordProof {
  return {
    async check({ user, typed, address, field }) {
      if (user.passwordHash === null) return false
      const admitted = await throttle.admit(user.email, address)
      if (admitted.slowed) await pause(SLOWED_LOGIN_WAIT_MS)
      if (await passwords.check(user.passwordHash, typed)) return true
      const refusal = await throttle.refuse(user.email, address, admitted)
      throw refusal.code === 'login_frozen' ? refusal : wrongPassword(field)
    },

    async accept(tx, { user, address, field }) {
      // Wrong ones may have used up the tries meanwhile. Counts are locked before the account, as signing in does.
      if (user.passwordHash !== null) await throttle.accept(tx, user.email, address)
      const current = await findByIdForUpdate(tx, user.id)
      if (!current || current.deletedAt) throw new ApiError('login_expired')
      if (current.passwordHash !== user.passwordHash) throw wrongPassword(field)
      return current
    },
  }
}
