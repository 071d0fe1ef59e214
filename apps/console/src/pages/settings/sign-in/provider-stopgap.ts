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
