import fc from 'fast-check'
import { decode } from 'fast-png'
import { expect, test } from 'vitest'
import { createDice } from './captcha-dice.ts'
import { drawDigits, PICTURE } from './captcha-picture.ts'

const digits = fc.stringMatching(/^[0-9]{5}$/)
const RUNS = { numRuns: 40 }

test('a picture is a PNG of 200 by 80 pixels that holds ink and paper, whatever the digits and the dice', () => {
  fc.assert(
    fc.property(digits, fc.string(), (text, secret) => {
      const picture = decode(drawDigits(text, createDice(secret)))
      expect(picture).toMatchObject({ ...PICTURE, channels: 1, depth: 8 })
      const ink = shareOfInk(picture.data)
      expect(ink).toBeGreaterThan(0.05)
      expect(ink).toBeLessThan(0.4)
    }),
    RUNS,
  )
})

test('the same dice draw each digit differently, so a picture says which one it shows', () => {
  for (const secret of ['a', 'b', 'c']) {
    const drawn = [...'0123456789'].map(digit => pixelsOf(digit.repeat(5), secret))
    drawn.forEach((one, first) => {
      drawn.slice(first + 1).forEach((other, second) => {
        expect(differing(one, other), `${first} and ${first + 1 + second}`).toBeGreaterThan(400)
      })
    })
  }
})

test('the same digits are drawn differently each time, so pictures cannot be learned by heart', () => {
  fc.assert(
    fc.property(digits, fc.string(), fc.string(), (text, one, other) => {
      fc.pre(one !== other)
      expect(differing(pixelsOf(text, one), pixelsOf(text, other))).toBeGreaterThan(400)
    }),
    RUNS,
  )
})

test('a digit in a place is not found by comparing it with how it was drawn before', () => {
  // The simplest reader: a fixed grid of five cells, each compared with one known drawing of every digit.
  const known = [...'0123456789'].map(digit => cellsOf(pixelsOf(digit.repeat(5), 'known')))
  let right = 0
  for (let round = 0; round < 60; round++) {
    const dice = createDice(`digits ${round}`)
    const text = Array.from({ length: 5 }, () => dice.below(10)).join('')
    const cells = cellsOf(pixelsOf(text, `round ${round}`))
    const read = cells.map((cell, place) => {
      const likeness = known.map(drawing => differing(cell, drawing[place] ?? cell))
      return likeness.indexOf(Math.min(...likeness))
    })
    if (read.join('') === text) right += 1
  }
  expect(right).toBeLessThanOrEqual(1)
})

test('dice are even, and the same secret throws the same', () => {
  const throwsOf = (secret: string) => {
    const dice = createDice(secret)
    return Array.from({ length: 10_000 }, () => dice.below(10))
  }
  const thrown = throwsOf('x')
  const counts = Array.from({ length: 10 }, (_, face) => thrown.filter(n => n === face).length)
  for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(150)
  expect(throwsOf('x')).toEqual(thrown)
  expect(thrown).not.toEqual(throwsOf('y'))
})

type Pixels = ReturnType<typeof decode>['data']

function pixelsOf(text: string, secret: string): Pixels {
  return decode(drawDigits(text, createDice(secret))).data
}

function isInk(grey: number | undefined): boolean {
  return (grey ?? 255) < 140
}

function shareOfInk(pixels: Pixels): number {
  return pixels.filter(isInk).length / pixels.length
}

/** How many pixels are ink in one and paper in the other. */
function differing(one: ArrayLike<number>, other: ArrayLike<number>): number {
  return Array.from(one).filter((grey, at) => isInk(grey) !== isInk(other[at])).length
}

function cellsOf(pixels: Pixels): number[][] {
  const width = PICTURE.width / 5
  return [0, 1, 2, 3, 4].map(place =>
    Array.from(pixels).filter((_, at) => Math.floor((at % PICTURE.width) / width) === place),
  )
}
