import { Duplex, PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createMachineTurns } from './machine-turns.ts'
import { STREAM_LIMITS } from './stream-limits.ts'

// Goal: what one machine sends takes no more than its part of this process. Method: real streams, and clocks that only
// the test moves: each piece is said to have taken a millisecond of work.

const PIECE = Buffer.alloc(STREAM_LIMITS.pieceBytesMin)
const PLENTY = 1_000

function startTurns(limits: Partial<typeof STREAM_LIMITS> = {}) {
  const clocks = { nowMs: 0, workedMs: 0 }
  const turns = createMachineTurns({
    limits: {
      ...STREAM_LIMITS,
      pieceBytesMax: PIECE.length,
      bytesPerMs: Number.POSITIVE_INFINITY,
      ...limits,
    },
    now: () => clocks.nowMs,
    worked: () => clocks.workedMs,
  })
  /** A machine with far more to say than anybody may read at once. @returns How many pieces were read. */
  const flood = (id: string) => {
    const source = new PassThrough({ highWaterMark: PLENTY * PIECE.length })
    for (let piece = 0; piece < PLENTY; piece++) source.write(PIECE)
    let pieces = 0
    turns.pace(id, source).on('data', () => {
      pieces++
      clocks.workedMs++
    })
    return () => pieces
  }
  return { clocks, turns, flood }
}

async function settle(): Promise<void> {
  for (let each = 0; each < 50; each++) await turn()
}

test('a machine that floods is read for a moment, and then as its part of the time allows', async () => {
  const { clocks, flood } = startTurns({ burstMs: 3, shareOfOne: 0.5, shareOfAll: 1 })
  const read = flood('loud')
  await settle()
  expect(read()).toBe(3)
  clocks.nowMs += 5
  await expect.poll(read).toBeGreaterThan(3)
  await settle()
  expect(read()).toBe(3 + 3)
})

test('while one machine waits for its part, another is read at once', async () => {
  const { clocks, flood } = startTurns({ burstMs: 3, shareOfOne: 0.001, shareOfAll: 1_000 })
  const loud = flood('loud')
  await settle()
  const before = loud()
  clocks.nowMs++
  const other = flood('other')
  await settle()
  expect(loud()).toBeLessThanOrEqual(before + 1)
  expect(other()).toBeGreaterThanOrEqual(2)
})

test('a machine whose part comes back soon does not wait as long as one whose part comes back late', async () => {
  const { clocks, turns } = startTurns({ burstMs: 3, shareOfOne: 0.001, shareOfAll: 1_000 })
  /** A machine each of whose pieces takes so much work. */
  const machine = (id: string, workMs: number) => {
    const source = new PassThrough({ highWaterMark: PLENTY * PIECE.length })
    let pieces = 0
    turns.pace(id, source).on('data', () => {
      pieces++
      clocks.workedMs += workMs
    })
    const say = async () => {
      source.write(PIECE)
      await settle()
      return pieces
    }
    return { say, pieces: () => pieces }
  }
  const late = machine('late', 1_000)
  expect(await late.say()).toBe(1)
  expect(await late.say()).toBe(1)
  // What all may take together comes back at once.
  clocks.nowMs += 2
  const soon = machine('soon', 3.001)
  expect(await soon.say()).toBe(1)
  clocks.nowMs += 0.5
  expect(await soon.say()).toBe(1)
  clocks.nowMs += 2
  await expect.poll(soon.pieces).toBe(2)
  expect(late.pieces()).toBe(1)
})

test('what a source gives in the moment in which it is asked is not lost', async () => {
  const { turns } = startTurns()
  const given = Array.from({ length: 5 }, (_, at) => Buffer.from(`piece ${at}`))
  const source = new Duplex({
    read() {
      this.push(given.shift() ?? null)
    },
  })
  let said = ''
  for await (const piece of turns.pace('prompt', source)) said += piece
  expect(said).toBe('piece 0piece 1piece 2piece 3piece 4')
})

test('any number of machines together leave time for everybody else', async () => {
  const { flood } = startTurns({ burstMs: 3 })
  const reads = Array.from({ length: 20 }, (_, at) => flood(`loud-${at}`))
  await settle()
  expect(reads.reduce((sum, read) => sum + read(), 0)).toBe(3)
})

test('a machine that hangs up and comes again at once has no new allowance', async () => {
  const { turns, flood } = startTurns({ burstMs: 3, shareOfAll: 1_000 })
  flood('loud')
  const gone = turns.pace('loud', new PassThrough())
  await settle()
  gone.destroy()
  const again = flood('loud')
  await settle()
  expect(again()).toBe(0)
})

test('bytes that are slow to work on come in smaller pieces', async () => {
  const { clocks, turns } = startTurns({ burstMs: 1_000, pieceBytesMax: 64 * 1024, shareOfAll: 1_000 })
  const source = new PassThrough({ highWaterMark: 2 ** 20 })
  source.write(Buffer.alloc(2 ** 20))
  const sizes: number[] = []
  turns.pace('slow', source).on('data', (piece: Buffer) => {
    sizes.push(piece.length)
    if (sizes.length > 5) clocks.workedMs += 10
  })
  await expect.poll(() => sizes.length).toBeGreaterThan(10)
  expect(sizes.slice(0, 9).map(bytes => bytes / 1024)).toEqual([4, 8, 16, 32, 64, 64, 16, 4, 4])
})

test('a machine has no more connections than it may have, and not all that are left', async () => {
  const { turns } = startTurns({ connectionsPerInstanceMax: 3, connectionsMax: 8, partOfFree: 0.5 })
  const open = (id: string) => turns.connect(id, async () => new PassThrough())
  const streams = [await open('one'), await open('one'), await open('one')]
  await expect(open('one')).rejects.toMatchObject({ code: 'exhausted' })
  await open('two')
  await open('two')
  // Two of the three that are left, and one has to stay for whoever comes next.
  await expect(open('two')).rejects.toMatchObject({ code: 'exhausted' })
  await open('three')
  for (const stream of streams) stream.destroy()
  await turn()
  await open('one')
  await expect(turns.connect('four', () => Promise.reject(new Error('closed')))).rejects.toThrow('closed')
  await open('four')
})
