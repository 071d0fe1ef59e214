import { decodeJwt } from 'jose'
import type { Clock } from '../../../platform/clock.ts'
import { sha256Hex } from '../../../platform/hash.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Ids } from '../../../platform/ids.ts'
import type {
  CaptchaAnswer,
  IdentitySource,
  SourceProfile,
  SourceSignIn,
  SourceSignInAnswer,
  SourceSignUp,
} from '../port.ts'
import { createCasdoorApplications } from './casdoor-applications.ts'
import { createCasdoorCaptchas } from './casdoor-captchas.ts'
import {
  CASDOOR_TIMEOUT_MS,
  type CasdoorAddress,
  type CasdoorEnvelope,
  createCasdoorHttp,
} from './casdoor-http.ts'
import { createCasdoorProviders } from './casdoor-providers.ts'
import {
  BLOCKED,
  notUnderstood,
  readPasswordAnswer,
  readSignInRefusal,
  readSignUpRefusal,
} from './casdoor-refusals.ts'
import { createCasdoorUsers } from './casdoor-users.ts'
import { obfuscatePassword } from './password-obfuscator.ts'

export interface CasdoorSettings extends CasdoorAddress {
  /** Names in Casdoor. */
  organization: string
  application: string
}

/** Characters of a hash that tell any two addresses apart. */
const NAME_HASH_CHARS = 24

/**
 * A Casdoor server as the authority of passwords and profiles (R1.8). Nothing of a caller but their address is
 * passed on, and what only an administrator may do is done as the application, after the gateway's own checks.
 */
export function createCasdoorSource(deps: {
  settings: CasdoorSettings
  clock: Clock
  ids: Pick<Ids, 'secret' | 'hostSecret'>
}): IdentitySource {
  const { settings, ids } = deps
  const { organization, application } = settings
  const http = createCasdoorHttp(settings)
  const applications = createCasdoorApplications({ ...deps, http })
  const users = createCasdoorUsers({ http, organization, applications })

  async function endToken(token: string): Promise<void> {
    await http.ask({
      path: 'logout',
      form: { id_token_hint: token },
      as: 'anyone',
      address: null,
      timeoutMs: CASDOOR_TIMEOUT_MS.farewell,
    })
  }

  async function signIn({
    username,
    password,
    captcha,
    address,
    stay,
  }: SourceSignIn): Promise<SourceSignInAnswer> {
    const obfuscator = await applications.obfuscator()
    const answer = await http.ask({
      path: 'login',
      json: {
        type: 'token',
        signinMethod: 'Password',
        organization,
        application,
        username,
        password: obfuscatePassword(password, obfuscator, ids),
        autoSignin: stay,
        ...captchaFields(captcha),
      },
      as: 'anyone',
      address,
      timeoutMs: CASDOOR_TIMEOUT_MS.write,
    })
    if (answer.status === 'error' || !isToken(answer.data)) return readSignInRefusal(answer)
    return { outcome: 'right', ...(await readLogin(answer)) }
  }

  /** Who a login was, where it answered with a token. */
  async function readLogin(answer: CasdoorEnvelope): ReturnType<IdentitySource['signInByProvider']> {
    const { data: token } = answer
    if (answer.status === 'error') {
      throw BLOCKED.test(answer.msg)
        ? new ApiError('account_blocked')
        : new ApiError('oauth_failed', { cause: new Error(`Casdoor said: ${answer.msg}`) })
    }
    if (!isToken(token)) {
      readSignInRefusal(answer)
      throw notUnderstood(answer, 'a sign-in')
    }
    if (answer.data3 === true) {
      // Versions before 3.154.2 gave a token beside the demand for a new password.
      await endToken(token)
      throw new ApiError('password_expired')
    }
    const profile = await users.findById(decodeJwt(token).sub ?? '')
    if (!profile || profile.owner !== organization) throw notUnderstood(answer, 'a sign-in')
    return { profile, token }
  }

  /** @returns Null when the name or the address is taken. */
  async function addUser(request: SourceSignUp, name: string): Promise<SourceProfile | null> {
    const { email, displayName, password, language, captcha, address } = request
    const answer = await http.ask({
      path: 'signup',
      json: {
        organization,
        application,
        // Read only where the application shows the item; else Casdoor makes one up itself.
        username: name,
        name: displayName,
        password,
        email,
        language,
        ...captchaFields(captcha),
      },
      as: 'anyone',
      address,
      timeoutMs: CASDOOR_TIMEOUT_MS.write,
    })
    if (answer.status === 'error') {
      readSignUpRefusal(answer)
      return null
    }
    const profile = await users.findByEmail(email)
    if (!profile) throw notUnderstood(answer, 'a sign-up')
    return profile
  }

  return {
    name: 'casdoor',
    organization,
    application,
    findProblems: applications.findProblems,
    describeApplication: applications.describe,
    signIn,
    endToken,

    async signUp(request) {
      // Casdoor looks for the address and then writes: of sign-ups at once only the name lets one through.
      const name = `c-${sha256Hex(request.email).slice(0, NAME_HASH_CHARS)}`
      const profile = await addUser(request, name)
      if (profile || (await users.findByEmail(request.email))) return profile
      // Whoever had the address before has another one now, and still the name.
      return await addUser(request, `c-${ids.hostSecret()}`)
    },

    findById: users.findById,
    findByEmail: users.findByEmail,
    rename: (profile, displayName) => users.update(profile, { displayName }),

    remove: users.remove,

    async confirmEmail(profile, { forgiveWrongPasswords = false } = {}) {
      await users.update(profile, {
        emailVerified: true,
        ...(forgiveWrongPasswords && { signinWrongTimes: 0 }),
      })
    },

    async setPassword(profile, { password, oldPassword, address }) {
      const answer = await http.ask({
        path: 'set-password',
        form: {
          userOwner: profile.owner,
          userName: profile.name,
          // Left out, it is not asked for: the application is an administrator.
          oldPassword: oldPassword ?? '',
          newPassword: password,
        },
        as: 'application',
        address,
        timeoutMs: CASDOOR_TIMEOUT_MS.write,
      })
      return readPasswordAnswer(answer)
    },

    ...createCasdoorProviders({ http, organization, application, applications, users, readLogin }),
    ...createCasdoorCaptchas({ http, organization, application }),
  }
}

function captchaFields(captcha: CaptchaAnswer | null) {
  return captcha && { captchaType: captcha.type, captchaToken: captcha.token, clientSecret: captcha.secret }
}

/** Casdoor says other things in the same place; a token is a JWT. */
function isToken(data: unknown): data is string {
  return typeof data === 'string' && data.split('.').length === 3
}
