import { expect, test } from 'vitest'
import { readCommandEnd } from './command-end.ts'

const started_at = new Date('2026-11-22T12:00:00Z')
const ended_at = new Date('2026-11-22T12:04:00Z')
const now = new Date('2026-11-22T12:05:00Z')
const said = { started_at, ended_at, now }

test('a report says with which code a command ended, how often, and when it is run again', () => {
  expect(readCommandEnd('3 1 -\n', said)).toEqual({ exit_code: 3, count: 1, ended_at, again_at: null })
  expect(readCommandEnd('0 12 60          ', said)).toEqual({
    exit_code: 0,
    count: 12,
    ended_at,
    again_at: new Date('2026-11-22T12:05:00Z'),
  })
})

test.each([
  '',
  '\n',
  '3',
  '3 1',
  '256 1 -',
  '-1 1 -',
  '3 0 -',
  '3 1 100',
  '3 1 -\n3 1 -',
  '3 1 - x',
  '٣ 1 -',
  'NaN 1 -',
  '3 1e9 -',
])('%j is no report', report => {
  expect(readCommandEnd(report, said)).toBeNull()
})

test('what is said to have ended before the machine started is of another time; what is said of later was just now', () => {
  const earlier = new Date('2026-11-22T11:59:58Z')
  expect(readCommandEnd('3 1 -', { ...said, ended_at: earlier })).toBeNull()
  const later = new Date('2036-01-01T00:00:00Z')
  expect(readCommandEnd('3 1 -', { ...said, ended_at: later })?.ended_at).toEqual(now)
})

test('more ends than a command can have are not counted', () => {
  expect(readCommandEnd('3 999999999 -', said)?.count).toBe(1_000_000)
})
