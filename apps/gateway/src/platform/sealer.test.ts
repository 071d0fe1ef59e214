import { expect, test } from 'vitest'
import { systemIds } from './ids.ts'
import { createSealer } from './sealer.ts'

const key = (fill: number) => new Uint8Array(32).fill(fill)
const sealerOf = (...fills: [number, ...number[]]) => {
  const [first, ...rest] = fills
  return createSealer({ keys: [key(first), ...rest.map(key)], purpose: 'test', ids: systemIds })
}
const PLACE = ['row', 'user']

test('what is sealed opens at its place, whatever it says', () => {
  const sealer = sealerOf(1)
  for (const text of ['hunter2', '', 'Grüße 안녕 \0', 'x'.repeat(10_000)]) {
    expect(sealer.open(sealer.seal(text, PLACE), PLACE)).toBe(text)
  }
})

test('two boxes of one secret have nothing in common, and none holds it', () => {
  const sealer = sealerOf(1)
  const [one, other] = [sealer.seal('hunter2', PLACE), sealer.seal('hunter2', PLACE)]
  expect(one.box.equals(other.box)).toBe(false)
  expect(one.box.includes('hunter2')).toBe(false)
})

test.each([
  ['another row', ['row2', 'user']],
  ['another customer', ['row', 'user2']],
  ['parts divided otherwise', ['row","user']],
  ['no place', []],
])('a box that stands at another place does not open: %s', (_, place) => {
  const sealer = sealerOf(1)
  const sealed = sealer.seal('hunter2', PLACE)
  expect(() => sealer.open(sealed, place)).toThrow()
})

test('a box with a byte changed, or cut, does not open', () => {
  const sealer = sealerOf(1)
  const { box, keyId } = sealer.seal('hunter2', PLACE)
  for (let at = 0; at < box.length; at++) {
    const changed = Buffer.from(box)
    changed[at] = (changed[at] ?? 0) ^ 1
    expect(() => sealer.open({ box: changed, keyId }, PLACE)).toThrow()
    expect(() => sealer.open({ box: box.subarray(0, at), keyId }, PLACE)).toThrow()
  }
})

test('a former key opens and does not seal; a key that is not set is named and not shown', () => {
  const former = sealerOf(1)
  const sealed = former.seal('hunter2', PLACE)
  const rotated = sealerOf(2, 1)
  expect(rotated.open(sealed, PLACE)).toBe('hunter2')
  expect(rotated.seal('hunter2', PLACE).keyId).not.toBe(former.keyId)
  const alone = sealerOf(2)
  expect([alone.knows(former.keyId), rotated.knows(former.keyId)]).toEqual([false, true])
  expect(() => alone.open(sealed, PLACE)).toThrow(former.keyId)
  expect(Buffer.from(key(1)).toString('hex')).not.toContain(former.keyId)
})

test('a box of one use does not open in another', () => {
  const sealed = sealerOf(1).seal('hunter2', PLACE)
  const other = createSealer({ keys: [key(1)], purpose: 'other', ids: systemIds })
  expect(() => other.open(sealed, PLACE)).toThrow()
  expect(() => other.open({ ...sealed, keyId: other.keyId }, PLACE)).toThrow()
})
