import * as z from 'zod'

/** As it completes "`[0].issuer` takes …": each message says what the field takes, and never what it got. */
const takes = (what: string) => ({ error: `takes ${what}` })

const PROVIDERS_MAX = 20
const TEXT_CHARS_MAX = 500
const LABEL_CHARS_MAX = 40

const text = z.string(takes('a text')).trim().min(1, takes('a text')).max(TEXT_CHARS_MAX, takes('a text'))

/** Secrets and codes travel over it, so that plain HTTP is only for a service on this computer. */
const address = z
  .string(takes('an https address'))
  .refine(isSafeAddress, takes('an https address without a query; plain http only on this computer'))

/** A place that paths are put behind. An issuer is no such place: with a slash at its end it is another name. */
const base = address.transform(value => value.replace(/\/+$/, ''))

/** The name stands in addresses and in the database: it is lasting, and never Casdoor's word for a kind. */
const name = z
  .string(takes('a name of lower-case letters, digits, - and _'))
  .regex(/^[a-z0-9][a-z0-9_-]{0,39}$/, takes('a name of lower-case letters, digits, - and _'))

/** It stands on a button and in mails. */
const label = z
  .string(takes('a text'))
  .trim()
  .min(1, takes('a text'))
  .max(LABEL_CHARS_MAX, takes(`at most ${LABEL_CHARS_MAX} characters`))

const client = { name, client_id: text, client_secret: text }

const oidcProvider = z.strictObject({
  ...client,
  type: z.literal('oidc'),
  /** What the button says; the name where it is left out. */
  display_name: label.optional(),
  issuer: address,
  scopes: text
    .refine(
      value => value.split(/\s+/).includes('openid'),
      takes('scopes with spaces between, openid among them'),
    )
    .default('openid email profile'),
})

const githubProvider = z.strictObject({
  ...client,
  type: z.literal('github'),
  display_name: label.default('GitHub'),
  /** Another address is that of a GitHub Enterprise Server. */
  base_url: base.default('https://github.com'),
  /** Left out: the usual place for the base address. */
  api_url: base.optional(),
})

const list = z
  .array(
    z.discriminatedUnion('type', [oidcProvider, githubProvider], takes('a type, which is oidc or github')),
    takes('a JSON list'),
  )
  .max(PROVIDERS_MAX, takes(`at most ${PROVIDERS_MAX} entries`))
  .superRefine((providers, context) => {
    providers.forEach((provider, index) => {
      if (providers.findIndex(other => other.name === provider.name) === index) return
      context.addIssue({
        code: 'custom',
        path: [index, 'name'],
        message: 'takes a name that no other entry has',
      })
    })
  })

/** The services that customers may sign in through, as a JSON list in one setting; empty for none. */
export const signInProviders = z
  .string()
  .transform((value, context) => {
    try {
      return value === '' ? [] : (JSON.parse(value) as unknown)
    } catch {
      // The parser's own message quotes what it read, which holds secrets.
      context.addIssue({ code: 'custom', message: 'is not valid JSON' })
      return z.NEVER
    }
  })
  .pipe(list)

export type SignInProviderSetting = z.output<typeof list>[number]

function isSafeAddress(value: string): boolean {
  const parsed = URL.parse(value)
  // What else an address can hold does not belong here: a password, a query, a fragment.
  if (!parsed || parsed.href !== parsed.origin + parsed.pathname) return false
  const isHere = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(parsed.hostname)
  return parsed.protocol === 'https:' || (parsed.protocol === 'http:' && isHere)
}
