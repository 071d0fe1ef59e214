import { describe, expect, test } from 'vitest'
import { guessableBy } from './guessable.ts'

const OWNER = { email: 'ada.lovelace@engines.example', displayName: 'Ada King' }

describe('a password that is guessed early', () => {
  test.each([
    'Password1!',
    'P@ssw0rd',
    'P@$$w0rd2024!',
    'Qwerty123!',
    '!Dragon99',
    'Letmein!1',
    'Sunshine-7',
    'M0nkey#12',
  ])('is a common one with ornaments: %s', password => {
    expect(guessableBy(password, OWNER)).toBe('password_common')
  })

  test.each([
    'Ada.Lovelace1',
    'Lovelace1815!',
    '#L0v3lac3',
    'AdaLovelace-1',
    'AdaKing-77',
    'Engines!1',
    'Ada.Lovelace@Engines.Example1',
  ])('is its owner’s name or address: %s', password => {
    expect(guessableBy(password, OWNER)).toBe('password_personal')
  })

  test.each([
    'Correct-Horse-7',
    'the Monkey eats 3 Dragons!',
    'Lovelace wrote for 2 engines.',
    'xK9#mQ2$vL',
    'Harbour-Light-7',
  ])('is no phrase and nothing of chance: %s', password => {
    expect(guessableBy(password, OWNER)).toBeNull()
  })

  test('has nothing of a name that is too short to mean anything', () => {
    expect(guessableBy('xK9#Ada2$vL', { email: 'a@b.cd', displayName: 'Ada' })).toBeNull()
  })
})
