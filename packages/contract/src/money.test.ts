import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CURRENCIES } from './limits.ts'
import {
  centsCeil,
  centsFloor,
  centsFromText,
  formatAmount,
  formatExact,
  formatMicro,
  formatParts,
  formatRate,
  hasPartsOfCent,
  hasThousandsApart,
  isCurrency,
  MICRO_PER_CENT,
  microDecimal,
  microFromCents,
  runwaySeconds,
  usageDueMicro,
} from './money.ts'

// Goal: no amount is ever made or lost by turning it into another unit. Method: every function is held against
// a second way of saying the same thing, over amounts far past what a double keeps exactly.

describe('cents', () => {
  test('the floor is the greatest number of cents that the amount covers', () => {
    fc.assert(
      fc.property(amountMicro(), micro => {
        const cents = BigInt(centsFloor(micro))
        expect(cents * MICRO_PER_CENT <= micro).toBe(true)
        expect((cents + 1n) * MICRO_PER_CENT > micro).toBe(true)
      }),
    )
  })

  test('the ceiling is the least number of cents that covers the amount', () => {
    fc.assert(
      fc.property(amountMicro(), micro => {
        const cents = BigInt(centsCeil(micro))
        expect(cents * MICRO_PER_CENT >= micro).toBe(true)
        expect((cents - 1n) * MICRO_PER_CENT < micro).toBe(true)
      }),
    )
  })

  test('whole cents survive the way to micro-units and back, either way of rounding', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), cents => {
        expect(microFromCents(cents)).toBe(BigInt(cents) * 10_000n)
        expect(centsFloor(microFromCents(cents))).toBe(cents)
        expect(centsCeil(microFromCents(cents))).toBe(cents)
      }),
    )
  })

  test.each([
    [0n, 0, 0],
    [1n, 0, 1],
    [9_999n, 0, 1],
    [10_000n, 1, 1],
    [10_001n, 1, 2],
    [-1n, -1, 0],
    [-10_000n, -1, -1],
    [-10_001n, -2, -1],
  ])('%d micro is %i cents at least and %i at most', (micro, floor, ceil) => {
    expect(centsFloor(micro)).toBe(floor)
    expect(centsCeil(micro)).toBe(ceil)
  })

  test('a part of a cent is refused rather than dropped', () => {
    expect(() => microFromCents(1.5)).toThrow(RangeError)
    expect(() => microFromCents(Number.NaN)).toThrow(RangeError)
  })
})

