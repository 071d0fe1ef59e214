import { afterEach, expect, test, vi } from 'vitest'
import { leftToTheirTurn } from '../../../scripts/test/turns.ts'
import { triesOf } from './long-runs.ts'

const DAY_MS = 86_400_000
const WITH_TURNS = ['kills', 'books', 'payments', 'images'] as const

afterEach(() => {
  vi.unstubAllEnvs()
  vi.useRealTimers()
})

test('by turns each of the randomised tests does more once in three days, and some do on each', () => {
  vi.stubEnv('BERTH_LONG_TESTS', '')
  const short = WITH_TURNS.map(name => triesOf(name))
  vi.stubEnv('BERTH_LONG_TESTS', 'turns')
  const days = Array.from({ length: 6 }, (_, day) => {
    vi.useFakeTimers({ now: Date.UTC(2026, 11, 30) + day * DAY_MS, toFake: ['Date'] })
    return WITH_TURNS.map((name, at) => triesOf(name) > (short[at] ?? 0))
  })
  for (const [at, name] of WITH_TURNS.entries()) {
    expect(
      days.map(turns => turns[at]).filter(isTurn => isTurn),
      name,
    ).toHaveLength(2)
  }
  for (const turns of days) expect(turns).toContain(true)
})

test('the whole suite of a cluster has its turn on the day of its file', () => {
  vi.stubEnv('BERTH_LONG_TESTS', 'turns')
  vi.stubEnv('BERTH_TEST_TURN', undefined)
  const days = Array.from({ length: 3 }, (_, day) => new Date(Date.UTC(2026, 11, 30) + day * DAY_MS))
  const isWhole = days.map(now => {
    vi.useFakeTimers({ now, toFake: ['Date'] })
    return triesOf('clusters') > 0
  })
  const isThere = days.map(now => !leftToTheirTurn(now).some(file => file.endsWith('/kube-engine.test.ts')))
  expect(isWhole).toEqual(isThere)
  expect(isWhole).toContain(true)
})

test('a name that no test has is refused, and so is one of a number that is none', () => {
  for (const wrong of ['kill', 'kills:0', 'turns,kills']) {
    vi.stubEnv('BERTH_LONG_TESTS', wrong)
    expect(() => triesOf('kills'), wrong).toThrow('BERTH_LONG_TESTS takes kills')
  }
})
