import type { Clock } from '../../platform/clock.ts'
import type { SignInProviderSetting } from '../../platform/config/sign-in-providers.ts'
import { createGithubProvider } from './github-provider.ts'
import { createOidcProvider } from './oidc-provider.ts'
import type { IdentityProvider } from './port.ts'

const GITHUB = { base: 'https://github.com', api: 'https://api.github.com' }

/**
 * The services that the settings name, in their order. Nothing is asked of them yet.
 * @param settings Checked by the configuration.
 */
export function createIdentityProviders(
  settings: readonly SignInProviderSetting[],
  deps: { clock: Clock },
): IdentityProvider[] {
  return settings.map(setting => {
    const common = { name: setting.name, clientId: setting.client_id, clientSecret: setting.client_secret }
    if (setting.type === 'github') {
      const { base_url: baseUrl, api_url: apiUrl, display_name: displayName } = setting
      return createGithubProvider({ ...common, displayName, baseUrl, apiUrl: apiUrl ?? apiOf(baseUrl) })
    }
    const { issuer, scopes, display_name: displayName = setting.name } = setting
    return createOidcProvider({ ...common, displayName, issuer, scopes }, deps)
  })
}

/** An Enterprise Server has its API below its own address. */
function apiOf(baseUrl: string): string {
  return baseUrl === GITHUB.base ? GITHUB.api : `${baseUrl}/api/v3`
}
