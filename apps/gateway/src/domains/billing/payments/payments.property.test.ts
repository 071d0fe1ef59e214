import { randomUUID } from 'node:crypto'
import { eq, sql } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { triesOf } from '../../../../test/long-runs.ts'
import {
  type PaymentDriver,
  PaymentUnavailable,
  type WebhookDelivery,
} from '../../../drivers/payments/port.ts'
import { testcardIntent } from '../../../drivers/payments/tables.ts'
import { letTimePass } from '../../../drivers/payments/testcard/testcard-books.ts'
import { SIGNATURE_HEADER, signWebhook } from '../../../drivers/payments/testcard/testcard-signature.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import {
  type BillingFixture,
  createBillingFixture,
  topupRequest,
  UNIT,
  WEBHOOK_SECRET,
} from '../billing-fixture.ts'
import { paymentIntent, paymentRefund } from './tables.ts'

/**
 * Goal: however answers, webhooks and recoveries of several gateways fall, each payment ends as its platform holds
 * it, its money moved once, and the books balance (B2, B3).
 * Method: random steps on one customer's payments, some at the same time; webhooks are the platform's own events,
 * sent by chance any number of times or never. At the end recovery alone must have found the rest.
 */

const RUNS = triesOf('payments')
const CARDS = [
  '4242424242424242',
  '4000000000000002',
  '4000002500003155',
  '4000008400001629',
  '4000000000007726',
  '4000000000005126',
  '6011111111111117',
  '3056930009020004',
] as const

let fixture: BillingFixture
beforeAll(async () => {
  fixture = await createBillingFixture()
})
afterAll(() => fixture.database.drop())

/** No page is told of by what time does. */
const pageKey = () => WEBHOOK_SECRET

type Breaks = 'never' | 'before' | 'after'
type Step =
  | { kind: 'pay'; key: number; card: string; breaks: Breaks }
  | { kind: 'answer'; which: number; confirmed: boolean }
  | { kind: 'cancel' | 'webhook'; which: number }
  | { kind: 'refund'; which: number; cents: number }
  | { kind: 'spend' | 'recover' | 'time' }

const which = fc.nat(20)
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('pay' as const),
    key: fc.nat(4),
    card: fc.constantFrom(...CARDS),
    breaks: fc.constantFrom<Breaks>('never', 'never', 'before', 'after'),
  }),
  fc.record({ kind: fc.constant('answer' as const), which, confirmed: fc.boolean() }),
  fc.record({ kind: fc.constantFrom('cancel' as const, 'webhook' as const, 'webhook' as const), which }),
  fc.record({ kind: fc.constant('refund' as const), which, cents: fc.constantFrom(500, 1_500, 2_500) }),
  fc.record({ kind: fc.constantFrom('spend' as const, 'recover' as const, 'time' as const) }),
)

test(
  '[B2] [B3] each payment ends as its platform holds it, and its money moved once',
  async () => {
    const rounds = fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(rounds, async rounds => {
        const userId = await fixture.customer()
        const run = randomUUID()
        for (const steps of rounds) {
          await Promise.all(steps.map(one => carryOut(one, { userId, run })))
          expect(await fixture.billing.checkBooks()).toEqual([])
        }
        // Whatever was looked at lately is due again by then.
        fixture.clock.advance(3_600)
        await Promise.all([fixture.billing.recoverTopups(), fixture.replica({}).recoverTopups()])
        await expectSettled(userId)
      }),
      { numRuns: RUNS },
    )
  },
  60_000 + RUNS * 5_000,
)

