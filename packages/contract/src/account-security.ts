import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, email, page, pageOf, timestamp, typedPassword } from './fields.ts'
import { PASSWORD_CHARS_MAX, SIGN_IN_CODE_DIGITS } from './limits.ts'

/** The digits, and what people put between them. */
const SIGN_IN_CODE_CHARS_MAX = 2 * SIGN_IN_CODE_DIGITS

export const setPassword = defineCall({
  operation: 'account.set-password',
  method: 'POST',
  path: '/api/account/set-password',
  summary:
    'Sets a new password for the account that asks, and ends its other sessions. The first one is set by a mailed link.',
  audience: 'user',
  timeout: 'normal',
  form: true,
  envelope: 'casdoor',
  rateClass: 'login',
  proof: 'own',
  audit: { target: [] },
  stales: ['account.get-account', 'account.sessions'],
  body: z.object({
    userOwner: z.string(by('required')).min(1, by('required')).max(100, by('too_long')),
    /** The login name, which is the caller's own. */
    userName: z.string(by('required')).min(1, by('required')).max(300, by('too_long')),
    oldPassword: z.string(by('wrong_type')).max(PASSWORD_CHARS_MAX, by('too_long')).default(''),
    /** Held to the rules of a new password, whose breach has a code of its own here: `password_too_weak`. */
    newPassword: typedPassword,
  }),
  data: z.null(),
})

/** What confirms a sign-in: one of the two. */
export const confirmSignInBody = z.object({
  password: z.string(by('wrong_type')).max(PASSWORD_CHARS_MAX, by('too_long')).default(''),
  /** Of the newest mail that `account.send-sign-in-code` sent for this session; spaces in it do not count. */
  code: z.string(by('wrong_type')).max(SIGN_IN_CODE_CHARS_MAX, by('too_long')).default(''),
})
z.globalRegistry.add(confirmSignInBody, { id: 'ConfirmSignInBody' })

export const confirmSignIn = defineCall({
  operation: 'account.confirm-sign-in',
  method: 'POST',
  path: '/api/account/confirm-sign-in',
  summary: 'Confirms who has the session, by password or mailed code, for calls that want a recent sign-in.',
  audience: 'user',
  timeout: 'normal',
  envelope: 'casdoor',
  rateClass: 'login',
  proof: 'own',
  audit: { target: [] },
  stales: ['account.audit-log'],
  body: confirmSignInBody,
  data: z.null(),
})

export const sendSignInCode = defineCall({
  operation: 'account.send-sign-in-code',
  method: 'POST',
  path: '/api/account/send-sign-in-code',
  summary: 'Mails a code to the address of the account, by which this session confirms who has it.',
  audience: 'user',
  timeout: 'email',
  envelope: 'casdoor',
  rateClass: 'mail',
  // Who asks for a code that they cannot read may be a thief: the owner is to see that.
  audit: { target: [] },
  stales: ['account.audit-log', 'mailbox.list'],
  data: z.null(),
})

export const deleteAccount = defineCall({
  operation: 'account.delete-account',
  method: 'POST',
  path: '/api/account/delete-account',
  summary: 'Deletes the account that asks, for good, once it has no instances.',
  audience: 'user',
  timeout: 'normal',
  envelope: 'casdoor',
  rateClass: 'login',
  proof: 'own',
  audit: { target: [] },
  stales: { because: 'The console forgets all that it read when an account ends.' },
  body: z.object({
    /** The account's address, typed by the customer. */
    email,
    /** Looked at where the account has a password; where it has none, a recent sign-in is wanted. */
    password: z.string(by('wrong_type')).max(PASSWORD_CHARS_MAX, by('too_long')).default(''),
  }),
  data: z.null(),
})

/** What somebody did with an account (B12). */
export const auditEntry = z.object({
  id: z.string(),
  createdTime: timestamp,
  /** Name of what was done: a call's operation, or one of the few that no call names, such as `account.login-failed`. */
  action: z.string(),
  /** What it was done to, such as an instance's id; empty where it is the account itself. */
  target: z.string(),
  /** Empty when it was done; else the code of the error that refused it. */
  refused: z.string(),
  /** `customer`, or `operator` and `system` for what was not done by the customer. */
  actor: z.enum(['customer', 'operator', 'system']),
  address: z.string(),
  userAgent: z.string(),
})
z.globalRegistry.add(auditEntry, { id: 'AuditEntry' })
export type AuditEntry = z.infer<typeof auditEntry>

export const listAuditLog = defineCall({
  operation: 'account.audit-log',
  method: 'GET',
  path: '/api/account/audit-log',
  summary: 'What was done with the account, by whom and from where, newest first.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  envelope: 'casdoor',
  query: z.object({
    ...page,
    /** Only entries whose action begins with this, such as `instance.`. */
    action: z.string(by('wrong_type')).max(60, by('too_long')).default(''),
  }),
  data: pageOf(auditEntry),
})

export const accountSecurityCalls = [
  setPassword,
  confirmSignIn,
  sendSignInCode,
  deleteAccount,
  listAuditLog,
] as const
