import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { composeGateway, type Gateway } from './compose.ts'
import type { Fleet, FleetSource } from './domains/fleet/fleet.ts'
import { toRecipe } from './domains/images/images.ts'
import { engineDescriptionSchema } from './drivers/compute/engine-description.ts'
import { createAutoSource, createEngineSource } from './drivers/compute/engine-source.ts'
import type { RepositoryPlace } from './drivers/compute/kubernetes/node-registry.ts'
import type { Engine } from './drivers/compute/port/engine.ts'
import type { ImageRecipe } from './drivers/compute/port/images.ts'
import type { LayoutStore } from './drivers/image-store/port.ts'
import { createLayoutRegistry } from './drivers/image-store/registry/layout-registry.ts'
import { findModels } from './drivers/models/find-models.ts'
import { gatewayParts, localModelOf, readCatalogue } from './gateway-parts.ts'
import { systemClock } from './platform/clock.ts'
import { type Catalogue, CatalogueError, type CatalogueModel } from './platform/config/catalogue.ts'
import { type Config, ConfigError, loadConfig } from './platform/config/config.ts'
import { lockDataDir } from './platform/data-dir-lock.ts'
import { openGatewayDatabase } from './platform/database/open-gateway-database.ts'
import { servesThisComputerOnly } from './platform/http/hosts.ts'
import { systemIds } from './platform/ids.ts'
import { needsDataDir, openOwnSecrets, openSecrets } from './platform/installation/open-secrets.ts'
import { createLog, type Logger } from './platform/log.ts'
import { createManagementServer, type ManagementServer } from './platform/management/management-server.ts'
import { say } from './platform/progress.ts'
import { createShutdown, type ShutdownPhase } from './platform/shutdown.ts'
import { spannedPort } from './platform/tracing/spanned-port.ts'

/** What was asked for cannot be done; nothing was started. */
const EXIT_USAGE = 2
const EXIT_FAILURE = 1
/** As shells say it of a program that a second Ctrl+C ended. */
const EXIT_INTERRUPTED = 130

/**
 * How long each phase of the end may take besides what the settings grant: where neither a database nor a model runs beside
 * the gateway, together less than what the chart adds to those (35 s).
 */
const DEADLINE_MS = {
  management: 1_000,
  leaving: 6_000,
  requests: 6_000,
  loops: 4_000,
  localModel: 4_000,
  machines: 8_000,
  pools: 2_000,
  traces: 1_500,
  database: 45_000,
}

try {
  const config = loadConfig()
  await start(config)
} catch (error) {
  const usage = error instanceof ConfigError || error instanceof CatalogueError
  say(error instanceof Error ? error.message : String(error))
  process.exit(usage ? EXIT_USAGE : EXIT_FAILURE)
}

/** Starts the gateway; what was started before a failure is stopped again. */
async function start(config: Config): Promise<void> {
  const log = createLog({ level: config.logLevel, pretty: process.stderr.isTTY === true })
  for (const warning of config.warnings) log.warn(warning)
  const phases: ShutdownPhase[] = []
  const shutDown = createShutdown(phases, log)
  endOnSignals(shutDown, log)
  try {
    await startParts(config, log, phases)
  } catch (error) {
    log.debug({ err: error }, 'the start failed')
    await shutDown()
    throw error
  }
}

