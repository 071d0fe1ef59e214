import { dirname, join } from 'node:path'
import type { GatewayParts } from './compose.ts'
import { chooseCaptcha } from './drivers/captcha/choose-captcha.ts'
import { checkRecipeParts } from './drivers/compute/check-recipe.ts'
import { engineDescriptionSchema } from './drivers/compute/engine-description.ts'
import { createRegistryAccess, registryDescriptionSchema } from './drivers/compute/registry-access.ts'
import { createCasdoorSource } from './drivers/identity/casdoor/casdoor-source.ts'
import { openLayoutStore } from './drivers/image-store/open-store.ts'
import { createMailboxDriver } from './drivers/mail/mailbox.ts'
import { createSmtpDriver } from './drivers/mail/smtp.ts'
import { createLocalModel, type LocalModel } from './drivers/models/local/local-model.ts'
import { withLocalModel } from './drivers/models/local/local-models.ts'
import { modelServersOf } from './drivers/models/model-servers.ts'
import type { PaymentDriver } from './drivers/payments/port.ts'
import { offersStripe } from './drivers/payments/stripe/offers-stripe.ts'
import { offersTestCards } from './drivers/payments/testcard/offers-test-cards.ts'
import { createTestcardDriver } from './drivers/payments/testcard/testcard-driver.ts'
import { createByHandPayouts } from './drivers/payouts/by-hand.ts'
import { createPaypalPayouts } from './drivers/payouts/paypal/paypal-driver.ts'
import { createIdentityProviders } from './drivers/sign-in/create-providers.ts'
import { type Clock, systemClock } from './platform/clock.ts'
import {
  type Catalogue,
  type CatalogueModel,
  type DriverChecks,
  loadCatalogue,
  parseCatalogue,
} from './platform/config/catalogue.ts'
import { type Config, namedVariables } from './platform/config/config.ts'
import type { OpenDatabase } from './platform/database/open-database.ts'
import { RATE_LIMITS } from './platform/http/rate-limits.ts'
import { systemIds } from './platform/ids.ts'
import { needsDataDir } from './platform/installation/open-secrets.ts'
import type { Logger } from './platform/log.ts'
import { deriveKey, type Secrets } from './platform/secrets.ts'
import { spannedPort } from './platform/tracing/spanned-port.ts'

/** What drivers say of what a catalogue says to them. */
const CHECKS: DriverChecks = {
  engine: engineDescriptionSchema,
  recipe: checkRecipeParts,
  registry: registryDescriptionSchema,
}

/**
 * Reads a catalogue's text, whatever it says to drivers checked by those; files of its brands are left alone.
 * @param name What it is called in messages. @throws CatalogueError with words for the operator.
 */
export const readCatalogueText = (source: string, name: string): Catalogue =>
  parseCatalogue(source, name, CHECKS)

/** Reads the catalogue, whatever it says to drivers checked by those. @throws CatalogueError with words for the operator. */
export function readCatalogue({
  catalogueFile,
  serviceHost,
}: Pick<Config, 'catalogueFile' | 'serviceHost'>): Catalogue {
  return loadCatalogue(catalogueFile, serviceHost, CHECKS)
}

/**
 * The model that runs beside the gateway, where the settings name one; it is not started yet.
 * @returns It, and the catalogue with it. @throws CatalogueError
 */
export function localModelOf(
  { localModel: source, localModelEngine: engine, dataDir }: Config,
  catalogue: Catalogue,
  log: Logger,
): { localModel: LocalModel | null; catalogue: Catalogue } {
  if (source === null) return { localModel: null, catalogue }
  const { models, contextTokens } = withLocalModel(catalogue, source)
  const folder = join(dataDir, 'local-model')
  const localModel = createLocalModel({ source, engine, folder, contextTokens, ids: systemIds, log })
  return { localModel, catalogue: { ...catalogue, models } }
}

/**
 * What a gateway is put together from by its settings: all but what is of one process alone, its id and its engines.
 * The operator's command line is put together from the same.
 */
