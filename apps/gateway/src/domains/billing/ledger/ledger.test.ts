import { randomUUID } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type BillingFixture, createBillingFixture } from '../billing-fixture.ts'
import {
  customerAccounts,
  LEDGER_RESULTS,
  type LedgerResult,
  openHouseAccount,
  postTransfer,
  postTransfers,
  type Transfer,
} from './ledger.ts'
import { ledgerAccount, ledgerTransfer } from './tables.ts'

let fixture: BillingFixture
let userId: string
beforeAll(async () => {
  fixture = await createBillingFixture()
})
afterAll(() => fixture.database.drop())
beforeEach(async () => {
  userId = await fixture.customer()
})

/**
 * One row for each result, in the order of precedence: each transfer breaks its own rule and, where it can, all
 * later ones too, so that a change of the order fails.
 */
const TABLE: [LedgerResult, (known: Transfer) => Transfer][] = [
  [
    'amount_not_positive',
    known => ({ ...known, amountMicro: 0n, from: 'house:nowhere:USD', to: 'house:nowhere:USD' }),
  ],
  ['accounts_equal', known => ({ ...known, from: 'house:nowhere:USD', to: 'house:nowhere:USD' })],
  ['from_account_not_found', known => ({ ...known, from: 'house:nowhere:USD', to: 'house:elsewhere:EUR' })],
  ['to_account_not_found', known => ({ ...known, to: 'house:elsewhere:EUR' })],
  ['currencies_differ', known => ({ ...known, from: 'house:revenue:EUR' })],
  [
    'exists_with_other_content',
    known => ({ ...known, from: known.to, to: 'house:revenue:USD', amountMicro: 10n ** 12n }),
  ],
  ['exists', known => known],
  [
    'exceeds_balance',
    known => ({ ...known, key: randomUUID(), from: known.to, to: 'house:revenue:USD', amountMicro: 101n }),
  ],
  [
    'posted',
    known => ({ ...known, key: randomUUID(), from: known.to, to: 'house:revenue:USD', amountMicro: 100n }),
  ],
]

test('[B2] the table has every result of the ledger, in its order', () => {
  expect(TABLE.map(([result]) => result)).toEqual(Object.keys(LEDGER_RESULTS))
})

test.each(TABLE)('[B2] the ledger answers %s, and only `posted` changes anything', async (result, change) => {
  const known = transferOf(100n)
  await fixture.db.transaction(async tx => {
    await openHouseAccount(tx, 'revenue', 'EUR')
    await openHouseAccount(tx, 'revenue', 'USD')
    await openHouseAccount(tx, 'promotions', 'USD')
  })
  expect(await post(known)).toBe('posted')
  const before = await state()
  expect(await post(change(known))).toBe(result)
  if (result === 'posted') expect((await state()).balance).toBe(0n)
  else expect(await state()).toEqual(before)
})

test.each<[string, (known: Transfer) => Transfer]>([
  ['from', known => ({ ...known, from: 'house:revenue:USD' })],
  ['to', known => ({ ...known, to: customerAccounts(userId).cash })],
  ['amountMicro', known => ({ ...known, amountMicro: 99n })],
  ['kind', known => ({ ...known, kind: 'usage' })],
  ['refId', known => ({ ...known, refId: randomUUID() })],
  ['userId', known => ({ ...known, userId: randomUUID() })],
])('[B2] a key again that differs in `%s` alone stands for something else', async (_, change) => {
  await fixture.db.transaction(async tx => {
    await openHouseAccount(tx, 'revenue', 'USD')
    await openHouseAccount(tx, 'promotions', 'USD')
  })
  const known = transferOf(100n)
  expect(await post(known)).toBe('posted')
  expect(await post(change(known))).toBe('exists_with_other_content')
  // When it is booked is no part of what it is: a retry comes later.
  expect(await post({ ...known, at: new Date(known.at.getTime() + 1_000) })).toBe('exists')
})

test('[B2] twenty that post one transfer at the same time post it once', async () => {
  await fixture.db.transaction(tx => openHouseAccount(tx, 'promotions', 'USD'))
  const transfer = transferOf(7n)
  const results = await Promise.all(Array.from({ length: 20 }, () => post(transfer)))
  expect(results.toSorted()).toEqual([...Array.from({ length: 19 }, () => 'exists'), 'posted'])
  expect((await state()).balance).toBe(7n)
})

test('[B2] a refused transfer takes its whole transaction with it', async () => {
  const { credits } = customerAccounts(userId)
  const fails = fixture.db.transaction(async tx => {
    await openHouseAccount(tx, 'promotions', 'USD')
    await openHouseAccount(tx, 'revenue', 'USD')
    await postTransfer(tx, fixture, transferOf(5n))
    await postTransfer(tx, fixture, {
      ...transferOf(6n),
      key: randomUUID(),
      from: credits,
      to: 'house:revenue:USD',
    })
  })
  await expect(fails).rejects.toMatchObject({ name: 'LedgerError', code: 'exceeds_balance' })
  expect(await state()).toEqual({ balance: 0n, entries: 0 })
})

test('[B2] many transfers at once come to what each comes to: new, there before, and one key twice', async () => {
  await fixture.db.transaction(tx => openHouseAccount(tx, 'promotions', 'USD'))
  const [known, fresh, twice] = [transferOf(5n), transferOf(7n), transferOf(11n)]
  await post(known)
  const results = await fixture.db.transaction(tx => postTransfers(tx, fixture, [twice, known, fresh, twice]))
  expect(results).toEqual(['posted', 'exists', 'posted', 'exists'])
  expect(await state()).toEqual({ balance: 23n, entries: 3 })
})

test.each(TABLE.filter(([result]) => result !== 'exists' && result !== 'posted'))(
  '[B2] of many transfers, one that is refused as %s takes the others with it',
  async (result, change) => {
    const known = transferOf(100n)
    await fixture.db.transaction(async tx => {
      await openHouseAccount(tx, 'revenue', 'EUR')
      await openHouseAccount(tx, 'revenue', 'USD')
      await openHouseAccount(tx, 'promotions', 'USD')
    })
    await post(known)
    const before = await state()
    const others = [1n, 2n].map(micro => ({
      ...transferOf(micro),
      from: customerAccounts(userId).credits,
      to: 'house:revenue:USD',
    }))
    const all = fixture.db.transaction(tx => postTransfers(tx, fixture, [change(known), ...others]))
    await expect(all).rejects.toMatchObject({ name: 'LedgerError', code: result })
    expect(await state()).toEqual(before)
  },
)

function transferOf(amountMicro: bigint): Transfer {
  return {
    key: randomUUID(),
    from: 'house:promotions:USD',
    to: customerAccounts(userId).credits,
    amountMicro,
    kind: 'credit',
    refId: randomUUID(),
    userId,
    at: fixture.clock.now(),
  }
}

async function post(transfer: Transfer): Promise<LedgerResult> {
  try {
    return await fixture.db.transaction(tx => postTransfer(tx, fixture, transfer))
  } catch (error) {
    if (error instanceof Error && 'code' in error) return error.code as LedgerResult
    throw error
  }
}

async function state(): Promise<{ balance: bigint | null | undefined; entries: number }> {
  const accounts = await fixture.db
    .select()
    .from(ledgerAccount)
    .where(eq(ledgerAccount.id, customerAccounts(userId).credits))
  const entries = await fixture.db.select().from(ledgerTransfer).where(eq(ledgerTransfer.userId, userId))
  return { balance: accounts[0]?.balanceMicro, entries: entries.length }
}
