import { usageDueMicro } from '@berth/contract/money'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  costOf,
  inItsUnit,
  type Meter,
  priceOf,
  rateOf,
  restOf,
  sharesOf,
  UNITS,
  type Unit,
} from './units.ts'

const meter = (...units: Unit[]): fc.Arbitrary<Meter> =>
  fc.record({
    sku: fc.constant('sku'),
    label: fc.constant(''),
    unit: fc.constantFrom(...units),
    quantity: fc.nat(100_000),
    rateMicro: fc.bigInt(0n, 100_000_000n),
  })
const running = fc.array(meter('hour', 'gb_hour', 'gb_day'), { minLength: 1, maxLength: 4 })
const counted = fc.array(meter('million_tokens', 'video_second'), { minLength: 1, maxLength: 4 })
const elapsedMs = fc.nat(400 * 86_400_000)

test('[B2] what runs costs the exact sum of its meters, rounded down once, at every moment', () => {
  fc.assert(
    fc.property(running, elapsedMs, (meters, ms) => {
      const seconds = BigInt(Math.floor(ms / 1_000))
      // Over a common denominator, one fraction for each meter.
      const parts = meters.map(({ unit, quantity, rateMicro }) => {
        const { seconds: each = 1 } = UNITS[unit] as { seconds?: number }
        return seconds * BigInt(quantity) * rateMicro * (86_400n / BigInt(each))
      })
      const sum = parts.reduce((total, part) => total + part, 0n)
      expect(costOf(rateOf(meters), ms)).toBe(sum / 86_400n)
      expect(priceOf(meters, Number(seconds))).toBe(sum / 86_400n)
    }),
  )
})

test('[B2] by the hour it is the formula that receipts show', () => {
  fc.assert(
    fc.property(fc.bigInt(0n, 100_000_000n), elapsedMs, (rateMicro, ms) => {
      const rate = rateOf([{ sku: 'sku', label: '', unit: 'hour', quantity: 1, rateMicro }])
      expect(rate).toEqual({ rateMicro, rateSeconds: 3_600 })
      expect(costOf(rate, ms)).toBe(usageDueMicro(ms, rateMicro))
    }),
  )
})

test('[B2] what stretches cost one after the other is what they cost together, whatever their rates and lengths', () => {
  const stretch = fc.record({ rate: running.map(rateOf), ms: fc.nat(5_000) })
  fc.assert(
    fc.property(fc.array(stretch, { maxLength: 40 }), stretches => {
      let carried = 0n
      let charged = 0n
      let exactParts = 0n
      for (const { rate, ms } of stretches) {
        charged += costOf(rate, ms, carried)
        carried = restOf(rate, ms, carried)
        exactParts += (BigInt(ms) * rate.rateMicro * 86_400n) / BigInt(rate.rateSeconds)
        // Never more than what the part of a second at its end was worth, and the part of a micro-unit.
        expect(
          carried * BigInt(rate.rateSeconds) <= (rate.rateMicro + BigInt(rate.rateSeconds)) * 86_400_000n,
        ).toBe(true)
      }
      expect(charged * 86_400_000n + carried).toBe(exactParts)
    }),
  )
})

test('[B2] the shares of the meters are the whole, and none is off by more than what rounding takes', () => {
  fc.assert(
    fc.property(running, elapsedMs, (meters, ms) => {
      const shares = sharesOf(meters, ms)
      expect(shares.reduce((total, share) => total + share, 0n)).toBe(costOf(rateOf(meters), ms))
      for (const [at, share] of shares.entries()) {
        const alone = costOf(rateOf(meters.slice(at, at + 1)), ms)
        expect(share - alone >= 0n && share - alone <= 1n).toBe(true)
      }
    }),
  )
})

test('what is counted costs by its number, exact to the last token', () => {
  const tokens = { sku: 'sku', label: '', unit: 'million_tokens', rateMicro: 150_000n } as const
  expect(priceOf([{ ...tokens, quantity: 1_000_000 }], 0)).toBe(150_000n)
  expect(priceOf([{ ...tokens, quantity: 20 }], 0)).toBe(3n)
  // 1.5 and 1.5: rounded once, not twice.
  expect(
    priceOf(
      [
        { ...tokens, quantity: 10 },
        { ...tokens, quantity: 10 },
      ],
      0,
    ),
  ).toBe(3n)
  fc.assert(
    fc.property(counted, meters => {
      const parts = meters.map(({ unit, quantity, rateMicro }) => {
        const { of = 1 } = UNITS[unit] as { of?: number }
        return BigInt(quantity) * rateMicro * (1_000_000n / BigInt(of))
      })
      expect(priceOf(meters, 0)).toBe(parts.reduce((total, part) => total + part, 0n) / 1_000_000n)
    }),
  )
})

test('[R7.5] a quantity is told in its unit, to the last token and byte', () => {
  expect(inItsUnit('8', 'million_tokens')).toBe('0.000008')
  expect(inItsUnit('1250000', 'million_tokens')).toBe('1.25')
  expect(inItsUnit('30000000', 'million_tokens')).toBe('30')
  expect(inItsUnit('123456', 'traffic_gb')).toBe('0.000123456')
  expect(inItsUnit('0', 'traffic_gb')).toBe('0')
  for (const unit of ['hour', 'gb_day', 'image', 'of_tomorrow']) expect(inItsUnit('10', unit)).toBe('10')
})

test('what is counted does not run with the time', () => {
  expect(() =>
    rateOf([{ sku: 'tokens', label: '', unit: 'million_tokens', quantity: 1, rateMicro: 1n }]),
  ).toThrow('tokens is counted in million_tokens')
})
