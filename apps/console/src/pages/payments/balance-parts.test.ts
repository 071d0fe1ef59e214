import { expect, test } from 'vitest'
import { type BalancePart, balanceParts } from './balance-parts.ts'

type Cents = Record<'available' | 'credits' | 'free' | 'freeze', number>

const partsOf = ({ available, credits, free, freeze }: Cents) =>
  Object.fromEntries(
    balanceParts({
      amount: available + freeze,
      amount_available: available,
      amount_credits: credits,
      amount_free: free,
      amount_freeze: freeze,
      amount_owed: 0,
    }).map(({ key, cents }) => [key, cents]),
  ) as Record<BalancePart, number>

test.each([
  ['cash alone', { available: 5_000, credits: 0, free: 0, freeze: 0 }, [5_000, 0, 0, 0]],
  [
    'set aside of credits first',
    { available: 4_053, credits: 1_137, free: 0, freeze: 134 },
    [3_050, 1_003, 0, 134],
  ],
  ['set aside of cash as well', { available: 3_000, credits: 50, free: 0, freeze: 134 }, [3_000, 0, 0, 134]],
  ['models alone pay no machine', { available: 150, credits: 50, free: 50, freeze: 134 }, [100, 0, 50, 134]],
  ['all of it credits', { available: 366, credits: 500, free: 0, freeze: 134 }, [0, 366, 0, 134]],
  ['nothing', { available: 0, credits: 0, free: 0, freeze: 0 }, [0, 0, 0, 0]],
] as const)('[R3.6] a balance is told by its parts: %s', (_, cents, [cash, credits, free, reserved]) => {
  expect(partsOf(cents)).toEqual({ cash, credits, free, reserved })
})
