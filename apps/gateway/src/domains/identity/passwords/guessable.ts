import { dictionary } from '@zxcvbn-ts/language-common'

/** What makes a password one of the first that somebody tries. */
export type GuessableBy = 'password_common' | 'password_personal'

/** Whose password it is to be. */
export interface PasswordOwner {
  email: string
  displayName: string
}

/** Passwords that many people have, in lower case. */
const COMMON: ReadonlySet<string> = new Set(dictionary['passwords-common'])

/**
 * How much around a word leaves it easy to guess: a year and a sign or two. What is longer is a phrase, or more than a
 * word with ornaments.
 */
const ORNAMENT_CHARS_MAX = 6
/** Shorter words stand in passwords by chance. */
const WORD_CHARS_MIN = 4

/** Signs that people put for letters. */
const LETTERS: Readonly<Record<string, string>> = {
  '@': 'a',
  '4': 'a',
  '3': 'e',
  '1': 'i',
  '!': 'i',
  '0': 'o',
  $: 's',
  '5': 's',
  '7': 't',
}

/**
 * Whether a password is a common one, or is made of its owner's name or address, also where letters are written as signs
 * and digits or signs stand around it. Phrases of several words are neither, whatever words they are of.
 * @param password One that keeps the rules of the contract.
 */
export function guessableBy(password: string, owner: PasswordOwner): GuessableBy | null {
  const typed = password.toLowerCase()
  const isPersonal = wordsOf(owner).some(
    word => isMostOf(word, typed) && [typed, lettersOf(typed)].some(form => form.includes(word)),
  )
  if (isPersonal) return 'password_personal'
  const forms = [typed, ...coresOf(typed)].flatMap(form => [form, lettersOf(form)])
  return forms.some(form => COMMON.has(form) && isMostOf(form, typed)) ? 'password_common' : null
}

/** Without the digits and signs around it; signs that stand for letters are at home inside only. */
function coresOf(typed: string): string[] {
  return [typed.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, ''), typed.replace(/[^\p{L}]+$/u, '')]
}

function lettersOf(text: string): string {
  return text.replace(/[@431!0$57]/g, sign => LETTERS[sign] ?? sign)
}

function isMostOf(word: string, typed: string): boolean {
  return word.length >= WORD_CHARS_MIN && typed.length - word.length <= ORNAMENT_CHARS_MAX
}

/** The whole of name and address, and their parts. */
function wordsOf({ email, displayName }: PasswordOwner): string[] {
  const [local = ''] = email.split('@')
  return [email, local, displayName].flatMap(text => {
    const whole = text.toLowerCase()
    const parts = whole.split(/[^\p{L}\d]+/u)
    return [whole, parts.join(''), ...parts]
  })
}
