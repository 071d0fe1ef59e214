import { APPLICATION, login, ORGANIZATION, signup } from '@berth/contract/account'
import type { Call, CallData, CallInput } from '@berth/contract/call'
import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import type { ErrorCode } from '@berth/contract/errors'
import type { Language } from '@berth/contract/limits'
import { eq } from 'drizzle-orm'
import { pino } from 'pino'
import { PATIENCE_MS } from '../../../scripts/test/patience-ms.ts'
import { createAudit } from '../src/domains/audit/audit.ts'
import { auditRoutes } from '../src/domains/audit/routes.ts'
import { createBilling } from '../src/domains/billing/billing.ts'
import { accountReferred } from '../src/domains/identity/events.ts'
import { createIdentity, type Identity } from '../src/domains/identity/identity.ts'
import { identityRoutes } from '../src/domains/identity/routes.ts'
import { userAccount } from '../src/domains/identity/tables.ts'
import { createNotifications } from '../src/domains/notifications/notifications.ts'
import { notificationsRoutes } from '../src/domains/notifications/routes.ts'
import type { CaptchaService } from '../src/drivers/captcha/port.ts'
import type { IdentitySource } from '../src/drivers/identity/port.ts'
import { createMailQueue } from '../src/drivers/mail/mail-queue.ts'
import { createMailboxDriver } from '../src/drivers/mail/mailbox.ts'
import type { MailDriver } from '../src/drivers/mail/port.ts'
import type { IdentityProvider } from '../src/drivers/sign-in/port.ts'
import { createEvents } from '../src/platform/events/events.ts'
import type { RateLimits } from '../src/platform/http/rate-limits.ts'
import { createIds } from '../src/platform/ids.ts'
import { fixedTokenKeys } from '../src/platform/installation/token-keys.ts'
import { createJobs } from '../src/platform/jobs/jobs.ts'
import { LOW_PASSWORD_COST } from './low-password-cost.ts'
import { createTestDatabase } from './test-database.ts'
import { testSealer } from './test-sealer.ts'
import { startTestServer } from './test-server.ts'

export const PASSWORD = 'Correct-Horse-7'
const SECRETS = {
  rootKey: new Uint8Array(32).fill(7),
  tokenKeys: fixedTokenKeys(new Uint8Array(32).fill(8)),
}
const RATE_LIMITS_OFF = {
  general_per_minute: 0,
  strict_per_minute: {
    login: 100_000,
    signup: 100_000,
    mail: 100_000,
    captcha: 100_000,
    coupon: 100_000,
    card: 100_000,
  },
}
const FORM = 'application/x-www-form-urlencoded'
const START = new Date('2026-03-01T12:00:00Z')

/** Where a call comes from. */
export interface From {
  token?: string
  address?: string
  language?: Language
  origin?: string
  /** Without any proxy's word: from this machine, by the server's own address. */
  direct?: boolean
}

/** What a call answers; `code` is null when it went through. */
export interface Outcome<Data> {
  httpStatus: number
  data: Data | null
  code: ErrorCode | null
  msg: string
  /** The first number in the message: tries that are left, minutes or seconds to wait. */
  number: number
  /** Such as `name: too_long`. */
  fields: string[]
  sub: string
  name: string
}

interface BenchOptions {
  /** Sends the mails; the local mailbox when left out. */
  mailDriver?: MailDriver
  /** Keeps the accounts; the embedded identity when left out. */
  source?: IdentitySource
  /** Services to sign in through; none when left out. */
  providers?: IdentityProvider[]
  /** The kind of captcha; none when left out, since most tests of wrong passwords are about those alone. */
  captcha?: 'Default' | CaptchaService
  /** Off when left out: these tests count what the domain itself limits. */
  rateLimits?: RateLimits
  /** Hashes passwords at the cost that customers' have; the least that there is when left out. */
  realPasswordCost?: true
}

