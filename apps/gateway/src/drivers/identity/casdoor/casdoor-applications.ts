import { CUSTOM_PROVIDER } from '@berth/contract/account-sign-in'
import type { Clock } from '../../../platform/clock.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import {
  type CasdoorApplication,
  casdoorApplication,
  describeApplication,
  findApplicationProblems,
} from './casdoor-application.ts'
import { CASDOOR_TIMEOUT_MS, type CasdoorHttp } from './casdoor-http.ts'
import { notUnderstood } from './casdoor-refusals.ts'
import type { Obfuscator } from './password-obfuscator.ts'

/** Who owns applications in Casdoor. */
const OWNER = 'admin'
/** How long it is believed how passwords are to be wrapped, and that the credentials are good. */
const KEPT_MS = 60_000
const NOT_TAKEN = 'Casdoor does not take CASDOOR_CLIENT_ID and CASDOOR_CLIENT_SECRET for its application'

interface ApplicationsDeps {
  settings: { organization: string; application: string; clientSecret: string }
  clock: Clock
  http: CasdoorHttp
}

/** Reads the application that customers sign in to. */
export function createCasdoorApplications({ settings, clock, http }: ApplicationsDeps) {
  let kept: { application: CasdoorApplication | null; untilMs: number } | null = null
  let credentialsGoodUntilMs = 0

  async function find(as: 'anyone' | 'application'): Promise<CasdoorApplication | null> {
    const answer = await http.ask({
      path: 'get-application',
      query: { id: `${OWNER}/${settings.application}` },
      as,
      address: null,
      timeoutMs: CASDOOR_TIMEOUT_MS.read,
    })
    if (answer.status === 'error') throw notUnderstood(answer, 'what the application is')
    if (answer.data === null) return null
    const application = casdoorApplication.safeParse(answer.data)
    if (!application.success) throw notUnderstood(answer, 'what the application is')
    return application.data
  }

  /** The application as anybody sees it, as it was within the last minute. */
  async function remembered(): Promise<CasdoorApplication | null> {
    const nowMs = clock.now().getTime()
    if (!kept || kept.untilMs <= nowMs) {
      kept = { application: await find('anyone'), untilMs: nowMs + KEPT_MS }
    }
    return kept.application
  }

  return {
    async describe() {
      const application = await find('anyone')
      return application && describeApplication(application)
    },

    /** A service that customers may sign in through, by its name; null for none. */
    async findProvider(name: string) {
      const application = await find('anyone')
      return application?.providers.find(item => item.name === name) ?? null
    },

    /** How the organization wants passwords in login calls. */
    async obfuscator(): Promise<Obfuscator> {
      const { passwordObfuscatorType = '', passwordObfuscatorKey = '' } =
        (await remembered())?.organizationObj ?? {}
      return { passwordObfuscatorType, passwordObfuscatorKey }
    },

    /** Name of the one service of the type `Custom`, which a user's properties do not say; null for none. */
    async customProvider(): Promise<string | null> {
      const custom = (await remembered())?.providers.find(
        ({ provider }) => provider?.type === CUSTOM_PROVIDER,
      )
      return custom?.name ?? null
    },

    /**
     * Makes certain that Casdoor takes the gateway for the application. Where it does not, it says so nowhere: it
     * answers as to anybody, for whom accounts may be missing or look as if nobody had blocked them.
     * @param fresh Asks in any case; else what was found in the last minute is enough.
     * @throws ApiError `identity_unavailable`.
     */
    async assureCredentials({ fresh }: { fresh: boolean }): Promise<void> {
      const nowMs = clock.now().getTime()
      if (!fresh && nowMs < credentialsGoodUntilMs) return
      credentialsGoodUntilMs = 0
      const own = await find('application')
      if (own?.clientSecret !== settings.clientSecret) {
        throw new ApiError('identity_unavailable', { cause: new Error(NOT_TAKEN) })
      }
      credentialsGoodUntilMs = nowMs + KEPT_MS
    },

    /** What keeps customers from signing up or in, in words for the operator. */
    async findProblems(): Promise<string[]> {
      const own = await find('application')
      if (!own) return [`Casdoor has no application ${settings.application} (CASDOOR_APPLICATION)`]
      if (own.clientSecret !== settings.clientSecret) return [NOT_TAKEN]
      const problems = findApplicationProblems(own, settings.organization)
      return problems.map(problem => `Casdoor's application ${settings.application}: ${problem}`)
    },
  }
}
export type CasdoorApplications = ReturnType<typeof createCasdoorApplications>
