import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, currency, email, newPassword, timestamp, typedPassword, username } from './fields.ts'
import {
  DEVICE_MARK_PATTERN,
  LANGUAGES,
  LONG_TEXT_BODY_BYTES_MAX,
  PASSWORD_CHARS_MAX,
  REFERRAL_CODE_CHARS_MAX,
} from './limits.ts'

/** The organization and application names that the embedded identity answers to; Casdoor's are settings. */
export const ORGANIZATION = 'berth'
export const APPLICATION = 'berth-console'

const name = z.string(by('required')).min(1, by('required')).max(100, by('too_long'))
const language = z.enum(LANGUAGES, by('not_allowed'))

/** The customer, in Casdoor's spelling, with the seed's own fields (R3.1). */
export const user = z.object({
  owner: z.string(),
  id: z.string(),
  /** The number that a customer reads to support. */
  accountId: z.string(),
  /** Login name: the e-mail address. */
  name: z.string(),
  email: z.string(),
  emailVerified: z.boolean(),
  displayName: z.string(),
  avatar: z.string(),
  /** Casdoor's account type, such as `normal-user`. */
  type: z.string(),
  /** The sign-in provider that made the account; empty for a password. */
  provider: z.string(),
  createdTime: z.string(),
  needUpdatePassword: z.boolean(),
  /** Says whether there is a password, as Casdoor does: `***`, or empty. Nothing where the service does not say. */
  password: z.string().optional(),
  /** Cents, as a convenience; the balance call is the authority. */
  balance: z.number().int(),
  accessToken: z.string(),
  /** What other services say of the customer, for each that is linked: see `linkProperties`. */
  properties: z.record(z.string(), z.string()),
})
z.globalRegistry.add(user, { id: 'User' })
export type User = z.infer<typeof user>

/** What a sign-in page needs of the application (R3.2); more keys of Casdoor's pass through. */
export const application = z.looseObject({
  owner: z.string(),
  name: z.string(),
  displayName: z.string(),
  organization: z.string(),
  enableSignUp: z.boolean(),
  signinMethods: z.array(z.looseObject({ name: z.string(), displayName: z.string(), rule: z.string() })),
  signupItems: z.array(z.looseObject({ name: z.string(), visible: z.boolean(), required: z.boolean() })),
  /**
   * Services that one may sign in through; the kind and the words for the button stand in `provider`. Which of them
   * an account is linked to stands in its `properties`, under the keys that `linkProperties` gives.
   */
  providers: z.array(
    z.looseObject({
      name: z.string(),
      canSignUp: z.boolean().optional(),
      canSignIn: z.boolean().optional(),
      canUnlink: z.boolean().optional(),
      provider: z.looseObject({ category: z.string(), type: z.string(), displayName: z.string() }).nullable(),
    }),
  ),
  termsOfUse: z.string(),
  organizationObj: z.looseObject({ name: z.string(), passwordOptions: z.array(z.string()) }),
})
z.globalRegistry.add(application, { id: 'Application' })
export type Application = z.infer<typeof application>

/** Why calls of guests have no audit entry by themselves, and make nothing old. */
const BY_IDENTITY = { because: 'The identity domain notes it: it alone knows whose account it is.' }
const NOTHING_READ = { because: 'Nobody is signed in yet, so nothing was read.' }

export const getApplication = defineCall({
  operation: 'account.get-application',
  method: 'GET',
  path: '/api/account/get-application',
  summary: 'The application: how one may sign in and sign up. Data is null for an unknown one.',
  audience: 'guest',
  timeout: 'fast',
  retry: true,
  envelope: 'casdoor',
  query: z.object({ id: z.string(by('required')).max(200, by('too_long')) }),
  data: application.nullable(),
})

/**
 * What the sign-in form sends: by password, by the one-time link that the gateway printed, or by what another
 * service gave. As in Casdoor, a username that is not empty means a password, and a provider the other service.
 */
