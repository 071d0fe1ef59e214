import { expect, test } from 'vitest'
import { loginForm, signupForm } from './auth-schemas.ts'

const GOOD = {
  name: 'Mira',
  email: 'Mira@Example.org',
  password: 'Harbour-7',
  confirm: 'Harbour-7',
  agreement: true,
}

test('[R5.3] a whole form passes, with its address folded', () => {
  expect(signupForm.parse(GOOD).email).toBe('mira@example.org')
})

test.each([
  ['[R5.1] an empty name', { name: ' ' }, 'name', 'username_required'],
  ['[R5.1] a name with an emoji', { name: 'Mira 🚀' }, 'name', 'username_emoji'],
  ['[R5.3] no address', { email: 'mira' }, 'email', 'email'],
  ['[R5.2] a weak password', { password: 'harbour7', confirm: 'harbour7' }, 'password', 'password'],
  ['[R5.2] another confirmation', { confirm: 'Harbour-8' }, 'confirm', 'password_mismatch'],
  ['[R5.3] no agreement', { agreement: false }, 'agreement', 'terms'],
])('%s is refused', (_, change, path, rule) => {
  expect(rulesOf({ ...GOOD, ...change })).toEqual({ [path]: rule })
})

test('[R5.2] a mismatch is said together with what else is wrong', () => {
  expect(rulesOf({ ...GOOD, email: '', confirm: '' })).toEqual({
    email: 'email',
    confirm: 'password_mismatch',
  })
})

test('an old password that the rules would now refuse still logs in', () => {
  expect(loginForm.safeParse({ email: 'mira@example.org', password: 'old' }).success).toBe(true)
})

function rulesOf(values: unknown): Record<string, string> {
  const { error } = signupForm.safeParse(values)
  return Object.fromEntries(
    (error?.issues ?? []).toReversed().map(issue => [issue.path.join('.'), issue.message]),
  )
}
