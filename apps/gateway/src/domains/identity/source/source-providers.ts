import type { ProviderMethod } from '@berth/contract/account-sign-in'
import { eq } from 'drizzle-orm'
import type { IdentitySource, SourceVisitReturn } from '../../../drivers/identity/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Caller } from '../../../platform/http/handler.ts'
import { findById } from '../accounts/accounts-store.ts'
import type { Sessions } from '../sessions/sessions.ts'
import {
  type BeginVisit,
  linkerOf,
  type ProviderReturn,
  redirectUriFor,
} from '../sign-in/provider-sign-in.ts'
import type { ProviderVisits, VisitPurpose } from '../sign-in/provider-visits.ts'
import type { SignIn, SignInPlace } from '../sign-in/sign-in.ts'
import type { ProviderChoice } from '../sign-in/sign-in-methods.ts'
import { session } from '../tables.ts'
import type { Mirror } from './mirror.ts'
import type { SourceTokens } from './source-tokens.ts'

interface SourceProvidersDeps {
  db: Database
  source: IdentitySource
  mirror: Mirror
  tokens: Pick<SourceTokens, 'keep' | 'find'>
  visits: ProviderVisits
  signIn: Pick<SignIn, 'open' | 'welcome'>
  sessions: Pick<Sessions, 'forget'>
  clock: Clock
  publicUrl: () => string
}

/**
 * Signing in and linking through services that an identity source knows. It trades the code; the visit, with its
 * state, its browser key and its verifier, is the gateway's, because Casdoor checks none of them.
 */
export function createSourceProviders(deps: SourceProvidersDeps) {
  const { db, source, mirror, tokens, visits } = deps

  async function endVisit(
    back: ProviderReturn,
    place: Pick<SignInPlace, 'address' | 'stay'>,
    isMeant: (visit: VisitPurpose) => boolean,
  ): Promise<SourceVisitReturn> {
    const visit = await visits.end(db, back)
    if (!visit) throw failed('the visit is unknown, over, used, or of another browser')
    const sameUri = back.redirectUri === '' || back.redirectUri === visit.redirectUri
    if (visit.provider !== back.provider || !sameUri || !isMeant(visit)) {
      throw failed('the visit was for something else')
    }
    const { provider, state, codeVerifier, redirectUri } = visit
    return { provider, state, codeVerifier, redirectUri, code: back.code, ...place }
  }

  /** The source's token of a session. @throws ApiError `login_expired` where there is none. */
  async function tokenOf(sessionId: string): Promise<string> {
    const token = await tokens.find(sessionId)
    if (token === null) throw new ApiError('login_expired')
    return token
  }

  return {
    /** @throws ApiError `unknown_sign_in_method`, and those of `linkerOf` for linking. */
    async begin({ provider, method, caller, origin }: BeginVisit) {
      const userId = method === 'link' ? linkerOf(caller, deps.clock) : null
      const redirectUri = redirectUriFor(deps.publicUrl(), origin)
      const { browserKey, ...visit } = await visits.begin(db, { provider, method, userId, redirectUri })
      const url = await source.providerUrl({ ...visit, provider })
      if (url === null) throw new ApiError('unknown_sign_in_method')
      return { url, browserKey, redirectUri }
    },

    /** @returns An access token. @throws ApiError `oauth_failed`, `oauth_email_missing` and those of the source. */
    async signIn(
      back: ProviderReturn & { method: ProviderMethod | null },
      place: SignInPlace,
      newcomer: Parameters<Mirror['write']>[2],
    ): Promise<string> {
      const { address, stay } = place
      const came = await endVisit(
        back,
        { address, stay },
        visit => visit.method !== 'link' && (back.method === null || back.method === visit.method),
      )
      const { profile, token } = await source.signInByProvider(came)
      if (profile.email === '') throw new ApiError('oauth_email_missing')
      if (profile.blocked) throw new ApiError('account_blocked')
      await mirror.releaseAddress(profile)
      const subject = await db.transaction(async tx => {
        const row = await mirror.write(tx, profile, newcomer)
        const opened = await deps.signIn.open(tx, row, place)
        await tokens.keep(tx, opened.sessionId, token)
        return opened
      })
      deps.sessions.forget(subject.userId)
      return await deps.signIn.welcome(subject, place)
    },

    /** @returns Name of the service. @throws ApiError `oauth_failed`, `oauth_linked_elsewhere`, `login_expired`. */
    async link(back: ProviderReturn, { userId, sessionId }: Caller): Promise<string> {
      const token = await tokenOf(sessionId)
      const [row] = await db.select().from(session).where(eq(session.id, sessionId))
      const place = { address: row?.address ?? '', stay: false }
      const isMeant = (visit: VisitPurpose) => visit.method === 'link' && visit.userId === userId
      await source.linkProvider(token, await endVisit(back, place, isMeant))
      return back.provider
    },

    /** @throws ApiError `oauth_not_linked`, `oauth_last_way_in`, `oauth_failed`, `login_expired`. */
    async unlink(
      { userId, sessionId }: Pick<Caller, 'userId' | 'sessionId'>,
      choice: ProviderChoice,
    ): Promise<void> {
      const row = await findById(db, userId)
      const profile = row?.externalId ? await source.findById(row.externalId) : null
      if (!profile) throw new ApiError('oauth_not_linked')
      const linked = Object.entries(profile.properties).filter(
        ([key, value]) => /^oauth_.+_id$/.test(key) && value !== '',
      )
      if (!profile.hasPassword && linked.length <= 1) throw new ApiError('oauth_last_way_in')
      await source.unlinkProvider(await tokenOf(sessionId), profile, choice)
    },
  }
}

function failed(why: string): ApiError {
  return new ApiError('oauth_failed', { cause: new Error(why) })
}
