import { randomUUID } from 'node:crypto'
import { text } from 'node:stream/consumers'
import type { BillGroup } from '@berth/contract/bills'
import { BILL_GROUPS } from '@berth/contract/bills'
import { PAGE_SIZE_MAX } from '@berth/contract/limits'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { triesOf } from '../../../../test/long-runs.ts'
import type { Meter } from '../billing.ts'
import { type BillingFixture, createBillingFixture } from '../billing-fixture.ts'
import type { Subject } from '../subject.ts'

/**
 * Goal: whatever a customer used, its months, lines, stretches, file and spending by day say the same to the micro-unit,
 * and that is what the balance has less (B2). Nothing of it jumps when usage is posted.
 * Method: random lives of an account with little money, with days between postings, parts of seconds that are carried,
 * usage that nobody could pay, terms that are given back and machines that turn out to have died before a posting.
 */

const RUNS = triesOf('bills')
const KINDS: readonly Subject['kind'][] = ['instance', 'network_volume', 'public_ip', 'image']
const SPEND_DAYS = 90

let fixture: BillingFixture
beforeAll(async () => {
  fixture = await createBillingFixture()
})
afterAll(() => fixture.database.drop())

type Operation =
  | { kind: 'open'; subject: number; meters: Meter[] }
  | { kind: 'close'; subject: number; secondsAgo: number }
  | { kind: 'term'; subject: number; meters: Meter[]; seconds: number }
  | { kind: 'end-term'; subject: number }
  | { kind: 'once'; meters: Meter[] }
  | { kind: 'grant'; micro: bigint }
  | { kind: 'post' }

const subject = fc.nat(KINDS.length - 1)
const meter = (units: readonly Meter['unit'][]): fc.Arbitrary<Meter> =>
  fc.record({
    sku: fc.constantFrom('compute.rtx-4090', 'disk.container'),
    label: fc.constant('RTX 4090'),
    unit: fc.constantFrom(...units),
    quantity: fc.nat(4),
    rateMicro: fc.bigInt(0n, 300_000n),
  })
const running = fc.array(meter(['hour', 'gb_day']), { minLength: 1, maxLength: 2 })
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ kind: fc.constant('open' as const), subject, meters: running }),
  fc.record({ kind: fc.constant('close' as const), subject, secondsAgo: fc.nat(100_000) }),
  fc.record({
    kind: fc.constant('term' as const),
    subject,
    meters: running,
    seconds: fc.integer({ min: 1, max: 9_000 }),
  }),
  fc.record({ kind: fc.constant('end-term' as const), subject }),
  fc.record({
    kind: fc.constant('once' as const),
    meters: fc.array(meter(['million_tokens']), { minLength: 1, maxLength: 1 }),
  }),
  fc.record({ kind: fc.constant('grant' as const), micro: fc.bigInt(1n, 3_000_000n) }),
  fc.constant<Operation>({ kind: 'post' }),
)
const step = fc.record({ ms: fc.integer({ min: 0, max: 200_000_000 }), operation })

test(
  '[R7.5] [B2] months, lines, stretches, the file, spending by day and the ledger agree to the micro-unit',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16 }), async steps => {
        const life = await createLife()
        for (const { ms, operation } of steps) {
          fixture.clock.advance(ms / 1_000)
          await life.carryOut(operation)
        }
        fixture.clock.advance(86_400.4)
        const before = await life.look()
        await fixture.post()
        expect(await life.look()).toEqual(before)
      }),
      { numRuns: RUNS },
    )
  },
  60_000 + RUNS * 2_000,
)

