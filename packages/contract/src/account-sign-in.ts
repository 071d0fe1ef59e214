import * as z from 'zod'
import { defineCall } from './call.ts'
import { by } from './fields.ts'
import { LONG_TEXT_BODY_BYTES_MAX } from './limits.ts'

/** Names of the identity service: short, and never empty. */
const name = z.string(by('required')).min(1, by('required')).max(100, by('too_long'))

/** The kind of captcha that the gateway draws itself; others are services whose script the page loads. */
export const CAPTCHA_KINDS = ['none', 'Default', 'Cloudflare Turnstile', 'hCaptcha'] as const
export type CaptchaKind = (typeof CAPTCHA_KINDS)[number]

export const getCaptchaStatus = defineCall({
  operation: 'account.get-captcha-status',
  method: 'GET',
  path: '/api/account/get-captcha-status',
  summary: 'Whether signing in by that name asks for a captcha now. The same for names that nobody has.',
  audience: 'guest',
  timeout: 'fast',
  retry: true,
  envelope: 'casdoor',
  rateClass: 'captcha',
  query: z.object({
    organization: name,
    /** The login name that was typed. */
    userId: z.string(by('required')).max(300, by('too_long')),
    application: name,
  }),
  data: z.boolean(),
})

/** A captcha, in Casdoor's spelling, with a question in words for people who cannot see the picture. */
const captcha = z.looseObject({
  /** One of `CAPTCHA_KINDS`. */
  type: z.string(),
  /** Of the gateway's own kind: what is sent back as `clientSecret`. */
  captchaId: z.string(),
  /** Of the gateway's own kind: a PNG in base64, without a `data:` prefix. */
  captchaImage: z.string(),
  /** Of the gateway's own kind: a question in the caller's language whose answer is taken as well; else empty. */
  captchaQuestion: z.string().default(''),
  /** Of a service: its public site key. */
  clientId: z.string(),
})
z.globalRegistry.add(captcha, { id: 'Captcha' })
export type Captcha = z.infer<typeof captcha>

export const getCaptcha = defineCall({
  operation: 'account.get-captcha',
  method: 'GET',
  path: '/api/account/get-captcha',
  summary: 'A new captcha, good once and for a few minutes.',
  audience: 'guest',
  timeout: 'fast',
  envelope: 'casdoor',
  rateClass: 'captcha',
  query: z.object({
    applicationId: z.string(by('required')).min(1, by('required')).max(200, by('too_long')),
    isCurrentProvider: z.enum(['true', 'false'], by('not_allowed')).default('false'),
  }),
  data: captcha,
})

/** A service as the application lists it, as far as its kind and its name go. */
interface ListedProvider {
  name: string
  provider: { type: string } | null
}

/** Casdoor's type of a service that is none of those it knows: several may be of it, so its name tells them apart. */
export const CUSTOM_PROVIDER = 'Custom'

/**
 * Under which keys of an account's `properties` stands what is known of a service, as Casdoor spells them:
 * `oauth_GitHub_id`, but `oauth_acme_id` for the service `acme` of the type `Custom`. Linked is what has an id there.
 * @param listed An entry of the application's `providers`.
 */
export function linkProperties({ name, provider }: ListedProvider) {
  const key = provider && provider.type !== CUSTOM_PROVIDER ? provider.type : name
  return { id: `oauth_${key}_id`, username: `oauth_${key}_username`, email: `oauth_${key}_email` }
}

/** What going to another service is for. */
const PROVIDER_METHODS = ['signup', 'signin', 'link'] as const
export type ProviderMethod = (typeof PROVIDER_METHODS)[number]

export const beginProviderSignIn = defineCall({
  operation: 'account.begin-provider-sign-in',
  method: 'POST',
  path: '/api/account/begin-provider-sign-in',
  summary: 'Begins signing in through another service, or linking it; data says where the browser goes.',
  audience: 'guest',
  timeout: 'normal',
  envelope: 'casdoor',
  rateClass: 'login',
  proof: 'own',
  audit: { because: 'Nothing is different before the other service has answered.' },
  stales: { because: 'Nothing is different before the other service has answered.' },
  body: z.object({
    application: name,
    organization: name,
    /** Name of the provider, as the application lists it. */
    provider: name,
    method: z.enum(PROVIDER_METHODS, by('not_allowed')),
  }),
  data: z.object({
    /** The other service's page, with state, nonce and PKCE challenge of ours in it. */
    url: z.string(),
    /** What only this browser is told: login wants it back, so that a code that was planted here opens nothing. */
    browserKey: z.string(),
    /** Where the other service sends the browser afterwards. */
    redirectUri: z.string(),
  }),
})

export const link = defineCall({
  operation: 'account.link',
  method: 'POST',
  path: '/api/account/link',
  summary: 'Links what another service gave to the account that began it; data is the provider name.',
  audience: 'user',
  timeout: 'normal',
  envelope: 'casdoor',
  rateClass: 'login',
  proof: 'own',
  audit: { target: ['body.provider'] },
  stales: ['account.get-account'],
  bodyBytesMax: LONG_TEXT_BODY_BYTES_MAX,
  body: z.object({
    application: name,
    organization: name,
    provider: name,
    code: z.string(by('required')).min(1, by('required')).max(4_000, by('too_long')),
    state: z.string(by('required')).min(1, by('required')).max(500, by('too_long')),
    redirectUri: z.string(by('wrong_type')).max(500, by('too_long')).default(''),
    browserKey: z.string(by('required')).min(1, by('required')).max(200, by('too_long')),
    /** Who the other service says that it is, where it adds this to the address (RFC 9207). */
    iss: z.string(by('wrong_type')).max(500, by('too_long')).optional(),
  }),
  data: z.string(),
})

export const unlink = defineCall({
  operation: 'account.unlink',
  method: 'POST',
  path: '/api/account/unlink',
  summary: 'Unlinks a service from the account that asks, unless it is the only way in.',
  audience: 'user',
  timeout: 'normal',
  envelope: 'casdoor',
  rateClass: 'login',
  proof: 'recent',
  audit: { target: ['body.providerName', 'body.providerType'] },
  stales: ['account.get-account'],
  body: z.object({
    /** Casdoor's type of the provider, such as `GitHub`. */
    providerType: name,
    /** Which one, where several are of that type. */
    providerName: name.optional(),
    /** Casdoor wants the account as get-account gave it; the gateway only looks whether it is the caller's. */
    user: z
      .looseObject({ id: z.string(by('required')).max(300, by('too_long')) }, by('wrong_type'))
      .optional(),
  }),
  data: z.null(),
})

export const accountSignInCalls = [getCaptchaStatus, getCaptcha, beginProviderSignIn, link, unlink] as const
