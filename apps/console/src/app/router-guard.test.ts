import { expect, test } from 'vitest'
import { wayIn } from './router-guard.ts'

test('[R2.4] [R2.6] [R2.7] without a login a page for customers leads to sign-in, which keeps path and query', () => {
  expect(wayIn('user', false, '/payments?type=usage&q=a b')).toBe(
    '/auth?redirect=%2Fpayments%3Ftype%3Dusage%26q%3Da+b',
  )
  expect(wayIn('user', false, '/')).toBe('/auth')
})

test('[R2.3] [R2.7] one who signs out on a public page stays there', () => {
  expect(wayIn('public', false, '/model-endpoints')).toBeNull()
})

test('nothing is in the way of who is signed in', () => {
  for (const access of ['user', 'public', 'guest'] as const) expect(wayIn(access, true, '/x')).toBeNull()
})
