import { appendFileSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { eventually } from '../conformance/tools.ts'
import { createCommandLog } from './agent/command-log.ts'
import { followTail, readTail } from './command-log-reader.ts'

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
  const write = createCommandLog(openSync(path, 'a+'))
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
