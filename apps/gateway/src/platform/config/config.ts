import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type * as z from 'zod'
import { isAnyAddress, isLoopback } from '../http/hosts.ts'
import { type BucketSetting, readBucketPlace } from './bucket-place.ts'
import { SETTINGS, type SettingName } from './settings.ts'
import type { SignInProviderSetting } from './sign-in-providers.ts'

/** What the operator chose, checked and frozen; parts are handed on to what needs them. */
export interface Config {
  readonly host: string
  readonly port: number
  readonly publicUrl: string | null
  readonly managementHost: string
  readonly managementPort: number
  /** Pause between not being ready any more and taking no more requests. */
  readonly drainMs: number
  readonly graceMs: number
  readonly internalHost: string
  readonly internalPort: number
  /** `host:port` that other gateways reach this one by; null: found out. */
  readonly internalAddress: string | null
  readonly serviceHost: string
  readonly direct: {
    readonly host: string | null
    /** How customers name it; null: as it is. */
    readonly name: string | null
    readonly ports: { readonly first: number; readonly last: number } | null
  }
  /** Interface of the SSH server. */
  readonly sshHost: string
  /** Null where no SSH is offered. */
  readonly sshPort: number | null
  /** `host:port` that customers reach it by; null: the console's host and that port. */
  readonly sshAddress: string | null
  /** Null where no S3 is offered. */
  readonly s3Port: number | null
  /** Where customers reach it; null: the console's host and that port. */
  readonly s3Url: string | null
  readonly trustedProxies: readonly string[]
  readonly dataDir: string
  /** Where the sandbox keeps its machines. */
  readonly sandboxDir: string
  /** Where images of machines are kept. */
  readonly imageStore: ImageStoreChoice
  readonly databaseUrl: string | null
  readonly masterKey: string | null
  /** What the data folder's key is sealed under in backups. */
  readonly backupPassphrase: string | null
  readonly formerMasterKeys: readonly string[]
  readonly credentialsKey: string | null
  readonly formerCredentialsKeys: readonly string[]
  readonly privateRegistries: readonly string[]
  readonly gitAuthority: string | null
  readonly catalogueFile: string
  /** Whether servers of models on this computer are looked for. */
  readonly findModels: boolean
  /** The model that runs beside the gateway; null: none. */
  readonly localModel: {
    readonly place: string
    readonly isAddress: boolean
    readonly sha256: string | null
  } | null
  /** Folder of the engine of that; null: in the data folder. */
  readonly localModelEngine: string | null
  readonly compute: 'auto' | 'docker' | 'sandbox' | 'none'
  readonly machineNetworks: readonly string[]
  readonly unfilteredMachines: 'auto' | 'machines-may-reach-private-networks'
  readonly smtp: { readonly url: string; readonly from: string } | null
  /** Whom alarms are mailed to; null: nobody. */
  readonly operatorMail: string | null
  /** The Casdoor server that keeps the accounts; null where the gateway does. */
  readonly casdoor: {
    readonly url: string
    readonly clientId: string
    readonly clientSecret: string
    readonly organization: string
    readonly application: string
  } | null
  readonly signInProviders: readonly SignInProviderSetting[]
  readonly captcha: CaptchaChoice
  readonly demo: 'auto' | 'off'
  readonly sessionIdleDays: number
  /** Gigabytes of one file that is uploaded to an instance. */
  readonly uploadGbMax: number
  readonly testCards: 'auto' | 'off' | 'no-money-here-is-real'
  /** Null where customers do not pay by Stripe. */
  readonly stripe: {
    readonly secretKey: string
    /** Null: nothing of Stripe's is loaded into the console. */
    readonly publishableKey: string | null
    readonly webhookSecret: string
    /** Whether the keys move real money. */
    readonly live: boolean
    /** Null: Stripe's own API. */
    readonly apiUrl: string | null
  } | null
  /** Null where an operator pays by hand what customers earn by referring. */
  readonly paypal: { readonly clientId: string; readonly secret: string; readonly apiUrl: string } | null
  /** Where traces are sent; null: nowhere. */
  readonly traces: {
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    /** Of all traces, from 0 to 1. */
    readonly share: number
  } | null
  readonly logLevel: string
  readonly meteringMs: number
  readonly rateLimitPerMinute: number
  readonly instancesPerCustomer: number
  /** Things to tell the operator that are no mistakes for certain. */
  readonly warnings: readonly string[]
}

