import type { ProviderMethod } from '@berth/contract/account-sign-in'
import { and, eq, gt, isNull, lt } from 'drizzle-orm'
import type { VisitSecrets } from '../../../drivers/sign-in/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Queryable } from '../../../platform/database/database.ts'
import { sha256Hex } from '../../../platform/hash.ts'
import type { Ids } from '../../../platform/ids.ts'
import { providerVisit } from '../tables.ts'

/** How long somebody may take at the other service: to look up a password, and to find their phone. */
export const PROVIDER_VISIT_MS = 10 * 60_000
/** 256 bits each; as base64url also what PKCE allows for a verifier. */
const SECRET_BYTES = 32

/** What a visit is for. */
export interface VisitPurpose {
  /** Name of the provider. */
  provider: string
  method: ProviderMethod
  /** Who links; null for signing in. */
  userId: string | null
  redirectUri: string
}

/** What the browser brought back. */
export interface VisitReturn {
  state: string
  browserKey: string
}

/**
 * Visits to other services: what went along is remembered here and not in the browser, is good once and for a few
 * minutes, and comes back only to the browser that began (it alone knows the browser key).
 */
export function createProviderVisits({ clock, ids }: { clock: Clock; ids: Ids }) {
  return {
    /** Begins a visit. @returns Its secrets, and the key that only this browser is told. */
    async begin(q: Queryable, purpose: VisitPurpose): Promise<VisitSecrets & { browserKey: string }> {
      const [state, nonce, codeVerifier, browserKey] = [secret(), secret(), secret(), secret()]
      const createdAt = clock.now()
      await q.insert(providerVisit).values({
        stateHash: sha256Hex(state),
        provider: purpose.provider,
        purpose: purpose.method,
        userId: purpose.userId,
        browserKeyHash: sha256Hex(browserKey),
        nonce,
        codeVerifier,
        redirectUri: purpose.redirectUri,
        createdAt,
        expiresAt: new Date(createdAt.getTime() + PROVIDER_VISIT_MS),
      })
      return { state, nonce, codeVerifier, redirectUri: purpose.redirectUri, browserKey }
    },

    /**
     * Ends a visit. The one statement lets one of any number of parallel returns through; a wrong key ends it too.
     * @returns What it was for, or null when it is unknown, over, used, or another browser's.
     */
    async end(q: Queryable, back: VisitReturn): Promise<(VisitPurpose & VisitSecrets) | null> {
      const now = clock.now()
      const [row] = await q
        .update(providerVisit)
        .set({ usedAt: now })
        .where(
          and(
            eq(providerVisit.stateHash, sha256Hex(back.state)),
            isNull(providerVisit.usedAt),
            gt(providerVisit.expiresAt, now),
          ),
        )
        .returning()
      if (!row || row.browserKeyHash !== sha256Hex(back.browserKey)) return null
      const { provider, purpose: method, userId, redirectUri, nonce, codeVerifier } = row
      return { provider, method, userId, redirectUri, nonce, codeVerifier, state: back.state }
    },

    /** Removes what no browser can come back from any more. */
    async purge(q: Pick<Queryable, 'delete'>): Promise<void> {
      await q.delete(providerVisit).where(lt(providerVisit.expiresAt, clock.now()))
    },
  }

  function secret(): string {
    return ids.secret(SECRET_BYTES)
  }
}
export type ProviderVisits = ReturnType<typeof createProviderVisits>
