import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { root } from '../lib/paths.mjs'
import { leftToTheirTurn, TURN_DAYS, TURNS, takeTurn, thirdOfTurn, turnLines } from './turns.ts'

const DAY_MS = 86_400_000
const FROM_MS = Date.UTC(2026, 11, 30)
const days = Array.from({ length: 2 * TURN_DAYS }, (_, at) => new Date(FROM_MS + at * DAY_MS))
const all = TURNS.flat()

/** What is wrong with money, accounts or the first walk is not to be found a day later. */
const EACH_TIME = [
  /\/(billing|identity|referral|terms|payments)\//,
  /\/(books-run|year-of-billing|kill-gateway|owner-check|account-\w+|main)\.test\.ts$/,
  /^e2e\/(first-deploy|payments|stripe|settings|sessions|reset-password|social-login|captcha|refer)\.spec\.ts$/,
]

afterEach(() => vi.unstubAllEnvs())

test('each file that takes turns is there, and has one turn', () => {
  expect(TURNS).toHaveLength(TURN_DAYS)
  expect(all.filter(file => !existsSync(join(root, file)))).toEqual([])
  expect(new Set(all).size).toBe(all.length)
})

test('what guards money, who is who, and the first walk take no turns', () => {
  expect(all.filter(file => EACH_TIME.some(pattern => pattern.test(file)))).toEqual([])
})

test('each file runs on one day of three; in a turn that is named, or on any day where all are asked for', () => {
  vi.stubEnv('BERTH_LONG_TESTS', 'turns')
  vi.stubEnv('BERTH_TEST_TURN', undefined)
  for (const file of all) {
    const ran = days.map(day => !leftToTheirTurn(day).includes(file))
    expect(
      ran.filter(one => one),
      file,
    ).toHaveLength(2)
    expect(ran.slice(0, TURN_DAYS), file).toEqual(ran.slice(TURN_DAYS))
  }
  vi.stubEnv('BERTH_TEST_TURN', '1')
  expect(days.map(leftToTheirTurn)).toEqual(days.map(() => [TURNS[0], TURNS[2]].flat()))
  vi.stubEnv('BERTH_TEST_TURN', 'all')
  expect(days.flatMap(leftToTheirTurn)).toEqual([])
  vi.stubEnv('BERTH_TEST_TURN', '')
  vi.stubEnv('BERTH_LONG_TESTS', 'all')
  expect(days.flatMap(leftToTheirTurn)).toEqual([])
  vi.stubEnv('BERTH_TEST_TURN', '3')
  expect(() => leftToTheirTurn(new Date(FROM_MS))).toThrow('BERTH_TEST_TURN')
})

test('of many cases a whole run has a third, another one each day, and a file by its name has all', () => {
  const cases = Array.from({ length: 7 }, (_, at) => at)
  vi.stubEnv('BERTH_LONG_TESTS', 'turns')
  for (const none of [undefined, '']) {
    vi.stubEnv('BERTH_TEST_TURN', none)
    expect(thirdOfTurn(cases)).toEqual(cases)
  }
  const thirds = days.slice(0, TURN_DAYS).map(day => {
    vi.stubEnv('BERTH_TEST_TURN', undefined)
    takeTurn(day)
    return thirdOfTurn(cases)
  })
  expect(thirds.map(({ length }) => length).sort()).toEqual([2, 2, 3])
  expect(thirds.flat().sort()).toEqual(cases)
  vi.stubEnv('BERTH_TEST_TURN', undefined)
  vi.stubEnv('BERTH_LONG_TESTS', 'all')
  takeTurn(new Date(FROM_MS))
  expect(thirdOfTurn(cases)).toEqual(cases)
})

test('what was left is said on one line with how to run it, and nothing is said where nothing was', () => {
  expect(turnLines([])).toEqual([])
  expect(turnLines(['a/one.test.ts', 'e2e/two.spec.ts'])).toEqual([
    'Left to their turn, one day of three: 2 test files (one.test.ts, two.spec.ts). BERTH_TEST_TURN=all npm test has them all; a file by its name is run in any case.',
  ])
  expect(turnLines(all)[0]).toContain(` and ${all.length - 6} more)`)
})
