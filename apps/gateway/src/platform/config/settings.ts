import { isIP } from 'node:net'
import { INSTANCES_PER_USER_DEFAULT, INSTANCES_PER_USER_MOST } from '@berth/contract/limits'
import * as z from 'zod'
import { isLoopback } from '../http/hosts.ts'
import { readBucketPlace } from './bucket-place.ts'
import { signInProviders } from './sign-in-providers.ts'

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
  /** It holds fields, and its schema words what each of them takes. */
  fields: boolean
}

function setting<Schema extends z.ZodType<unknown, string>>(
  schema: Schema,
  rest: Omit<Setting<Schema>, 'schema' | 'secret' | 'fields'> & { secret?: boolean; fields?: boolean },
): Setting<Schema> {
  return { secret: false, fields: false, ...rest, schema }
}

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number)
    .pipe(z.number().min(min).max(max))

/** Empty means null. */
const optional = <Schema extends z.ZodType<unknown, string>>(schema: Schema) =>
  z
    .literal('')
    .transform(() => null)
    .or(schema)

/** Two ports with a hyphen between, both of which belong to it. */
function portRange() {
  return z
    .string()
    .regex(/^\d{4,5}-\d{4,5}$/)
    .transform(text => {
      const [first = 0, last = 0] = text.split('-').map(Number)
      return { first, last }
    })
    .refine(({ first, last }) => first >= DIRECT_PORT_MIN && first <= last && last <= DIRECT_PORT_MAX)
}

/** Values with commas between. */
const listOf = (item: z.ZodType<string, string>) =>
  z
    .string()
    .transform(text => text.split(',').flatMap(part => part.trim() || []))
    .pipe(z.array(item))

const url = (protocols: readonly string[], isRight: (parsed: URL) => boolean = () => true) =>
  z.string().refine(text => {
    const parsed = URL.parse(text)
    return parsed !== null && protocols.includes(parsed.protocol) && isRight(parsed)
  })

/** Headers as OpenTelemetry's settings have them: `name=value` with commas between, values percent-encoded. */
function otlpHeaders() {
  return z
    .string()
    .regex(/^(?:\s*[A-Za-z0-9-]{1,100}=[\x21-\x2b\x2d-\x7e]{1,4000}\s*(?:,|$))*$/)
    .transform((text, context) => {
      try {
        return text.split(',').flatMap(part => {
          const at = part.indexOf('=')
          return at < 0
            ? []
            : [[part.slice(0, at).trim(), decodeURIComponent(part.slice(at + 1).trim())] as const]
        })
      } catch {
        context.addIssue({ code: 'custom', message: 'is not percent-encoded' })
        return z.NEVER
      }
    })
}

/** A folder, or the address of a repository of a registry; without TLS only on this computer. */
function isStorePlace(text: string): boolean {
  if (/^s3\+https?:/i.test(text)) return readBucketPlace(text) !== null
  if (!/^https?:/i.test(text)) return !text.includes('\0')
  const parsed = URL.parse(text)
  if (parsed?.search !== '' || parsed.hash !== '') return false
  const isSafe = parsed.protocol === 'https:' || isLoopback(parsed.hostname)
  return (
    isSafe && /^\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*$/.test(parsed.pathname)
  )
}

/** What stands between a model's place and its checksum. */
const MODEL_CHECKSUM = /#sha256=(?=[0-9a-f]{64}$)/i

/** A path; or an address by https, or of this computer, whose file is known by its checksum. */
function isModelPlace(text: string): boolean {
  const [place = '', sha256] = text.split(MODEL_CHECKSUM)
  if (!/^https?:/i.test(place)) return place !== '' && !place.includes('\0') && !place.includes('#sha256=')
  const parsed = URL.parse(place)
  if (!parsed || sha256 === undefined || parsed.hash !== '') return false
  return parsed.protocol === 'https:' || isLoopback(parsed.hostname)
}

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/
/** Without a host where `?host=` names the folder of a Unix socket, which is no URL to the rest of the world. */
const DATABASE_ADDRESS = /^postgres(ql)?:\/\/[^\s/]*\/[^\s]+$/
const CASDOOR_NAME = /^[^\s/]{1,100}$/
const KEY_256 = /^[A-Za-z0-9+/_-]{43}=?$/
/** A host in lower case, an IPv4 address among them, perhaps with a port. */
const HOST_AND_PORT = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/
/** The same, or an IPv6 address in brackets, and always a port. */
const REACHABLE = /^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-f:.]+\]):\d{1,5}$/
/** A host name in any case, or an address. */
const DIRECT_NAME = /^[A-Za-z0-9:]([A-Za-z0-9.:-]{0,251}[A-Za-z0-9:])?$/
/** Below are ports of the computer's own services. */
const DIRECT_PORT_MIN = 1_024
const DIRECT_PORT_MAX = 65_535
const INTERFACE = /^[A-Za-z0-9._:-]+$/
/** An address, or a network as its first address and how many bits are the network's. */
function isNetwork(text: string): boolean {
  const [address = '', length, ...rest] = text.split('/')
  const bits = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0
  if (bits === 0 || address.includes('%') || rest.length > 0) return false
  return length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= bits)
}

