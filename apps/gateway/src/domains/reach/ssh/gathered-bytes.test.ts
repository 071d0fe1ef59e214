import fc from 'fast-check'
import { expect, test } from 'vitest'
import { gatherBytes } from './gathered-bytes.ts'

const act = fc.oneof(
  fc.record({ add: fc.uint8Array({ maxLength: 5_000 }) }),
  fc.record({ take: fc.nat({ max: 9_000 }) }),
)

test('whatever is added and taken in whatever pieces, it is the same bytes in their order', () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), acts => {
      const gathered = gatherBytes()
      let expected = Buffer.alloc(0)
      for (const one of acts) {
        if ('add' in one) {
          gathered.add(Buffer.from(one.add))
          expected = Buffer.concat([expected, one.add])
        } else {
          const taken = Buffer.concat(gathered.take(one.take))
          expect(taken.equals(expected.subarray(0, one.take))).toBe(true)
          expected = expected.subarray(one.take)
        }
        expect(gathered.length).toBe(expected.length)
      }
      expect(Buffer.concat(gathered.take(gathered.length)).equals(expected)).toBe(true)
    }),
  )
})

test('bytes that come one by one are held in few pieces, and long pieces as they are', () => {
  const gathered = gatherBytes()
  for (let at = 0; at < 100_000; at++) gathered.add(Buffer.from([at]))
  expect(gathered.take(100_000).length).toBeLessThan(30)
  const long = Buffer.alloc(64 * 1024)
  gathered.add(long)
  const [first] = gathered.take(10_000)
  expect(first?.buffer).toBe(long.buffer)
})