async function carryOut(one: Step, { userId, run }: { userId: string; run: string }): Promise<void> {
  const { billing, driver, clock } = fixture
  const mine = await platformIntents(userId)
  const chosen = 'which' in one ? mine[one.which % Math.max(1, mine.length)] : undefined
  switch (one.kind) {
    case 'pay': {
      const request = topupRequest(userId, { idempotencyKey: `${run}:${one.key}`, source: one.card })
      return await refusable(fixture.replica({ payments: [breaking(one.breaks)] }).topUp(request))
    }
    case 'answer': {
      const token = chosen && (await driver.retrieve(chosen.intentId)).next_url?.split('/').at(-1)
      if (!token) return
      const form = new URLSearchParams({ answer: one.confirmed ? 'confirm' : 'refuse' })
      await driver.embedded?.page({ method: 'POST', token, form, language: 'en' })
      return
    }
    case 'cancel':
      if (chosen) await refusable(billing.cancelTopup(userId, `t_${chosen.reference}`))
      return
    case 'webhook': {
      const delivery = await anyEvent(userId, one.which)
      if (delivery) await billing.receiveWebhook('testcard', delivery)
      return
    }
    case 'refund': {
      if (!chosen) return
      const request = { intent_id: chosen.intentId, idempotency_key: randomUUID(), amount_cents: one.cents }
      // More than is left is the platform's to refuse.
      await driver.refund(request).catch(() => {})
      return
    }
    case 'spend':
      return await spendAll(userId)
    case 'recover':
      await fixture.replica({}).recoverTopups()
      return
    case 'time':
      clock.advance(30)
      await letTimePass({ db: fixture.db, clock, ids: fixture.ids, pageKey, lateMs: 1_000, refundMs: 1_000 })
      return
  }
}

/** A machine takes everything that is there, so that a refund finds nothing. */
async function spendAll(userId: string): Promise<void> {
  const subject = { kind: 'instance' as const, id: `i-${randomUUID()}` }
  await fixture.db.transaction(async tx => {
    await fixture.billing.lockWallet(tx, userId)
    const { availableMicro } = await fixture.billing.totals(tx, userId)
    if (availableMicro > UNIT)
      await fixture.billing.hold(tx, { userId, subject, amountMicro: availableMicro })
  })
}

async function expectSettled(userId: string): Promise<void> {
  const ours = await fixture.db.select().from(paymentIntent).where(eq(paymentIntent.userId, userId))
  const theirs = new Map((await platformIntents(userId)).map(row => [row.reference, row]))
  for (const { id, state, refundedCents, refundsFailedCents } of ours) {
    const held = theirs.get(id)
    const status = state === 'refunded' || state === 'partly_refunded' ? 'succeeded' : state
    expect({ id, status, refundedCents, refundsFailedCents }).toEqual({
      id,
      status: held?.status ?? 'created',
      refundedCents: held?.refundedCents ?? 0,
      refundsFailedCents: held?.refundsFailedCents ?? 0,
    })
  }
  expect(await fixture.billing.checkBooks()).toEqual([])
  const [sums] = await fixture.db
    .select({ owed: sql<string>`coalesce(sum(owed_micro - repaid_micro), 0)` })
    .from(paymentRefund)
    .where(eq(paymentRefund.userId, userId))
  const { totalMicro } = await fixture.billing.totals(fixture.db, userId)
  const kept = [...theirs.values()]
    .filter(({ status }) => status === 'succeeded')
    .reduce((sum, row) => sum + row.amountCents - row.refundedCents + row.refundsFailedCents, 0)
  expect(totalMicro - BigInt(sums?.owed ?? 0)).toBe(BigInt(kept) * 10_000n)
}

function platformIntents(userId: string) {
  return fixture.db
    .select()
    .from(testcardIntent)
    .where(
      sql`${testcardIntent.reference} in (select id::text from payment_intent where user_id = ${userId})`,
    )
    .orderBy(testcardIntent.intentId)
}

/** One of the events about a customer's payments, signed now as the platform does. */
async function anyEvent(userId: string, which: number): Promise<WebhookDelivery | null> {
  const { rows } = await fixture.db.execute<{ body: string }>(sql`
    select e.body from testcard_event e join testcard_intent i on i.intent_id = e.intent_id
      join payment_intent p on p.id::text = i.reference
    where p.user_id = ${userId} order by e.event_id`)
  const text = rows[which % Math.max(1, rows.length)]?.body
  if (text === undefined) return null
  const body = Buffer.from(text)
  return { body, headers: { [SIGNATURE_HEADER]: signWebhook(WEBHOOK_SECRET, body, fixture.clock.now()) } }
}

/** The platform's line breaks before it is reached, or after it has charged. */
function breaking(when: Breaks): PaymentDriver {
  const { driver } = fixture
  if (when === 'never') return driver
  return {
    ...driver,
    async confirm(request) {
      if (when === 'after') await driver.confirm(request)
      throw new PaymentUnavailable('the line broke')
    },
  }
}

async function refusable(work: Promise<unknown>): Promise<void> {
  await work.catch(error => {
    if (!(error instanceof ApiError)) throw error
  })
}
