import type { Clock } from '../../../platform/clock.ts'
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
/** How passwords are to be wrapped changes when an operator changes it. */
const OBFUSCATOR_KEPT_MS = 60_000

interface ApplicationsDeps {
  settings: { organization: string; application: string }
  clock: Clock
  http: CasdoorHttp
}

/** Reads the application that customers sign in to. */
export function createCasdoorApplications({ settings, clock, http }: ApplicationsDeps) {
  let kept: { obfuscator: Obfuscator; until_ms: number } | null = null

  async function find(as: 'anyone' | 'application'): Promise<CasdoorApplication | null> {
    const answer = await http.ask({
      path: 'get-application',
      query: { id: `${OWNER}/${settings.application}` },
      as,
      address: null,
      timeout_ms: CASDOOR_TIMEOUT_MS.read,
    })
    if (answer.status === 'error') throw notUnderstood(answer, 'what the application is')
    if (answer.data === null) return null
    const application = casdoorApplication.safeParse(answer.data)
    if (!application.success) throw notUnderstood(answer, 'what the application is')
    return application.data
  }

  return {
    async describe() {
      const application = await find('anyone')
      return application && describeApplication(application)
    },

    /** How the organization wants passwords in login calls. */
    async obfuscator(): Promise<Obfuscator> {
      const now_ms = clock.now().getTime()
      if (!kept || kept.until_ms <= now_ms) {
        const application = await find('anyone')
        const { passwordObfuscatorType = '', passwordObfuscatorKey = '' } = application?.organizationObj ?? {}
        kept = {
          obfuscator: { passwordObfuscatorType, passwordObfuscatorKey },
          until_ms: now_ms + OBFUSCATOR_KEPT_MS,
        }
      }
      return kept.obfuscator
    },

    /** What keeps customers from signing up or in, in words for the operator. */
    async findProblems(): Promise<string[]> {
      const seen = await find('anyone')
      if (!seen) return [`Casdoor has no application ${settings.application} (CASDOOR_APPLICATION)`]
      const own = await find('application')
      // Who is not taken for the application sees no grant types, as anybody.
      if (own?.clientSecret === seen.clientSecret) {
        return ['Casdoor does not take CASDOOR_CLIENT_ID and CASDOOR_CLIENT_SECRET for its application']
      }
      const problems = own ? findApplicationProblems(own, settings.organization) : []
      return problems.map(problem => `Casdoor's application ${settings.application}: ${problem}`)
    },
  }
}
