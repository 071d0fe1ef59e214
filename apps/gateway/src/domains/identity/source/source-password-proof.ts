import type { IdentitySource } from '../../../drivers/identity/port.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { findByIdForUpdate } from '../accounts/accounts-store.ts'
import { type PasswordProof, wrongPassword } from '../passwords/password-proof.ts'
import { type LoginThrottle, SLOWED_LOGIN_WAIT_MS } from '../throttles/login-throttle.ts'

interface SourcePasswordProofDeps {
  source: Pick<IdentitySource, 'findById' | 'signIn' | 'endToken'>
  throttle: Pick<LoginThrottle, 'admit' | 'refuse'>
  /** For accounts that the source does not keep. */
  embeddedProof: PasswordProof
  pause: (ms: number) => Promise<void>
}

/** Asks somebody who is signed in for the password that a source keeps. */
export function createSourcePasswordProof(deps: SourcePasswordProofDeps): PasswordProof {
  const { source, throttle, embeddedProof } = deps
  return {
    async check(proof) {
      const { user, typed, address, field } = proof
      if (user.externalId === null) return await embeddedProof.check(proof)
      const profile = await source.findById(user.externalId)
      if (!profile || profile.blocked) throw new ApiError('user_not_found')
      if (!profile.hasPassword) return false
      if (typed === '') throw wrongPassword(field)
      const admitted = await throttle.admit(user.email, address)
      if (admitted.slowed) await deps.pause(SLOWED_LOGIN_WAIT_MS)
      const request = { username: profile.name, password: typed, captcha: null, address, stay: false }
      const answer = await source.signIn(request)
      if (answer.outcome === 'right') {
        // It was asked for the answer alone, and ends by itself where this fails.
        await source.endToken(answer.token).catch(() => {})
        return true
      }
      const minutes = answer.outcome === 'frozen' ? answer.minutes : null
      if (minutes !== null) throw new ApiError('login_frozen', { values: { minutes } })
      const refusal = await throttle.refuse(user.email, address, admitted)
      throw refusal.code === 'login_frozen' ? refusal : wrongPassword(field)
    },

    async accept(tx: Transaction, proof) {
      if (proof.user.externalId === null) return await embeddedProof.accept(tx, proof)
      const current = await findByIdForUpdate(tx, proof.user.id)
      if (!current || current.deletedAt) throw new ApiError('login_expired')
      return current
    },
  }
}
