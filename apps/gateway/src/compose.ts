import { resolve } from 'node:path'
import { calls } from '@berth/contract/calls'
import { createAudit } from './domains/audit/audit.ts'
import { auditRoutes } from './domains/audit/routes.ts'
import { type Billing, createBilling } from './domains/billing/billing.ts'
import { createBillingLoops } from './domains/billing/loops.ts'
import { billingRoutes } from './domains/billing/routes.ts'
import { createIdentity, type Identity } from './domains/identity/identity.ts'
import { identityRoutes } from './domains/identity/routes.ts'
import { createImages } from './domains/images/images.ts'
import { imagesRoutes } from './domains/images/routes.ts'
import { type Connect, createConnect } from './domains/instances/connect.ts'
import { createInstances, type Instances } from './domains/instances/instances.ts'
import { createQuotes } from './domains/instances/quotes.ts'
import { instancesRoutes } from './domains/instances/routes.ts'
import { createModels, type Models } from './domains/models/models.ts'
import { modelsRoutes } from './domains/models/routes.ts'
import { createNotifications, type Notifications } from './domains/notifications/notifications.ts'
import { notificationsRoutes } from './domains/notifications/routes.ts'
import { createRegions } from './domains/regions/regions.ts'
import { regionsRoutes } from './domains/regions/routes.ts'
import { createOutbound } from './domains/registries/outbound.ts'
import { createRegistries, type Registries } from './domains/registries/registries.ts'
import { registriesRoutes } from './domains/registries/routes.ts'
import { settingsRoutes } from './domains/settings/routes.ts'
import { createSettings } from './domains/settings/settings.ts'
import { sshKeysRoutes } from './domains/ssh-keys/routes.ts'
import { createSshKeys } from './domains/ssh-keys/ssh-keys.ts'
import type { CaptchaService } from './drivers/captcha/port.ts'
import type { ComputeDriver } from './drivers/compute/port.ts'
import type { IdentitySource } from './drivers/identity/port.ts'
import { createMailQueue } from './drivers/mail/mail-queue.ts'
import type { Mailbox, MailDriver } from './drivers/mail/port.ts'
import type { PaymentDriver } from './drivers/payments/port.ts'
import type { IdentityProvider } from './drivers/sign-in/port.ts'
import type { Clock } from './platform/clock.ts'
import type { Catalogue } from './platform/config/catalogue.ts'
import type { OpenDatabase } from './platform/database/open-database.ts'
import type { Route } from './platform/http/handler.ts'
import { servesThisComputerOnly } from './platform/http/hosts.ts'
import { openApiDocument } from './platform/http/openapi.ts'
import type { RateLimits } from './platform/http/rate-limits.ts'
import { createServer, type GatewayServer } from './platform/http/server.ts'
import type { Ids } from './platform/ids.ts'
import type { Logger } from './platform/log.ts'
import { createLoop } from './platform/loop.ts'
import { createMetrics } from './platform/metrics.ts'
import { createSealer } from './platform/sealer.ts'
import { deriveKey, type Secrets } from './platform/secrets.ts'

/** What a gateway is put together from. */
export interface GatewayParts {
  database: OpenDatabase
  clock: Clock
  ids: Ids
  log: Logger
  secrets: Pick<Secrets, 'signingKey' | 'installationId'>
  catalogue: Catalogue
  compute: ComputeDriver | null
  /** Why no machine can run here; null when one can. */
  computeMissing: string | null
  /** Sends mails; where there is no mail server it also keeps them, for a mailbox that only this computer is shown. */
  mail: { driver: MailDriver; mailbox: Mailbox | null }
  /** The kind of captcha: the embedded one, a service, or none. */
  captcha: 'Default' | 'none' | CaptchaService
  payments: PaymentDriver[]
  /** Keeps the accounts where an identity service outside does; left out or null: the gateway does. */
  identitySource?: IdentitySource | null
  /** Services that customers may sign in through. */
  identityProviders: IdentityProvider[]
  host: string
  publicUrl: string | null
  serviceHost: string
  trustedProxies: readonly string[]
  /** Seals registry passwords: 32 bytes in base64; null takes the installation's. The former ones only open. */
  credentialsKey: string | null
  formerCredentialsKeys: readonly string[]
  /** Hosts of registries that may be private. */
  privateRegistries: readonly string[]
  rateLimits: RateLimits
  meteringMs: number
  /** Checks answers against the contract: for tests. */
  checkAnswers?: boolean
}