describe('an amount that was typed', () => {
  test('[R9.3] it becomes the least number of cents that is not under it, for every text', () => {
    fc.assert(
      fc.property(typedAmount(), ({ whole, fraction }) => {
        const text = fraction === '' ? whole : `${whole}.${fraction}`
        expect(centsFromText(text)).toBe(exactCentsUp(whole, fraction))
      }),
      { numRuns: 1_000 },
    )
  })

  // Each of these goes wrong by a cent when it is multiplied by 100 as a double.
  test.each([
    ['1.1', 110],
    ['2.2', 220],
    ['4.35', 435],
    ['1.005', 101],
    ['8.41', 841],
    ['16.08', 1_608],
    ['1100.1', 110_010],
  ])('[R9.3] %s is %i cents, though floating point says otherwise', (text, cents) => {
    expect(centsFromText(text)).toBe(cents)
  })

  test.each([
    ['25', 2_500],
    ['25.5', 2_550],
    [' 25.50 ', 2_550],
    ['007', 700],
    ['0', 0],
    ['19.99', 1_999],
    ['19.990000', 1_999],
    ['19.990001', 2_000],
    ['19.999', 2_000],
    ['0.000001', 1],
    ['999999999.999999', 100_000_000_000],
  ])('[R9.3] %j is %i cents', (text, cents) => {
    expect(centsFromText(text)).toBe(cents)
  })

  test('[R5.8] parts of a cent are told from zeros that say nothing', () => {
    for (const text of ['0,0003', '12.345', '19.990001', '0.1001']) expect(hasPartsOfCent(text)).toBe(true)
    for (const text of ['12', '12.5', '12,50', '12.500', '19.990000', '1,000', 'twelve', ''])
      expect(hasPartsOfCent(text)).toBe(false)
  })

  test('[R5.8] a comma says what a point says, or nothing where it may set thousands apart', () => {
    const digits = (most: number) =>
      fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: most }).map(all => all.join(''))
    fc.assert(
      fc.property(digits(9), digits(6), (whole, fraction) => {
        const typed = `${whole},${fraction}`
        // Whoever sets thousands apart by a comma has typed just that.
        const isApart = Number(whole + fraction).toLocaleString('en') === typed
        expect(centsFromText(typed)).toBe(isApart ? null : centsFromText(`${whole}.${fraction}`))
        expect(hasThousandsApart(typed)).toBe(isApart)
      }),
      {
        numRuns: 2_000,
        examples: [
          ['12', '5'],
          ['1', '000'],
          ['0', '125'],
          ['1234', '567'],
          ['999', '999'],
        ],
      },
    )
  })

  test('[R5.8] an amount is known for one whose thousands are set apart, however that is done, and never taken for a smaller one', () => {
    const separator = fc.constantFrom(',', "'", '’', ' ', '\u00a0', '\u202f')
    fc.assert(
      fc.property(
        fc.integer({ min: 1_000, max: 999_999_999 }),
        separator,
        fc.boolean(),
        (whole, apart, hasCents) => {
          const typed = `${whole.toLocaleString('en').replaceAll(',', apart)}${hasCents ? '.50' : ''}`
          expect(centsFromText(typed)).toBeNull()
          expect(hasThousandsApart(typed)).toBe(true)
        },
      ),
    )
    expect(hasThousandsApart('1.234,50')).toBe(true)
    for (const none of ['', '12,5', '12.345', '1,00,000', '-1,000', 'a,000', '1,000,']) {
      expect(hasThousandsApart(none)).toBe(false)
    }
  })

  test.each([
    ['12,5', 1_250],
    [' 0,01 ', 1],
    ['0,125', 13],
    ['1234,567', 123_457],
    ['19,990001', 2_000],
  ])('[R5.8] %j is %i cents', (text, cents) => {
    expect(centsFromText(text)).toBe(cents)
  })

  test.each([
    '',
    ' ',
    ',',
    ',5',
    '5,',
    '1,000',
    '1,2,3',
    '1,2.3',
    '1.2,3',
    '.',
    '.5',
    '5.',
    '-5',
    '+5',
    '1,204.50',
    '1 204',
    '1e3',
    '0x10',
    '$5',
    '5 USD',
    '1.2.3',
    '1.0000001',
    '1234567890',
    '٢٥',
    '２５',
    'NaN',
    'Infinity',
    '5\n6',
  ])('[R5.8] %j is no amount', text => {
    expect(centsFromText(text)).toBeNull()
  })
})

describe('usage', () => {
  test('[B2] what is due is the exact quotient, rounded down', () => {
    fc.assert(
      fc.property(elapsedMs(), rateMicro(), (ms, rate) => {
        const due = usageDueMicro(ms, rate)
        const exact = BigInt(Math.floor(ms / 1_000)) * rate
        expect(due * 3_600n <= exact).toBe(true)
        expect((due + 1n) * 3_600n > exact).toBe(true)
      }),
    )
  })

  test('[B2] it never falls while time passes, nor when the rate is higher', () => {
    fc.assert(
      fc.property(elapsedMs(), elapsedMs(), rateMicro(), rateMicro(), (ms, more, rate, extra) => {
        const due = usageDueMicro(ms, rate)
        expect(usageDueMicro(ms + more, rate) >= due).toBe(true)
        expect(usageDueMicro(ms, rate + extra) >= due).toBe(true)
      }),
    )
  })

  test('[B2] however an interval is cut into ticks, the postings add up to the one formula', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(90_000), { minLength: 1, maxLength: 200 }), rateMicro(), (ticks, rate) => {
        let elapsed = 0
        let posted = 0n
        for (const tick of ticks) {
          elapsed += tick
          const increment = usageDueMicro(elapsed, rate) - posted
          expect(increment >= 0n).toBe(true)
          posted += increment
        }
        expect(posted).toBe((BigInt(Math.floor(elapsed / 1_000)) * rate) / 3_600n)
      }),
    )
  })

  test('[B2] an hour costs the rate, a year 8,760 times the rate, to the micro-unit', () => {
    fc.assert(
      fc.property(rateMicro(), rate => {
        expect(usageDueMicro(3_600_000, rate)).toBe(rate)
        expect(usageDueMicro(8_760 * 3_600_000, rate)).toBe(8_760n * rate)
      }),
    )
  })

  test('a second counts when it is over; a clock that went back costs nothing', () => {
    expect(usageDueMicro(999, 3_600n)).toBe(0n)
    expect(usageDueMicro(1_000, 3_600n)).toBe(1n)
    expect(usageDueMicro(1_999.9, 3_600n)).toBe(1n)
    expect(usageDueMicro(-5_000, 3_600n)).toBe(0n)
  })
})