const NETWORK = /^[0-9a-f.:]+(\/\d{1,3})?$/i

/** Every setting of the gateway, in the order of the operating guide. All are read from the environment. */
export const SETTINGS = {
  BERTH_HOST: setting(z.string().regex(INTERFACE), {
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
  BERTH_DIRECT_HOST: setting(optional(z.string().regex(INTERFACE)), {
    default: '',
    takes: 'an address of this computer, such as 127.0.0.2 or 203.0.113.7',
    about:
      'Where direct ports of instances listen, of TCP and UDP. Another address than the console’s: browsers send an address’s cookies ' +
      'to each of its ports, and what listens there is a customer’s. One that others reach needs `BERTH_DIRECT_PORTS`. ' +
      'Empty: 127.0.0.2, or 127.0.0.1 where this computer lacks that one, for customers at this computer.',
  }),
  BERTH_DIRECT_PORTS: setting(optional(portRange()), {
    default: '',
    takes: 'two ports from 1024 to 65535 with a hyphen between, such as 30000-31999',
    about:
      'Ports of `BERTH_DIRECT_HOST` that are given to instances for their TCP ports, and as many for those of UDP. An instance keeps its own for as ' +
      'long as it is there, so the range is as long as there may be such ports. Open it in the firewall. A port that ' +
      'another program has is passed over. Empty: any port that is free, at an address of this computer alone.',
  }),
  BERTH_DIRECT_NAME: setting(optional(z.string().regex(DIRECT_NAME)), {
    default: '',
    takes: 'a host name or an address, such as direct.example.com',
    about:
      'What customers are told in place of `BERTH_DIRECT_HOST`, where they reach that by a name or through another ' +
      'address. No name that the console has, for the reason there.',
  }),
  BERTH_SSH_HOST: setting(optional(z.string().regex(INTERFACE)), {
    default: '',
    takes: 'the address of a network interface, such as 127.0.0.1 or 0.0.0.0',
    about:
      'Interface of the SSH server, where a proxy on this computer stands before the console alone: SSH does not pass ' +
      'through it. Empty: that of `BERTH_HOST`.',
  }),
  BERTH_SSH_PORT: setting(wholeNumber(0, 65_535), {
    default: '2222',
    takes: 'a port, 1 to 65535, or 0 for no SSH',
    about:
      'Port of the SSH server: `ssh <instance>@<host> -p 2222` leads into any instance ' +
      'of whoever holds a key that is stored in the console. A port that is taken is said at the start, and the rest of ' +
      'the gateway runs. 0: customers are told that there is no SSH.',
  }),
  BERTH_SSH_ADDRESS: setting(optional(z.string().regex(REACHABLE)), {
    default: '',
    takes: 'a host and a port, such as ssh.example.com:22',
    about:
      'Where customers reach the SSH server of any gateway, such as a load balancer that passes TCP on. Empty: the host ' +
      'of the console’s address and `BERTH_SSH_PORT`.',
  }),
  BERTH_S3_PORT: setting(wholeNumber(0, 65_535), {
    default: '3900',
    takes: 'a port, 1 to 65535, or 0 for no S3',
    about:
      'Port of the S3 server, on the interface of `BERTH_HOST`: customers read and write files of their network volumes by it, ' +
      'with keys that they make in the console. A port that is taken is said at the start, and the rest of the gateway ' +
      'runs. 0: customers are told that there is no S3.',
  }),
  BERTH_S3_URL: setting(
    optional(url(['http:', 'https:'], ({ pathname, search }) => pathname === '/' && search === '')).transform(
      text => (text === null ? null : new URL(text).origin),
    ),
    {
      default: '',
      takes: 'an address without a path, such as https://s3.example.com',
      about:
        'Where customers reach the S3 server of any gateway, such as a proxy with TLS that passes requests on as they are, their ' +
        'host included: it is signed. Buckets have names below its host, too, where DNS leads them here. Empty: the host of ' +
        'the console’s address and `BERTH_S3_PORT`, without TLS.',
    },
  ),
  BERTH_TRUSTED_PROXIES: setting(listOf(z.string().regex(NETWORK)), {
    default: '',
    takes: 'addresses or networks with commas between, such as 10.0.0.0/8,127.0.0.1',
    about: 'Proxies whose X-Forwarded-For, -Proto and -Host headers are believed. Empty: nobody’s are.',
  }),
  BERTH_MANAGEMENT_HOST: setting(z.string().regex(INTERFACE), {
    default: '127.0.0.1',
    takes: 'the address of a network interface, such as 127.0.0.1 or 0.0.0.0',
    about: 'Interface for probes and metrics. Whoever reaches it may read them; customers must not.',
  }),
  BERTH_MANAGEMENT_PORT: setting(wholeNumber(0, 65_535), {
    default: '0',
    takes: 'a port, 1 to 65535, or 0 for any that is free',
    about: 'Port of `/live`, `/ready` and `/metrics`. The start says which one it is.',
  }),
  BERTH_DRAIN_MS: setting(wholeNumber(0, 60_000), {
    default: '0',
    takes: 'milliseconds, 0 to 60000',
    about:
      'At the end, how long `/ready` says no before connections are refused: as long as a load balancer needs to ' +
      'notice. 0 where there is none.',
  }),
  BERTH_GRACE_MS: setting(wholeNumber(0, 3_600_000), {
    default: '4000',
    takes: 'milliseconds, 0 to 3600000',
    about:
      'After that, how long what is under way may go on: answers of models, uploads and downloads, connections by SSH and ' +
      'by direct ports. Terminals and what only follows are sent to another gateway at once. Then what is left is cut. ' +
      'Whatever ends the gateway has to wait for both and a minute more.',
  }),
  BERTH_INTERNAL_HOST: setting(z.string().regex(INTERFACE), {
    default: '127.0.0.1',
    takes: 'the address of a network interface, such as 127.0.0.1 or 0.0.0.0',
    about:
      'Interface by which the other gateways of this installation reach this one. The default is for gateways on one ' +
      'computer. What goes there is encrypted, and only gateways with the same secrets are let in.',
  }),
  BERTH_INTERNAL_PORT: setting(wholeNumber(0, 65_535), {
    default: '0',
    takes: 'a port, 1 to 65535, or 0 for any that is free',
    about: 'Port for the other gateways.',
  }),
  BERTH_INTERNAL_ADDRESS: setting(optional(z.string().regex(REACHABLE)), {
    default: '',
    takes: 'a host and a port, such as 10.0.0.7:7070',
    about:
      'Where the other gateways find this one. Empty: the interface and port above; where those are all interfaces, ' +
      'the first address of this computer that is not loopback.',
  }),
  BERTH_DATA_DIR: setting(z.string().min(1), {
    default: './data',
    takes: 'a folder',
    about:
      'Folder for the embedded PostgreSQL, the key of its secrets and machines of the sandbox. Relative to the ' +
      'project. One gateway at a time uses it; one with DATABASE_URL and BERTH_MASTER_KEY keeps nothing in it but ' +
      'machines. Back it up with `npm run operator -- backup`.',
  }),
  BERTH_SANDBOX_DIR: setting(optional(z.string().min(1)), {
    default: '',
    takes: 'a folder',
    about:
      'Folder of the sandbox, which names it: gateways on one computer that share it reach the same machines. Relative ' +
      'to the project. Empty: `machines` in the data folder.',
  }),
  BERTH_IMAGE_STORE: setting(optional(z.string().refine(isStorePlace)), {
    default: '',
    takes:
      'a folder, an address such as https://user:password@registry.internal/berth/images, or a bucket such as ' +
      's3+https://key:password@s3.internal/bucket/folder?region=us-east-1',
    about:
      'Where images of machines are kept: a folder, relative to the project, which is an OCI image layout, or a ' +
      'repository of a registry, which must let manifests be deleted, or a bucket of a server that speaks S3, which must ' +
      'know `If-None-Match`; one on this computer may speak plain HTTP. Several gateways need one that all of them ' +
      'reach. Empty: `images` in the data folder.',
    secret: true,
  }),
  BERTH_IMAGE_STORE_GB_MAX: setting(wholeNumber(1, 1_000_000), {
    default: '1024',
    takes: 'a number of GB, 1 to 1000000',
    about: 'How much the store of images may hold, each layer counted once.',
  }),
  DATABASE_URL: setting(optional(z.string().regex(DATABASE_ADDRESS)), {
    default: '',
    takes: 'an address such as postgresql://user:password@host:5432/berth',
    about: 'PostgreSQL 15 or newer. Empty: one of our own runs in the data folder.',
    secret: true,
  }),
  BERTH_MASTER_KEY: setting(optional(z.string().regex(KEY_256)), {
    default: '',
    takes: '32 bytes in base64, such as `openssl rand -base64 32` prints',
    about:
      'Key that the secrets of this installation are encrypted under in the database: those that sign tokens, and those ' +
      'that gateways know each other by. Where several gateways run, all need it. Empty: one in the data folder, which ' +
      'only the gateway there has. A database is of no use without its key, so keep a copy of it.',
    secret: true,
  }),
  BERTH_MASTER_KEY_FORMER: setting(listOf(z.string().regex(KEY_256)), {
    default: '',
    takes: 'keys like BERTH_MASTER_KEY with commas between',
    about:
      'Keys that were used before. To change the key, name the former one here and the new one above: the next start ' +
      'encrypts everything again, the log says so, and the former key can be left out. A key in the data folder need ' +
      'not be named.',
    secret: true,
  }),
  BERTH_BACKUP_PASSPHRASE: setting(optional(z.string().min(12)), {
    default: '',
    takes: '12 characters or more',
    about:
      'Passphrase that the data folder’s key is sealed under in backups, for `npm run operator -- backup`. Needed there ' +
      'where BERTH_MASTER_KEY is empty: a database is of no use without its key. Keep it apart from the backups.',
    secret: true,
  }),
  BERTH_CREDENTIALS_KEY: setting(optional(z.string().regex(KEY_256)), {
    default: '',
    takes: '32 bytes in base64, such as `openssl rand -base64 32` prints',
    about:
      'Key that registry passwords of customers are encrypted under in the database. Empty: one of the installation’s ' +
      'own, which BERTH_MASTER_KEY protects and which also opens what was kept before a key was set. A database is of ' +
      'no use without its key, so keep a copy of it. Where several gateways run, all take the same.',
    secret: true,
  }),
  BERTH_CREDENTIALS_KEY_FORMER: setting(listOf(z.string().regex(KEY_256)), {
    default: '',
    takes: 'keys like BERTH_CREDENTIALS_KEY with commas between',
    about:
      'Keys that were used before. To change the key, name the former one here and the new one above: the next start ' +
      'encrypts everything again, the log says so, and the former key can be left out. Where several gateways run, ' +
      'name the new key here on all of them first.',
    secret: true,
  }),
  BERTH_PRIVATE_REGISTRIES: setting(listOf(z.string().toLowerCase().regex(HOST_AND_PORT)), {
    default: '',
    takes: 'hosts with commas between, such as registry.internal,localhost:5000',
    about:
      'Container registries that may be asked although their addresses are private. A customer’s credential for any ' +
      'other is only ever shown to the public internet. Those on this computer may speak plain HTTP. A registry that ' +
      'hands out tokens by another host needs that host here too.',
  }),
  BERTH_GIT_AUTHORITY: setting(z.string(), {
    default: '',
    takes: 'a file in PEM, or nothing',
    about:
      'Authorities by which hosts of Git repositories are believed that customers have images built of; empty: those of ' +
      'this computer. A host with a private address must stand in BERTH_PRIVATE_REGISTRIES.',
  }),
  BERTH_CATALOGUE: setting(z.string().min(1), {
    default: 'config/catalogue.yaml',
    takes: 'a file',
    about: 'What this cloud offers: regions, GPU specs, prices, images, brands. Relative to the project.',
  }),
  BERTH_FIND_MODELS: setting(z.enum(['on', 'off']), {
    default: 'on',
    takes: 'on or off',
    about:
      'Whether a server of models on this computer (Ollama, LM Studio, llama.cpp, vLLM on their usual ports) is looked for ' +
      'at the start, where the catalogue names no server and says in `found_models` what such models cost.',
  }),
  BERTH_LOCAL_MODEL: setting(
    optional(
      z
        .string()
        .refine(isModelPlace)
        .transform(text => {
          const [place = '', sha256] = text.split(MODEL_CHECKSUM)
          return { place, isAddress: /^https?:/i.test(place), sha256: sha256?.toLowerCase() ?? null }
        }),
    ),
    {
      default: '',
      takes:
        'a path of a GGUF file, or an https address of one followed by its checksum, such as https://example.com/small.gguf#sha256=<64 hexadecimal digits>',
      about:
        'A small model that runs on this computer, in a process beside the gateway: real answers with nothing else installed. What is ' +
        'missing (the file of an address, and the package node-llama-cpp, some 85 MB, by npm) is fetched into the data folder, with ' +
        'progress in the log. A path may have a checksum, too. It costs what `found_models` of the catalogue says, or what a model ' +
        'says whose server is `driver: local`. Empty: none.',
    },
  ),
  BERTH_LOCAL_MODEL_ENGINE: setting(optional(z.string().min(1)), {
    default: '',
    takes: 'a folder in which npm install node-llama-cpp was run',
    about:
      'Where the local model finds its engine, for computers that do not reach a registry of npm. Empty: it is put into the data folder.',
  }),
  BERTH_COMPUTE: setting(z.enum(['auto', 'docker', 'sandbox', 'none']), {
    default: 'auto',
    takes: 'auto, docker, sandbox or none',
    about:
      'What makes machines. `auto` takes Docker where its socket answers, else the sandbox where this computer allows ' +
      'one, else none, and says why.',
  }),
  BERTH_MACHINE_NETWORKS: setting(listOf(z.string().refine(isNetwork)), {
    default: '',
    takes: 'addresses or networks with commas between, such as 10.1.2.0/24,fd12::7',
    about:
      'What machines on Docker and in sandboxes may reach although it is private or an address of their own computer. ' +
      'Everything of that kind is denied them else, by IPv4 and IPv6: the computer itself, private and link-local ' +
      'networks, and clouds’ metadata services.',
  }),
  BERTH_UNFILTERED_MACHINES: setting(z.enum(['auto', 'machines-may-reach-private-networks']), {
    default: 'auto',
    takes: 'auto or machines-may-reach-private-networks',
    about:
      'Whether machines start on a Docker Engine whose computer takes no packet rules to deny them the above. `auto` ' +
      'lets them only where the gateway listens on loopback and has no public address.',
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
  BERTH_OPERATOR_MAIL: setting(optional(z.string().regex(/^[^\s@<>,]+@[^\s@<>,]+$/)), {
    default: '',
    takes: 'an address such as ops@example.com',
    about:
      'Who is mailed when something needs an operator: the books differ, an engine is lost, a disk is nearly full (the ' +
      'list is under Alarms in the operating guide). Empty: the log says it, as figures of `/metrics` do; without a mail ' +
      'server the mail is kept for this computer’s /mailbox.',
  }),
  CASDOOR_URL: setting(
    optional(url(['http:', 'https:'], ({ pathname, search }) => pathname === '/' && search === '')),
    {
      default: '',
      takes: 'the address of a Casdoor server, without a path, such as https://door.example.com',
      about:
        'Casdoor server that keeps accounts and passwords. Sessions, mails and their links stay here. Empty: accounts ' +
        'are kept here as well.',
    },
  ),
  CASDOOR_CLIENT_ID: setting(optional(z.string().max(200)), {
    default: '',
    takes: 'the client ID of the application in Casdoor',
    about: 'Needed with CASDOOR_URL.',
  }),
  CASDOOR_CLIENT_SECRET: setting(optional(z.string().max(200)), {
    default: '',
    takes: 'the client secret of the application in Casdoor',
    about: 'Needed with CASDOOR_URL. With it the gateway acts as an administrator of Casdoor.',
    secret: true,
  }),
  CASDOOR_ORGANIZATION: setting(optional(z.string().regex(CASDOOR_NAME)), {
    default: '',
    takes: 'the name of an organization in Casdoor',
    about: 'Organization that customers belong to. Needed with CASDOOR_URL.',
  }),
  CASDOOR_APPLICATION: setting(optional(z.string().regex(CASDOOR_NAME)), {
    default: '',
    takes: 'the name of an application in Casdoor',
    about:
      'Application that customers sign in to. It needs the grant type Token, the sign-in method Password, and the ' +
      'rule “No verification” for the sign-up item Email. Needed with CASDOOR_URL.',
  }),
  BERTH_SIGN_IN_PROVIDERS: setting(signInProviders, {
    default: '',
    takes: 'a JSON list on one line',
    about:
      'Services that customers may sign in through: GitHub, and whatever speaks OpenID Connect. "Signing in through ' +
      'other services" in docs/operating.md says what an entry holds. Empty: none.',
    secret: true,
    fields: true,
  }),
  BERTH_CAPTCHA: setting(z.enum(['default', 'turnstile', 'hcaptcha', 'none']), {
    default: 'default',
    takes: 'default, turnstile, hcaptcha or none',
    about:
      'What shows that a person is there, asked for after wrong passwords only. `default` is drawn here and asks ' +
      'nobody else; it stops simple programs. `turnstile` (Cloudflare) and `hcaptcha` are services: customers’ ' +
      'browsers load their scripts on the sign-in page, this computer must reach them, and while it does not, ' +
      'nobody signs in where a captcha is asked for.',
  }),
  BERTH_CAPTCHA_SITE_KEY: setting(optional(z.string().regex(/^[A-Za-z0-9._-]{1,200}$/)), {
    default: '',
    takes: 'the site key of the service, which is public',
    about: 'Needed with the captcha services.',
  }),
  BERTH_CAPTCHA_SECRET: setting(optional(z.string().regex(/^[\x21-\x7e]{1,200}$/)), {
    default: '',
    takes: 'the secret key of the service',
    about: 'Needed with the captcha services.',
    secret: true,
  }),
  BERTH_DEMO: setting(z.enum(['auto', 'off']), {
    default: 'auto',
    takes: 'auto or off',
    about:
      'Whether the first start makes a demo customer with credit and prints a one-time link to sign in by. `auto` ' +
      'does so only where the gateway listens on loopback, has no public address, and keeps the accounts itself.',
  }),
  BERTH_TEST_CARDS: setting(z.enum(['auto', 'off', 'no-money-here-is-real']), {
    default: 'auto',
    takes: 'auto, off or no-money-here-is-real',
    about:
      'Whether customers may top up with test cards, which anybody can make money out of nothing with. `auto` lets them ' +
      'only where the gateway listens on loopback and has no public address. `no-money-here-is-real` lets them ' +
      'everywhere; where others than this computer are served, the start and every page then say that no money is real.',
  }),
  BERTH_STRIPE_SECRET_KEY: setting(optional(z.string().regex(/^(sk|rk)_(test|live)_[A-Za-z0-9_]{8,240}$/)), {
    default: '',
    takes: 'a secret or restricted key of Stripe, such as sk_live_…',
    about:
      'With it customers pay by Stripe, at Stripe’s own page unless the next setting says otherwise. A key of test mode moves no money, and is treated as test ' +
      'cards are. "Payments" in docs/operating.md says what to set up there. Needs BERTH_STRIPE_WEBHOOK_SECRET.',
    secret: true,
  }),
  BERTH_STRIPE_PUBLISHABLE_KEY: setting(optional(z.string().regex(/^pk_(test|live)_[A-Za-z0-9_]{8,240}$/)), {
    default: '',
    takes: 'the publishable key of the same account and mode, such as pk_live_…',
    about:
      'With it new cards are entered in a frame of Stripe’s on the payments page, for which the console loads Stripe’s ' +
      'script there. Without it they are entered at Stripe’s own page, and nothing of Stripe’s is loaded.',
  }),
  BERTH_STRIPE_WEBHOOK_SECRET: setting(optional(z.string().regex(/^whsec_[A-Za-z0-9+/=_-]{8,240}$/)), {
    default: '',
    takes: 'the signing secret of the webhook’s endpoint at Stripe, such as whsec_…',
    about: 'Needed with BERTH_STRIPE_SECRET_KEY: by it the gateway knows what Stripe has sent.',
    secret: true,
  }),
  BERTH_STRIPE_API: setting(
    optional(
      url(
        ['http:', 'https:'],
        ({ protocol, hostname, pathname, search }) =>
          pathname === '/' && search === '' && (protocol === 'https:' || isLoopback(hostname)),
      ),
    ),
    {
      default: '',
      takes: 'an address without a path, by https, or by http on this computer',
      about: 'Where Stripe’s API is asked instead, such as a double of it for tests. Empty: Stripe.',
    },
  ),
  BERTH_PAYPAL_CLIENT_ID: setting(optional(z.string().regex(/^[A-Za-z0-9_-]{20,200}$/)), {
    default: '',
    takes: 'the client id of a REST application of PayPal',
    about:
      'With it what customers earn by referring is paid by PayPal’s Payouts API, which PayPal has to allow the account first. ' +
      'Empty: an operator pays by hand, from files. Needs BERTH_PAYPAL_SECRET.',
  }),
  BERTH_PAYPAL_SECRET: setting(optional(z.string().regex(/^[A-Za-z0-9_-]{20,200}$/)), {
    default: '',
    takes: 'the secret of the same application',
    about: 'Needed with BERTH_PAYPAL_CLIENT_ID.',
    secret: true,
  }),
  BERTH_PAYPAL_API: setting(
    optional(
      url(
        ['http:', 'https:'],
        ({ protocol, hostname, pathname, search }) =>
          pathname === '/' && search === '' && (protocol === 'https:' || isLoopback(hostname)),
      ),
    ),
    {
      default: '',
      takes: 'an address without a path, by https, or by http on this computer',
      about:
        'Where PayPal’s API is asked instead, such as its sandbox, https://api-m.sandbox.paypal.com. Empty: PayPal, with real money.',
    },
  ),
  BERTH_SESSION_IDLE_DAYS: setting(wholeNumber(1, 365), {
    default: '30',
    takes: 'days, 1 to 365',
    about:
      'A customer who was not here for so long signs in again. Whoever is here more often stays for a year.',
  }),
  BERTH_UPLOAD_GB_MAX: setting(wholeNumber(1, 100_000), {
    default: '200',
    takes: 'gigabytes, 1 to 100000',
    about: 'How large a file may be that is uploaded to an instance in the console.',
  }),
  BERTH_LOG_LEVEL: setting(z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']), {
    default: 'info',
    takes: 'fatal, error, warn, info, debug, trace or silent',
    about: 'How much is logged. Calls that only read are logged at `debug`.',
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(optional(url(['http:', 'https:'], ({ search }) => search === '')), {
    default: '',
    takes: 'the address of a collector of OpenTelemetry, such as http://127.0.0.1:4318',
    about:
      'Where traces are sent, by OTLP over HTTP, as JSON: `/v1/traces` below it. They name calls, events, steps, drivers and models, ' +
      'and hold nothing that customers typed. A collector that is away or slow costs nothing: what it does not take in time is ' +
      'dropped. Empty: none are made.',
  }),
  OTEL_EXPORTER_OTLP_HEADERS: setting(otlpHeaders(), {
    default: '',
    takes: 'names and values of headers, such as api-key=abc,team=gpu',
    about: 'What the collector wants sent along, such as a key. Values are percent-encoded.',
    secret: true,
  }),
  OTEL_TRACES_SAMPLER_ARG: setting(
    z
      .string()
      .regex(/^(0|1|0?\.\d{1,6}|1\.0{1,6})$/)
      .transform(Number),
    {
      default: '1',
      takes: 'a number from 0 to 1',
      about: 'How many of all traces are sent: 0.1 is a tenth of them. All gateways choose the same ones.',
    },
  ),
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
  BERTH_INSTANCES_PER_CUSTOMER: setting(wholeNumber(1, INSTANCES_PER_USER_MOST), {
    default: String(INSTANCES_PER_USER_DEFAULT),
    takes: `a whole number, 1 to ${INSTANCES_PER_USER_MOST}`,
    about: 'Instances that one customer may have at a time. Whoever has more already keeps them.',
  }),
} as const

export type SettingName = keyof typeof SETTINGS
