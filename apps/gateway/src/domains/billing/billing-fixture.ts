import { randomUUID } from 'node:crypto'
import type { Currency } from '@berth/contract/limits'
import { isNull } from 'drizzle-orm'
import { pino } from 'pino'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { createTestEvents, type TestEvents } from '../../../test/test-events.ts'
import { testSealer } from '../../../test/test-sealer.ts'
import type { PaymentDriver } from '../../drivers/payments/port.ts'
import { createTestcardDriver } from '../../drivers/payments/testcard/testcard-driver.ts'
import type { Clock } from '../../platform/clock.ts'
import { createIds, type Ids } from '../../platform/ids.ts'
import { openCustomer } from '../customers/customers.ts'
import { type Billing, createBilling } from './billing.ts'
import { lockWallet } from './ledger/wallet.ts'
import type { MeterStart } from './meters/metering.ts'
import { postAll } from './meters/posting.ts'
import { usageInterval } from './meters/tables.ts'
import type { TopupRequest } from './payments/topups.ts'

/** A clock that tests set. */
export interface TestClock extends Clock {
  /** Moves it by that many seconds; backwards too. */
  advance(seconds: number): void
}

/** A billing domain on a database of its own, for tests. */
export interface BillingFixture {
  database: TestDatabase
  db: TestDatabase['db']
  clock: TestClock
  ids: Ids
  log: pino.Logger
  driver: PaymentDriver
  billing: Billing
  /** What was told. */
  events: TestEvents
  /** A transaction opened, of which no instance says anything. */
  receipt(userId: string, id: string): ReturnType<Billing['receipt']>
  /** A new customer with an empty wallet, or with credits of that many cents. */
  customer(options?: { currency?: Currency; creditCents?: number }): Promise<string>
  /** Another billing domain on the same database, as another process would be. */
  replica(options: { payments?: PaymentDriver[]; db?: TestDatabase['db'] }): Billing
  /** Starts an instance's meter in a transaction of its own; compute at 1.00 an hour unless told otherwise. */
  open(start: InstanceStart): Promise<void>
  close(input: { userId: string; instanceId: string; at?: Date }): Promise<void>
  hold(input: { userId: string; instanceId: string; amountMicro: bigint }): Promise<void>
  releaseHold(input: { userId: string; instanceId: string }): Promise<void>
  /** Posts what is due on everything that runs, whether it is time or not. */
  post(): Promise<void>
}

/** What tests say of an instance that starts to cost something. */
export interface InstanceStart {
  userId: string
  instanceId: string
  usage?: 'compute' | 'disk'
  rateMicroPerHour?: bigint
  instanceName?: string
  at?: Date
}

/** 1.00 in micro-units. */
export const UNIT = 1_000_000n

/** Who makes invoices out. */
export const SELLER = {
  name: 'Berth Cloud GmbH',
  address: 'Hafenstraße 1\n20457 Hamburg',
  tax_id: 'DE123456789',
}
/** What is credited for outages. */
export const SLA = { after_minutes: 15, percent: 100, hours_max: 24 }

/** Signs the test cards’ webhooks. */
export const WEBHOOK_SECRET = new Uint8Array(32).fill(9)

export async function createBillingFixture(): Promise<BillingFixture> {
  const database = await createTestDatabase()
  const { db } = database
  const clock = createTestClock(new Date('2026-03-10T12:00:00.000Z'))
  const ids = createIds(clock)
  const log = pino({ level: 'silent' })
  const driver = createTestcardDriver({
    db,
    clock,
    ids,
    log,
    webhook_secret: () => WEBHOOK_SECRET,
    offered: true,
  })
  const events = createTestEvents(db)
  const replica: BillingFixture['replica'] = ({ payments = [driver], db: ownDb = db }) =>
    createBilling({
      db: ownDb,
      clock,
      ids,
      log,
      payments,
      events,
      sealer: testSealer,
      publicUrl: () => 'http://127.0.0.1:8080',
      seller: () => SELLER,
      sla: SLA,
    })
  const billing = replica({})
  return {
    database,
    db,
    clock,
    ids,
    log,
    driver,
    billing,
    events,
    receipt: (userId, id) => billing.receipt(userId, id, async () => []),
    replica,
    async customer({ currency = 'USD', creditCents = 0 } = {}) {
      const userId = randomUUID()
      await db.transaction(async tx => {
        await openCustomer(tx, { userId, at: clock.now() })
        await billing.openWallet(tx, { userId, currency })
        if (creditCents > 0) {
          const amountMicro = BigInt(creditCents) * 10_000n
          await billing.grantCredit(tx, {
            id: randomUUID(),
            userId,
            amountMicro,
            kind: 'demo',
            reason: 'demo',
          })
        }
      })
      return userId
    },
    open: start => db.transaction(tx => billing.openMeters(tx, instanceStart({ at: clock.now(), ...start }))),
    close: ({ at = clock.now(), userId, instanceId }) =>
      db.transaction(tx => billing.closeMeters(tx, { userId, subject: instance(instanceId), at })),
    hold: ({ userId, instanceId, amountMicro }) =>
      db.transaction(tx => billing.hold(tx, { userId, subject: instance(instanceId), amountMicro })),
    releaseHold: ({ userId, instanceId }) =>
      db.transaction(tx => billing.releaseHold(tx, { userId, subject: instance(instanceId) })),
    async post() {
      const running = await db
        .selectDistinct({ userId: usageInterval.userId })
        .from(usageInterval)
        .where(isNull(usageInterval.endedAt))
      for (const { userId } of running) {
        await db.transaction(async tx => {
          await lockWallet(tx, userId)
          await postAll(tx, { clock, ids }, userId)
        })
      }
    },
  }
}

/** An instance as billing knows it. */
export const instance = (id: string) => ({ kind: 'instance', id }) as const

/** What the instances domain says of one that starts to cost something. */
function instanceStart(start: InstanceStart & { at: Date }): MeterStart {
  const { usage = 'compute', rateMicroPerHour: rateMicro = UNIT } = start
  const disk = usage === 'disk'
  return {
    userId: start.userId,
    subject: instance(start.instanceId),
    name: start.instanceName ?? 'llama-finetune',
    facts: { gpu_spec_name: 'RTX 4090', gpu_count: 1 },
    meters: [
      disk
        ? { sku: 'disk.container', label: '40 GB', unit: 'gb_hour', quantity: 1, rateMicro }
        : { sku: 'compute.rtx-4090', label: 'RTX 4090', unit: 'hour', quantity: 1, rateMicro },
    ],
    stopsWhenEmpty: !disk,
    at: start.at,
  }
}

/** A top-up of 25.00 by a card that works, with a key of its own. */
export function topupRequest(userId: string, changes: Partial<TopupRequest> = {}): TopupRequest {
  return {
    userId,
    idempotencyKey: randomUUID(),
    amountCents: 2_500,
    currency: 'USD',
    platformName: 'testcard',
    source: '4242 4242 4242 4242',
    ...changes,
  }
}

function createTestClock(start: Date): TestClock {
  let nowMs = start.getTime()
  return {
    now: () => new Date(nowMs),
    advance(seconds) {
      nowMs += seconds * 1_000
    },
  }
}
