import { CUSTOM_PROVIDER } from '@berth/contract/account-sign-in'
import * as z from 'zod'
import type { SourceProfile } from '../port.ts'

const CUSTOM_KEY = new RegExp(`^oauth_${CUSTOM_PROVIDER}_`)

/** Versions leave out different keys, and Go writes null for a list or map that is empty. */
const text = z
  .string()
  .nullish()
  .transform(value => value ?? '')
const flag = z
  .boolean()
  .nullish()
  .transform(value => value ?? false)

/** A user as Casdoor gives it to the application, as far as the gateway reads it; the rest is kept for writing it back. */
export const casdoorUser = z.looseObject({
  owner: z.string().min(1),
  name: z.string().min(1),
  id: z.string().min(1),
  email: text,
  emailVerified: flag,
  displayName: text,
  avatar: text,
  type: text,
  createdTime: text,
  /** `***` where there is one. */
  password: text,
  needUpdatePassword: flag,
  isForbidden: flag,
  isDeleted: flag,
  properties: z.record(z.string(), z.unknown()).nullish(),
})
export type CasdoorUser = z.infer<typeof casdoorUser>

/**
 * A user as the gateway sees it.
 * @param customProvider Name of the service of the type `Custom`; null for none.
 */
export function profileOf(user: CasdoorUser, customProvider: string | null): SourceProfile {
  return {
    id: user.id,
    owner: user.owner,
    name: user.name,
    email: user.email.trim().toLowerCase(),
    emailVerified: user.emailVerified,
    displayName: user.displayName,
    avatar: user.avatar,
    type: user.type === '' ? 'normal-user' : user.type,
    createdTime: user.createdTime,
    mustChangePassword: user.needUpdatePassword,
    hasPassword: user.password !== '',
    blocked: user.isForbidden || user.isDeleted,
    properties: publicProperties(user.properties ?? {}, customProvider),
  }
}

/** Tokens of other services stand among what names a person there. */
function publicProperties(
  properties: Record<string, unknown>,
  customProvider: string | null,
): Record<string, string> {
  const entries = Object.entries(properties).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && !/token|secret/i.test(entry[0]),
  )
  // Casdoor files a service of the type Custom under its type, the contract under its name.
  const custom = `oauth_${customProvider ?? CUSTOM_PROVIDER}_`
  return Object.fromEntries(entries.map(([key, value]) => [key.replace(CUSTOM_KEY, custom), value]))
}
