import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { calls } from '@berth/contract/calls'
import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import { INSTANCES_PER_USER_DEFAULT } from '@berth/contract/limits'
import { alarmReads } from './domains/alarms/alarm-reads.ts'
import { type Alarms, createAlarms } from './domains/alarms/alarms.ts'
import { type Audit, createAudit } from './domains/audit/audit.ts'
import { auditRoutes } from './domains/audit/routes.ts'
import { type Billing, createBilling } from './domains/billing/billing.ts'
import { invoicePdfRoute } from './domains/billing/documents/invoices/pdf/pdf-route.ts'
import { createBillingLoops } from './domains/billing/loops.ts'
import { paymentRawRoutes } from './domains/billing/payments/raw-routes.ts'
import { billingRoutes } from './domains/billing/routes.ts'
import { type Budgets, createBudgets } from './domains/budgets/budgets.ts'
import { budgetsRoutes } from './domains/budgets/routes.ts'
import { type Catalogues, createCatalogues, type ReadCatalogue } from './domains/catalogue/catalogue.ts'
import { createCheckIns } from './domains/check-ins/check-ins.ts'
import { checkInRoutes } from './domains/check-ins/routes.ts'
import { createDeployTemplates } from './domains/deploy-templates/deploy-templates.ts'
import { deployTemplatesRoutes } from './domains/deploy-templates/routes.ts'
import { createFleet, type Fleet, type FleetSource } from './domains/fleet/fleet.ts'
import { createIdentity, type Identity } from './domains/identity/identity.ts'
import type { PasswordCost } from './domains/identity/passwords/passwords.ts'
import { identityRoutes } from './domains/identity/routes.ts'
import { createGitFiles } from './domains/images/dockerfile/git-files.ts'
import { createImages, type Images } from './domains/images/images.ts'
import { imagesRoutes } from './domains/images/routes.ts'
import type { FollowLimits } from './domains/instances/follow/follow-limits.ts'
import { createFollowers } from './domains/instances/follow/followers.ts'
import { followRoutes } from './domains/instances/follow/routes.ts'
import { createInstances, type Instances } from './domains/instances/instances.ts'
import { createQuotes } from './domains/instances/offer/quotes.ts'
import { instancesRoutes } from './domains/instances/routes.ts'
import { saidIn } from './domains/instances/said.ts'
import { createModels, type Models } from './domains/models/models.ts'
import { apiKeysRoutes, modelsRoutes } from './domains/models/routes.ts'
import { createTokenRates } from './domains/models/token-rates.ts'
import { v1Routes } from './domains/models/v1/v1-routes.ts'
import { createNotifications } from './domains/notifications/notifications.ts'
import { notificationsRoutes } from './domains/notifications/routes.ts'
import { createPublicIps } from './domains/public-ips/public-ips.ts'
import { createReach, type Reach } from './domains/reach/reach.ts'
import { referralLinkRoute } from './domains/referral/link-route.ts'
import { createReferral, type Referral } from './domains/referral/referral.ts'
import { referralRoutes } from './domains/referral/routes.ts'
import { createRegions } from './domains/regions/regions.ts'
import { regionsRoutes } from './domains/regions/routes.ts'
import { createOutbound } from './domains/registries/outbound.ts'
import { createRegistries, type Registries } from './domains/registries/registries.ts'
import { registriesRoutes } from './domains/registries/routes.ts'
import { s3Routes } from './domains/s3/routes.ts'
import { createS3 } from './domains/s3/s3.ts'
import { samplesRoutes } from './domains/samples/routes.ts'
import { createSamples } from './domains/samples/samples.ts'
import { settingsRoutes } from './domains/settings/routes.ts'
import { createSettings } from './domains/settings/settings.ts'
import { sshKeysRoutes } from './domains/ssh-keys/routes.ts'
import { createSshKeys } from './domains/ssh-keys/ssh-keys.ts'
import { volumesRoutes } from './domains/volumes/routes.ts'
import { createVolumes, type Volumes } from './domains/volumes/volumes.ts'
import { watchesRoutes } from './domains/watches/routes.ts'
import { createWatches, type Watches } from './domains/watches/watches.ts'
import type { CaptchaService } from './drivers/captcha/port.ts'
import type { RegistryAccess } from './drivers/compute/port/registry-access.ts'
import type { IdentitySource } from './drivers/identity/port.ts'
import type { LayoutStore } from './drivers/image-store/port.ts'
import { createMailQueue, MAIL_QUEUE } from './drivers/mail/mail-queue.ts'
import type { Mailbox, MailDriver } from './drivers/mail/port.ts'
import type { ModelServer } from './drivers/models/port.ts'
import { type PaymentsShown, paymentsShown } from './drivers/payments/payments-shown.ts'
import type { PaymentDriver } from './drivers/payments/port.ts'
import { createByHandPayouts } from './drivers/payouts/by-hand.ts'
import type { PayoutDriver } from './drivers/payouts/port.ts'
import type { IdentityProvider } from './drivers/sign-in/port.ts'
import type { Clock } from './platform/clock.ts'
import { findBrand, sellerOf } from './platform/config/brands.ts'
import type { Catalogue } from './platform/config/catalogue.ts'
import { sayIn } from './platform/config/catalogue-words.ts'
import type { Config } from './platform/config/config.ts'
import type { OpenDatabase } from './platform/database/open-database.ts'
import { directAddress, findDirectHost } from './platform/direct-host.ts'
import { createEvents, EVENT_QUEUE } from './platform/events/events.ts'
import { createGateways } from './platform/gateways/gateways.ts'
import type { BodyPace } from './platform/http/body-pace.ts'
import type { Route } from './platform/http/handler.ts'
import { servesThisComputerOnly } from './platform/http/hosts.ts'
import { openApiDocument } from './platform/http/openapi.ts'
import { createRateCounts } from './platform/http/rate-counts.ts'
import type { RateLimits } from './platform/http/rate-limits.ts'
import { createServer, type GatewayServer } from './platform/http/server.ts'
import type { Ids } from './platform/ids.ts'
import { createJobs } from './platform/jobs/jobs.ts'
import { releaseLeases } from './platform/lease.ts'
import type { Logger } from './platform/log.ts'
import { createLoop } from './platform/loop.ts'
import type { Managed } from './platform/management/management-server.ts'
import { createMetrics } from './platform/metrics.ts'
import { createSealer } from './platform/sealer.ts'
import { deriveKey, type Secrets } from './platform/secrets.ts'