/** Each part puts its own end before the ends of those that it builds on. */
async function startParts(config: Config, log: Logger, phases: ShutdownPhase[]): Promise<void> {
  const read = localModelOf(config, readCatalogue(config), log)
  const { localModel } = read
  const found = await foundHere(read.catalogue, config, log)
  // Before what only says that there is none.
  const catalogue = { ...read.catalogue, models: [...found, ...read.catalogue.models] }
  const gatewayId = systemIds.uuid()
  const lock = needsDataDir(config) ? lockDataDir(config.dataDir, gatewayId) : null
  if (lock) process.on('exit', lock.release)
  const management = createManagementServer({ log })
  const managementAddress = await listenForProbes(management, config)
  phases.push({ name: 'management', deadlineMs: DEADLINE_MS.management, run: management.close })
  if (config.traces) {
    const { startTracing } = await import('./platform/tracing/start-tracing.ts')
    const stop = startTracing(config.traces, { gatewayId, log })
    phases.push({ name: 'traces', deadlineMs: DEADLINE_MS.traces, run: stop })
  }
  const folder = openOwnSecrets(config)
  const opened = await openGatewayDatabase({ config, secrets: folder, log })
  phases.unshift(
    { name: 'pools', deadlineMs: DEADLINE_MS.pools, run: opened.database.close },
    { name: 'database', deadlineMs: DEADLINE_MS.database, run: opened.stopServer },
  )
  const { database } = opened
  const { db } = database
  const base = { db, clock: systemClock, ids: systemIds }
  const secrets = await openSecrets({ ...base, config, folder, database, log })
  /** Images that engines keep though nothing is made of them. */
  const offered = catalogue.images.map(toRecipe)
  const gateway = await composeGateway({
    ...(await gatewayParts({ config, catalogue, database, secrets, localModel, found, log })),
    gatewayId,
    formerGatewayId: lock?.formerGatewayId ?? null,
    engines: engineSources({ catalogue, offered, config, secrets, log }),
  })
  gateway.catalogues.onTaken(({ images }) => offered.splice(0, offered.length, ...images.map(toRecipe)))
  phases.unshift(
    // Whoever sends requests here learns first that it should not.
    {
      name: 'leaving',
      deadlineMs: config.drainMs + DEADLINE_MS.leaving,
      run: () => leave(management, gateway, config.drainMs),
    },
    { name: 'requests', deadlineMs: config.graceMs + DEADLINE_MS.requests, run: gateway.stopRequests },
    { name: 'loops', deadlineMs: DEADLINE_MS.loops, run: gateway.stopLoops },
    ...(localModel
      ? [{ name: 'local model', deadlineMs: DEADLINE_MS.localModel, run: localModel.stop }]
      : []),
    { name: 'machines', deadlineMs: DEADLINE_MS.machines, run: gateway.stopCompute },
  )
  const address = await listen(gateway, config)
  await gateway.start()
  localModel?.start()
  management.show(gateway.managed)
  await greet({ gateway, config, address, managementAddress })
}

/** What servers of models on this computer offer. */
async function foundHere(
  catalogue: Catalogue,
  { findModels: isOn }: Config,
  log: Logger,
): Promise<CatalogueModel[]> {
  const found = isOn ? await findModels(catalogue) : []
  if (found.length > 0)
    log.info({ models: found.map(({ id, vendor }) => `${vendor}: ${id}`) }, 'found models')
  return found
}

async function listenForProbes(management: ManagementServer, config: Config): Promise<string> {
  const { managementHost, managementPort } = config
  try {
    return await management.listen(managementHost, managementPort)
  } catch (error) {
    throw new Error(
      `Listening for probes on ${managementHost}, port ${managementPort}, does not work: ${String(error)}. ` +
        'Choose others with BERTH_MANAGEMENT_HOST and BERTH_MANAGEMENT_PORT.',
    )
  }
}

/** Says that it is not ready and goes on answering, while other gateways take over what nobody asks for. */
async function leave(
  management: ManagementServer,
  gateway: Pick<Gateway, 'leave'>,
  drainMs: number,
): Promise<void> {
  management.leave()
  const drained = sleep(drainMs)
  await gateway.leave().finally(() => drained)
}

async function listen(gateway: Gateway, config: Config): Promise<string> {
  try {
    return await gateway.listen(config.port)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const place = `${config.host}, port ${config.port}`
    if (code === 'EADDRINUSE') {
      throw new Error(`Another program uses ${place}. Stop it, or choose another port with BERTH_PORT.`)
    }
    if (code === 'EACCES')
      throw new Error(`Listening on ${place} is not allowed. Choose a BERTH_PORT above 1023.`)
    if (code === 'EADDRNOTAVAIL') throw new Error(`BERTH_HOST ${config.host} is no address of this computer.`)
    throw error
  }
}

