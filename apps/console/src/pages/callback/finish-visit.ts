import { APPLICATION, login, ORGANIZATION } from '@berth/contract/account'
import { link } from '@berth/contract/account-sign-in'
import { ApiError } from '../../api/api-error.ts'
import { sendChange } from '../../api/change.ts'
import { currentLanguage } from '../../app/i18n.ts'
import type { ProviderVisit } from '../../app/session/provider-visit.ts'
import { redirectTarget } from '../../app/session/redirect-target.ts'
import { session } from '../../app/session/session.ts'
import { readCurrency, readDeviceMark, readReferralCode } from '../../app/session/session-storage.ts'

/** What the address says that the other service sent the browser back with. */
export interface ProviderAnswer {
  code: string
  state: string
  /** Who the service says that it is; empty where it does not say. */
  iss: string
  /** Why the service sends nobody; empty where it sends somebody. */
  error: string
}

/**
 * How coming back ended: a path to go to, or what to tell the customer. `lost` is a visit that this tab does not
 * know (any more).
 */
export type Outcome =
  | { goTo: string }
  | { failure: 'lost' | 'oauth_denied' | 'oauth_failed'; message: null; visit: ProviderVisit | null }
  | { failure: 'gateway'; message: string; visit: ProviderVisit }

/**
 * Reads the address that another service sent the browser to.
 * @param search The query, with or without its question mark.
 */
export function readAnswer(search: string): ProviderAnswer {
  const query = new URLSearchParams(search)
  const read = (name: string) => query.get(name) ?? ''
  return { code: read('code'), state: read('state'), iss: read('iss'), error: read('error') }
}

/**
 * Finishes a visit to another service: signs in or links, with the gateway's word for it.
 * @param answer What came back.
 * @param visit What this tab remembers; null when it began none.
 * @throws What is no ApiError.
 */
export async function finishVisit(answer: ProviderAnswer, visit: ProviderVisit | null): Promise<Outcome> {
  // The gateway checks all of this again, and more; here it only spares a call and words it better.
  if (visit === null || visit.state !== answer.state) {
    return { failure: 'lost', message: null, visit }
  }
  const { method } = visit
  if (answer.error === 'access_denied') return { failure: 'oauth_denied', message: null, visit }
  if (answer.error !== '' || answer.code === '') return { failure: 'oauth_failed', message: null, visit }
  try {
    await (method === 'link' ? linkBy(answer, visit) : signInBy(answer, { ...visit, method }))
    return { goTo: redirectTarget(visit.returnTo, location.origin) }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { failure: 'gateway', message: error.message, visit }
  }
}

async function signInBy(
  answer: ProviderAnswer,
  visit: ProviderVisit & { method: 'signin' | 'signup' },
): Promise<void> {
  const referralCode = readReferralCode()
  const body = {
    ...partsOf(answer, visit),
    type: 'token' as const,
    method: visit.method,
    language: currentLanguage(),
    currency: readCurrency(),
    device: readDeviceMark(),
    ...(referralCode ? { referralCode } : {}),
  }
  await session().signIn(await sendChange(login, { body }, { silent: true }))
}

async function linkBy(answer: ProviderAnswer, visit: ProviderVisit): Promise<void> {
  await sendChange(link, { body: partsOf(answer, visit) }, { silent: true })
}

function partsOf({ code, iss }: ProviderAnswer, { provider, state, browserKey, redirectUri }: ProviderVisit) {
  return {
    application: APPLICATION,
    organization: ORGANIZATION,
    provider,
    code,
    state,
    browserKey,
    redirectUri,
    ...(iss === '' ? {} : { iss }),
  }
}
