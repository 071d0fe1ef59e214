import { describe, expect, test } from 'vitest'
import { outageOf } from './outage.ts'

const SINCE = new Date('2026-11-20T10:00:00.000Z')
const AT = new Date('2026-11-20T12:00:00.000Z')
const away = {
  status: 'unknown',
  reasonCode: 'engine_away',
  statusSince: SINCE,
  runningMicroPerHour: 420_000n,
  billingType: 'postpay',
  chargeCycle: null,
  termMicro: null,
  expiryTime: null,
  desired: 'running',
  terminatedAt: null,
} as const

describe('[B17] an outage that ends', () => {
  test('is from when nobody reached its engine, at the price of the machine', () => {
    expect(outageOf(away, AT)).toEqual({ since: SINCE, until: AT, microPerHour: 420_000n })
  })

  test('of a machine that its engine lost counts as well', () => {
    expect(outageOf({ ...away, status: 'error', reasonCode: 'machine_lost' }, AT)).toMatchObject({
      since: SINCE,
    })
  })

  test('costs what an hour of its term has cost, where that was paid in advance', () => {
    const term = { billingType: 'prepay', chargeCycle: 'weekly', termMicro: 16_800_000n } as const
    const expiryTime = new Date('2026-11-24T00:00:00.000Z')
    expect(outageOf({ ...away, ...term, expiryTime }, AT)).toMatchObject({ microPerHour: 100_000n })
  })

  test.each([
    ['running', null],
    ['stopped', 'balance_used_up'],
    ['exited', 'exited'],
    // Who is root in a machine could bring these about.
    ['unknown', 'driver_silent'],
    ['error', 'image_not_found'],
    ['error', 'start_failed'],
    ['error', null],
  ] as const)('is none of %s by %s', (status, reasonCode) => {
    expect(outageOf({ ...away, status, reasonCode }, AT)).toBeNull()
  })

  test('is none where no time has passed, or a clock stepped back', () => {
    expect(outageOf(away, SINCE)).toBeNull()
    expect(outageOf(away, new Date(SINCE.getTime() - 1))).toBeNull()
  })
})
