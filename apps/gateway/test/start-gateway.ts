import { randomUUID } from 'node:crypto'
import type { Call, CallData, CallInput } from '@berth/contract/call'
import {
  type ErrorEnvelope,
  GATEWAY_PREFIX,
  IDEMPOTENCY_KEY_HEADER,
  LANGUAGE_HEADER,
  type OkEnvelope,
} from '@berth/contract/envelope'
import { microFromCents } from '@berth/contract/money'
import { pino } from 'pino'
import { composeGateway, type Gateway, type GatewayParts } from '../src/compose.ts'
import type { FleetSource } from '../src/domains/fleet/fleet.ts'
import { createFakeEngine } from '../src/drivers/compute/fake/fake-engine.ts'
import type { Engine } from '../src/drivers/compute/port/engine.ts'
import { createMailboxDriver } from '../src/drivers/mail/mailbox.ts'
import { modelServersOf } from '../src/drivers/models/model-servers.ts'
import { createTestcardDriver } from '../src/drivers/payments/testcard/testcard-driver.ts'
import { systemClock } from '../src/platform/clock.ts'
import type { Catalogue } from '../src/platform/config/catalogue.ts'
import { RATE_LIMITS } from '../src/platform/http/rate-limits.ts'
import { systemIds } from '../src/platform/ids.ts'
import { fixedTokenKeys } from '../src/platform/installation/token-keys.ts'
import { LOCAL_PARTS } from './local-parts.ts'
import { LOW_PASSWORD_COST } from './low-password-cost.ts'
import { shippedCatalogue } from './shipped-catalogue.ts'
import { createTestDatabase, type TestDatabase } from './test-database.ts'
import { createTestImageStore } from './test-image-store.ts'

export interface CallOptions {
  token?: string
  language?: string
  /** Left out: a fresh one where the call spends. Null: none is sent. */
  idempotencyKey?: string | null
  /** After this long the call fails with a `TimeoutError`. Left out: never. */
  timeoutMs?: number
}

export interface CallAnswer<Data> {
  httpStatus: number
  envelope: OkEnvelope<Data> | ErrorEnvelope
  headers: Headers
}

export interface TestGateway {
  /** The parts, for looking behind the calls. */
  gateway: Gateway
  database: TestDatabase
  origin: string
  port: number
  /** Makes a call over HTTP. */
  call<C extends Call>(call: C, input: CallInput<C>, options?: CallOptions): Promise<CallAnswer<CallData<C>>>
  /** Makes a call that must work, and gives its data. */
  data<C extends Call>(call: C, input: CallInput<C>, options?: CallOptions): Promise<CallData<C>>
  /** A new customer with a verified address, signed in. @param email Left out: one that nobody has had. */
  signUp(email?: string): Promise<{ userId: string; token: string; email: string }>
  /** Gives a customer credit. */
  grant(userId: string, cents: number): Promise<void>
  /** The time of the test cards' platform. */
  cardsNow(): Date
  /** Lets so much time pass there that what cards do later has come. */
  passTimeAtCards(): Promise<void>
  stop(): Promise<void>
}

/** Signs the test cards' webhooks. */
export const WEBHOOK_SECRET = new Uint8Array(32).fill(8)
/** What cards do later comes when a test lets time pass, however slow the computer is. */
const CARDS_TAKE_MS = 3_600_000
/** A test signs up more often than an address may in a minute. */
const NO_LIMITS = {
  general_per_minute: 0,
  strict_per_minute: { login: 1e6, signup: 1e6, mail: 1e6, captcha: 1e6, coupon: 1e6, card: 1e6 },
}

/**
 * The whole gateway in this process, on a free port and a database of its own: test cards, the local mailbox, the fake
 * compute driver. Answers are checked against the contract.
 * @param overrides Parts to be other than that; `compute` is an engine that all regions have.
 */
