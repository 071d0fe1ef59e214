import { expect, test } from 'vitest'
import { microFromText, textFromMicro } from './micro-text.ts'

test.each([
  ['0', 0n],
  ['0.8', 800_000n],
  ['12', 12_000_000n],
  ['0.000001', 1n],
])('a price of %s is written and read', (text, micro) => {
  expect(microFromText(text)).toBe(micro)
  expect(textFromMicro(micro)).toBe(text)
})