/** The identity domain on a real database and behind the real server, with a clock that stands until it is moved. */
export async function createIdentityBench(options: BenchOptions = {}) {
  const database = await createTestDatabase()
  let now = START.getTime()
  const clock = { now: () => new Date(now) }
  const log = pino({ level: 'silent' })
  const ids = createIds(clock)
  const mailbox = createMailboxDriver({ db: database.db, clock })
  const jobs = createJobs({ database, log })
  const events = createEvents({ db: database.db, jobs, log })
  const referred: { userId: string; code: string }[] = []
  events.on(accountReferred, 'bench', async (_, told) => {
    referred.push(told)
  })
  const queue = createMailQueue({
    jobs,
    driver: options.mailDriver ?? mailbox,
    log,
    retryFirstSeconds: 1,
  })
  const billing = createBilling({
    db: database.db,
    clock,
    ids,
    log,
    payments: [],
    publicUrl: () => '',
    seller: () => ({ name: 'Berth', address: '', tax_id: '' }),
    events,
    sealer: testSealer,
  })
  const audit = createAudit({ db: database.db, clock, ids, log, events })
  const pauses: number[] = []
  const shared = {
    db: database.db,
    listen: database.listen,
    clock,
    ids,
    log,
    secrets: SECRETS,
    sessionIdleDays: 30,
    mailbox,
    providers: options.providers ?? [],
    captcha: options.captcha ?? ('none' as const),
    billing,
    source: options.source ?? null,
    audit,
    countInstances: async () => 0,
    countVolumes: async () => 0,
    countImages: async () => 0,
    publicUrl: () => 'http://127.0.0.1:8080',
    brandName: () => 'Berth',
    passwordCost: options.realPasswordCost ? undefined : LOW_PASSWORD_COST,
    pause: async (ms: number) => {
      pauses.push(ms)
    },
  }
  const identity = createIdentity({ ...shared, mail: queue, events })
  const notifications = createNotifications({
    ...shared,
    mail: queue,
    stoppedUnpaid: async () => [],
    events,
    recipient: identity.recipient,
    burning: billing.burning,
    say: text => text,
  })
  const stops = [await identity.start()]
  await jobs.start()
  const routes = [...identityRoutes(identity), ...auditRoutes(audit), ...notificationsRoutes(notifications)]
  const server = await startTestServer(database.db, routes, {
    authenticate: identity.authenticate,
    onCallDone: audit.noteCall,
    clock,
    ids,
    trustedProxies: ['127.0.0.1'],
    rateLimits: options.rateLimits ?? RATE_LIMITS_OFF,
  })

  return {
    identity,
    billing,
    database,
    clock,
    queue,
    audit,
    notifications,
    /** Who signed up by which code, as whoever rewards that is told. */
    referred,
    /** Waits that slowed-down sign-ins were given, in milliseconds. */
    pauses,
    origin: server.origin,
    call: caller(server.origin),
    advance: (ms: number) => {
      now += ms
    },
    /** A second gateway on the same database. */
    async replica(): Promise<Identity> {
      const otherJobs = createJobs({ database, log })
      const mail = createMailQueue({ jobs: otherJobs, driver: mailbox, log })
      const other = createIdentity({
        ...shared,
        mail,
        events: createEvents({ db: database.db, jobs: otherJobs, log }),
      })
      stops.push(await other.start())
      return other
    },
    /** A customer with a verified address and the usual password, signed in. */
    async customer(email: string): Promise<{ userId: string; email: string; token: string }> {
      const call = caller(server.origin)
      await call(signup, { body: signUpBody(email) })
      const [row] = await database.db
        .update(userAccount)
        .set({ emailVerifiedAt: clock.now() })
        .where(eq(userAccount.email, email))
        .returning({ id: userAccount.id })
      const { data: token } = await call(login, { body: loginBody(email) })
      if (!row || token === null) throw new Error(`${email} could not sign up and in`)
      return { userId: row.id, email, token }
    },
    mailsTo: async (to: string) => (await mailbox.list()).filter(mail => mail.to === to),
    async close() {
      await server.close(0)
      for (const stop of stops) stop()
      await jobs.stop()
      await audit.stop()
      await database.drop()
    },
  }
}
export type IdentityBench = Awaited<ReturnType<typeof createIdentityBench>>

/** Makes calls over HTTP, from any address: the server believes what this machine forwards. */
function caller(origin: string) {
  return async <C extends Call>(
    call: C,
    input: CallInput<C>,
    from: From = {},
  ): Promise<Outcome<CallData<C>>> => {
    const { params, query, body } = input as Record<'params' | 'query' | 'body', Record<string, string>>
    const path = call.path.replace(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(params?.[name] ?? ''),
    )
    const seen = new URL(from.origin ?? origin)
    const response = await fetch(`${origin}${GATEWAY_PREFIX}${path}?${new URLSearchParams(query)}`, {
      method: call.method,
      headers: {
        ...(body ? { 'content-type': call.form ? FORM : 'application/json' } : {}),
        ...(from.token === undefined ? {} : { authorization: `Bearer ${from.token}` }),
        'accept-language': from.language ?? 'en',
        ...(!from.direct && {
          'x-forwarded-for': from.address ?? '203.0.113.7',
          'x-forwarded-host': seen.host,
          'x-forwarded-proto': seen.protocol.slice(0, -1),
        }),
      },
      ...(body ? { body: call.form ? String(new URLSearchParams(body)) : JSON.stringify(body) } : {}),
    })
    const envelope = (await response.json()) as Envelope
    return {
      httpStatus: response.status,
      data: envelope.data as CallData<C> | null,
      code: envelope.code ?? null,
      number: Number(/\d+/.exec(envelope.msg)?.[0] ?? Number.NaN),
      msg: envelope.msg,
      fields: (envelope.fields ?? []).map(({ path, rule }) => `${path}: ${rule}`),
      sub: envelope.sub,
      name: envelope.name,
    }
  }
}

interface Envelope {
  data: unknown
  msg: string
  sub: string
  name: string
  code?: ErrorCode
  fields?: { path: string; rule: string }[]
}

/** Tries again until `read` gives something, for at most 15 seconds. */
export async function eventually<T>(
  what: string,
  read: () => Promise<T | null | undefined | false>,
): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const value = await read()
    if (value) return value
    if (performance.now() > deadline) throw new Error(`${what}: not within ${PATIENCE_MS} ms`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

export const names = { application: APPLICATION, organization: ORGANIZATION }

/** What the sign-up form sends. */
export function signUpBody(email: string, more: Record<string, unknown> = {}) {
  return {
    ...names,
    username: email,
    email,
    password: PASSWORD,
    name: 'Ada',
    agreement: true as const,
    ...more,
  }
}

/** What the sign-in form sends. */
export function loginBody(username: string, password = PASSWORD) {
  return { ...names, type: 'token' as const, username, password }
}

/** The secret in the link of a mail. */
export function secretIn(text: string): string {
  const match = /\/(?:activty|reset-password)\?token=([A-Za-z0-9_-]+)/.exec(text)
  if (!match?.[1]) throw new Error(`no link in: ${text}`)
  return match[1]
}
