import { APPLICATION, ORGANIZATION } from '@berth/contract/account'
import { beginProviderSignIn, type ProviderMethod } from '@berth/contract/account-sign-in'
import { request } from '../../../api/client.ts'

export async function beginProvider(
  provider: string,
  method: ProviderMethod,
  _returnTo: string,
): Promise<void> {
  const { url } = await request(beginProviderSignIn, {
    body: { application: APPLICATION, organization: ORGANIZATION, provider, method },
  })
  location.assign(url)
}

export function linkProperties({ name, provider }: { name: string; provider: { type: string } | null }) {
  const key = provider && provider.type !== 'Custom' ? provider.type : name
  return { id: `oauth_${key}_id`, username: `oauth_${key}_username`, email: `oauth_${key}_email` }
}
