import { APPLICATION, ORGANIZATION } from '@berth/contract/account'
import { decodeProtectedHeader, jwtVerify, SignJWT } from 'jose'
import type { Clock } from '../../../platform/clock.ts'
import type { TokenKey, TokenKeys } from '../../../platform/installation/token-keys.ts'

const ALGORITHM = 'EdDSA'
const ISSUER = ORGANIZATION
const AUDIENCE = APPLICATION

/** The session that a token stands for. */
export interface TokenSubject {
  sessionId: string
  userId: string
  createdAt: Date
  expiresAt: Date
}

/**
 * Access tokens: JWTs signed with Ed25519. A token holds nothing but whose session it is, so that nothing in it
 * can go stale; the session's row decides.
 * @param deps.keys The installation's: a token names the one that signed it.
 */
export function createAccessTokens({ keys, clock }: { keys: TokenKeys; clock: Clock }) {
  async function verifyWith(token: string, { publicKey }: TokenKey) {
    const { payload } = await jwtVerify(token, publicKey, {
      algorithms: [ALGORITHM],
      issuer: ISSUER,
      audience: AUDIENCE,
      requiredClaims: ['sub', 'jti', 'exp'],
      currentDate: clock.now(),
    })
    return { sessionId: payload.jti ?? '', userId: payload.sub ?? '' }
  }

  return {
    /** Signs a session's token. Ed25519 has no randomness: while a key signs, a session has the same token each time. */
    async issue(subject: TokenSubject): Promise<string> {
      const { id, privateKey } = keys.signing()
      return await new SignJWT()
        .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT', kid: id })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(subject.userId)
        .setJti(subject.sessionId)
        .setIssuedAt(subject.createdAt)
        .setExpirationTime(subject.expiresAt)
        .sign(privateKey)
    },

    /**
     * Checks signature, issuer, audience and time.
     * @returns Session and user, or null when the token is not one of ours or is over.
     */
    async verify(token: string): Promise<{ sessionId: string; userId: string } | null> {
      for (const key of await keys.verifying(keyIdOf(token))) {
        const subject = await verifyWith(token, key).catch(() => null)
        if (subject) return subject
      }
      return null
    },

    /** Calls back when tokens that were good may be so no longer. */
    onKeysChange: keys.onChange,
  }
}
export type AccessTokens = ReturnType<typeof createAccessTokens>

/** The name of the key that a token says it was signed with; none where it says none, or is no token. */
function keyIdOf(token: string): string | undefined {
  try {
    return decodeProtectedHeader(token).kid
  } catch {
    return undefined
  }
}