/** What a gateway is put together from. */
export interface GatewayParts {
  /** This process among the gateways: an id that no other one has or had. */
  gatewayId: string
  /** The gateway that was here before and is dead without having taken its leave; null where none is known. */
  formerGatewayId: string | null
  database: OpenDatabase
  clock: Clock
  ids: Ids
  log: Logger
  secrets: Secrets
  catalogue: Catalogue
  /** Ways to the engines that make machines. */
  engines: FleetSource[]
  /** Sends mails; where there is no mail server it also keeps them, for a mailbox that only this computer is shown. */
  mail: { driver: MailDriver; mailbox: Mailbox | null }
  /** Whom alarms are mailed to; null or left out: nobody. */
  operatorMail?: string | null
  /** Folders whose disks must not run full; left out: none is looked at. */
  watchedFolders?: readonly string[]
  /** After so many days without a call, a session is over. */
  sessionIdleDays: number
  /** Where calls of models that are over are noted until they are in the database; left out: nowhere. */
  callsFolder?: string | null
  /** Calls of models by one customer for which money is set aside ahead: other than usual for tests. */
  oftenCalls?: number
  /** Gigabytes of one file that is uploaded to an instance. */
  uploadGbMax: number
  /** The kind of captcha: the embedded one, a service, or none. */
  captcha: 'Default' | 'none' | CaptchaService
  payments: PaymentDriver[]
  /** Pays money to customers; left out: an operator does, from files. */
  payouts?: PayoutDriver
  /** Keeps the accounts where an identity service outside does; left out or null: the gateway does. */
  identitySource?: IdentitySource | null
  /** Services that customers may sign in through. */
  identityProviders: IdentityProvider[]
  host: string
  publicUrl: string | null
  /** Where other gateways of the installation reach this one; an address that is null is found out. */
  internalHost: string
  internalPort: number
  internalAddress: string | null
  serviceHost: string
  /** Where direct TCP ports listen; a host that is null is an address that this computer has besides the console's. */
  direct: Config['direct']
  /** Interface of the SSH server; left out: `host`. */
  sshHost?: string
  /** Where the SSH server listens; 0: any port that is free; null or left out: no SSH. */
  sshPort?: number | null
  /** `host:port` that customers reach it by; null or left out: the console's host and that port. */
  sshAddress?: string | null
  /** Where the S3 server listens, on `host`; 0: any port that is free; null or left out: no S3. */
  s3Port?: number | null
  /** Where customers reach it; null or left out: the console's host and that port. */
  s3Url?: string | null
  trustedProxies: readonly string[]
  /** Keeps customers' images. */
  imageStore: LayoutStore
  /** Reads a catalogue's text as a start of this gateway would. @throws CatalogueError */
  readCatalogue(source: string): ReadCatalogue
  /** Who answers for each hosted model, by its id. */
  modelServers: ReadonlyMap<string, readonly ModelServer[]>
  /** Seals registry passwords: 32 bytes in base64; null takes the installation's. The former ones only open. */
  credentialsKey: string | null
  formerCredentialsKeys: readonly string[]
  /** What pulls of the operator's images may show to registries; left out: nothing. */
  registryAccess?: RegistryAccess
  /** Hosts of registries that may be private. */
  privateRegistries: readonly string[]
  /** A file of authorities in PEM by which hosts of Git repositories are believed; null or left out: the computer's own. */
  gitAuthority?: string | null
  rateLimits: RateLimits
  /** How fast long bodies must come; left out: as customers have it. */
  bodyPace?: BodyPace
  /** Live instances that one customer may have; left out: `INSTANCES_PER_USER_DEFAULT`. */
  instancesPerCustomer?: number
  meteringMs: number
  /** Checks answers against the contract: for tests. */
  checkAnswers?: boolean
  /** How many may follow their instances, and how closely: other than usual for tests. */
  followLimits?: Partial<FollowLimits>
  /** How films are waited for: other than usual for tests. */
  filmLimits?: Parameters<typeof createModels>[0]['filmLimits']
  /** What hashing a password costs, less than it has to: for tests. */
  passwordCost?: PasswordCost
  /** At the end, how long what is under way may go on; left out: `GRACE_MS`. */
  graceMs?: number
}

