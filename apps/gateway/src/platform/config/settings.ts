import * as z from 'zod'

/** One setting: how it is read, what stands when it is not given, and what an operator is told about it. */
interface Setting<Schema extends z.ZodType> {
  schema: Schema
  /** As it would be written; empty for none. */
  default: string
  /** Completes `NAME takes …`. */
  takes: string
  /** Sentences for `.env.example` and the operating guide. */
  about: string
  /** Its value is never shown. */
  secret: boolean
}

function setting<Schema extends z.ZodType<unknown, string>>(
  schema: Schema,
  rest: Omit<Setting<Schema>, 'schema' | 'secret'> & { secret?: boolean },
): Setting<Schema> {
  return { secret: false, ...rest, schema }
}

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number)
    .pipe(z.number().min(min).max(max))

/** Empty means null. */
const optional = <Schema extends z.ZodType<string, string>>(schema: Schema) =>
  z
    .literal('')
    .transform(() => null)
    .or(schema)

const url = (protocols: readonly string[], isRight: (parsed: URL) => boolean = () => true) =>
  z.string().refine(text => {
    const parsed = URL.parse(text)
    return parsed !== null && protocols.includes(parsed.protocol) && isRight(parsed)
  })

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/
/** Without a host where `?host=` names the folder of a Unix socket, which is no URL to the rest of the world. */
const DATABASE_ADDRESS = /^postgres(ql)?:\/\/[^\s/]*\/[^\s]+$/
const NETWORK = /^[0-9a-f.:]+(\/\d{1,3})?$/i

/** Every setting of the gateway, in the order of the operating guide. All are read from the environment. */
export const SETTINGS = {
  BERTH_HOST: setting(z.string().regex(/^[A-Za-z0-9._:-]+$/), {
    default: '127.0.0.1',
    takes: 'the address of a network interface, such as 127.0.0.1 or 0.0.0.0',
    about: 'Interface to listen on. The default is reached from this computer only.',
  }),
  BERTH_PORT: setting(wholeNumber(0, 65_535), {
    default: '8080',
    takes: 'a port, 1 to 65535, or 0 for any that is free',
    about: 'Port to listen on: console, calls, terminals and HTTP services of instances all come by it.',
  }),
  BERTH_PUBLIC_URL: setting(
    optional(url(['http:', 'https:'], ({ pathname, search }) => pathname === '/' && search === '')).transform(
      text => (text === null ? null : new URL(text).origin),
    ),
    {
      default: '',
      takes: 'the address that customers use, without a path, such as https://gpu.example.com',
      about:
        'The address that customers use, for links in mails and as the only host name besides loopback and the hosts of ' +
        'brands that the console answers to. Empty: the address that the gateway listens on.',
    },
  ),
  BERTH_SERVICE_HOST: setting(z.string().regex(HOST_NAME), {
    default: 'localhost',
    takes: 'a host name in lower case, such as apps.example.com',
    about:
      'Domain below which each HTTP service of an instance has a host name of its own. Its wildcard DNS record must ' +
      'lead here. Browsers take every name below `localhost` for this computer, so the default needs none.',
  }),
  BERTH_TRUSTED_PROXIES: setting(
    z
      .string()
      .transform(text => text.split(',').flatMap(part => part.trim() || []))
      .pipe(z.array(z.string().regex(NETWORK))),
    {
      default: '',
      takes: 'addresses or networks with commas between, such as 10.0.0.0/8,127.0.0.1',
      about: 'Proxies whose X-Forwarded-For, -Proto and -Host headers are believed. Empty: nobody’s are.',
    },
  ),
  BERTH_DATA_DIR: setting(z.string().min(1), {
    default: './data',
    takes: 'a folder',
    about:
      'Folder for secrets, the embedded PostgreSQL and machines of the sandbox. Relative to the project. One gateway ' +
      'at a time uses it. Back it up as a whole, with the gateway stopped.',
  }),
  DATABASE_URL: setting(optional(z.string().regex(DATABASE_ADDRESS)), {
    default: '',
    takes: 'an address such as postgresql://user:password@host:5432/berth',
    about: 'PostgreSQL 15 or newer. Empty: one of our own runs in the data folder.',
    secret: true,
  }),
  BERTH_CATALOGUE: setting(z.string().min(1), {
    default: 'config/catalogue.yaml',
    takes: 'a file',
    about: 'What this cloud offers: regions, GPU specs, prices, images, brands. Relative to the project.',
  }),
  BERTH_COMPUTE: setting(z.enum(['auto', 'docker', 'sandbox', 'none']), {
    default: 'auto',
    takes: 'auto, docker, sandbox or none',
    about:
      'What makes machines. `auto` takes Docker where its socket answers, else the sandbox where this computer allows ' +
      'one, else none, and says why.',
  }),
  SMTP_URL: setting(optional(url(['smtp:', 'smtps:'])), {
    default: '',
    takes: 'an address such as smtp://user:password@host:587',
    about:
      'Mail server. Empty: mails are kept in the database, and nobody gets them. Where the gateway listens on loopback ' +
      'and has no public address, /mailbox shows them on this computer.',
    secret: true,
  }),
  MAIL_FROM: setting(optional(z.string().regex(/^[^\r\n]*[^\s@<]+@[^\s@>]+>?$/)), {
    default: '',
    takes: 'a sender such as Berth <no-reply@example.com>',
    about: 'Sender of mails. Needed with SMTP_URL.',
  }),
  BERTH_DEMO: setting(z.enum(['auto', 'off']), {
    default: 'auto',
    takes: 'auto or off',
    about:
      'Whether the first start makes a demo customer with credit and prints a one-time link to sign in by. `auto` ' +
      'does so only where the gateway listens on loopback and has no public address.',
  }),
  BERTH_LOG_LEVEL: setting(z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']), {
    default: 'info',
    takes: 'fatal, error, warn, info, debug, trace or silent',
    about: 'How much is logged. Calls that only read are logged at `debug`.',
  }),
  BERTH_METERING_MS: setting(wholeNumber(100, 3_600_000), {
    default: '60000',
    takes: 'milliseconds, 100 to 3600000',
    about: 'Pause between two rounds that post usage. What is charged does not depend on it.',
  }),
  BERTH_RATE_LIMIT_PER_MINUTE: setting(wholeNumber(0, 100_000_000), {
    default: '6000',
    takes: 'a whole number, or 0 for no limit',
    about:
      'Calls that one network address may make in a minute. Signing in and up have stricter limits of their own.',
  }),
} as const

export type SettingName = keyof typeof SETTINGS