const loginBody = z.object({
  application: name,
  organization: name,
  type: z.literal('token', by('not_allowed')),
  signinMethod: z.enum(['Password', 'Link'], by('not_allowed')).default('Password'),
  autoSignin: z.boolean(by('wrong_type')).default(true),
  language: language.optional(),
  username: z.string(by('required')).max(300, by('too_long')).default(''),
  /** The password, or the link's secret where the method is `Link`. */
  password: z.string(by('required')).max(PASSWORD_CHARS_MAX, by('too_long')).default(''),
  /** The answer to a captcha: its kind, what was read or answered, and the captcha's id. */
  captchaType: z.string(by('wrong_type')).max(40, by('too_long')).optional(),
  captchaToken: z.string(by('wrong_type')).max(4_000, by('too_long')).optional(),
  clientSecret: z.string(by('wrong_type')).max(200, by('too_long')).optional(),
  /** What the other service sent the browser back with, and what beginning gave this browser. */
  provider: z.string(by('wrong_type')).max(100, by('too_long')).optional(),
  code: z.string(by('wrong_type')).max(4_000, by('too_long')).optional(),
  state: z.string(by('wrong_type')).max(500, by('too_long')).optional(),
  redirectUri: z.string(by('wrong_type')).max(500, by('too_long')).optional(),
  method: z.enum(['signup', 'signin'], by('not_allowed')).optional(),
  browserKey: z.string(by('wrong_type')).max(200, by('too_long')).optional(),
  /** Who the other service says that it is, where it adds this to the address (RFC 9207). */
  iss: z.string(by('wrong_type')).max(500, by('too_long')).optional(),
  /** The mark that this browser keeps of itself: by it nobody refers themselves. */
  device: z.string(by('wrong_type')).regex(DEVICE_MARK_PATTERN, by('not_allowed')).optional(),
  /** Who sent the customer, where a first sign-in through another service makes the account. */
  referralCode: z.string(by('wrong_type')).max(REFERRAL_CODE_CHARS_MAX, by('too_long')).optional(),
  /** Of the wallet that is opened, for good (R9.3). */
  currency: currency.default('USD'),
})
z.globalRegistry.add(loginBody, { id: 'LoginBody' })
const accessToken = z.string().describe('The access token, a JWT: send it as a Bearer token.')

export const login = defineCall({
  operation: 'account.login',
  method: 'POST',
  path: '/api/account/login',
  summary: 'Signs in; data is the access token.',
  audience: 'guest',
  timeout: 'normal',
  envelope: 'casdoor',
  rateClass: 'login',
  aboutSession: true,
  audit: BY_IDENTITY,
  stales: NOTHING_READ,
  bodyBytesMax: LONG_TEXT_BODY_BYTES_MAX,
  body: loginBody,
  data: accessToken,
})

export const loginBy = defineCall({
  operation: 'account.login-by',
  method: 'POST',
  path: '/api/account/login/{method}',
  summary: 'Signs in by a named method: `password`, `link` or `provider`.',
  audience: 'guest',
  timeout: 'normal',
  envelope: 'casdoor',
  rateClass: 'login',
  aboutSession: true,
  audit: BY_IDENTITY,
  stales: NOTHING_READ,
  params: z.object({ method: z.enum(['password', 'link', 'provider'], by('not_allowed')) }),
  bodyBytesMax: LONG_TEXT_BODY_BYTES_MAX,
  body: loginBody.omit({ signinMethod: true }),
  data: accessToken,
})

/** What the sign-up form sends; the form adds the password's confirmation, which never leaves it. */
export const signupBody = z.object({
  application: name,
  organization: name,
  username: email,
  password: newPassword,
  /** The display name that the form calls username (R5.1). */
  name: username,
  email,
  agreement: z.literal(true, by('terms')),
  language: language.optional(),
  referralCode: z.string(by('wrong_type')).max(REFERRAL_CODE_CHARS_MAX, by('too_long')).optional(),
  /** Of the wallet that is opened, for good (R9.3). */
  currency: currency.default('USD'),
})
z.globalRegistry.add(signupBody, { id: 'SignupBody' })

export const signup = defineCall({
  operation: 'account.signup',
  method: 'POST',
  path: '/api/account/signup',
  summary:
    'Makes an account and mails a link. A taken address has the same answer, and its owner a mail; data is `organization/email`. Sign in next.',
  audience: 'guest',
  timeout: 'email',
  envelope: 'casdoor',
  rateClass: 'signup',
  audit: BY_IDENTITY,
  stales: NOTHING_READ,
  body: signupBody,
  data: z.string(),
})

export const logout = defineCall({
  operation: 'account.logout',
  method: 'POST',
  path: '/api/account/logout',
  summary: 'Ends the session of the token that is sent. Without one it changes nothing.',
  audience: 'guest',
  timeout: 'fast',
  envelope: 'casdoor',
  aboutSession: true,
  audit: { target: [] },
  stales: { because: 'The console forgets all that it read when a session ends.' },
  data: z.string().nullable(),
})