/** Where a server listens, or why it does not. */
export interface Listening {
  port: number
  why: string | null
}

/** A gateway that is put together. First `listen`, then `start`; the stops in their order here. */
export interface Gateway {
  /** What pages say of payments. */
  paymentsShown: PaymentsShown
  audit: Audit
  identity: Identity
  billing: Billing
  fleet: Fleet
  catalogues: Catalogues
  instances: Instances
  reach: Reach
  /** Where the SSH server listens, or why it does not; null where none is wanted. Known once started. */
  readonly ssh: Listening | null
  /** Where the S3 server listens, or why it does not; null where none is wanted. Known once started. */
  readonly s3: Listening | null
  registries: Registries
  models: Models
  watches: Watches
  volumes: Volumes
  images: Images
  budgets: Budgets
  alarms: Alarms
  referral: Referral
  /** Makes it possible to tell of events without listening or running loops, as the operator's command line does. */
  openJobs(): Promise<void>
  server: GatewayServer
  /** What the management port shows. */
  managed: Managed
  /** Prepares what calls need, begins to listen and gives the address for people. */
  listen(port: number): Promise<string>
  /** Starts the loops. */
  start(): Promise<void>
  /** Gives its loops and its engines to other gateways and keeps no connection; whoever comes is served as before. */
  leave(): Promise<void>
  /** Sends whoever only looks to another gateway, stops accepting, lets what is under way end, and cuts what is left. */
  stopRequests(): Promise<void>
  /** Ends what calls need, and what `leave` ends where it was not called. */
  stopLoops(): Promise<void>
  /** Lets the driver stop what cannot outlive the gateway, and writes it down. */
  stopCompute(): Promise<void>
}

const CONSOLE_DIR = resolve(import.meta.dirname, '../../console/dist')
const PURGE_MS = 3_600_000
/** What nothing is left to pay for is kept for days: minutes do not matter. */
const UNPAID_LOOK_MS = 600_000
/** What machines send is noted as often. */
const TRAFFIC_LOOK_MS = 60_000
/** Of whoever is suspended at once, nothing is to run much longer. */
const SUSPENDED_LOOK_MS = 10_000
/** Pause between two looks at outages that go on: they are credited by the day. */
const OUTAGE_LOOK_MS = 3_600_000
/** Whoever has paid waits for what is to start again. */
const RESUME_LOOK_MS = 10_000
/** What is under way at the end has this long, where nothing else is set; then it is cut. */
const GRACE_MS = 4_000
/** At the very end, how long loops are waited for that go on in an engine. */
const LOOPS_END_MS = 2_000