/** A folder, or one repository of a registry; in either, so many bytes at most. */
export type ImageStoreChoice = { readonly bytesMax: number } & (
  | { readonly kind: 'folder'; readonly folder: string }
  | {
      readonly kind: 'registry'
      readonly origin: string
      readonly repository: string
      readonly login: { readonly username: string; readonly password: string } | null
    }
  | ({ readonly kind: 'bucket' } & BucketSetting)
)

/** What shows that a person signs in; the services with the keys that the operator got from them. */
export type CaptchaChoice =
  | { readonly kind: 'default' | 'none' }
  | { readonly kind: 'turnstile' | 'hcaptcha'; readonly siteKey: string; readonly secret: string }

/** Settings that cannot be used, one line for each. */
export class ConfigError extends Error {
  constructor(lines: readonly string[]) {
    super(lines.join('\n'))
    this.name = 'ConfigError'
  }
}

/** Nobody has it: without a mail server what is sent there is kept for this computer's mailbox. */
const KEPT_OPERATOR_MAIL = 'operator@localhost'
/** Ends the name of a setting whose value is in a file. */
const IN_FILE = '_FILE'
/** Longer than any value: a setting that names the wrong file does not fill the memory or an error. */
const FILE_CHARS_MAX = 100_000
/** Folder of the project, from which relative paths count. */
const PROJECT_DIR = resolve(import.meta.dirname, '../../../../..')

/**
 * Reads all settings.
 * @param environment Names and values; an empty value is one that was not given.
 * @throws ConfigError that names each wrong setting, what it takes and what it got.
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const values = parseAll(environment)
  const mistakes = crossCheck(values)
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  const smtpUrl = values.SMTP_URL
  return deepFreeze({
    host: values.BERTH_HOST,
    port: values.BERTH_PORT,
    publicUrl: values.BERTH_PUBLIC_URL,
    managementHost: values.BERTH_MANAGEMENT_HOST,
    managementPort: values.BERTH_MANAGEMENT_PORT,
    drainMs: values.BERTH_DRAIN_MS,
    graceMs: values.BERTH_GRACE_MS,
    internalHost: values.BERTH_INTERNAL_HOST,
    internalPort: values.BERTH_INTERNAL_PORT,
    internalAddress: values.BERTH_INTERNAL_ADDRESS,
    serviceHost: values.BERTH_SERVICE_HOST,
    direct: {
      host: values.BERTH_DIRECT_HOST,
      name: values.BERTH_DIRECT_NAME,
      ports: values.BERTH_DIRECT_PORTS,
    },
    sshHost: values.BERTH_SSH_HOST ?? values.BERTH_HOST,
    sshPort: values.BERTH_SSH_PORT || null,
    sshAddress: values.BERTH_SSH_ADDRESS,
    s3Port: values.BERTH_S3_PORT || null,
    s3Url: values.BERTH_S3_URL,
    trustedProxies: values.BERTH_TRUSTED_PROXIES,
    dataDir: resolve(PROJECT_DIR, values.BERTH_DATA_DIR),
    sandboxDir: resolve(PROJECT_DIR, values.BERTH_SANDBOX_DIR ?? join(values.BERTH_DATA_DIR, 'machines')),
    imageStore: imageStoreOf(values),
    databaseUrl: values.DATABASE_URL,
    masterKey: values.BERTH_MASTER_KEY,
    backupPassphrase: values.BERTH_BACKUP_PASSPHRASE,
    formerMasterKeys: values.BERTH_MASTER_KEY_FORMER,
    credentialsKey: values.BERTH_CREDENTIALS_KEY,
    formerCredentialsKeys: values.BERTH_CREDENTIALS_KEY_FORMER,
    privateRegistries: values.BERTH_PRIVATE_REGISTRIES,
    gitAuthority: values.BERTH_GIT_AUTHORITY || null,
    catalogueFile: resolve(PROJECT_DIR, values.BERTH_CATALOGUE),
    findModels: values.BERTH_FIND_MODELS === 'on',
    localModel: values.BERTH_LOCAL_MODEL && {
      ...values.BERTH_LOCAL_MODEL,
      place: values.BERTH_LOCAL_MODEL.isAddress
        ? values.BERTH_LOCAL_MODEL.place
        : resolve(PROJECT_DIR, values.BERTH_LOCAL_MODEL.place),
    },
    localModelEngine:
      values.BERTH_LOCAL_MODEL_ENGINE && resolve(PROJECT_DIR, values.BERTH_LOCAL_MODEL_ENGINE),
    compute: values.BERTH_COMPUTE,
    machineNetworks: values.BERTH_MACHINE_NETWORKS,
    unfilteredMachines: values.BERTH_UNFILTERED_MACHINES,
    smtp: smtpUrl === null ? null : { url: smtpUrl, from: values.MAIL_FROM ?? '' },
    operatorMail: values.BERTH_OPERATOR_MAIL ?? (smtpUrl === null ? KEPT_OPERATOR_MAIL : null),
    casdoor: casdoorOf(values),
    signInProviders: values.BERTH_SIGN_IN_PROVIDERS,
    captcha: captchaChoice(values),
    demo: values.BERTH_DEMO,
    sessionIdleDays: values.BERTH_SESSION_IDLE_DAYS,
    uploadGbMax: values.BERTH_UPLOAD_GB_MAX,
    testCards: values.BERTH_TEST_CARDS,
    stripe: stripeOf(values),
    paypal: paypalOf(values),
    traces: tracesOf(values),
    logLevel: values.BERTH_LOG_LEVEL,
    meteringMs: values.BERTH_METERING_MS,
    rateLimitPerMinute: values.BERTH_RATE_LIMIT_PER_MINUTE,
    instancesPerCustomer: values.BERTH_INSTANCES_PER_CUSTOMER,
    warnings: findMisspelt(environment),
  })
}

/** Reads all settings from this process's environment: the one place that looks there. */
export function loadConfig(): Config {
  return readConfig(withFiles(process.env))
}