describe('how long an amount lasts', () => {
  test('in its last second it still covers what is due, and one second later no more', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 10n ** 12n }),
        fc.bigInt({ min: 1n, max: 10n ** 9n }),
        (micro, rate) => {
          const seconds = BigInt(runwaySeconds(micro, rate) ?? -1)
          expect(seconds * rate <= micro * 3_600n).toBe(true)
          expect((seconds + 1n) * rate > micro * 3_600n).toBe(true)
        },
      ),
    )
  })

  test('nothing spent has no end; nothing there is at its end', () => {
    expect(runwaySeconds(1_000_000n, 0n)).toBeNull()
    expect(runwaySeconds(0n, 0n)).toBeNull()
    expect(runwaySeconds(1_000_000n, -1n)).toBeNull()
    expect(runwaySeconds(0n, 1n)).toBe(0)
    expect(runwaySeconds(-1n, 1n)).toBe(0)
    expect(runwaySeconds(10_000_000n, 690_000n)).toBe(52_173)
  })
})

describe('an amount as people read it', () => {
  test.each([
    [0n, '$0.00'],
    [10_000n, '$0.01'],
    [14_999n, '$0.01'],
    [15_000n, '$0.02'],
    [999_990_000n, '$999.99'],
    [1_000_000_000n, '$1,000.00'],
    [1_204_500_000n, '$1,204.50'],
    [1_234_567_891_234_567n, '$1,234,567,891.23'],
    [-450_000n, '−$0.45'],
    [-1_000_000_000n, '−$1,000.00'],
    [-999_995_000n, '−$1,000.00'],
    [9_999n, '$0.0100'],
    [500n, '$0.0005'],
    [-500n, '−$0.0005'],
    [50n, '$0.0001'],
    [49n, '<$0.0001'],
    [-1n, '−<$0.0001'],
  ])('[R3.6] %d micro reads %s', (micro, text) => {
    expect(formatAmount(micro, 'USD')).toBe(text)
  })

  test('[R3.6] whole cents, as a balance comes, read as they are: two decimals and a real minus sign', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.constantFrom(...CURRENCIES), (cents, currency) => {
        const text = formatAmount(microFromCents(cents), currency)
        expect(text).toMatch(
          currency === 'USD' ? /^−?\$\d{1,3}(,\d{3})*\.\d{2}$/ : /^−?€\d{1,3}(,\d{3})*\.\d{2}$/,
        )
        expect(microOf(text)).toBe(microFromCents(cents))
      }),
    )
  })

  test('it is within half a step of what it says, and the same either way of the sign', () => {
    fc.assert(
      fc.property(amountMicro(), micro => {
        const text = formatAmount(micro, 'USD')
        const off = microOf(text) - micro
        const half = micro < MICRO_PER_CENT && micro > -MICRO_PER_CENT ? 50n : 5_000n
        expect(off <= half && off >= -half).toBe(true)
        if (micro > 0n) expect(formatAmount(-micro, 'USD')).toBe(`−${text}`)
        // Something never reads as nothing.
        expect(/[1-9]/.test(text)).toBe(micro !== 0n)
      }),
    )
  })

  test('[B2] on a receipt it is all that the ledger holds', () => {
    expect(formatExact(25_000_000n, 'USD')).toBe('$25.00')
    expect(formatExact(-500n, 'USD')).toBe('−$0.0005')
    expect(formatExact(1_200_001n, 'EUR')).toBe('€1.200001')
    fc.assert(
      fc.property(amountMicro(), micro => {
        expect(microOf(formatExact(micro, 'USD'))).toBe(micro)
      }),
    )
  })

  test('a rate is quoted with four decimals', () => {
    expect(formatMicro(690_000n, 'USD', 4)).toBe('$0.6900')
    expect(formatMicro(12_345n, 'EUR', 4)).toBe('€0.0123')
    expect(formatMicro(-12_350n, 'EUR', 4)).toBe('−€0.0124')
  })

  test('a rate in whole cents reads in cents, any other with four decimals', () => {
    expect(formatRate(840_000n, 'USD')).toBe('$0.84')
    expect(formatRate(1_402_000n, 'USD')).toBe('$1.4020')
  })

  test('[B2] parts that stand beside their sum add up to it as they are read', () => {
    const decimals = fc.constantFrom(undefined, 2, 4, 6)
    fc.assert(
      fc.property(fc.array(amountMicro(), { maxLength: 40 }), decimals, (amounts, places) => {
        const { parts, total } = formatParts(amounts, 'USD', places)
        expect(parts.map(microOf).reduce((sum, part) => sum + part, 0n)).toBe(microOf(total))
        for (const [index, part] of parts.entries()) {
          const off = microOf(part) - (amounts[index] ?? 0n)
          // What rounding moves it by is less than the last decimal.
          expect(off < MICRO_PER_CENT && off > -MICRO_PER_CENT).toBe(true)
          expect(/[1-9]/.test(part)).toBe(amounts[index] !== 0n)
        }
      }),
    )
    expect(formatParts([14_000n, 14_000n, 14_000n], 'USD')).toEqual({
      parts: ['$0.01', '$0.02', '$0.01'],
      total: '$0.04',
    })
    expect(formatParts([500n, 0n, 1n], 'USD')).toEqual({
      parts: ['$0.0005', '$0.00', '<$0.0001'],
      total: '$0.0005',
    })
    expect(formatParts([], 'EUR')).toEqual({ parts: [], total: '€0.00' })
  })
})

