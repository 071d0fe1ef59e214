import type { getSettings } from '@berth/contract/account'
import type { CallData } from '@berth/contract/call'

type Analytics = CallData<typeof getSettings>['brand']['analytics']

/** Names of what is secret in the addresses of mailed links, sign-in links and callbacks. */
const SECRETS = ['token', 'ticket', 'code', 'state']

let loaded = false

/**
 * Loads the analytics of the host, once (R1.10). The gateway names some on the production host only, and only there
 * does the content policy let them in. A page whose address holds a secret does without: such a script sends addresses.
 * @param analytics As the settings say; null for none.
 */
export function loadAnalytics(analytics: Analytics): void {
  const query = new URLSearchParams(location.search)
  if (analytics === null || loaded || SECRETS.some(name => query.has(name))) return
  loaded = true
  const script = document.createElement('script')
  for (const [name, value] of Object.entries(analytics.attributes)) script.setAttribute(name, value)
  script.async = true
  script.src = analytics.script_url
  document.head.append(script)
}