interface Greeting {
  gateway: Gateway
  config: Config
  address: string
  managementAddress: string
}

/** The block that an operator reads first. */
async function greet({ gateway, config, address, managementAddress }: Greeting): Promise<void> {
  const lines = [`Console    ${address}`]
  const isLocal = servesThisComputerOnly(config)
  if (config.smtp === null) {
    lines.push(
      isLocal
        ? `Mailbox    ${address}/mailbox (no SMTP_URL is set: mails are kept here)`
        : 'Mails      reach nobody until SMTP_URL is set; the newest are kept in the database',
    )
  }
  lines.push(...aboutSsh(gateway.ssh, config.sshHost))
  lines.push(...aboutS3(gateway.s3, config))
  lines.push(...aboutPayments(gateway.paymentsShown))
  if (config.casdoor !== null) lines.push(`Accounts   are kept by Casdoor at ${config.casdoor.url}`)
  lines.push(`Metrics    ${managementAddress}/metrics`)
  lines.push(...aboutMachines(gateway.fleet.summary(), gateway.instances.foreign()))
  // An account of ours alone would not be one of Casdoor's.
  if (config.demo === 'auto' && isLocal && config.casdoor === null) {
    const { userId, created } = await gateway.identity.createDemoCustomer()
    const link = `${address}/auth?ticket=${await gateway.identity.createSignInLink(userId)}`
    lines.push(`Sign in    ${link}`)
    lines.push(
      `           as the demo customer${created ? ', who has $25 of credit' : ''}; the link works once`,
    )
  }
  say(`\nBerth runs.\n\n${lines.map(line => `  ${line}`).join('\n')}\n\nCtrl+C stops it.`)
}

/** How machines are reached by SSH, or why they are not. */
function aboutSsh(ssh: Gateway['ssh'], host: string): string[] {
  if (ssh === null) return []
  if (ssh.why === null) return [`SSH        ssh <instance>@${host} -p ${ssh.port}`]
  const why = ssh.why === 'EADDRINUSE' ? 'another program uses it' : ssh.why
  return [`SSH        does not listen on port ${ssh.port}: ${why}. Choose another one with BERTH_SSH_PORT.`]
}

