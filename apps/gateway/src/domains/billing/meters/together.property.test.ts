import { asc, eq } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { triesOf } from '../../../../test/long-runs.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { type BillingFixture, createBillingFixture, topupRequest } from '../billing-fixture.ts'
import { creditEnd, creditGrant, creditUse } from '../credits/tables.ts'
import { ledgerAccount, ledgerTransfer, wallet, walletHold } from '../ledger/tables.ts'
import { lockWallet } from '../ledger/wallet.ts'
import { postAll, postTogether } from './posting.ts'
import { usageDay, usageInterval, usageTotal } from './tables.ts'

/**
 * Goal: posting many customers together writes what posting them one by one does, to the micro-unit (B2).
 * Method: every customer has a twin, with whom the same happens at the same moments. The one half is posted together, the
 * other one by one, again and again while time goes on by seconds or by days; all that the books have of both is the same.
 */

const RUNS = triesOf('postings')

const micro = (max: bigint) => fc.bigInt(0n, max)
const life = fc.record({
  cents: fc.constantFrom(0, 0, 100, 2_500),
  lots: fc.array(
    fc.record({
      amountMicro: fc.bigInt(1n, 3_000_000n),
      lasts: fc.option(fc.constantFrom(1_000, 5_000, 90_000)),
      modelsOnly: fc.boolean(),
    }),
    { maxLength: 3 },
  ),
  subjects: fc.array(
    fc.record({ rate: micro(3_000_000n), held: micro(1_500_000n), disk: fc.boolean(), late: fc.nat(3) }),
    { minLength: 1, maxLength: 4 },
  ),
})
type Life = typeof life extends fc.Arbitrary<infer Value> ? Value : never
const pause = fc.oneof(fc.nat(10), fc.integer({ min: 1, max: 7_200 }), fc.integer({ min: 1, max: 300_000 }))

let fixture: BillingFixture
beforeAll(async () => {
  fixture = await createBillingFixture()
})
afterAll(() => fixture.database.drop())

test(
  '[B2] many customers posted together have in the books what each posted alone has',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(life, { minLength: 1, maxLength: 3 }),
        fc.array(pause, { minLength: 1, maxLength: 4 }),
        async (lives, pauses) => {
          const together = await Promise.all(lives.map(begin))
          const alone = await Promise.all(lives.map(begin))
          for (const [round, seconds] of pauses.entries()) {
            for (const [at, one] of lives.entries()) await open([together[at], alone[at]], one, round)
            fixture.clock.advance(seconds)
            await postTogetherAll(together)
            for (const userId of alone) await postAlone(userId)
            expect(await Promise.all(together.map(booksOf))).toEqual(await Promise.all(alone.map(booksOf)))
          }
          expect(await fixture.billing.checkBooks()).toEqual([])
        },
      ),
      { numRuns: RUNS },
    )
  },
  60_000 + RUNS * 2_000,
)

async function begin({ cents, lots }: Life): Promise<string> {
  const userId = await fixture.customer()
  if (cents > 0) await fixture.billing.topUp(topupRequest(userId, { amountCents: cents }))
  for (const { amountMicro, lasts, modelsOnly } of lots) {
    const endsAt = lasts === null ? null : new Date(fixture.clock.now().getTime() + lasts * 1_000)
    const grant = { id: fixture.ids.uuid(), userId, amountMicro, endsAt, modelsOnly }
    await fixture.db.transaction(tx =>
      fixture.billing.grantCredit(tx, { ...grant, kind: 'bonus', reason: 'demo' }),
    )
  }
  return userId
}

/** Starts what begins in this round, with what is set aside for it where there is as much. */
async function open(twins: (string | undefined)[], { subjects }: Life, round: number): Promise<void> {
  for (const [at, { rate, held, disk, late }] of subjects.entries()) {
    if (late !== round) continue
    for (const userId of twins) {
      if (userId === undefined) continue
      const instanceId = `i-${userId}-${at}`
      try {
        await fixture.hold({ userId, instanceId, amountMicro: held })
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
      }
      await fixture.open({ userId, instanceId, rateMicroPerHour: rate, usage: disk ? 'disk' : 'compute' })
    }
  }
}

async function postTogetherAll(userIds: string[]): Promise<void> {
  const left = await fixture.db.transaction(tx => postTogether(tx, fixture, userIds))
  for (const userId of left) await postAlone(userId)
}

async function postAlone(userId: string): Promise<void> {
  await fixture.db.transaction(async tx => {
    await lockWallet(tx, userId)
    await postAll(tx, fixture, userId)
  })
}

/** All that the books have of a customer, with names in place of the ids that are of nobody else. */
async function booksOf(userId: string) {
  const { db } = fixture
  const stretches = await db
    .select()
    .from(usageInterval)
    .where(eq(usageInterval.userId, userId))
    .orderBy(asc(usageInterval.startedAt), asc(usageInterval.id))
  const lots = await db
    .select()
    .from(creditGrant)
    .where(eq(creditGrant.userId, userId))
    .orderBy(asc(creditGrant.id))
  const names = new Map([[userId, 'customer']])
  for (const [at, { id }] of stretches.entries()) names.set(id, `stretch ${at}`)
  for (const [at, { id }] of lots.entries()) names.set(id, `lot ${at}`)
  const said = (rows: object[]) =>
    rows
      .map(row => {
        let text = JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? `${value}` : value))
        for (const [id, name] of names) text = text.replaceAll(id, name)
        return text
      })
      .toSorted()
  const own = <Row extends { id: string; refId?: string }>(rows: Row[]) =>
    // Ids that are made for each row; a top-up's and an end's are in `refId`, too.
    rows.map(({ id: _, ...row }) => ({ ...row, refId: names.get(row.refId ?? '') }))
  const entries = await db.select().from(ledgerTransfer).where(eq(ledgerTransfer.userId, userId))
  return {
    wallet: said(await db.select().from(wallet).where(eq(wallet.userId, userId))),
    accounts: said(await db.select().from(ledgerAccount).where(eq(ledgerAccount.userId, userId))),
    stretches: said(stretches),
    lots: said(lots),
    entries: said(
      own(entries).map(entry => ({ ...entry, key: entry.key.startsWith('usage:') ? entry.key : '' })),
    ),
    days: said(await db.select().from(usageDay).where(eq(usageDay.userId, userId))),
    totals: said(await db.select().from(usageTotal).where(eq(usageTotal.userId, userId))),
    uses: said(await db.select().from(creditUse).where(eq(creditUse.userId, userId))),
    ends: said(own(await db.select().from(creditEnd).where(eq(creditEnd.userId, userId)))),
    holds: said(own(await db.select().from(walletHold).where(eq(walletHold.userId, userId)))),
  }
}