export async function gatewayParts(from: {
  config: Config
  catalogue: Catalogue
  database: OpenDatabase
  secrets: Secrets
  /** The model beside the gateway; null: none. */
  localModel: Pick<LocalModel, 'server'> | null
  /** Models that were found on this computer, which stay whatever catalogue comes; left out: none. */
  found?: readonly CatalogueModel[]
  log: Logger
}): Promise<Omit<GatewayParts, 'gatewayId' | 'formerGatewayId' | 'engines'>> {
  const { config, catalogue, database, secrets, log } = from
  const base = { db: database.db, clock: systemClock, ids: systemIds }
  const kept = createMailboxDriver(base)
  const serversOf = (models: readonly CatalogueModel[]) =>
    spannedModels(
      modelServersOf(
        models,
        namedVariables(),
        () => Math.floor(systemClock.now().getTime() / 1_000),
        from.localModel?.server ?? null,
      ),
    )
  return {
    ...base,
    ...config,
    database,
    log,
    secrets,
    catalogue,
    registryAccess: createRegistryAccess(
      catalogue.registries.map(described => registryDescriptionSchema.parse(described)),
      dirname(config.catalogueFile),
    ),
    imageStore: openLayoutStore(config.imageStore),
    readCatalogue(source) {
      const read = readCatalogueText(source, 'the applied catalogue')
      const own = config.localModel === null ? read.models : withLocalModel(read, config.localModel).models
      const named = new Set(own.map(({ id }) => id))
      const models = [...(from.found ?? []).filter(({ id }) => !named.has(id)), ...own]
      return { catalogue: { ...read, models }, servers: serversOf(models) }
    },
    modelServers: serversOf(catalogue.models),
    mail: config.smtp
      ? { driver: createSmtpDriver(config.smtp), mailbox: null }
      : { driver: kept, mailbox: kept },
    // Without the folder's lock others might use it, too.
    callsFolder: needsDataDir(config) ? join(config.dataDir, 'model-calls') : null,
    watchedFolders: [
      config.dataDir,
      config.sandboxDir,
      ...(config.imageStore.kind === 'folder' ? [config.imageStore.folder] : []),
    ],
    captcha: chooseCaptcha(config.captcha),
    payments: [
      ...(await stripeDrivers(config, { ...base, log })),
      createTestcardDriver({
        ...base,
        log,
        webhook_secret: () => deriveKey(secrets.rootKey, 'berth test-card webhooks'),
        offered: offersTestCards(config),
      }),
    ].map(driver => spannedPort('payments', driver, { facts: { 'berth.driver': driver.name } })),
    payouts: config.paypal ? createPaypalPayouts(config.paypal, base) : createByHandPayouts(),
    identitySource: config.casdoor && createCasdoorSource({ ...base, settings: config.casdoor }),
    identityProviders: createIdentityProviders(config.signInProviders, base),
    rateLimits: { ...RATE_LIMITS, general_per_minute: config.rateLimitPerMinute },
    instancesPerCustomer: config.instancesPerCustomer,
  }
}

/** What servers of models are asked is said in traces by which model is asked, and by nothing of what it was asked. */
function spannedModels(servers: GatewayParts['modelServers']): GatewayParts['modelServers'] {
  const spannedServers = [...servers].map(
    ([model, those]) =>
      [
        model,
        those.map(server =>
          spannedPort('models', server, { facts: { 'berth.model': model }, parts: ['films'] }),
        ),
      ] as const,
  )
  return new Map(spannedServers)
}

/** Stripe, where it is set up; its library, which takes a while to load, is loaded only then. */
async function stripeDrivers(
  config: Config,
  deps: { db: OpenDatabase['db']; clock: Clock; log: Logger },
): Promise<PaymentDriver[]> {
  if (config.stripe === null) return []
  const { createStripeDriver } = await import('./drivers/payments/stripe/stripe-driver.ts')
  return [createStripeDriver({ ...deps, settings: config.stripe, offered: offersStripe(config) })]
}
