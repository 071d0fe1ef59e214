import { createPrivateKey, createPublicKey } from 'node:crypto'
import { APPLICATION, ORGANIZATION } from '@berth/contract/account'
import { jwtVerify, SignJWT } from 'jose'
import type { Clock } from '../../platform/clock.ts'
import { deriveKey } from '../../platform/secrets.ts'

const ALGORITHM = 'EdDSA'
const ISSUER = ORGANIZATION
const AUDIENCE = APPLICATION
/** RFC 8410: what stands before the 32 bytes of an Ed25519 private key in PKCS #8. */
const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex')

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
 * @param deps.signingKey The installation's secret; the key of the tokens is derived from it.
 */
export function createAccessTokens(deps: { signingKey: Uint8Array; clock: Clock }) {
  const seed = deriveKey(deps.signingKey, 'berth access token')
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8_ED25519, seed]),
    format: 'der',
    type: 'pkcs8',
  })
  const publicKey = createPublicKey(privateKey)

  return {
    /** Signs a session's token. Ed25519 has no randomness: the same session gives the same token each time. */
    issue: (subject: TokenSubject): Promise<string> =>
      new SignJWT()
        .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(subject.userId)
        .setJti(subject.sessionId)
        .setIssuedAt(subject.createdAt)
        .setExpirationTime(subject.expiresAt)
        .sign(privateKey),

    /**
     * Checks signature, issuer, audience and time.
     * @returns Session and user, or null when the token is not one of ours or is over.
     */
    async verify(token: string): Promise<{ sessionId: string; userId: string } | null> {
      try {
        const { payload } = await jwtVerify(token, publicKey, {
          algorithms: [ALGORITHM],
          issuer: ISSUER,
          audience: AUDIENCE,
          requiredClaims: ['sub', 'jti', 'exp'],
          currentDate: deps.clock.now(),
        })
        return { sessionId: payload.jti ?? '', userId: payload.sub ?? '' }
      } catch {
        return null
      }
    },
  }
}
export type AccessTokens = ReturnType<typeof createAccessTokens>
