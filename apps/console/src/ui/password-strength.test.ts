import { newPassword } from '@berth/contract/fields'
import { expect, test } from 'vitest'
import { missingParts, STRENGTH_PARTS } from './password-strength.ts'

test.each([
  ['', [...STRENGTH_PARTS]],
  ['abcdefgh', ['upper', 'digit', 'special']],
  ['Abc1!', ['length']],
  ['Harbour-7', []],
  ['Größe-123', []],
])('[R5.2] %j still lacks %j', (password, missing) => {
  expect(missingParts(password)).toEqual(missing)
})

test('[R5.2] the meter and the rule agree', () => {
  for (const password of [
    '',
    'abc',
    'ABCDEFG1!',
    'abcdefg1!',
    'Abcdefgh!',
    'Abcdefg1',
    'Abcdef1!',
    'Ab1! ab1',
  ]) {
    expect(missingParts(password).length === 0, password).toBe(newPassword.safeParse(password).success)
  }
})
