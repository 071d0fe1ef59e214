import { expect, test } from 'vitest'
import { apiKeyState } from './api-key-state.ts'

const now = new Date('2026-03-10T12:00:00.000Z')
const past = '2026-03-10T12:00:00.000Z'
const future = '2026-03-10T12:00:00.001Z'

test.each([
  ['active', null, null],
  ['active', null, future],
  ['expired', null, past],
  ['revoked', past, null],
  ['revoked', past, past],
  ['revoked', past, future],
])('[B10] a key is %s (revoked %s, expires %s)', (state, revoked_at, expires_at) => {
  expect(apiKeyState({ revoked_at, expires_at }, now)).toBe(state)
})