export const getAccount = defineCall({
  operation: 'account.get-account',
  method: 'GET',
  path: '/api/account/get-account',
  summary: 'Who the token belongs to.',
  audience: 'user',
  timeout: 'fast',
  retry: true,
  envelope: 'casdoor',
  outlivesNavigation: true,
  aboutSession: true,
  data: user,
})

/** Secrets of links are 43 characters; the bound only keeps nonsense short. */
const LINK_TOKEN_CHARS_MAX = 200

export const sendVerifyEmail = defineCall({
  operation: 'account.send-verify-email',
  method: 'POST',
  path: '/api/account/send-verify-email',
  summary: 'Sends the activation mail again. Answers the same whether or not the address is known.',
  audience: 'guest',
  timeout: 'email',
  envelope: 'casdoor',
  rateClass: 'mail',
  audit: { because: 'Anybody may ask for a mail; it changes no account.' },
  stales: ['mailbox.list'],
  body: z.object({
    email,
    application: name,
    organization: name,
    method: z.literal('signup', by('not_allowed')),
  }),
  data: z.null(),
})

export const verifyEmail = defineCall({
  operation: 'account.verify-email',
  method: 'GET',
  path: '/api/account/verify-email',
  summary: 'Verifies the address that the token was mailed to. A token works once.',
  audience: 'guest',
  timeout: 'email',
  envelope: 'casdoor',
  rateClass: 'mail',
  readOnly: false,
  audit: BY_IDENTITY,
  // Its entry is the identity domain's, and is there all the same.
  stales: ['account.get-account', 'account.audit-log'],
  query: z.object({
    application: name,
    token: z.string(by('required')).min(1, by('required')).max(LINK_TOKEN_CHARS_MAX, by('too_long')),
  }),
  data: z.object({ email: z.string() }),
})

export const sendResetPasswordEmail = defineCall({
  operation: 'account.send-reset-password-email',
  method: 'POST',
  path: '/api/account/send-reset-password-email',
  summary: 'Sends a link to choose a new password. Answers the same whether or not the address is known.',
  audience: 'guest',
  timeout: 'email',
  envelope: 'casdoor',
  rateClass: 'mail',
  audit: { because: 'Anybody may ask for a mail; it changes no account.' },
  stales: ['mailbox.list'],
  body: z.object({ email, application: name, organization: name }),
  data: z.null(),
})

export const resetPassword = defineCall({
  operation: 'account.reset-password',
  method: 'POST',
  path: '/api/account/reset-password',
  summary: 'Sets a new password by the token of a mailed link, which works once, and ends every session.',
  audience: 'guest',
  timeout: 'normal',
  envelope: 'casdoor',
  rateClass: 'login',
  audit: BY_IDENTITY,
  stales: ['account.sessions'],
  body: z.object({
    /** Left out is an error of its own, for a link that was cut off. */
    token: z.string(by('required')).max(LINK_TOKEN_CHARS_MAX, by('too_long')).default(''),
    /** Held to the rules of a new password, whose breach has a code of its own here: `password_too_weak`. */
    password: typedPassword,
    application: name,
    organization: name,
  }),
  data: z.null(),
})

/** The one column that a customer changes by themselves; whether an address is verified is not theirs to say. */
const OWN_COLUMNS = 'display_name'

export const updateUser = defineCall({
  operation: 'account.update-user',
  method: 'POST',
  path: '/api/account/update-user',
  summary: 'Changes the display name of the customer whose own id it names; data says whether it changed.',
  audience: 'user',
  timeout: 'normal',
  form: true,
  envelope: 'casdoor',
  audit: { target: [] },
  stales: ['account.get-account'],
  query: z.object({
    id: z.string(by('required')).max(300, by('too_long')).describe('`organization/email`.'),
    columns: z.literal(OWN_COLUMNS, by('not_allowed')),
  }),
  body: z.object({ displayName: username }),
  data: z.enum(['Affected', 'Unaffected']),
})

/** A session that is neither over nor ended. */
export const openSession = z.object({
  id: z.string(),
  /** What the browser said of itself; empty where it said nothing. */
  userAgent: z.string(),
  /** The network address that it was opened from. */
  address: z.string(),
  createdTime: timestamp,
  /** To the minute or so. */
  lastSeenTime: timestamp,
  expiresTime: timestamp,
  /** The session that asks. */
  current: z.boolean(),
})
z.globalRegistry.add(openSession, { id: 'Session' })
export type OpenSession = z.infer<typeof openSession>

