import type { Application, User } from '@berth/contract/account'
import { CUSTOM_PROVIDER, linkProperties } from '@berth/contract/account-sign-in'
import type { IdentityProvider } from '../../../drivers/sign-in/port.ts'
import type { LinkedIdentity } from './linked-identities.ts'

type ListedProvider = Application['providers'][number]

/**
 * The services as the application lists them, in Casdoor's spelling (R3.2).
 * @param providers As the settings name them.
 */
export function listProviders(providers: readonly IdentityProvider[]): ListedProvider[] {
  return providers.map(provider => ({
    owner: '',
    name: provider.name,
    canSignUp: true,
    canSignIn: true,
    canUnlink: true,
    // Nobody is found by address, phone or name: only by the service's own id of them.
    bindingRule: [],
    countryCodes: null,
    prompted: false,
    signupGroup: '',
    rule: 'None',
    provider: {
      owner: 'admin',
      name: provider.name,
      displayName: provider.displayName,
      category: 'OAuth',
      type: typeOf(provider, providers),
      subType: '',
      method: '',
      clientId: provider.clientId,
      clientSecret: '***',
      clientId2: '',
      customAuthUrl: '',
      customLogo: '',
      scopes: provider.scopes,
      domain: '',
      appId: '',
      disableSsl: false,
      enablePkce: true,
    },
  }))
}

/**
 * What an account's `properties` say of the services that it is linked to.
 * @param listed As `listProviders` gives them: a service that is no longer there is left out.
 */
export function linkedProperties(
  listed: readonly ListedProvider[],
  identities: readonly LinkedIdentity[],
): User['properties'] {
  const entries = identities.flatMap(({ provider, subject, username, email }) => {
    const item = listed.find(({ name }) => name === provider)
    if (!item) return []
    const keys = linkProperties(item)
    return [
      [keys.id, subject],
      [keys.username, username],
      [keys.email, email],
    ]
  })
  return Object.fromEntries(entries)
}

/** Casdoor knows one GitHub; a second one, such as a company's own server, is told apart by its name. */
function typeOf(provider: IdentityProvider, providers: readonly IdentityProvider[]): string {
  const isGithub = provider.kind === 'github' && providers.find(({ kind }) => kind === 'github') === provider
  return isGithub ? 'GitHub' : CUSTOM_PROVIDER
}
