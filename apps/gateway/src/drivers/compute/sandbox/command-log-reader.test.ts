import { appendFileSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { eventually } from '../conformance/tools.ts'
import { createCommandLog } from './agent/command-log.ts'
import { followTail, readKept, readTail } from './command-log-reader.ts'

/** What the logs here keep. */
const LOG_BYTES_MAX = 1024 * 1024

const folder = mkdtempSync(join(tmpdir(), 'berth-log-'))
afterAll(() => rmSync(folder, { recursive: true }))

test.each([
  ['', 5, ''],
  ['one', 5, 'one'],
  ['one\n', 1, 'one\n'],
  ['one\ntwo\n', 1, 'two\n'],
  ['one\ntwo\nthr', 2, 'two\nthr'],
  ['one\n\n\n', 2, '\n\n'],
  ['one\ntwo\n', 0, ''],
])('the last lines of %j, at most %d', async (text, linesMax, expected) => {
  const path = join(folder, 'tail.log')
  writeFileSync(path, text)
  expect(await readTail(path, linesMax)).toBe(expected)
})

test('a log that is not there is empty, and a link is not followed', async () => {
  expect(await readTail(join(folder, 'absent.log'), 5)).toBe('')
  const stream = followTail(join(folder, 'absent.log'), 5, async () => false)
  expect(await stream.toArray()).toEqual([])
})

test('a log whose older half went while it was followed goes on where it was', async () => {
  const path = join(folder, 'cut.log')
  const write = createCommandLog(openSync(path, 'w+'), LOG_BYTES_MAX)
  let over = false
  let heard = ''
  let written = ''
  const say = (text: string) => {
    written += text
    write(text)
  }
  say('begun\n')
  const stream = followTail(path, 10, async () => over)
  stream.on('data', chunk => {
    heard += String(chunk)
  })
  await eventually(() => expect(heard).toBe('begun\n'))
  const line = (number: number) => `${String(number).padStart(6, '0')} ${'x'.repeat(92)}\n`
  // Past the limit of one megabyte, twice, with a reader that keeps up.
  for (let number = 0; number < 24_000; number += 2_000) {
    say(Array.from({ length: 2_000 }, (_, at) => line(number + at)).join(''))
    await eventually(() => expect(heard.length).toBe(written.length))
  }
  expect(heard).toBe(written)
  over = true
  await new Promise(resolve => stream.once('close', resolve))
})

test('a follower that leaves is done with the file, and one whose machine is over reads to its end', async () => {
  const path = join(folder, 'leave.log')
  writeFileSync(path, 'one\n')
  const left = followTail(path, 1, async () => false)
  left.resume()
  left.destroy()
  await new Promise(resolve => left.once('close', resolve))
  appendFileSync(path, 'two\n')
  const read = await followTail(path, 1, async () => true).toArray()
  expect(Buffer.concat(read).toString()).toBe('two\n')
})

test('all that is kept is read, from the beginning of a line on', async () => {
  const path = join(folder, 'kept.log')
  const write = createCommandLog(openSync(path, 'w+'), LOG_BYTES_MAX)
  const line = (number: number) => `line ${String(number).padStart(6, '0')} ${'x'.repeat(50)}\n`
  const all = Array.from({ length: 40_000 }, (_, number) => line(number))
  for (let at = 0; at < all.length; at += 100) write(all.slice(at, at + 100).join(''))
  const kept = Buffer.concat(await readKept(path).toArray()).toString()
  expect(kept.length).toBeGreaterThanOrEqual(LOG_BYTES_MAX / 2 - 100)
  expect(kept.length).toBeLessThanOrEqual(LOG_BYTES_MAX)
  expect(all.join('').endsWith(kept)).toBe(true)
  expect(kept).toMatch(/^line \d{6} x/)
  expect(await readKept(join(folder, 'absent.log')).toArray()).toEqual([])
})

test('a log whose older half goes while it is read goes on with what came next, and is not read for ever', async () => {
  const path = join(folder, 'going.log')
  const write = createCommandLog(openSync(path, 'w+'), LOG_BYTES_MAX)
  const lines = Array.from(
    { length: 15_000 },
    (_, number) => `${String(number).padStart(6, '0')} ${'y'.repeat(60)}\n`,
  )
  write(lines.join(''))
  const reading = readKept(path)[Symbol.asyncIterator]()
  let heard = String((await reading.next()).value)
  // What follows what was read is still there when the older half has gone.
  for (let turn = 0; turn < 11; turn++) {
    heard += String((await reading.next()).value)
  }
  const more = Array.from({ length: 1_000 }, (_, number) => `${15_000 + number} ${'z'.repeat(60)}\n`).join('')
  write(more)
  for (;;) {
    const { done, value } = await reading.next()
    if (done) break
    heard += String(value)
  }
  expect((lines.join('') + more).startsWith(heard)).toBe(true)
  expect(heard.length).toBe(lines.join('').length)
})
