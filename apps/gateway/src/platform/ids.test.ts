import { expect, test } from 'vitest'
import { createIds, systemIds } from './ids.ts'

test('UUIDs are of version 7 and sort by the time at which they were made, also within a millisecond', () => {
  const ids = Array.from({ length: 5_000 }, () => systemIds.uuid())
  expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect([...ids].sort()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
})

test('UUIDs carry the time of the clock, and go on when it steps back', () => {
  let now = new Date('2026-01-01T00:00:00Z')
  const ids = createIds({ now: () => now })
  const first = ids.uuid()
  expect(Number.parseInt(first.replaceAll('-', '').slice(0, 12), 16)).toBe(now.getTime())
  now = new Date('2025-01-01T00:00:00Z')
  expect(ids.uuid() > first).toBe(true)
})

test('other ids have the form that they promise', () => {
  expect(systemIds.instanceId()).toMatch(/^i-[a-hj-km-np-z2-9]{7}$/)
  expect(systemIds.hostSecret()).toMatch(/^[a-z0-9]{20}$/)
  expect(Buffer.from(systemIds.secret(32), 'base64url')).toHaveLength(32)
  expect(new Set(Array.from({ length: 1_000 }, () => systemIds.instanceId())).size).toBe(1_000)
})
