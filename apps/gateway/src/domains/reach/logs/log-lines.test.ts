import { LOG_EVENT_CHARS_MAX, LOG_EVENT_LINES_MAX, LOG_LINE_CHARS_MAX } from '@berth/contract/limits'
import { expect, test } from 'vitest'
import { createLogLines } from './log-lines.ts'

test('[B9] of many pieces that came in one moment the last lines are told, and how many were left out', () => {
  const lines = createLogLines()
  for (let piece = 0; piece < 30; piece++) lines.add(Buffer.from(`step ${piece}\n`.repeat(100)))
  const taken = lines.take()
  expect(taken?.lines).toHaveLength(LOG_EVENT_LINES_MAX)
  expect(taken?.skipped).toBe(3_000 - LOG_EVENT_LINES_MAX)
  expect(taken?.lines.at(-1)).toBe('step 29')
  expect(lines.take()).toBeNull()
})

test('[B9] long lines are fewer, so that an event is never longer than a page takes', () => {
  const lines = createLogLines()
  for (let piece = 0; piece < 40; piece++) lines.add(Buffer.from(`${'x'.repeat(1_900)}\n`.repeat(10)))
  const { lines: told = [], skipped = 0 } = lines.take() ?? {}
  expect(told.join('').length).toBeLessThanOrEqual(LOG_EVENT_CHARS_MAX)
  expect(told.length + skipped).toBe(400)
})

test('[B9] what stands past any sane line is not looked at, and what was written over is gone', () => {
  const lines = createLogLines()
  // More of a terminal's colours than there could be of words.
  lines.add(Buffer.from('\u001b[0m'.repeat(4 * LOG_LINE_CHARS_MAX)))
  lines.add(Buffer.from('word\n'))
  lines.add(Buffer.from(`${'x'.repeat(9 * LOG_LINE_CHARS_MAX)}\rdone\n`))
  expect(lines.take()?.lines).toEqual(['', 'done'])
})