/**
 * Puts a gateway together: drivers, domains, server. Nothing runs or listens yet.
 * @param parts Everything that differs between a real gateway and one in a test.
 */
export async function composeGateway(parts: GatewayParts): Promise<Gateway> {
  const { database, log, graceMs = GRACE_MS } = parts
  // What an operator applies is put into these two, which all domains hold.
  const catalogue = { ...parts.catalogue, models: [...parts.catalogue.models] }
  const modelServers = new Map(parts.modelServers)
  const { db, listen } = database
  const base = { db, clock: parts.clock, ids: parts.ids, log }
  const address = { url: parts.publicUrl ?? '' }
  const metrics = createMetrics()
  const jobs = createJobs({ database, log })
  const events = createEvents({ db, jobs, log })
  const gateways = createGateways({
    ...base,
    selfId: parts.gatewayId,
    key: deriveKey(parts.secrets.rootKey, 'berth gateways'),
    host: parts.internalHost,
    port: parts.internalPort,
    address: parts.internalAddress,
  })
  metrics.gauge('berth_gateway_streams', 'Streams to and from other gateways.', gateways.streamCount)
  const sshPort = parts.sshPort ?? null
  const direct = { ...parts.direct, host: await findDirectHost(parts.direct.host) }
  const audit = createAudit({ ...base, events })

  const fleet = createFleet({ ...base, listen, selfId: parts.gatewayId, sources: parts.engines })
  const outbound = createOutbound({ privateHosts: parts.privateRegistries })
  const registries = createRegistries({
    ...base,
    events,
    sealer: createSealer({
      keys: credentialsKeys(parts),
      purpose: 'berth registry passwords',
      ids: parts.ids,
    }),
    outbound,
  })
  const catalogues = createCatalogues({
    ...{ ...base, listen, held: catalogue, servers: modelServers, read: parts.readCatalogue },
    selfId: parts.gatewayId,
  })
  const regions = createRegions({ ...base, catalogue, fleet, isDraining: catalogues.isDraining })
  fleet.onChange(regions.seedStock)
  catalogues.onTaken(regions.seedStock)
  const billing = createBilling({
    sla: catalogue.sla,
    ...base,
    payments: parts.payments,
    publicUrl: () => address.url,
    events,
    sealer: createSealer({
      keys: [parts.secrets.rootKey],
      purpose: 'berth payment pages',
      ids: parts.ids,
    }),
    seller: () => sellerOf(findBrand(catalogue.brands, URL.parse(address.url)?.host ?? '')),
  })
  const images: Images = createImages({
    ...base,
    catalogue,
    regions,
    fleet,
    billing,
    ...(parts.registryAccess && { access: parts.registryAccess }),
    customerAccess: registries.pullAccess,
    registries,
    git: createGitFiles({ outbound, authorityFile: parts.gitAuthority ?? null }),
    events,
    listen,
    store: parts.imageStore,
    instancesOf: (q, userId) => instances.countByImage(q, userId),
    usedAmong: (q, ids) => instances.imagesInUse(q, ids),
    beginBuild: (target, imageId, run, isDone) => instances.beginImage(target, imageId, { run, isDone }),
    endBuild: (tx, instanceId, done) => instances.endImage(tx, instanceId, done),
    nameOf: userId => identity.displayNameOf(userId),
    countUpload: createRateCounts(base).exact('cover'),
  })
  const publicIps = createPublicIps({ ...base, catalogue })
  const sshKeys = createSshKeys({ ...base, events, rootKey: parts.secrets.rootKey })
  const volumes = createVolumes({
    ...base,
    catalogue,
    regions,
    billing,
    fleet,
    events,
    listen,
    holders: (q, userId) => instances.holdersOfVolumes(q, userId),
    ownedByInstances: (q, engineId) => instances.ownVolumesOn(q, engineId),
  })
  const s3 = createS3({
    ...base,
    sealer: createSealer({ keys: [parts.secrets.rootKey], purpose: 'berth s3 keys', ids: parts.ids }),
    volumes,
    fleet,
    gateways,
    events,
    listen,
    host: parts.host,
    url: parts.s3Url ?? null,
    trustedProxies: parts.trustedProxies,
    publicUrl: () => address.url,
    pace: (of, stream) => reach.pace(of, stream),
  })
  const budgets = createBudgets({
    ...base,
    billing,
    events,
    instancesThere: (q, ids) => instances.instancesThere(q, ids),
    keysThere: (q, ids) => models.apiKeys.there(q, ids),
    keysSpent: (q, keys) => models.apiKeys.spent(q, keys),
    stop: userId => instances.stopForBudget(userId),
    owner: parts.gatewayId,
    lookMs: parts.meteringMs,
  })
  const quotes = createQuotes({
    ...{ db, catalogue, regions, publicIps, images, billing, budgets, fleet, registries, volumes },
    directPortsLeft: q => reach.directPortsLeft(q),
  })
  const instances: Instances = createInstances({
    ...base,
    budgets,
    fleet,
    sshKeys,
    catalogue,
    billing,
    regions,
    publicIps,
    sharedAddress: directAddress(direct, parts.host),
    images,
    quotes,
    volumes,
    events,
    listen,
    instancesMax: parts.instancesPerCustomer ?? INSTANCES_PER_USER_DEFAULT,
    sealer: createSealer({
      keys: [parts.secrets.rootKey],
      purpose: 'berth pages of instances',
      ids: parts.ids,
    }),
  })
  const samples = createSamples({ ...base, fleet, instances, events, listen, owner: parts.gatewayId })
  const mailbox = servesThisComputerOnly(parts) ? parts.mail.mailbox : null
  const mailQueue = createMailQueue({ jobs, driver: parts.mail.driver, log })
  const settings = createSettings({
    catalogue,
    mailbox: mailbox !== null,
    compute: fleet.outlook,
    directPorts: directAddress(direct, parts.host) !== null,
  })
  const brandName = () => settings.read(address.url).brand.name
  const identity = createIdentity({
    ...base,
    source: parts.identitySource ?? null,
    listen,
    secrets: parts.secrets,
    sessionIdleDays: parts.sessionIdleDays,
    mail: mailQueue,
    mailbox,
    providers: parts.identityProviders,
    captcha: parts.captcha,
    billing,
    audit,
    events,
    countInstances: instances.countLive,
    countVolumes: volumes.countLive,
    countImages: images.countLive,
    passwordCost: parts.passwordCost,
    publicUrl: () => address.url,
    brandName,
  })
  const say = sayIn(catalogue)
  const followers = createFollowers({
    ...{ listen, identity, log, limits: parts.followLimits },
    seen: instances.seen,
    said: saidIn(say),
  })
  metrics.gauge('berth_instance_followers', 'Open streams of changes of instances.', followers.count)
  const watches = createWatches({
    ...base,
    owner: parts.gatewayId,
    events,
    regions,
    instances,
    isVerified: async userId => (await identity.recipient(userId)) !== null,
    listen,
    say,
  })
  const notifications = createNotifications({
    ...base,
    say,
    mail: mailQueue,
    events,
    recipient: identity.recipient,
    burning: billing.burning,
    stoppedUnpaid: instances.stoppedUnpaid,
    publicUrl: () => address.url,
    brandName,
  })
  const reach: Reach = createReach({
    ...base,
    events,
    listen,
    whereIs: instances.whereIs,
    gateways,
    instances,
    identity,
    host: parts.host,
    publicUrl: parts.publicUrl,
    trustedProxies: parts.trustedProxies,
    serviceHost: parts.serviceHost,
    uploadGbMax: parts.uploadGbMax,
    direct,
    publicIps,
    selfId: parts.gatewayId,
    internalHost: parts.internalHost,
    ssh:
      sshPort === null
        ? null
        : {
            rootKey: parts.secrets.rootKey,
            sshKeys,
            languageOf: async userId => (await identity.recipient(userId))?.language ?? 'en',
            countRefusal: createRateCounts(base).exact('ssh'),
            place: placeOf(parts.sshAddress ?? null),
          },
  })
  const checkIns = createCheckIns({
    ...{ ...base, events, billing, catalogue },
    recipient: identity.recipient,
    counts: createRateCounts(base),
  })
  const referral = createReferral({
    ...{ ...base, events, billing },
    contactOf: identity.contactOf,
    displayNameOf: identity.displayNameOf,
    devicesOf: identity.devicesOf,
    recipient: identity.recipient,
    mail: mailQueue,
    counts: createRateCounts(base),
    payouts: choosePayouts(parts),
    terms: catalogue.referral,
    publicUrl: () => address.url,
    brandName: () => settings.read(address.url).brand.name,
    owner: parts.gatewayId,
  })
  const models = createModels({
    ...base,
    events,
    listen,
    callsFolder: parts.callsFolder ?? null,
    oftenCalls: parts.oftenCalls,
    billing,
    budgets,
    catalogue,
    servers: modelServers,
    sealer: createSealer({
      keys: [parts.secrets.rootKey],
      purpose: 'berth pages of model calls',
      ids: parts.ids,
    }),
    bodySealer: createSealer({
      keys: [parts.secrets.rootKey],
      purpose: 'berth bodies of model calls',
      ids: parts.ids,
    }),
    owner: parts.gatewayId,
    fileKey: deriveKey(parts.secrets.rootKey, 'berth creation files'),
    countUpload: createRateCounts(base).exact('model picture'),
    countOrders: createRateCounts(base).within('creation orders'),
    filmLimits: parts.filmLimits,
  })

  const alarms = createAlarms({
    ...{ ...base, metrics, mail: mailQueue, brandName },
    to: parts.operatorMail ?? null,
    reads: alarmReads({
      ...{ billing, fleet, instances, jobs, folders: parts.watchedFolders ?? [] },
      queues: { mails: MAIL_QUEUE, events: EVENT_QUEUE },
      now: parts.clock.now,
    }),
    place: hostname(),
    owner: parts.gatewayId,
    publicUrl: () => address.url,
  })

  const tokenRates = createTokenRates(createRateCounts(base))
  const routes: Route[] = [
    ...identityRoutes(identity),
    ...settingsRoutes(settings),
    ...regionsRoutes(regions, say),
    ...watchesRoutes(watches),
    ...imagesRoutes(images, say),
    ...instancesRoutes(instances, quotes, say),
    ...followRoutes(followers),
    ...volumesRoutes(volumes, say),
    ...s3Routes(s3),
    ...deployTemplatesRoutes(createDeployTemplates({ ...base, events }), instances),
    ...samplesRoutes(samples),
    ...reach.routes,
    ...billingRoutes(billing, instances, say),
    ...budgetsRoutes(budgets),
    ...notificationsRoutes(notifications),
    ...auditRoutes(audit),
    ...sshKeysRoutes(sshKeys),
    ...registriesRoutes(registries),
    ...checkInRoutes(checkIns),
    ...referralRoutes(referral),
    ...apiKeysRoutes(models.apiKeys),
    ...modelsRoutes(models, say, tokenRates),
  ]
  const shown = paymentsShown(parts.payments, servesThisComputerOnly(parts))
  const health = async () => {
    await db.execute('select 1')
  }
  const server = await createServer({
    ...base,
    routes,
    rawRoutes: [
      ...paymentRawRoutes(billing, parts.payments),
      ...v1Routes(models, createRateCounts(base), tokenRates),
      invoicePdfRoute(billing.invoices),
      referralLinkRoute(),
      ...images.rawRoutes,
      ...models.creations.rawRoutes,
      ...reach.rawRoutes,
    ],
    authenticate: identity.authenticate,
    onCallDone: audit.noteCall,
    metrics,
    rateLimits: parts.rateLimits,
    bodyPace: parts.bodyPace,
    contentKey: deriveKey(parts.secrets.rootKey, 'berth request content'),
    publicUrl: parts.publicUrl,
    bindHost: parts.host,
    trustedProxies: [...parts.trustedProxies],
    brands: catalogue.brands,
    payments: shown,
    consoleDir: CONSOLE_DIR,
    sources: parts.payments.find(({ offered, pageSources }) => offered && pageSources)?.pageSources ?? null,
    signInSources: typeof parts.captcha === 'string' ? null : parts.captcha.pageSources,
    openApi: () => openApiDocument(calls),
    upgrades: [reach.terminals.upgrade],
    serviceOrigin: reach.serviceOrigin,
    health,
    checkAnswers: parts.checkAnswers ?? false,
  })

  const billingLoops = createBillingLoops({
    ...base,
    billing,
    owner: parts.gatewayId,
    meteringMs: parts.meteringMs,
    async onExhausted(userId) {
      await instances.stopForEmptyBalance(userId)
      await volumes.noteEmptyBalance(userId)
      await images.noteEmptyBalance(userId)
    },
    afterTick: notifications.checkBalances,
    onBooksChecked: problems => alarms.note('books_differ', { value: problems.length, about: problems }),
  })
  const unpaid = createLoop({
    name: 'instances.unpaid',
    pauseMs: UNPAID_LOOK_MS,
    lease: { ...base, owner: parts.gatewayId },
    log,
    run: instances.lookAtUnpaid,
  })
  const traffic = createLoop({
    name: 'instances.traffic',
    pauseMs: TRAFFIC_LOOK_MS,
    lease: { ...base, owner: parts.gatewayId },
    log,
    run: instances.chargeTraffic,
  })
  const outages = createLoop({
    name: 'instances.outages',
    pauseMs: OUTAGE_LOOK_MS,
    lease: { ...base, owner: parts.gatewayId },
    log,
    run: instances.lookAtOutages,
  })
  const resuming = createLoop({
    name: 'instances.resume',
    pauseMs: RESUME_LOOK_MS,
    lease: { ...base, owner: parts.gatewayId },
    log,
    run: instances.resumeStopped,
  })
  const suspended = createLoop({
    name: 'instances.suspended',
    pauseMs: SUSPENDED_LOOK_MS,
    lease: { ...base, owner: parts.gatewayId },
    log,
    run: instances.stopSuspended,
  })
  const purging = createLoop({
    name: 'purge',
    pauseMs: PURGE_MS,
    log,
    async run() {
      await identity.purge()
      await audit.purge()
      await billing.purge()
      await watches.purge()
      await gateways.purge()
      await samples.purge()
      await server.pruneIdempotency(billing.openTopupsAmong)
      await server.pruneRateCounts()
      await registries.resealFormer()
      await s3.purge()
    },
  })
  /** Where servers beside the console's listen, or why they do not: without them the rest of a gateway is as good. */
  let ssh: Listening | null = null
  let s3Listening: Listening | null = null
  async function listenBeside(
    port: number,
    server: { listen(port: number): Promise<void>; address(): { port: number } | null; lacking: string },
  ): Promise<Listening> {
    try {
      await server.listen(port)
      return { port: server.address()?.port ?? port, why: null }
    } catch (error) {
      log.warn({ err: error, port }, server.lacking)
      return { port, why: String((error as NodeJS.ErrnoException).code ?? error) }
    }
  }
  async function listenForSsh(): Promise<void> {
    const { ssh: server } = reach
    if (!server || sshPort === null) return
    ssh = await listenBeside(sshPort, {
      listen: port => server.listen(parts.sshHost ?? parts.host, port),
      address: server.address,
      lacking: 'the SSH server cannot listen: nobody reaches instances by SSH here',
    })
  }
  async function listenForS3(): Promise<void> {
    const port = parts.s3Port ?? null
    if (port === null) return
    s3Listening = await listenBeside(port, {
      listen: s3.serve,
      address: s3.address,
      lacking: 'the S3 server cannot listen: nobody reaches volumes by S3 here',
    })
  }

  /** What the gateway before held must not be waited for until it runs out: nobody will give it back. */
  async function forget(gatewayId: string): Promise<void> {
    await gateways.forget(gatewayId)
    await fleet.forget(gatewayId)
    await publicIps.forget(gatewayId)
    await instances.forgetGateway(gatewayId)
    await images.forgetGateway(gatewayId)
    await models.creations.forgetGateway(gatewayId)
    await releaseLeases(db, gatewayId)
  }

  const stops: (() => void | Promise<void>)[] = []
  let stopSampling = async () => {}
  let leavingLoops: Promise<void> | null = null
  const platforms: { stop(): Promise<void> }[] = []

  /** Ends what goes on without being asked: another gateway goes on with it at once. */
  function leaveLoops(): Promise<void> {
    leavingLoops ??= stopOwnLoops()
    return leavingLoops
  }
  async function stopOwnLoops(): Promise<void> {
    await stopSampling()
    await Promise.all([
      purging.stop(),
      alarms.stop(),
      billingLoops.stop(),
      budgets.stop(),
      referral.stop(),
      unpaid.stop(),
      traffic.stop(),
      outages.stop(),
      resuming.stop(),
      suspended.stop(),
      watches.stop(),
      volumes.stop(),
      images.stop(),
      instances.reconciler.stop(),
    ])
  }

  /** Platforms that live in the gateway send their webhooks to its server, as others would. */
  function startPlatforms(): void {
    for (const { name, embedded } of parts.payments) {
      if (!embedded) continue
      const url = `${GATEWAY_PREFIX}/api/bill/webhook/${name}`
      const started = embedded.start(async ({ body, headers }) => {
        const answer = await server.app.inject({
          method: 'POST',
          url,
          headers: { 'content-type': 'application/json', ...headers },
          payload: Buffer.from(body),
        })
        return answer.statusCode
      })
      platforms.push(started)
    }
  }

  return {
    paymentsShown: shown,
    audit,
    identity,
    billing,
    fleet,
    catalogues,
    instances,
    reach,
    get ssh() {
      return ssh
    },
    get s3() {
      return s3Listening
    },
    registries,
    models,
    watches,
    volumes,
    images,
    budgets,
    alarms,
    referral,
    openJobs: jobs.open,
    server,
    managed: { metrics, ready: health },
    async listen(port) {
      if (parts.formerGatewayId !== null) await forget(parts.formerGatewayId)
      // What the first call may need: a sign-up puts a mail into the queue, a deploy takes from the stock. Nothing is
      // sent yet, since mails hold the address.
      await fleet.start()
      await regions.seedStock()
      await publicIps.seed()
      await jobs.open()
      await gateways.start()
      const actualPort = await server.listen(parts.host, port)
      address.url ||= localAddress(parts.host, actualPort)
      return address.url
    },
    async start() {
      await catalogues.start()
      stops.push(await identity.start())
      stops.push(await reach.start())
      stops.push(await followers.watch())
      await listenForSsh()
      stops.push(await s3.watch())
      await listenForS3()
      await jobs.start()
      await instances.reconciler.start()
      stopSampling = await samples.start()
      await registries.resealFormer()
      billingLoops.start()
      budgets.start()
      referral.start()
      unpaid.start()
      traffic.start()
      outages.start()
      models.start()
      resuming.start()
      suspended.start()
      await watches.start()
      await volumes.start()
      await images.start()
      startPlatforms()
      alarms.start()
      purging.start()
    },
    async leave() {
      server.leave()
      await leaveLoops()
    },
    async stopRequests() {
      await Promise.all(platforms.map(platform => platform.stop()))
      followers.shutdown()
      const closed = server.close(graceMs)
      // One that cannot leave as it should does not take what is under way elsewhere along.
      const told = (error: unknown) =>
        log.error({ err: error }, 'a part of the gateway did not leave in order')
      const leaving = [gateways.leave(), reach.leave(), s3.leave()].map(one => one.catch(told))
      const underWay = Promise.allSettled([closed, ...leaving])
      const late = new AbortController()
      await Promise.race([underWay, sleep(graceMs, undefined, { signal: late.signal })])
      late.abort()
      s3.shutdown()
      await Promise.all([reach.shutdown(), closed])
    },
    async stopLoops() {
      // A loop may hang in an engine or a registry: what is owed is written down all the same.
      const loops = Promise.race([leaveLoops(), sleep(LOOPS_END_MS, undefined, { ref: false })])
      await Promise.all([loops, models.stop(), jobs.stop()])
      // Its row belongs to the gateway's. Once that is gone, what this gateway has not written down is taken for lost.
      await catalogues.stop()
      await gateways.close()
      await Promise.all(stops.map(stop => stop()))
      await audit.stop()
    },
    async stopCompute() {
      await instances.onShutdown(await fleet.shutdown())
      await fleet.stop()
    },
  }
}

