import { once } from 'node:events'
import { PassThrough, Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { carry } from './carry.ts'

const PIECES = 20_000

test('single bytes wait where they come from while the reader takes nothing', async () => {
  const from = new PassThrough({ highWaterMark: PIECES })
  const writes: number[] = []
  let take = () => {}
  const to = new Writable({
    highWaterMark: PIECES * 2,
    write: (chunk: Buffer, _encoding, done) => {
      writes.push(chunk.length)
      take = done
    },
  })
  carry(from, to)
  from.write('first')
  await expect.poll(() => writes).toEqual([5])
  for (let piece = 0; piece < PIECES; piece++) from.write('x')
  await new Promise(setImmediate)
  expect(to.writableLength).toBe(5)
  take()
  // All that had come is one write.
  await expect.poll(() => writes.length).toBe(2)
  expect(writes[1]).toBeGreaterThan(PIECES / 2)
})

test('everything comes whole and in order, with the end behind it', async () => {
  const from = new PassThrough()
  const to = new PassThrough()
  const text = Array.from({ length: 500 }, (_, at) => `${at} `)
  carry(from, to)
  for (const piece of text) from.write(piece)
  from.end()
  expect((await buffer(to)).toString()).toBe(text.join(''))
})

test('after a stop nothing more is written', async () => {
  const from = new PassThrough()
  const to = new PassThrough()
  const stop = carry(from, to)
  from.write('first')
  await expect.poll(() => to.readableLength).toBe('first'.length)
  stop()
  from.resume().end('later')
  await once(from, 'end')
  expect([to.readableLength, to.writableEnded]).toEqual(['first'.length, false])
})
