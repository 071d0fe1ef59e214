import { expect, test } from 'vitest'
import { HOME_PATH, redirectTarget } from './redirect-target.ts'

const ORIGIN = 'https://console.example.org'

test.each(['/payments', '/explore?kind=POD&region=us-west', '/image-detail?id=a%2Fb'])(
  '[R2.6] a customer comes back to %s',
  path => {
    expect(redirectTarget(path, ORIGIN)).toBe(path)
  },
)

test.each([
  'https://evil.example',
  '//evil.example/x',
  '/\\evil.example',
  '\\\\evil.example',
  '/\t/evil.example',
  '/\n//evil.example',
  '/./\\evil.example/..//evil.example',
  'javascript:alert(1)',
  'data:text/html,x',
  ' //evil.example',
  'evil.example',
  '/..//evil.example',
  'http:evil',
])('[R2.6] %j leads home and not to another site', wanted => {
  const target = redirectTarget(wanted, ORIGIN)
  expect(new URL(target, ORIGIN).origin).toBe(ORIGIN)
  expect(target.startsWith('//')).toBe(false)
  expect(target).toBe(HOME_PATH)
})

test.each([undefined, null, '', '/', '/auth?redirect=/auth', '/logout', 3, {}])(
  '[R2.6] %j is no place to come back to',
  wanted => {
    expect(redirectTarget(wanted, ORIGIN)).toBe(HOME_PATH)
  },
)