/** Real money is paid by itself only where what it was earned by was real: with test cards anybody earns. */
function choosePayouts({ payouts, payments, log }: GatewayParts): PayoutDriver {
  const isForTests = payments.some(({ offered, test }) => offered && test)
  if (!payouts || payouts.test || !isForTests) return payouts ?? createByHandPayouts()
  log.warn({}, 'no money here is real, so none is paid by PayPal: payouts wait for an operator')
  return createByHandPayouts()
}

/** The operator's keys first; the installation's own always opens what was kept before there were any. */
function credentialsKeys(
  parts: Pick<GatewayParts, 'secrets' | 'credentialsKey' | 'formerCredentialsKeys'>,
): [Uint8Array, ...Uint8Array[]] {
  const own = deriveKey(parts.secrets.rootKey, 'berth credentials')
  const former = parts.formerCredentialsKeys.map(text => Buffer.from(text, 'base64'))
  if (parts.credentialsKey === null) return [own, ...former]
  return [Buffer.from(parts.credentialsKey, 'base64'), ...former, own]
}

/** @param address `host:port`, or `[host]:port`. */
function placeOf(address: string | null): { host: string; port: number } | null {
  if (address === null) return null
  const colon = address.lastIndexOf(':')
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(address.slice(colon + 1)) }
}

/** Where the console is found from this computer. */
function localAddress(host: string, port: number): string {
  const everywhere = host === '0.0.0.0' || host === '::'
  const name = everywhere ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${port}`
}
