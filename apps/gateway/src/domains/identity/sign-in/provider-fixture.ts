import { getAccount, login } from '@berth/contract/account'
import { beginProviderSignIn, link, type ProviderMethod } from '@berth/contract/account-sign-in'
import { GITHUB_CLIENT, startGithubServer } from '../../../../test/github-server.ts'
import { createIdentityBench, names } from '../../../../test/identity-bench.ts'
import { OIDC_CLIENT, passService, startOidcServer } from '../../../../test/oidc-server.ts'
import { createIdentityProviders } from '../../../drivers/sign-in/create-providers.ts'
import { systemClock } from '../../../platform/clock.ts'

/** What the browser came back with, and what it remembers. */
export interface Back {
  provider: string
  code: string
  state: string
  iss?: string
  browserKey: string
  redirectUri: string
}

/**
 * The identity domain with three services to sign in through: `acme` and `other`, two entries for a real OpenID
 * Connect provider, and `github`.
 */
export async function createProviderBench() {
  const oidc = await startOidcServer()
  const github = await startGithubServer()
  const acme = { type: 'oidc' as const, issuer: oidc.issuer, scopes: 'openid email profile', ...OIDC_CLIENT }
  const providers = createIdentityProviders(
    [
      { ...acme, name: 'acme', display_name: 'Acme' },
      { ...acme, name: 'other', display_name: 'Other' },
      { ...GITHUB_CLIENT, type: 'github', name: 'github', display_name: 'GitHub', base_url: github.baseUrl },
    ],
    { clock: systemClock },
  )
  const bench = await createIdentityBench({ providers })

  async function begin(provider: string, method: ProviderMethod = 'signin', token?: string) {
    const body = { ...names, provider, method }
    const { data, code } = await bench.call(
      beginProviderSignIn,
      { body },
      token === undefined ? {} : { token },
    )
    if (!data) throw new Error(`begin: ${code}`)
    return data
  }

  /** Begins a visit and goes through the service's pages as that login. */
  async function visit(
    provider: string,
    login: string,
    { method = 'signin', token, change = url => url }: VisitOptions = {},
  ): Promise<Back> {
    const { url, browserKey, redirectUri } = await begin(provider, method, token)
    const back = await passService(change(url), { login })
    const { code = '', state = '', iss } = Object.fromEntries(back.searchParams)
    return { provider, code, state, browserKey, redirectUri, ...(iss === undefined ? {} : { iss }) }
  }

  const enter = (back: Partial<Back>, more: Partial<LoginMore> = {}) =>
    bench.call(login, { body: { ...names, type: 'token', ...back, ...more } })

  return {
    ...bench,
    oidc,
    github,
    begin,
    visit,
    enter,
    /** Signs in as that login, and gives the account. */
    async signIn(provider: string, login: string, more: Partial<LoginMore> = {}) {
      const { data: token, code } = await enter(await visit(provider, login), more)
      if (!token) throw new Error(`sign-in: ${code}`)
      const { data: account } = await bench.call(getAccount, {}, { token })
      if (!account) throw new Error('no account')
      return { token, account }
    },
    linkBack: (back: Back, token: string) => bench.call(link, { body: { ...names, ...back } }, { token }),
    account: async (token: string) => (await bench.call(getAccount, {}, { token })).data,
    async close() {
      await bench.close()
      await oidc.stop()
      await github.stop()
    },
  }
}
export type ProviderBench = Awaited<ReturnType<typeof createProviderBench>>

interface VisitOptions {
  method?: ProviderMethod
  token?: string
  /** Changes the address on the way. */
  change?: (url: string) => string
}

interface LoginMore {
  language: 'en' | 'zh' | 'ja' | 'ko'
  referralCode: string
  method: 'signup' | 'signin'
}