/**
 * Takes secrets from files, so that none is among the settings that a process shows of itself: `NAME_FILE` says where the
 * value of the setting `NAME` is. Lines and blanks around it do not count.
 * @returns The same settings with those values in place of the names of files.
 * @throws ConfigError for a file that cannot be read, and for a setting that is given both ways.
 */
export function withFiles(
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  const settings = { ...environment }
  const mistakes: string[] = []
  for (const [name, { secret }] of Object.entries(SETTINGS)) {
    const file = environment[name + IN_FILE]?.trim()
    if (!secret || !file) continue
    delete settings[name + IN_FILE]
    if (environment[name]?.trim())
      mistakes.push(`${name} and ${name}${IN_FILE} are given: one of them is enough.`)
    try {
      settings[name] = readFileSync(resolve(PROJECT_DIR, file), 'utf8').slice(0, FILE_CHARS_MAX)
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code ?? String(error)
      mistakes.push(`${name}${IN_FILE} takes a file that the gateway can read; of ${file} it got ${why}.`)
    }
  }
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  return settings
}

/** The environment as it is, for variables whose names the operator chooses in the catalogue: keys of model servers. */
export function namedVariables(): Readonly<Record<string, string | undefined>> {
  return process.env
}

type Values = { [Name in SettingName]: z.output<(typeof SETTINGS)[Name]['schema']> }

function parseAll(environment: Readonly<Record<string, string | undefined>>): Values {
  const mistakes: string[] = []
  const entries = Object.entries(SETTINGS).map(([name, { schema, takes, secret, fields, ...rest }]) => {
    const given = environment[name]?.trim() || rest.default
    const result = schema.safeParse(given)
    if (!result.success && fields) mistakes.push(...fieldMistakes(name, result.error))
    else if (!result.success) {
      mistakes.push(`${name} takes ${takes}; it got ${secret ? 'something else' : JSON.stringify(given)}.`)
    }
    return [name, result.data]
  })
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  return Object.fromEntries(entries)
}

