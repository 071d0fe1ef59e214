import { pino } from 'pino'
import type { GatewayParts } from '../../src/compose.ts'
import { createMailboxDriver } from '../../src/drivers/mail/mailbox.ts'
import { createTestcardDriver } from '../../src/drivers/payments/testcard/testcard-driver.ts'
import type { Clock } from '../../src/platform/clock.ts'
import type { Catalogue } from '../../src/platform/config/catalogue.ts'
import { openDatabase } from '../../src/platform/database/open-database.ts'
import { RATE_LIMITS } from '../../src/platform/http/rate-limits.ts'
import { createIds } from '../../src/platform/ids.ts'
import { fixedTokenKeys } from '../../src/platform/installation/token-keys.ts'
import { LOCAL_PARTS } from '../local-parts.ts'
import { LOW_PASSWORD_COST } from '../low-password-cost.ts'
import { shippedCatalogue } from '../shipped-catalogue.ts'
import { createTestImageStore } from '../test-image-store.ts'
import { disputedCards } from './disputes.ts'

/** Many more customers than one address has. */
const NO_LIMITS = {
  general_per_minute: 0,
  strict_per_minute: { login: 1e6, signup: 1e6, mail: 1e6, captcha: 1e6, coupon: 1e6, card: 1e6 },
}
const POOL_SIZE = 12
/** A database that is started again is there within a second or two, a busy computer's later. */
const CONNECT_MS = 20_000
const KEY = new Uint8Array(32).fill(7)
/** What a card does later, it does soon: time is moved on by minutes and hours. */
const CARDS_TAKE_MS = 60_000
/** Of each spec and region; some are short all the same, so that deploys race for the last one. */
const STOCK = { many: 400, few: 3 }
const PUBLIC_IPS = 24

/** What ships, with enough of it for two hundred customers, but for one spec. */
function runCatalogue(): Catalogue {
  const catalogue = structuredClone(shippedCatalogue())
  for (const spec of catalogue.gpu_specs) {
    const count = spec.id === 'rtx-5090' ? STOCK.few : STOCK.many
    for (const region of Object.keys(spec.stock)) spec.stock[region] = count
  }
  for (const [index, region] of catalogue.regions.entries()) {
    region.public_ips = Array.from({ length: index === 0 ? PUBLIC_IPS : 0 }, (_, ip) => {
      const address = `127.0.77.${ip + 1}`
      return { address, listen: address }
    })
  }
  return catalogue
}

/**
 * What one gateway of the run is put together from, beside its engines.
 * @param run The database's address, and the clock that all of them share.
 * @param level What its log says.
 */
export function runParts(
  run: { url: string; clock: Clock },
  { gatewayId, level }: { gatewayId: string; level: string },
): Omit<GatewayParts, 'engines'> {
  const log = pino({ level })
  const database = openDatabase({ url: run.url, log, poolSize: POOL_SIZE, connectTimeoutMs: CONNECT_MS })
  const ids = createIds(run.clock)
  const base = { db: database.db, clock: run.clock, ids }
  const mailbox = createMailboxDriver(base)
  const cards = createTestcardDriver({
    ...base,
    log,
    webhook_secret: () => KEY,
    offered: true,
    lateMs: CARDS_TAKE_MS,
    refundMs: CARDS_TAKE_MS,
  })
  return {
    ...LOCAL_PARTS,
    ...{ clock: run.clock, ids, log, database, gatewayId },
    formerGatewayId: null,
    secrets: { rootKey: KEY, tokenKeys: fixedTokenKeys(KEY), installationId: 'ba9876543210' },
    catalogue: runCatalogue(),
    modelServers: new Map(),
    imageStore: createTestImageStore().store,
    mail: { driver: mailbox, mailbox },
    captcha: 'none',
    payments: [disputedCards(cards, database.db)],
    rateLimits: { ...RATE_LIMITS, ...NO_LIMITS },
    checkAnswers: true,
    passwordCost: LOW_PASSWORD_COST,
    // Often, so that a kill is likely to fall into a posting.
    meteringMs: 300,
  }
}
