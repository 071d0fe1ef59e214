/** What coupons there are: how much, for how many in all, and for each. */
export const COUPONS = [
  { code: 'PROOF-FEW', cents: 500, totalMax: 7, perCustomerMax: 1 },
  { code: 'PROOF-ALL', cents: 300, totalMax: null, perCustomerMax: 1 },
  { code: 'PROOF-TWICE', cents: 150, totalMax: 60, perCustomerMax: 2 },
] as const

/** One of a list, by a number from 0 and below 1. */
export function pick<T>(list: readonly T[], dice: number): T | undefined {
  return list[Math.floor(dice * list.length)]
}
