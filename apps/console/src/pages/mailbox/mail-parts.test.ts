import { expect, test } from 'vitest'
import { mailParts } from './mail-parts.ts'

test('addresses become links, and the rest stays as it was written', () => {
  const text = 'Open http://localhost:8080/activty?token=a-b_c.\nOr not.'
  const parts = mailParts(text)
  expect(parts.map(part => part.text).join('')).toBe(text)
  expect(parts.filter(part => part.link).map(part => part.text)).toEqual([
    'http://localhost:8080/activty?token=a-b_c',
  ])
})

test('only web addresses become links', () => {
  for (const text of ['javascript:alert(1)', 'data:text/html,x', 'no address', '']) {
    expect(mailParts(text).some(part => part.link)).toBe(false)
  }
})