/** One line for each field of a setting that holds several; the schema's own words say what it takes. */
function fieldMistakes(name: string, { issues }: z.ZodError): string[] {
  return issues.map(({ path, message }) => {
    const field = path.map(key => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('')
    return `${name}${field === '' ? '' : `: ${field}`} ${message}.`
  })
}

function captchaChoice(values: Values): CaptchaChoice {
  const { BERTH_CAPTCHA: kind, BERTH_CAPTCHA_SITE_KEY: siteKey, BERTH_CAPTCHA_SECRET: secret } = values
  if (kind === 'default' || kind === 'none') return { kind }
  return { kind, siteKey: siteKey ?? '', secret: secret ?? '' }
}

/** What each setting alone cannot tell. */
function crossCheck(values: Values): string[] {
  const mistakes: string[] = []
  if (values.SMTP_URL !== null && values.MAIL_FROM === null) {
    mistakes.push(`MAIL_FROM is needed with SMTP_URL: it takes ${SETTINGS.MAIL_FROM.takes}.`)
  }
  mistakes.push(
    ...checkCasdoor(values),
    ...checkDirect(values),
    ...checkStripe(values),
    ...checkPaypal(values),
  )
  for (const name of ['BERTH_CAPTCHA_SITE_KEY', 'BERTH_CAPTCHA_SECRET'] as const) {
    const { BERTH_CAPTCHA: kind } = values
    const isService = kind === 'turnstile' || kind === 'hcaptcha'
    if (isService && values[name] === null) {
      mistakes.push(`${name} is needed with BERTH_CAPTCHA=${kind}: it takes ${SETTINGS[name].takes}.`)
    }
    if (!isService && values[name] !== null) {
      mistakes.push(`${name} belongs to a captcha service: set BERTH_CAPTCHA to turnstile or hcaptcha.`)
    }
  }
  const publicHost = values.BERTH_PUBLIC_URL === null ? null : new URL(values.BERTH_PUBLIC_URL).hostname
  if (publicHost?.endsWith(`.${values.BERTH_SERVICE_HOST}`)) {
    mistakes.push(
      `BERTH_PUBLIC_URL must not lie below BERTH_SERVICE_HOST (${values.BERTH_SERVICE_HOST}): names there belong to ` +
        'instances. Use another domain for one of the two.',
    )
  }
  return mistakes
}

/** Ports that others reach are ones that the operator knows, at an address that customers can be told. */
function checkDirect(values: Values): string[] {
  const { BERTH_DIRECT_HOST: host, BERTH_DIRECT_NAME: name, BERTH_DIRECT_PORTS: ports } = values
  if (ports === null) {
    if (host !== null && !isLoopback(host)) {
      return [`BERTH_DIRECT_PORTS is needed with BERTH_DIRECT_HOST=${host}, which others reach.`]
    }
    return name === null ? [] : ['BERTH_DIRECT_NAME is of no use without BERTH_DIRECT_PORTS.']
  }
  if (host === null)
    return ['BERTH_DIRECT_HOST is needed with BERTH_DIRECT_PORTS: it names where they listen.']
  if (isAnyAddress(host) && name === null) {
    return [`BERTH_DIRECT_NAME is needed with BERTH_DIRECT_HOST=${host}: nobody can be told that address.`]
  }
  return []
}

/** What CASDOOR_URL is worth nothing without. */
const CASDOOR_PARTS = [
  'CASDOOR_CLIENT_ID',
  'CASDOOR_CLIENT_SECRET',
  'CASDOOR_ORGANIZATION',
  'CASDOOR_APPLICATION',
] as const

/** One without the others is a mistake: accounts must not be kept elsewhere than the operator believes. */
function checkCasdoor(values: Values): string[] {
  if (values.CASDOOR_URL !== null) {
    if (values.BERTH_SIGN_IN_PROVIDERS.length > 0) {
      return [
        'BERTH_SIGN_IN_PROVIDERS is of no use with CASDOOR_URL: services to sign in through are set in Casdoor.',
      ]
    }
    return CASDOOR_PARTS.filter(name => values[name] === null).map(
      name => `${name} is needed with CASDOOR_URL: it takes ${SETTINGS[name].takes}.`,
    )
  }
  return CASDOOR_PARTS.filter(name => values[name] !== null).map(
    name => `${name} is of no use without CASDOOR_URL: it takes ${SETTINGS.CASDOOR_URL.takes}.`,
  )
}

const STRIPE_PARTS = [
  'BERTH_STRIPE_PUBLISHABLE_KEY',
  'BERTH_STRIPE_WEBHOOK_SECRET',
  'BERTH_STRIPE_API',
] as const

/** The secrets together or none, and keys of one mode: what is paid with one key is not seen with another. */
function checkStripe(values: Values): string[] {
  const { BERTH_STRIPE_SECRET_KEY: secret, BERTH_STRIPE_PUBLISHABLE_KEY: publishable } = values
  if (secret === null) {
    return STRIPE_PARTS.filter(name => values[name] !== null).map(
      name => `${name} is of no use without BERTH_STRIPE_SECRET_KEY.`,
    )
  }
  const name = 'BERTH_STRIPE_WEBHOOK_SECRET'
  const needed = `${name} is needed with BERTH_STRIPE_SECRET_KEY: it takes ${SETTINGS[name].takes}.`
  const missing = values[name] === null ? [needed] : []
  if (publishable === null || isLive(secret) === isLive(publishable)) return missing
  return [
    ...missing,
    'BERTH_STRIPE_SECRET_KEY and BERTH_STRIPE_PUBLISHABLE_KEY are of two modes, test and live.',
  ]
}

/** PayPal's own API; another is its sandbox, or a double of it. */
const PAYPAL_API = 'https://api-m.paypal.com'

/** The application's two parts together or none. */
function checkPaypal(values: Values): string[] {
  const { BERTH_PAYPAL_CLIENT_ID: clientId, BERTH_PAYPAL_SECRET: secret } = values
  const name = 'BERTH_PAYPAL_SECRET'
  if (clientId !== null) {
    return secret === null
      ? [`${name} is needed with BERTH_PAYPAL_CLIENT_ID: it takes ${SETTINGS[name].takes}.`]
      : []
  }
  return ([name, 'BERTH_PAYPAL_API'] as const)
    .filter(one => values[one] !== null)
    .map(one => `${one} is of no use without BERTH_PAYPAL_CLIENT_ID.`)
}

function paypalOf(values: Values): Config['paypal'] {
  const { BERTH_PAYPAL_CLIENT_ID: clientId, BERTH_PAYPAL_SECRET: secret, BERTH_PAYPAL_API: apiUrl } = values
  if (clientId === null) return null
  return { clientId, secret: secret ?? '', apiUrl: new URL(apiUrl ?? PAYPAL_API).origin }
}

function isLive(key: string): boolean {
  return key.includes('_live_')
}

function stripeOf(values: Values): Config['stripe'] {
  const { BERTH_STRIPE_SECRET_KEY: secretKey, BERTH_STRIPE_API: apiUrl } = values
  if (secretKey === null) return null
  return {
    secretKey,
    publishableKey: values.BERTH_STRIPE_PUBLISHABLE_KEY,
    webhookSecret: values.BERTH_STRIPE_WEBHOOK_SECRET ?? '',
    live: isLive(secretKey),
    apiUrl: apiUrl === null ? null : new URL(apiUrl).origin,
  }
}

/** OTLP's own path for traces, below the address that takes all kinds. */
const TRACES_PATH = 'v1/traces'

function tracesOf(values: Values): Config['traces'] {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers } = values
  if (endpoint === null) return null
  const url = new URL(TRACES_PATH, endpoint.endsWith('/') ? endpoint : `${endpoint}/`).href
  return { url, headers: Object.fromEntries(headers), share: values.OTEL_TRACES_SAMPLER_ARG }
}

