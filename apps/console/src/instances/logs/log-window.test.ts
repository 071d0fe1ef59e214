import { expect, test } from 'vitest'
import { EMPTY_WINDOW, findLines, WINDOW_CHARS_MAX, WINDOW_LINES_MAX, withEvent } from './log-window.ts'

const skipped = (count: number) => `… ${count}`
const event = (lines: string[], more: { open?: string; skipped?: number } = {}) => ({
  lines,
  open: '',
  skipped: 0,
  ...more,
})

test('[B9] of however long a log the last lines are kept, by their numbers', () => {
  let window = EMPTY_WINDOW
  const lines = Array.from({ length: 900 }, (_, at) => `line ${at}`)
  for (let turn = 0; turn < 20; turn++) window = withEvent(window, event(lines), skipped)
  expect(window.lines).toHaveLength(WINDOW_LINES_MAX)
  expect(window.first).toBe(20 * 900 - WINDOW_LINES_MAX)
  expect(window.lines.at(-1)).toBe('line 899')
  const long = Array.from({ length: 3_000 }, () => 'x'.repeat(2_000))
  window = withEvent(EMPTY_WINDOW, event(long), skipped)
  expect(window.chars).toBeLessThanOrEqual(WINDOW_CHARS_MAX)
  expect(window.chars).toBe(window.lines.join('').length)
})

test('[B9] what was left out says so, and the line that is being written takes the place of what it was', () => {
  let window = withEvent(EMPTY_WINDOW, event(['a'], { open: '10 %' }), skipped)
  window = withEvent(window, event(['c'], { open: '20 %', skipped: 7 }), skipped)
  expect(findLines(window, '').map(({ line }) => line)).toEqual(['a', '… 7', 'c', '20 %'])
})

test('[B9] a search finds lines whatever their case', () => {
  const window = withEvent(EMPTY_WINDOW, event(['Loss 1.2', 'grad', 'LOSS 1.1']), skipped)
  expect(findLines(window, ' loss ')).toEqual([
    { at: 0, line: 'Loss 1.2' },
    { at: 2, line: 'LOSS 1.1' },
  ])
})