/** A gateway that is put together. First `listen`, then `start`; the stops in their order here. */
export interface Gateway {
  identity: Identity
  billing: Billing
  instances: Instances
  connect: Connect
  registries: Registries
  models: Models
  server: GatewayServer
  /** Prepares what calls need, begins to listen and gives the address for people. */
  listen(port: number): Promise<string>
  /** Starts the loops. */
  start(): Promise<void>
  /** Ends ways into instances, stops accepting, lets running calls end. */
  stopRequests(): Promise<void>
  stopLoops(): Promise<void>
  /** Lets the driver stop what cannot outlive the gateway, and writes it down. */
  stopCompute(): Promise<void>
}

const CONSOLE_DIR = resolve(import.meta.dirname, '../../console/dist')
const PURGE_MS = 3_600_000
/** Running calls have this long to end; then they are cut. */
const REQUESTS_PATIENCE_MS = 4_000

/**
 * Puts a gateway together: drivers, domains, server. Nothing runs or listens yet.
 * @param parts Everything that differs between a real gateway and one in a test.
 */
export async function composeGateway(parts: GatewayParts): Promise<Gateway> {
  const { database, compute, computeMissing, catalogue, log } = parts
  const { db, listen } = database
  const base = { db, clock: parts.clock, ids: parts.ids, log }
  const address = { url: parts.publicUrl ?? '' }
  const metrics = createMetrics()
  const audit = createAudit(base)
  // Deploying and paying stand before the accounts here, and ask them only when they are used.
  const requireOpen: Identity['requireOpen'] = (tx, userId) => identity.requireOpen(tx, userId)

  const images = createImages({ catalogue, driverName: compute?.name ?? null })
  const regions = createRegions({ db, catalogue, gpus: (await compute?.gpus()) ?? [] })
  const billing: Billing = createBilling({
    ...base,
    payments: parts.payments,
    requireOpen,
    notices: { topUpReceipt: (q, facts) => notifications.topUpReceipt(q, facts) },
    instanceEvents: (q, range) => instances.eventsBetween(q, range),
  })
  const quotes = createQuotes({ db, catalogue, regions, images, billing, compute, computeMissing })
  const instances: Instances = createInstances({
    ...base,
    compute,
    computeMissing,
    installationId: parts.secrets.installationId,
    catalogue,
    billing,
    regions,
    images,
    quotes,
    requireOpen,
    notices: { instanceTrouble: (q, facts) => notifications.instanceTrouble(q, facts) },
    listen,
  })
  const mailbox = servesThisComputerOnly(parts) ? parts.mail.mailbox : null
  const mailQueue = createMailQueue({ database, driver: parts.mail.driver, log })
  const settings = createSettings({
    catalogue,
    mailbox: mailbox !== null,
    compute: { driver: compute?.name ?? null, why: computeMissing },
  })
  const notifications: Notifications = createNotifications({
    ...base,
    mail: mailQueue,
    recipient: userId => identity.recipient(userId),
    requireOpen,
    burning: billing.burning,
    publicUrl: () => address.url,
    brandName: () => settings.read(address.url).brand.name,
  })
  const identity: Identity = createIdentity({
    ...base,
    source: parts.identitySource ?? null,
    listen,
    secrets: parts.secrets,
    mail: mailQueue,
    mailbox,
    providers: parts.identityProviders,
    captcha: parts.captcha,
    billing,
    audit,
    notices: notifications,
    countInstances: instances.countLive,
    leavers: () => [notifications, instances, sshKeys, registries, models],
    publicUrl: () => address.url,
    brandName: () => settings.read(address.url).brand.name,
  })
  const connect = createConnect({
    ...base,
    listen,
    compute,
    instances,
    identity,
    host: parts.host,
    publicUrl: parts.publicUrl,
    serviceHost: parts.serviceHost,
  })

  const sshKeys = createSshKeys({ ...base, requireOpen, notices: notifications })
  const registries = createRegistries({
    ...base,
    requireOpen,
    notices: notifications,
    sealer: createSealer({
      keys: credentialsKeys(parts),
      purpose: 'berth registry passwords',
      ids: parts.ids,
    }),
    outbound: createOutbound({ privateHosts: parts.privateRegistries }),
  })
  const models = createModels({ ...base, requireOpen, notices: notifications })

  const routes: Route[] = [
    ...identityRoutes(identity),
    ...settingsRoutes(settings),
    ...regionsRoutes(regions),
    ...imagesRoutes(images),
    ...instancesRoutes(instances, quotes),
    ...connect.routes,
    ...billingRoutes(billing),
    ...notificationsRoutes(notifications),
    ...auditRoutes(audit),
    ...sshKeysRoutes(sshKeys),
    ...registriesRoutes(registries),
    ...modelsRoutes(models),
  ]
  const server = await createServer({
    ...base,
    routes,
    authenticate: identity.authenticate,
    onCallDone: audit.noteCall,
    metrics,
    rateLimits: parts.rateLimits,
    contentKey: deriveKey(parts.secrets.signingKey, 'berth request content'),
    publicUrl: parts.publicUrl,
    bindHost: parts.host,
    trustedProxies: [...parts.trustedProxies],
    brands: catalogue.brands,
    consoleDir: CONSOLE_DIR,
    signInSources: typeof parts.captcha === 'string' ? null : parts.captcha.pageSources,
    openApi: openApiDocument(calls),
    upgrades: [connect.terminals.upgrade],
    serviceOrigin: connect.serviceOrigin,
    health: async () => {
      await db.execute('select 1')
    },
    checkAnswers: parts.checkAnswers ?? false,
  })

  const owner = parts.ids.uuid()
  const billingLoops = createBillingLoops({
    ...base,
    billing,
    owner,
    meteringMs: parts.meteringMs,
    async onExhausted(userId) {
      for (const target of await instances.stopForEmptyBalance(userId)) {
        audit.note({ userId, actor: 'system', action: 'instance.stop', target })
      }
    },
    afterTick: notifications.checkBalances,
  })
  const purging = createLoop({
    name: 'purge',
    pause_ms: PURGE_MS,
    log,
    async run() {
      await identity.purge()
      await audit.purge()
      await server.pruneIdempotency()
      await registries.resealFormer()
    },
  })
  const stops: (() => void)[] = []

  return {
    identity,
    billing,
    instances,
    connect,
    registries,
    models,
    server,
    async listen(port) {
      // What the first call may need: a sign-up puts a mail into the queue, a deploy takes from the stock. Nothing is
      // sent yet, since mails hold the address.
      await regions.syncStock()
      await mailQueue.open()
      const actualPort = await server.listen(parts.host, port)
      address.url ||= localAddress(parts.host, actualPort)
      return address.url
    },
    async start() {
      stops.push(await identity.start())
      stops.push(await connect.start())
      await mailQueue.start()
      await instances.reconciler.start()
      await registries.resealFormer()
      billingLoops.start()
      purging.start()
    },
    async stopRequests() {
      connect.shutdown()
      await server.close(REQUESTS_PATIENCE_MS)
    },
    async stopLoops() {
      await Promise.all([purging.stop(), billingLoops.stop(), instances.reconciler.stop(), mailQueue.stop()])
      for (const stop of stops) stop()
      await audit.stop()
    },
    async stopCompute() {
      if (compute) await instances.onShutdown(await compute.shutdown())
    },
  }
}

/** The operator's keys first; the installation's own always opens what was kept before there were any. */
function credentialsKeys(
  parts: Pick<GatewayParts, 'secrets' | 'credentialsKey' | 'formerCredentialsKeys'>,
): [Uint8Array, ...Uint8Array[]] {
  const own = deriveKey(parts.secrets.signingKey, 'berth credentials')
  const former = parts.formerCredentialsKeys.map(text => Buffer.from(text, 'base64'))
  if (parts.credentialsKey === null) return [own, ...former]
  return [Buffer.from(parts.credentialsKey, 'base64'), ...former, own]
}

/** Where the console is found from this computer. */
function localAddress(host: string, port: number): string {
  const everywhere = host === '0.0.0.0' || host === '::'
  const name = everywhere ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${port}`
}