export const listSessions = defineCall({
  operation: 'account.sessions',
  method: 'GET',
  path: '/api/account/sessions',
  summary: 'The sessions of the account that are open, the one used last first.',
  audience: 'user',
  timeout: 'fast',
  retry: true,
  envelope: 'casdoor',
  data: z.array(openSession),
})

export const endSession = defineCall({
  operation: 'account.end-session',
  method: 'DELETE',
  path: '/api/account/sessions/{id}',
  summary: 'Ends one session of the account; its token is worthless from then on.',
  audience: 'user',
  timeout: 'fast',
  envelope: 'casdoor',
  audit: { target: ['params.id'] },
  stales: ['account.sessions'],
  params: z.object({ id: z.uuid(by('not_allowed')) }),
  data: z.null(),
})

export const endOtherSessions = defineCall({
  operation: 'account.end-other-sessions',
  method: 'POST',
  path: '/api/account/sessions/end-others',
  summary: 'Ends every session of the account but the one that asks; data says how many.',
  audience: 'user',
  timeout: 'fast',
  envelope: 'casdoor',
  audit: { target: [] },
  stales: ['account.sessions'],
  data: z.object({ ended: z.number().int() }),
})

/** A mail of the local mailbox, which stands in for SMTP on one machine. */
export const mail = z.object({
  id: z.string(),
  to: z.string(),
  subject: z.string(),
  text: z.string(),
  sent_at: timestamp,
})
z.globalRegistry.add(mail, { id: 'Mail' })
export type Mail = z.infer<typeof mail>

export const listMailbox = defineCall({
  operation: 'mailbox.list',
  method: 'GET',
  path: '/api/mailbox',
  summary: 'Mails that were kept here because no SMTP server is set. Only answers on loopback.',
  audience: 'guest',
  timeout: 'fast',
  retry: true,
  data: z.object({ items: z.array(mail) }),
})

/** What differs by deployment host and machine and what every page may know before sign-in (R1.10). */
const settings = z.object({
  brand: z.object({
    name: z.string(),
    docs_url: z.string(),
    /** Where the terms are read that one agrees to at sign-up. */
    terms_url: z.string(),
    /** Where images of the community are kept; null where that is nowhere yet. */
    image_storage_url: z.string().nullable(),
    /** A square mark, as addresses; null for the console's own. */
    logo: z.object({ light: z.string(), dark: z.string() }).nullable(),
    /** The script that pages load, with its data attributes; null on every host but the production one. */
    analytics: z.object({ script_url: z.string(), attributes: z.record(z.string(), z.string()) }).nullable(),
  }),
  /** True when mails are kept in the local mailbox, which `/mailbox` shows. */
  mailbox: z.boolean(),
  /** Which machine driver runs; null where none does. */
  compute: z.object({ driver: z.string().nullable() }),
  /** Whether TCP and UDP ports of instances are reached from outside at the address that all of them share. */
  direct_ports: z.boolean(),
  version: z.string(),
})
z.globalRegistry.add(settings, { id: 'Settings' })

export const getSettings = defineCall({
  operation: 'settings.get',
  method: 'GET',
  path: '/api/settings',
  summary: 'Brand, links and what this installation has.',
  audience: 'guest',
  timeout: 'fast',
  retry: true,
  outlivesNavigation: true,
  data: settings,
})

/** What one agrees to. */
const terms = z.object({
  /** Where they are read: the page of the console, or a place of the brand's own. */
  url: z.string(),
  /** Safe to show as it is; null where the brand keeps them elsewhere. */
  html: z.string().nullable(),
})
z.globalRegistry.add(terms, { id: 'Terms' })

export const getTerms = defineCall({
  operation: 'settings.terms',
  method: 'GET',
  path: '/api/settings/terms',
  summary: 'The terms that one agrees to at sign-up, in the language of the request.',
  audience: 'guest',
  timeout: 'fast',
  retry: true,
  data: terms,
})

export const accountCalls = [
  getApplication,
  login,
  loginBy,
  signup,
  logout,
  getAccount,
  sendVerifyEmail,
  verifyEmail,
  sendResetPasswordEmail,
  resetPassword,
  updateUser,
  listSessions,
  endSession,
  endOtherSessions,
  listMailbox,
  getSettings,
  getTerms,
] as const
