import { randomUUID } from 'node:crypto'
import type { Currency } from '@berth/contract/limits'
import { pino } from 'pino'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import type { PaymentDriver } from '../../drivers/payments/port.ts'
import { createTestcardDriver } from '../../drivers/payments/testcard/testcard-driver.ts'
import type { Clock } from '../../platform/clock.ts'
import { createIds, type Ids } from '../../platform/ids.ts'
import type { Notifications } from '../notifications/notifications.ts'
import { type Billing, createBilling } from './billing.ts'
import type { IntervalStart } from './metering.ts'
import type { InstanceEventsReader } from './receipts.ts'
import type { TopupRequest } from './topups.ts'

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
  /** Receipts that were queued, oldest first. */
  receipts: Parameters<Notifications['topUpReceipt']>[1][]
  /** A new customer with an empty wallet, or with credits of that many cents. */
  customer(options?: { currency?: Currency; creditCents?: number }): Promise<string>
  /** Another billing domain on the same database, as another process would be. */
  replica(options: { payments?: PaymentDriver[]; instanceEvents?: InstanceEventsReader }): Billing
  /** Starts an interval in a transaction of its own; compute at 1.00 an hour unless told otherwise. */
  open(start: Pick<IntervalStart, 'userId' | 'instanceId'> & Partial<IntervalStart>): Promise<void>
  close(input: { userId: string; instanceId: string; at?: Date }): Promise<void>
  hold(input: { userId: string; instanceId: string; amountMicro: bigint }): Promise<void>
}

/** 1.00 in micro-units. */
export const UNIT = 1_000_000n

export async function createBillingFixture(): Promise<BillingFixture> {
  const database = await createTestDatabase()
  const { db } = database
  const clock = createTestClock(new Date('2026-03-10T12:00:00.000Z'))
  const ids = createIds(clock)
  const log = pino({ level: 'silent' })
  const driver = createTestcardDriver({ db, clock, ids })
  const receipts: BillingFixture['receipts'] = []
  const replica: BillingFixture['replica'] = ({ payments = [driver], instanceEvents = async () => [] }) =>
    createBilling({
      db,
      clock,
      ids,
      log,
      payments,
      instanceEvents,
      notices: { topUpReceipt: async (_, facts) => void receipts.push(facts) },
      requireOpen: async () => {},
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
    receipts,
    replica,
    async customer({ currency = 'USD', creditCents = 0 } = {}) {
      const userId = randomUUID()
      await db.transaction(async tx => {
        await billing.openWallet(tx, { userId, currency })
        if (creditCents > 0) {
          const amountMicro = BigInt(creditCents) * 10_000n
          await billing.grantCredit(tx, { id: randomUUID(), userId, amountMicro, reason: 'demo' })
        }
      })
      return userId
    },
    open: start =>
      db.transaction(tx =>
        billing.openInterval(tx, {
          usage: 'compute',
          rateMicroPerHour: UNIT,
          instanceName: 'llama-finetune',
          gpuSpecName: 'RTX 4090',
          gpuCount: 1,
          at: clock.now(),
          ...start,
        }),
      ),
    close: ({ at = clock.now(), ...input }) =>
      db.transaction(tx => billing.closeInterval(tx, { ...input, at })),
    hold: input => db.transaction(tx => billing.hold(tx, input)),
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
