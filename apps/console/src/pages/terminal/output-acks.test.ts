import { TERMINAL_ACK_BYTES } from '@berth/contract/terminal'
import { expect, test } from 'vitest'
import { createOutputAcks } from './output-acks.ts'

test('[B9] every rendered byte is acknowledged once, and never more than the protocol lets wait', () => {
  const acks = createOutputAcks()
  let rendered = 0
  let acknowledged = 0
  for (const bytes of [1, 100, 40_000, 65_536, 3, 20_000, 20_000, 65_536, 0, 31_000]) {
    rendered += bytes
    acknowledged += acks.rendered(bytes)
    expect(rendered - acknowledged).toBeLessThan(TERMINAL_ACK_BYTES)
    expect(acknowledged).toBeLessThanOrEqual(rendered)
  }
  expect(acknowledged).toBeGreaterThan(0)
})

test('small output is not acknowledged key by key', () => {
  const acks = createOutputAcks()
  expect(Array.from({ length: 1_000 }, () => acks.rendered(1)).every(due => due === 0)).toBe(true)
})