async function createLife() {
  const { billing, db, clock } = fixture
  const userId = await fixture.customer()
  let grantedMicro = 0n
  const placeOf = (index: number) => ({
    userId,
    subject: { kind: KINDS[index] ?? 'instance', id: `s-${userId}-${index}` } as const,
    name: `name-${index}`,
  })

  async function carryOut(operation: Operation): Promise<void> {
    const at = clock.now()
    await db
      .transaction(async tx => {
        switch (operation.kind) {
          case 'open':
            return await billing.openMeters(tx, {
              ...placeOf(operation.subject),
              meters: operation.meters,
              stopsWhenEmpty: false,
              at,
            })
          case 'close':
            return await billing.closeMeters(tx, {
              ...placeOf(operation.subject),
              at: new Date(at.getTime() - operation.secondsAgo * 1_000),
            })
          case 'term': {
            const { meters, seconds } = operation
            await billing.endTerm(tx, { ...placeOf(operation.subject), at })
            const term = { meters, from: at, until: new Date(at.getTime() + seconds * 1_000) }
            return await billing.chargeTerm(tx, { ...placeOf(operation.subject), ...term })
          }
          case 'end-term':
            return await billing.endTerm(tx, { ...placeOf(operation.subject), at })
          case 'once':
            return await billing.chargeOnce(tx, {
              userId,
              subject: { kind: 'model_call', id: randomUUID() },
              name: 'llama',
              meters: operation.meters,
              at,
            })
          case 'grant':
            grantedMicro += operation.micro
            return await billing.grantCredit(tx, {
              id: randomUUID(),
              userId,
              amountMicro: operation.micro,
              kind: 'demo',
              reason: 'demo',
            })
          case 'post':
            return
        }
      })
      .catch(error => {
        // A term that the wallet cannot pay, which is an answer.
        if (error?.code !== 'insufficient_balance') throw error
      })
    if (operation.kind === 'post') await fixture.post()
  }

  /** All that is read of the account; what must agree has been compared. */
  async function look() {
    const { months } = await billing.billMonths(userId)
    let chargedMicro = 0n
    const bills: unknown[] = []
    for (const { month, ...sum } of months) {
      for (const group of BILL_GROUPS) bills.push(await lookAt(month, group, sum))
      expect(await sumOfFile(month)).toBe(BigInt(sum.amount_micro))
      chargedMicro += BigInt(sum.amount_micro)
    }
    const { totalMicro } = await billing.totals(db, userId)
    expect(chargedMicro).toBe(grantedMicro - totalMicro)
    const { days } = await billing.spend(userId, SPEND_DAYS)
    expect(sumOf(days)).toBe(chargedMicro)
    for (const { amount_micro, kinds } of days) expect(sumOf(kinds)).toBe(BigInt(amount_micro))
    return { months, days, bills }
  }

  async function lookAt(month: string, group: BillGroup, sum: object) {
    const bill = await billing.bill(userId, { month, group, page: 1, page_size: PAGE_SIZE_MAX })
    expect(bill.sum).toEqual(sum)
    expect(sumsOf(bill.items)).toEqual(sum)
    expect(sumsOf(bill.kinds)).toEqual(sum)
    const opened: unknown[] = []
    for (const line of bill.items) {
      expect(sumsOf(line.parts)).toEqual(sumsOf([line]))
      const query = { month, group, line: line.id, page: 1, page_size: PAGE_SIZE_MAX }
      const { items, total } = await billing.billLine(userId, query, async () => [])
      expect(total).toBe(items.length)
      expect(sumsOf(items)).toEqual(sumsOf([line]))
      expect(items.reduce((all, { seconds }) => all + seconds, 0)).toBe(line.seconds)
      opened.push(items)
    }
    return [bill, opened]
  }

  async function sumOfFile(month: string): Promise<bigint> {
    const { body } = await billing.billFile(userId, { month }, 'en')
    const [head = '', ...lines] = (await text(body)).trimEnd().split('\r\n')
    const place = head.split(',').indexOf('Charged')
    return lines.reduce((all, line) => all + BigInt(line.split(',')[place]?.replace('.', '') ?? 0), 0n)
  }
  return { carryOut, look }
}

type Sums = Record<'amount_micro' | 'cash_micro' | 'credits_micro' | 'waived_micro', string>

function sumsOf(rows: readonly Sums[]): Sums {
  const sum = (name: keyof Sums) => rows.reduce((all, row) => all + BigInt(row[name]), 0n).toString()
  return {
    amount_micro: sum('amount_micro'),
    cash_micro: sum('cash_micro'),
    credits_micro: sum('credits_micro'),
    waived_micro: sum('waived_micro'),
  }
}

function sumOf(rows: readonly { amount_micro: string }[]): bigint {
  return rows.reduce((all, row) => all + BigInt(row.amount_micro), 0n)
}