export async function startGateway(
  overrides: Partial<GatewayParts> & { compute?: Engine } = {},
): Promise<TestGateway> {
  const database = await createTestDatabase()
  const clock = overrides.clock ?? systemClock
  const catalogue = overrides.catalogue ?? shippedCatalogue()
  const silent = pino({ level: 'silent' })
  const base = { db: database.db, clock, ids: systemIds }
  const mailbox = createMailboxDriver(base)
  let cardsAheadMs = 0
  const cardsNow = () => new Date(clock.now().getTime() + cardsAheadMs)
  const cards = createTestcardDriver({
    ...base,
    clock: { now: cardsNow },
    log: silent,
    webhook_secret: () => WEBHOOK_SECRET,
    offered: true,
    lateMs: CARDS_TAKE_MS,
    refundMs: CARDS_TAKE_MS,
  })
  const images = createTestImageStore()
  const gateway = await composeGateway({
    ...LOCAL_PARTS,
    ...base,
    gatewayId: systemIds.uuid(),
    formerGatewayId: null,
    database: { ...database, close: database.drop },
    log: silent,
    secrets: {
      rootKey: new Uint8Array(32).fill(7),
      tokenKeys: fixedTokenKeys(new Uint8Array(32).fill(8)),
      installationId: 'ba9876543210',
    },
    catalogue,
    engines: [everywhere(overrides.compute ?? createFakeEngine({ clock }), catalogue)],
    imageStore: images.store,
    modelServers:
      overrides.modelServers ??
      modelServersOf(catalogue.models, {}, () => Math.floor(clock.now().getTime() / 1_000)),
    mail: { driver: mailbox, mailbox },
    captcha: 'Default',
    payments: [cards],
    rateLimits: { ...RATE_LIMITS, ...NO_LIMITS },
    checkAnswers: true,
    passwordCost: LOW_PASSWORD_COST,
    ...overrides,
  })
  const origin = await gateway.listen(0)
  await gateway.start()

  const call: TestGateway['call'] = (contractCall, input, options) =>
    sendCall(origin, contractCall, input as PlainInput, options)
  return {
    gateway,
    database,
    origin,
    port: Number(new URL(origin).port),
    call,
    async data(contractCall, input, options) {
      const { envelope } = await call(contractCall, input, options)
      if (envelope.status === 'error') {
        throw new Error(
          `${contractCall.operation}: ${envelope.code} ${JSON.stringify(envelope.fields ?? '')}`,
        )
      }
      return envelope.data
    },
    async signUp(email = `${randomUUID()}@example.org`) {
      const { userId } = await gateway.identity.createVerifiedUser({
        email,
        displayName: 'Test',
        language: 'en',
      })
      const secret = await gateway.identity.createSignInLink(userId)
      const place = { address: '127.0.0.1', userAgent: 'test', stay: true }
      return { userId, email, token: await gateway.identity.signInByLink(secret, place) }
    },
    async grant(userId, cents) {
      const grant = {
        id: systemIds.uuid(),
        userId,
        amountMicro: microFromCents(cents),
        kind: 'bonus',
        reason: 'test',
      } as const
      await database.db.transaction(tx => gateway.billing.grantCredit(tx, grant))
    },
    cardsNow,
    async passTimeAtCards() {
      cardsAheadMs += CARDS_TAKE_MS
      // Whoever asks wakes it.
      await cards.forgetMethod('none')
    },
    async stop() {
      await gateway.stopRequests()
      await gateway.stopLoops()
      await gateway.stopCompute()
      await database.drop()
      await images.remove()
    },
  }
}

/** The way to an engine that is there, and that every region has. */
function everywhere(engine: Engine, { regions }: Catalogue): FleetSource {
  return {
    description: 'the test’s engine',
    regionCodes: regions.map(({ code }) => code),
    formerId: () => null,
    open: async () => engine,
  }
}

interface PlainInput {
  params?: Record<string, unknown>
  query?: Record<string, unknown>
  body?: unknown
}

/**
 * Makes a call of the contract to a gateway, over HTTP.
 * @throws What `fetch` throws when no whole answer came.
 */
export async function sendCall<C extends Call>(
  origin: string,
  call: C,
  { params = {}, query = {}, body }: PlainInput,
  { token, language, idempotencyKey = call.spends ? randomUUID() : null, timeoutMs }: CallOptions = {},
): Promise<CallAnswer<CallData<C>>> {
  const path = call.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])))
  const url = new URL(origin + GATEWAY_PREFIX + path)
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) url.searchParams.set(name, String(value))
  }
  const response = await fetch(url, {
    method: call.method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(language !== undefined && { [LANGUAGE_HEADER]: language }),
      ...(idempotencyKey !== null && { [IDEMPOTENCY_KEY_HEADER]: idempotencyKey }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(timeoutMs !== undefined && { signal: AbortSignal.timeout(timeoutMs) }),
  })
  const envelope = (await envelopeOf(call, response)) as OkEnvelope<CallData<C>> | ErrorEnvelope
  return { httpStatus: response.status, headers: response.headers, envelope }
}

/** What a raw call answers is its data. Of a call that streams it is enough that it began: it may go on for long. */
async function envelopeOf(call: Call, response: Response): Promise<unknown> {
  if (call.file && response.ok) return { status: 'ok', msg: '', data: await response.text() }
  if (call.raw && response.ok) return { status: 'ok', msg: '', data: await response.json() }
  if (!call.streams || !response.ok) return response.json()
  await response.body?.cancel()
  return { status: 'ok', msg: '', data: null }
}
