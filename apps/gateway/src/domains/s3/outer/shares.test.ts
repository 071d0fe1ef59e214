import { expect, test } from 'vitest'
import { atLeastRate } from '../protocol/least-rate.ts'
import { createShares } from './shares.ts'

test('no customer takes more than a part, all together no more than there is, and who waits too long is told so', async () => {
  const shares = createShares({ most: 3, perUserMost: 2, waitMs: 50 })
  const ends: (() => void)[] = []
  const hold = (userId: string) =>
    shares.within(userId, 1, () => new Promise<void>(resolve => void ends.push(resolve)))
  const first = [hold('a'), hold('a')]
  await expect(hold('a')).rejects.toMatchObject({ code: 'SlowDown' })
  const other = hold('b')
  await expect(hold('c')).rejects.toMatchObject({ code: 'SlowDown' })
  const waits = hold('c')
  await new Promise(resolve => setImmediate(resolve))
  expect(ends).toHaveLength(3)
  ends[0]?.()
  await first[0]
  await new Promise(resolve => setImmediate(resolve))
  expect(ends).toHaveLength(4)
  for (const end of ends) end()
  await Promise.all([...first, other, waits])
})

test('a body that trickles is given up, and one that waits for us is not', async () => {
  let now = 0
  async function* every(ms: number, bytes: number) {
    for (let at = 0; at < 10; at += 1) {
      now += ms
      yield new Uint8Array(bytes)
    }
  }
  const all = async (pieces: AsyncIterable<Uint8Array>, taken = 0) => {
    let bytes = 0
    for await (const piece of atLeastRate(pieces, () => now)) {
      bytes += piece.length
      now += taken
    }
    return bytes
  }
  await expect(all(every(50_000, 1))).rejects.toMatchObject({ code: 'RequestTimeout' })
  expect(await all(every(50_000, 100_000))).toBe(1_000_000)
  expect(await all(every(10, 1), 50_000)).toBe(10)
})
