import { ACTIVATION_RESEND_WAIT_MS } from '@berth/contract/limits'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startWait, waitKey, waitLeft } from './verify-wait.ts'

const NOW = 1_800_000_000_000

let kept: Map<string, string>
beforeEach(() => {
  kept = new Map()
  // Node has no storage; this one does what a browser's does.
  vi.stubGlobal('localStorage', {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
    removeItem: (name: string) => void kept.delete(name),
  })
})
afterEach(() => vi.unstubAllGlobals())

test('[R2.16] after a mail one waits a minute, counted by the clock and not by the page', () => {
  expect(waitLeft('mira', NOW)).toBe(0)
  startWait('mira', NOW)
  expect(waitLeft('mira', NOW)).toBe(60_000)
  expect(waitLeft('mira', NOW + 20_000)).toBe(40_000)
  expect(waitLeft('mira', NOW + 60_000)).toBe(0)
})

test('[R2.16] another account on the same device does not wait', () => {
  startWait('mira', NOW)
  expect(waitLeft('kim', NOW)).toBe(0)
})

test('a clock that is set back an hour does not make the wait longer, over any number of reloads', () => {
  startWait('mira', NOW)
  const earlier = NOW - 3_600_000
  expect(waitLeft('mira', earlier)).toBe(ACTIVATION_RESEND_WAIT_MS)
  expect(waitLeft('mira', earlier + 59_000)).toBe(1_000)
  expect(waitLeft('mira', earlier + 60_000)).toBe(0)
})

test('a clock that is set forward ends it', () => {
  startWait('mira', NOW)
  expect(waitLeft('mira', NOW + 86_400_000)).toBe(0)
})

test.each(['', 'soon', '-1', '1e9', '99999999999999999999'])('nonsense in storage, %j, is no wait', value => {
  kept.set(waitKey('mira'), value)
  expect(waitLeft('mira', NOW)).toBe(0)
})

test('what is over leaves nothing behind', () => {
  startWait('mira', NOW)
  waitLeft('mira', NOW + 60_000)
  expect(kept.size).toBe(0)
})
