import { randomUUID } from 'node:crypto'
import { centsFloor } from '@berth/contract/money'
import { and, eq, max, sql } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { triesOf } from '../../../test/long-runs.ts'
import { type PaymentDriver, PaymentUnavailable } from '../../drivers/payments/port.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import type { Billing, Meter } from './billing.ts'
import { type BillingFixture, createBillingFixture, topupRequest } from './billing-fixture.ts'
import { usageInterval } from './meters/tables.ts'
import type { Rate } from './meters/units.ts'
import { ofSubject } from './subject.ts'

/**
 * Goal: whatever customers, ticks, retries and crashes do at the same time, the books balance (B2, B3).
 * Method: rounds of random operations; those of one round run in parallel on several replicas, whose platform
 * breaks off now and then and whose transactions die before they commit. After each round the rules that must
 * hold at any moment are checked, and after the last the audit.
 */

const CUSTOMERS = 3
/** One of each customer's subjects is an instance, the other a volume that is billed by the day. */
const KINDS = ['instance', 'network_volume'] as const
const ROUNDS_MAX = 8
const PARALLEL_MAX = 6
const RUNS = triesOf('books')
/** No payment that is open is left alone for longer. */
const LOOK_PAUSE_SECONDS_MAX = 3_600

let fixture: BillingFixture
beforeAll(async () => {
  fixture = await createBillingFixture()
})
afterAll(() => fixture.database.drop())

interface Place {
  customer: number
  subject: number
}

type Operation =
  | { kind: 'topup'; customer: number; key: number; cents: number; card: string; breaks: Breaks }
  | { kind: 'grant'; customer: number; id: number; lasts: number | null; models: boolean }
  | ({ kind: 'hold'; micro: bigint; dies: boolean } & Place)
  | ({ kind: 'release' } & Place)
  | ({ kind: 'open'; meters: Meter[]; stops: boolean; dies: boolean } & Place)
  | ({ kind: 'close'; secondsAgo: number; dies: boolean } & Place)
  | ({ kind: 'term'; meters: Meter[]; seconds: number; dies: boolean } & Place)
  | ({ kind: 'end-term'; secondsAgo: number; usedRate: Rate; dies: boolean } & Place)
  | ({ kind: 'once'; meters: Meter[]; byModel: boolean; dies: boolean } & Place)
  | { kind: 'tick' }
  | { kind: 'post' }
  | { kind: 'recover' }

type Breaks = 'never' | 'before' | 'after'

const place = { customer: fc.nat(CUSTOMERS - 1), subject: fc.nat(KINDS.length - 1) }
/** One in five transactions dies at its end. */
const dies = fc.nat(4).map(n => n === 0)
/** What time costs on demand: less than the term, more, or more than all of it. */
const usedRate = fc.record({ rateMicro: fc.bigInt(0n, 10_000_000n), rateSeconds: fc.constant(3_600) })
/** Rates of which not all are whole by the hour, in all units that run with the time. */
const meter = (units: readonly Meter['unit'][]): fc.Arbitrary<Meter> =>
  fc.record({
    sku: fc.constant('sku'),
    label: fc.constant('a'),
    unit: fc.constantFrom(...units),
    quantity: fc.nat(5),
    rateMicro: fc.bigInt(0n, 2_000_000n),
  })
const running = fc.array(meter(['hour', 'gb_hour', 'gb_day']), { minLength: 1, maxLength: 3 })
const counted = fc.array(meter(['million_tokens', 'video_second']), { minLength: 1, maxLength: 2 })
const card = fc.constantFrom('4242424242424242', '5555555555554444', '4000000000000002')

const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({
    kind: fc.constant('topup' as const),
    customer: place.customer,
    // Few keys, so that they are used again, at times with other content.
    key: fc.nat(3),
    cents: fc.constantFrom(100, 101, 2_500),
    card,
    breaks: fc.constantFrom<Breaks>('never', 'never', 'before', 'after'),
  }),
  fc.record({
    kind: fc.constant('grant' as const),
    customer: place.customer,
    id: fc.nat(5),
    // Most have an end, at times one that another has as well.
    lasts: fc.oneof(fc.constant(null), fc.constant(1_000), fc.integer({ min: 1, max: 6_000 })),
    models: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('hold' as const), ...place, micro: fc.bigInt(0n, 3_000_000n), dies }),
  fc.record({ kind: fc.constant('release' as const), ...place }),
  fc.record({
    kind: fc.constant('open' as const),
    ...place,
    meters: running,
    stops: fc.boolean(),
    dies,
  }),
  fc.record({
    kind: fc.constant('term' as const),
    ...place,
    meters: running,
    seconds: fc.integer({ min: 1, max: 100_000 }),
    dies,
  }),
  fc.record({ kind: fc.constant('end-term' as const), ...place, secondsAgo: fc.nat(2_000), usedRate, dies }),
  fc.record({ kind: fc.constant('once' as const), ...place, meters: counted, byModel: fc.boolean(), dies }),
  fc.constant<Operation>({ kind: 'post' }),
  fc.record({ kind: fc.constant('close' as const), ...place, secondsAgo: fc.nat(2_000), dies }),
  fc.constant<Operation>({ kind: 'tick' }),
  fc.constant<Operation>({ kind: 'recover' }),
)

