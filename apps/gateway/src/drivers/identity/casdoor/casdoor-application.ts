import type { Application } from '@berth/contract/account'
import * as z from 'zod'
import { canVisit } from './casdoor-provider-urls.ts'

/** Go writes null for a list that is empty. */
const list = <Item extends z.ZodType>(item: Item) =>
  z
    .array(item)
    .nullish()
    .transform(items => items ?? [])
const text = z
  .string()
  .nullish()
  .transform(value => value ?? '')

const provider = z
  .looseObject({
    category: text,
    type: text,
    displayName: text,
    clientId: text,
    scopes: text,
    customAuthUrl: text,
    enablePkce: z.boolean().nullish(),
  })
  .nullish()
  .transform(value => value ?? null)

/** An application as anybody may see it: the contract's keys checked, all others as they are. */
export const casdoorApplication = z.looseObject({
  owner: z.string(),
  name: z.string(),
  displayName: text,
  organization: z.string(),
  enableSignUp: z.boolean(),
  signinMethods: list(z.looseObject({ name: z.string(), displayName: text, rule: text })),
  signupItems: list(
    z.looseObject({ name: z.string(), visible: z.boolean(), required: z.boolean(), rule: text }),
  ),
  providers: list(z.looseObject({ name: z.string(), provider })),
  grantTypes: list(z.string()),
  clientSecret: text,
  termsOfUse: text,
  organizationObj: z.looseObject({
    name: z.string(),
    passwordOptions: list(z.string()),
    passwordObfuscatorType: text,
    passwordObfuscatorKey: text,
  }),
})
export type CasdoorApplication = z.infer<typeof casdoorApplication>

/** Casdoor masks what anonymous callers get; this also holds for a version that forgets one. */
const SECRET_KEY = /secret|salt|privatekey|masterpassword|defaultpassword|masterverificationcode|^cert$/i
const MASK = '***'

/**
 * The application for a sign-in page.
 * @returns The contract's shape and every other key of Casdoor's, secrets masked.
 */
export function describeApplication(application: CasdoorApplication): Application {
  const masked = maskSecrets(application) as CasdoorApplication
  // Pages send passwords as they are; the gateway wraps them where the organization wants that.
  const { organizationObj } = masked
  return {
    ...masked,
    // A button that leads nowhere is worse than none.
    providers: masked.providers.filter(item => item.provider?.category !== 'OAuth' || canVisit(item)),
    organizationObj: { ...organizationObj, passwordObfuscatorType: '', passwordObfuscatorKey: '' },
  }
}

/**
 * What keeps customers from signing up or in, in words for the operator.
 * @param application As the application itself sees it, with its grant types.
 * @param organization Of the settings.
 */
export function findApplicationProblems(application: CasdoorApplication, organization: string): string[] {
  const email = application.signupItems.find(({ name }) => name === 'Email')
  const problems = [
    [
      application.organization !== organization,
      `its organization is ${application.organization}, not CASDOOR_ORGANIZATION (${organization})`,
    ],
    [!application.grantTypes.includes('token'), 'it lacks the grant type Token, so nobody can sign in'],
    [
      !application.signinMethods.some(({ name }) => name === 'Password'),
      'it lacks the sign-in method Password',
    ],
    [
      application.enableSignUp && email?.visible !== true,
      'its sign-up item Email is not visible, so that accounts would have no address',
    ],
    [
      application.enableSignUp && email?.visible === true && email.rule !== 'No verification',
      'its sign-up item Email must have the rule “No verification”: the gateway mails a link of its own',
    ],
  ] as const
  return problems.flatMap(([is, words]) => (is ? [words] : []))
}

function maskSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(maskSecrets)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      SECRET_KEY.test(key) && typeof inner === 'string' && inner !== '' ? MASK : maskSecrets(inner),
    ]),
  )
}
