import { expect, onTestFinished, test, vi } from 'vitest'
import { createShutdown } from './shutdown.ts'

const silent = { warn: () => {}, error: () => {}, debug: () => {} }

test('phases run one after the other, in their order', async () => {
  const seen: string[] = []
  const phase = (name: string) => ({
    name,
    deadlineMs: 1_000,
    run: async () => {
      seen.push(`${name} begins`)
      await Promise.resolve()
      seen.push(`${name} ends`)
    },
  })
  expect(await createShutdown([phase('requests'), phase('loops')], silent)()).toBe(true)
  expect(seen).toEqual(['requests begins', 'requests ends', 'loops begins', 'loops ends'])
})

test('a phase that hangs is left behind at its deadline, one that fails is noted, and the next ones run', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const seen: string[] = []
  const ending = createShutdown(
    [
      { name: 'hangs', deadlineMs: 5_000, run: () => new Promise(() => {}) },
      { name: 'fails', deadlineMs: 5_000, run: () => Promise.reject(new Error('no')) },
      { name: 'last', deadlineMs: 5_000, run: async () => void seen.push('last') },
    ],
    silent,
  )()
  await vi.advanceTimersByTimeAsync(4_999)
  expect(seen).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(seen).toEqual(['last'])
  expect(await ending).toBe(false)
})

test('asked twice, it ends once', async () => {
  let runs = 0
  const shutDown = createShutdown([{ name: 'a', deadlineMs: 100, run: async () => void runs++ }], silent)
  await Promise.all([shutDown(), shutDown()])
  expect(runs).toBe(1)
})