function imageStoreOf(values: Values): ImageStoreChoice {
  const place = values.BERTH_IMAGE_STORE ?? join(values.BERTH_DATA_DIR, 'images')
  const bytesMax = values.BERTH_IMAGE_STORE_GB_MAX * 1e9
  if (!/^(s3\+)?https?:/i.test(place))
    return { kind: 'folder', folder: resolve(PROJECT_DIR, place), bytesMax }
  const found = readBucketPlace(place)
  if (found) return { kind: 'bucket', ...found, bytesMax }
  const { origin, pathname, username, password } = new URL(place)
  const login =
    username === ''
      ? null
      : { username: decodeURIComponent(username), password: decodeURIComponent(password) }
  return { kind: 'registry', origin, repository: pathname.slice(1), login, bytesMax }
}

function casdoorOf(values: Values): Config['casdoor'] {
  if (values.CASDOOR_URL === null) return null
  return {
    url: new URL(values.CASDOOR_URL).origin,
    clientId: values.CASDOOR_CLIENT_ID ?? '',
    clientSecret: values.CASDOOR_CLIENT_SECRET ?? '',
    organization: values.CASDOOR_ORGANIZATION ?? '',
    application: values.CASDOOR_APPLICATION ?? '',
  }
}

function findMisspelt(environment: Readonly<Record<string, string | undefined>>): string[] {
  return Object.keys(environment)
    .filter(name => name.startsWith('BERTH_') && !(name in SETTINGS))
    .map(name => `${name} is not a setting and is ignored. docs/operating.md lists them all.`)
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const child of Object.values(value)) deepFreeze(child)
  }
  return value
}