test('[R9.3] a wallet is kept in dollars or euros, spelled exactly', () => {
  expect(CURRENCIES).toEqual(['USD', 'EUR'])
  expect(CURRENCIES.every(isCurrency)).toBe(true)
  expect(['usd', 'GBP', '', 'USD '].some(isCurrency)).toBe(false)
})

test('an amount as a plain decimal has all that the ledger holds, and is read back as it was', () => {
  expect([0n, 1n, -2_917n, 1_204_500_000n].map(microDecimal)).toEqual([
    '0.000000',
    '0.000001',
    '-0.002917',
    '1204.500000',
  ])
  fc.assert(fc.property(amountMicro(), micro => BigInt(microDecimal(micro).replace('.', '')) === micro))
})

/** Amounts of both signs; their cents stay within what a number keeps exactly. */
function amountMicro() {
  return fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n })
}

/** Rates from nothing to 10,000 an hour. */
function rateMicro() {
  return fc.bigInt({ min: 0n, max: 10n ** 10n })
}

/** Up to about three years. */
function elapsedMs() {
  return fc.nat({ max: 10 ** 11 })
}

/** The two parts of an amount as it is typed: up to nine digits, up to six decimals. */
function typedAmount() {
  const digits = (minLength: number, maxLength: number) =>
    fc.array(fc.constantFrom(...'0123456789'), { minLength, maxLength }).map(list => list.join(''))
  return fc.record({ whole: digits(1, 9), fraction: digits(0, 6) })
}

/** The amount as a fraction of two integers, times a hundred, rounded up. */
function exactCentsUp(whole: string, fraction: string): number {
  const numerator = BigInt(whole + fraction) * 100n
  const denominator = 10n ** BigInt(fraction.length)
  return Number(numerator / denominator) + (numerator % denominator === 0n ? 0 : 1)
}

/** What a text of an amount says, in micro-units; less than a step counts as none. */
function microOf(text: string): bigint {
  if (text.includes('<')) return 0n
  const [whole = '0', fraction = ''] = text.replace(/[^\d.]/g, '').split('.')
  const size = BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0'))
  return text.startsWith('\u2212') ? -size : size
}
