import { APPLICATION, ORGANIZATION } from '@berth/contract/account'
import { beginProviderSignIn, type ProviderMethod } from '@berth/contract/account-sign-in'
import { sendChange } from '../../api/change.ts'

/** What this tab remembers while the browser is at another service. */
export interface ProviderVisit {
  provider: string
  method: ProviderMethod
  state: string
  /** What the gateway told this browser alone. */
  browserKey: string
  redirectUri: string
  /** Where the customer wanted to go; a path that `redirectTarget` still has to look at. */
  returnTo: string
}

const VISIT_KEY = 'berth.provider-visit'
const PARTS = ['provider', 'method', 'state', 'browserKey', 'redirectUri', 'returnTo'] as const

/**
 * Sends the browser to another service, to sign in there or to link it. The page is left; `/callback` finishes what
 * was begun and goes on to `returnTo`.
 * @param provider Name of the service, as the application lists it.
 * @param method `signin` or `signup` for guests; `link` for the signed-in customer.
 * @param returnTo A path of this console.
 * @throws ApiError, not toasted: the page shows it.
 */
export async function beginProvider(
  provider: string,
  method: ProviderMethod,
  returnTo: string,
): Promise<void> {
  const body = { application: APPLICATION, organization: ORGANIZATION, provider, method }
  const { url, browserKey, redirectUri } = await sendChange(beginProviderSignIn, { body }, { silent: true })
  const state = new URL(url).searchParams.get('state') ?? ''
  const visit: ProviderVisit = { provider, method, state, browserKey, redirectUri, returnTo }
  sessionStorage.setItem(VISIT_KEY, JSON.stringify(visit))
  location.assign(url)
}

/** What this tab remembers of the visit it came back from, once; null when it began none. */
export function takeProviderVisit(): ProviderVisit | null {
  try {
    const text = sessionStorage.getItem(VISIT_KEY)
    sessionStorage.removeItem(VISIT_KEY)
    return text === null ? null : visitOf(JSON.parse(text))
  } catch {
    return null
  }
}

function visitOf(stored: unknown): ProviderVisit | null {
  if (typeof stored !== 'object' || stored === null) return null
  const parts = stored as Record<string, unknown>
  return PARTS.every(part => typeof parts[part] === 'string') ? (stored as ProviderVisit) : null
}