/** How volumes are reached by S3, or why they are not. */
function aboutS3(s3: Gateway['s3'], { host, s3Url }: Pick<Config, 'host' | 's3Url'>): string[] {
  if (s3 === null) return []
  if (s3.why === null)
    return [`S3         ${s3Url ?? `http://${host}:${s3.port}`} (keys are made at a network volume)`]
  const why = s3.why === 'EADDRINUSE' ? 'another program uses it' : s3.why
  return [`S3         does not listen on port ${s3.port}: ${why}. Choose another one with BERTH_S3_PORT.`]
}

/** What an operator must know of payments before customers do. */
function aboutPayments(shown: Gateway['paymentsShown']): string[] {
  switch (shown) {
    case 'offered':
      return []
    case 'test':
      return ['Payments   by test cards: NO MONEY HERE IS REAL, and every page says so']
    case 'none':
      return [
        'Payments   are not set up: nobody can top up (see BERTH_STRIPE_SECRET_KEY; test cards, and keys of ' +
          'Stripe’s test mode, are for this computer alone, see BERTH_TEST_CARDS)',
      ]
  }
}

/** What makes machines and what it cannot do here, or how to get something that does. */
function aboutMachines({ open, missing }: ReturnType<Fleet['summary']>, foreign: number): string[] {
  const lines = [
    ...open.flatMap(aboutEngine),
    ...missing.map(({ description, why }) => `none from ${description}: ${why}`),
    ...(foreign > 0
      ? [
          `${foreign} of the machines and volumes there belong${foreign === 1 ? 's' : ''} to another database; nothing of them is removed.`,
        ]
      : []),
  ]
  return lines.map((line, index) => `${index === 0 ? 'Machines ' : '         '}  ${line}`)
}

function aboutEngine({ driver, capabilities }: Engine): string[] {
  const limits = {
    CPU: capabilities.cpu_limit,
    memory: capabilities.memory_limit,
    disk: capabilities.disk_limit,
    'disk rate': capabilities.disk_rate_limit,
    'network rate': capabilities.network_rate_limit,
  }
  return [
    `${driver}: ${capabilities.isolation}`,
    ...Object.entries(limits).flatMap(([what, limit]) =>
      limit.enforced ? [] : [`No ${what} limit: ${limit.why}`],
    ),
    ...[capabilities.egress_filter, capabilities.root_apart, capabilities.own_users].flatMap(wall =>
      wall.enforced ? [] : [`A machine’s walls: ${wall.why}`],
    ),
    ...(capabilities.ports_exposed === null ? [] : [capabilities.ports_exposed]),
    ...(capabilities.outbound_network.offered
      ? []
      : [`Machines do not reach the internet: ${capabilities.outbound_network.why}.`]),
  ]
}

/** The disk of a registry is its operator's to bound. */
function openRepository(place: RepositoryPlace): LayoutStore {
  return createLayoutRegistry(place, { bytes_max: Number.POSITIVE_INFINITY })
}

/** Ways to the engines that the catalogue names, each once, with the regions that have it. */
function engineSources(from: {
  catalogue: Catalogue
  offered: readonly ImageRecipe[]
  config: Config
  secrets: { installationId: string }
  log: Logger
}): FleetSource[] {
  const { catalogue, offered, config, secrets, log } = from
  const cloudId = secrets.installationId
  const { sandboxDir } = config
  const egress = {
    opened: config.machineNetworks,
    required: config.unfilteredMachines === 'auto' && !servesThisComputerOnly(config),
  }
  const named = catalogue.regions.flatMap(({ code, engines }) => engines.map(engine => ({ code, engine })))
  return [...Map.groupBy(named, ({ engine }) => JSON.stringify(engine))].map(([text, regions]) => {
    const described = engineDescriptionSchema.parse(JSON.parse(text))
    const isAuto = described.driver === 'auto'
    const baseDir = dirname(config.catalogueFile)
    const source = isAuto
      ? createAutoSource({ kind: config.compute, dataDir: sandboxDir, cloudId, offered, egress, log })
      : createEngineSource(described, {
          ...{ cloudId, sandboxDir, baseDir, offered, egress, openRepository, log },
        })
    return {
      ...source,
      // What is looked at again and again is no span.
      open: async () =>
        spannedPort('compute', await source.open(), {
          facts: { 'berth.driver': described.driver },
          own: false,
          parts: ['machines', 'images', 'volumes', 'network', 'console'],
        }),
      regionCodes: regions.map(({ code }) => code),
      // Of the version before, which had one engine: what the data folder's installation had made.
      formerId: driver => (isAuto ? `was:${driver}:${cloudId}` : null),
    }
  })
}

/** The first signal ends in good order, the second at once. */
function endOnSignals(shutDown: () => Promise<boolean>, log: Logger): void {
  let asked = false
  const onSignal = (signal: NodeJS.Signals) => {
    if (asked) process.exit(EXIT_INTERRUPTED)
    asked = true
    say('Stopping … (once more: at once)')
    log.debug({ signal }, 'stopping')
    void shutDown().then(well => {
      say(well ? 'Stopped.' : 'Stopped, not all of it in good order; the log says what.')
      process.exit(well ? 0 : EXIT_FAILURE)
    })
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
  // An error that nobody handled: what is in memory cannot be trusted, what is in the database can.
  process.on('uncaughtException', error => {
    log.fatal({ err: error }, 'an error that nobody handled')
    process.exitCode = EXIT_FAILURE
    void shutDown().then(() => process.exit(EXIT_FAILURE))
  })
}