const round = fc.record({
  /** Clocks step back, too. */
  seconds: fc.double({ min: -30, max: 3_000, noNaN: true }),
  operations: fc.array(operation, { minLength: 1, maxLength: PARALLEL_MAX }),
})

test(
  '[B2] [B3] the books balance whatever happens at the same time',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: ROUNDS_MAX }), async rounds => {
        const world = await createWorld()
        for (const { seconds, operations } of rounds) {
          fixture.clock.advance(Math.round(seconds * 1_000) / 1_000)
          await Promise.all(operations.map(operation => world.carryOut(operation)))
          await world.checkMoment()
        }
        await world.settle()
        expect(await fixture.billing.checkBooks()).toEqual([])
        await world.checkPlatform()
      }),
      { numRuns: RUNS },
    )
  },
  60_000 + RUNS * 1_200,
)

async function createWorld() {
  const run = randomUUID()
  const customers = await Promise.all(Array.from({ length: CUSTOMERS }, () => fixture.customer()))
  const grants = new Map<string, string>()
  const replicas: Record<Breaks, Billing> = {
    never: fixture.billing,
    before: fixture.replica({ payments: [breaking('before')] }),
    after: fixture.replica({ payments: [breaking('after')] }),
  }
  const customerOf = ({ customer }: { customer: number }) => customers[customer] ?? ''
  const placeOf = (at: Place) => ({
    userId: customerOf(at),
    subject: { kind: KINDS[at.subject] ?? 'instance', id: `s-${customerOf(at)}-${at.subject}` },
  })

  const ago = (seconds: number) => new Date(fixture.clock.now().getTime() - seconds * 1_000)

  async function carryOut(operation: Operation): Promise<void> {
    const { billing, clock } = fixture
    switch (operation.kind) {
      case 'topup':
        return await expectedRefusals(
          replicas[operation.breaks].topUp(
            topupRequest(customerOf(operation), {
              idempotencyKey: `${run}:${operation.key}`,
              amountCents: operation.cents,
              source: operation.card,
            }),
          ),
        )
      case 'grant': {
        const name = `${operation.customer}:${operation.id}`
        const id = grants.get(name) ?? randomUUID()
        grants.set(name, id)
        return await fixture.db.transaction(tx =>
          billing.grantCredit(tx, {
            ...{ id, userId: customerOf(operation), amountMicro: 1_234_567n, kind: 'bonus', reason: 'demo' },
            modelsOnly: operation.models,
            endsAt: operation.lasts === null ? null : ago(-operation.lasts),
          }),
        )
      }
      case 'hold':
        return await transact(operation, tx =>
          billing.hold(tx, { ...placeOf(operation), amountMicro: operation.micro }),
        )
      case 'release':
        return await fixture.db.transaction(tx => billing.releaseHold(tx, placeOf(operation)))
      case 'open':
        return await transact(operation, tx =>
          billing.openMeters(tx, {
            ...placeOf(operation),
            name: 'a',
            meters: operation.meters,
            stopsWhenEmpty: operation.stops,
            at: clock.now(),
          }),
        )
      case 'close':
        return await transact(operation, tx =>
          billing.closeMeters(tx, { ...placeOf(operation), at: ago(operation.secondsAgo) }),
        )
      case 'term':
        return await transact(operation, async tx => {
          await billing.lockWallet(tx, placeOf(operation).userId)
          // As their domain has them: one follows on the other.
          const [last] = await tx
            .select({ at: max(usageInterval.endedAt) })
            .from(usageInterval)
            .where(and(eq(usageInterval.charge, 'term'), ofSubject(usageInterval, placeOf(operation))))
          const from = new Date(Math.max(clock.now().getTime(), last?.at?.getTime() ?? 0))
          const { meters } = operation
          const until = new Date(from.getTime() + operation.seconds * 1_000)
          await billing.chargeTerm(tx, { ...placeOf(operation), name: 'a', meters, from, until })
        })
      case 'end-term':
        return await transact(operation, async tx => {
          const { usedRate } = operation
          await billing.lockWallet(tx, placeOf(operation).userId)
          const end = { ...placeOf(operation), at: ago(operation.secondsAgo), usedRate }
          const wouldMicro = await billing.termBackMicro(tx, end)
          expect(await billing.endTerm(tx, end)).toBe(wouldMicro)
        })
      case 'once':
        return await transact(operation, async tx => {
          const { meters, byModel } = operation
          const { userId, subject } = placeOf(operation)
          const what = byModel ? ({ kind: 'model_call', id: randomUUID() } as const) : subject
          await billing.chargeOnce(tx, { userId, subject: what, name: 'a', meters, at: clock.now() })
        })
      case 'post':
        return await fixture.post()
      case 'tick':
        await billing.postDue()
        return
      case 'recover':
        await replicas.before.recoverTopups()
        await billing.recoverTopups()
        return
    }
  }

  /** What holds at any moment: nothing is negative, cents add up, and a posting changes nothing that anybody sees. */
  async function checkMoment() {
    const seen = await Promise.all(customers.map(look))
    if (seen.length % 2 === 0 || fixture.clock.now().getTime() % 2 === 0) {
      await fixture.post()
      expect(await Promise.all(customers.map(look))).toEqual(seen)
    }
    for (const userId of customers) {
      const { account_balance: shown } = await fixture.billing.balance(userId)
      expect(
        Math.min(shown.amount_available, shown.amount_freeze, shown.amount_credits),
      ).toBeGreaterThanOrEqual(0)
      expect(shown.amount).toBe(shown.amount_available + shown.amount_freeze)
    }
    expect(await fixture.billing.checkBooks()).toEqual([])
  }

  async function look(userId: string) {
    const { cashMicro, creditsMicro, freeMicro, heldMicro, availableMicro, ...rest } =
      await fixture.billing.totals(fixture.db, userId)
    const micros = { cashMicro, creditsMicro, freeMicro, heldMicro, availableMicro }
    expect(Object.values(micros).filter(micro => micro < 0n)).toEqual([])
    const { days } = await fixture.billing.spend(userId, 5)
    const { burnMicroPerHour, unpaidSubjects, endings } = rest
    return { ...micros, burnMicroPerHour, unpaidSubjects, endings, days }
  }

  /** Ends what is open, as operators see it when all is quiet and every payment was asked about again. */
  async function settle() {
    fixture.clock.advance(LOOK_PAUSE_SECONDS_MAX)
    await fixture.billing.recoverTopups()
    await fixture.billing.postDue()
    for (const customer of customers.keys()) {
      for (const subject of KINDS.keys()) {
        const at = fixture.clock.now()
        await fixture.db.transaction(tx =>
          fixture.billing.closeMeters(tx, { ...placeOf({ customer, subject }), at }),
        )
      }
    }
  }

  /** What the platform charged is what the wallets got, and each row of the list opens to entries of its amount. */
  async function checkPlatform() {
    const { rows } = await fixture.db.execute<{
      charged: string
      booked: string
      clearing: string
    }>(sql`select
      (select coalesce(sum(amount_cents), 0) from testcard_intent where status = 'succeeded') as charged,
      (select coalesce(sum(amount_cents), 0) from payment_intent where state = 'succeeded') as booked,
      (select coalesce(sum(amount_micro), 0) from ledger_transfer where from_account like 'house:clearing:%') as clearing`)
    expect(rows[0]?.booked).toBe(rows[0]?.charged)
    expect(centsFloor(BigInt(rows[0]?.clearing ?? -1))).toBe(Number(rows[0]?.charged))
    for (const userId of customers) {
      const { items } = await fixture.billing.transactions(userId, { page: 1, page_size: 100 })
      for (const { id, type, status, amount_micro } of items) {
        const { lines } = await fixture.receipt(userId, id)
        const sum = lines.reduce((sum, line) => sum + signedForCustomer(line), 0n)
        expect([type, status, sum]).toEqual([type, status, status === 'failed' ? 0n : BigInt(amount_micro)])
      }
    }
  }

  return { carryOut, checkMoment, settle, checkPlatform }
}

/** Runs a transaction that may die at its very end, as a gateway does that is killed before the commit. */
async function transact(
  { dies }: { dies: boolean },
  work: (tx: Parameters<Parameters<typeof fixture.db.transaction>[0]>[0]) => Promise<void>,
): Promise<void> {
  await expectedRefusals(
    fixture.db.transaction(async tx => {
      await work(tx)
      if (dies) throw new Killed()
    }),
  )
}

class Killed extends Error {}

/** Refusals are answers, and deaths were wanted; anything else fails the test. */
async function expectedRefusals(work: Promise<unknown>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof Killed)) throw error
  }
}

/** The platform's line breaks before it is reached, or after it has charged. */
function breaking(when: 'before' | 'after'): PaymentDriver {
  const { driver } = fixture
  return {
    ...driver,
    async confirm(request) {
      if (when === 'after') await driver.confirm(request)
      throw new PaymentUnavailable('the line broke')
    },
  }
}

function signedForCustomer(line: { from_account: string; to_account: string; amount_micro: string }): bigint {
  const own = ['cash', 'credits']
  if (own.includes(line.to_account)) return BigInt(line.amount_micro)
  return own.includes(line.from_account) ? -BigInt(line.amount_micro) : 0n
}
