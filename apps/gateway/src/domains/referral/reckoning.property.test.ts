import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type BookedReward, reckonRebates } from './reckoning.ts'

/**
 * Goal: rebates are 5% of the cash to the micro-unit, however often and in whatever parts it is reckoned (R9.7).
 * Method: a friend's days grow and shrink by chance; after each look what is booked is compared with the floor of the whole.
 */

const DAYS = ['2027-03-30', '2027-03-31', '2027-04-01', '2027-04-02']
const quarterFor = (day: string) => (day < '2027-04' ? '2027-Q1' : '2027-Q2')

type Change = { day: number; cash: bigint; credits: bigint; counts: boolean }
const change: fc.Arbitrary<Change> = fc.record({
  day: fc.nat(DAYS.length - 1),
  cash: fc.bigInt({ min: -500n, max: 10_000n }),
  credits: fc.bigInt({ min: 0n, max: 5_000n }),
  counts: fc.boolean(),
})

/** Books changes as rows do. */
function book(booked: BookedReward[], changes: readonly BookedReward[]): BookedReward[] {
  const rows = new Map(booked.map(row => [`${row.day} ${row.quarter}`, row]))
  for (const one of changes) {
    const key = `${one.day} ${one.quarter}`
    const row = rows.get(key) ?? { ...one, orderMicro: 0n, cashMicro: 0n, amountMicro: 0n }
    rows.set(key, {
      ...row,
      orderMicro: row.orderMicro + one.orderMicro,
      cashMicro: row.cashMicro + one.cashMicro,
      amountMicro: row.amountMicro + one.amountMicro,
    })
  }
  return [...rows.values()]
}

const sum = (rows: readonly BookedReward[], key: 'cashMicro' | 'amountMicro') =>
  rows.reduce((all, row) => all + row[key], 0n)
const floorOf = (cash: bigint) => (cash * 5n - ((((cash * 5n) % 100n) + 100n) % 100n)) / 100n

test('[R9.7] any number of looks comes to the floor of 5% of all cash, and takes all of it back from who does not count', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 12 }), changes => {
      const spent = new Map<string, { day: string; usedMicro: bigint; cashMicro: bigint }>()
      let booked: BookedReward[] = []
      let rebateParts = 0n
      for (const { day: at, cash, credits, counts } of changes) {
        const day = DAYS[at] ?? ''
        const known = spent.get(day) ?? { day, usedMicro: 0n, cashMicro: 0n }
        spent.set(day, {
          day,
          usedMicro: known.usedMicro + cash + credits,
          cashMicro: known.cashMicro + cash,
        })
        const reckoned = reckonRebates({
          ...{ counts, days: [...spent.values()], booked, rebateHundredths: 500, rebateParts },
          ...{ quarterFor, homeOf: quarter => quarter },
        })
        booked = book(booked, reckoned.changes)
        rebateParts = reckoned.rebateParts
        const cashMicro = counts ? [...spent.values()].reduce((all, one) => all + one.cashMicro, 0n) : 0n
        expect(sum(booked, 'cashMicro')).toBe(cashMicro)
        expect(sum(booked, 'amountMicro')).toBe(floorOf(cashMicro))
      }
    }),
  )
})

test('[R9.7] what is settled is not taken back, and is not earned twice when the friend counts again', () => {
  const days = [
    { day: '2027-03-31', usedMicro: 1_000n, cashMicro: 1_000n },
    { day: '2027-04-01', usedMicro: 1_019n, cashMicro: 1_019n },
  ]
  const base = {
    rebateHundredths: 500,
    quarterFor,
    homeOf: (name: string) => (name === '2027-Q1' ? null : name),
  }
  const first = reckonRebates({ ...base, counts: true, days, booked: [], rebateParts: 0n })
  expect(first.changes.map(({ amountMicro }) => amountMicro)).toEqual([50n, 50n])
  const booked = book([], first.changes)
  const back = reckonRebates({ ...base, counts: false, days: [], booked, rebateParts: first.rebateParts })
  expect(back.changes).toMatchObject([{ day: '2027-04-01', cashMicro: -1_019n, amountMicro: -50n }])
  const again = reckonRebates({
    ...{ ...base, counts: true, days, booked: book(booked, back.changes) },
    rebateParts: back.rebateParts,
  })
  expect(again.changes).toMatchObject([{ day: '2027-04-01', cashMicro: 1_019n, amountMicro: 50n }])
})
