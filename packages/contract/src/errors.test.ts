import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ERRORS, type ErrorCode, FIELD_RULES } from './errors.ts'
import { INSTANCE_STATUSES } from './instance-states.ts'
import {
  IDEMPOTENCY_KEY_CHARS_MAX,
  IDEMPOTENCY_KEY_CHARS_MIN,
  INSTANCE_NAME_CHARS_MAX,
  LANGUAGES,
  type Language,
  PASSWORD_CHARS_MIN,
  PORT_MAX,
  PORTS_MAX,
  TERMINAL_SESSIONS_MAX,
} from './limits.ts'

/** The messages that the seed spells out, word for word. */
const SEED_MESSAGES: Partial<Record<ErrorCode, string>> = {
  forbidden: 'No permission to access this resource',
  not_found: 'Requested resource does not exist',
  internal: 'Internal server error',
  request_failed: 'Request failed: {{status}}',
  network: 'Network connection failed, please check network settings',
  cancelled: 'Request cancelled',
  login_expired: 'Login expired, please login again',
  password_expired: 'Password has expired, please reset your password',
  user_not_found: 'User is not found, please login again',
  sign_out_first: 'please sign out first',
  gpu_sold_out: 'GPU is sold out, please try again later.',
  volume_name_incorrect: 'Volume name is incorrect',
  required_fields: 'Please fill in all required fields',
  account_not_activated: 'The account is not activated. You can operate it after successful activation.',
  invalid_amount: 'Invalid amount',
}

/** The failures that the seed describes without giving all of their words: what the message must speak of. */
const SEED_FAILURES: Partial<Record<ErrorCode, RegExp>> = {
  login_failed: /login failed.*credentials/i,
  signup_failed: /account could not be made/i,
  password_too_weak: /too weak/i,
  terms_required: /agree to the terms/i,
  reset_link_expired: /reset link has expired.*request a new one/i,
  reset_link_invalid: /reset link is invalid.*token is missing/i,
  reset_failed: /password could not be reset/i,
  oauth_failed: /other service failed/i,
  payment_failed: /payment failed, please try again/i,
  region_not_supported: /region is not supported/i,
  model_call_failed: /model call failed.*try again or start a new conversation/i,
  context_length_exceeded: /answer exceeds the context length limit/i,
  payment_method_in_use: /cannot be deleted while auto top-up is on.*at least one must remain/i,
  create_image_pod: /start the POD first/i,
  create_image_vm: /VM is stopped/i,
  topup_settings_failed: /top-up settings could not be updated/i,
  init_failed: /reload the page/i,
}

/** Those of them that nothing fails with yet: they have their words, and prove nothing by that. */
const RAISED_BY_NOBODY: readonly string[] = ['topup_settings_failed']
const idOf = (code: string) => (RAISED_BY_NOBODY.includes(code) ? '' : '[R8.1] ')
const rowsOf = <Said>(messages: Record<string, Said>) =>
  Object.entries(messages).map(([code, said]) => [idOf(code), code, said] as const)

const texts = new Map(LANGUAGES.map(language => [language, readTexts(language)]))
const codes = Object.keys(ERRORS)

describe('the catalogue', () => {
  test.each(rowsOf(SEED_MESSAGES))("%s%s carries the seed's message literally", (_, code, message) => {
    expect(codes).toContain(code)
    expect(textsIn('en').get(code)).toBe(message)
  })

  test.each(rowsOf(SEED_FAILURES))('%s%s says what the seed describes', (_, code, pattern) => {
    expect(codes).toContain(code)
    expect(textsIn('en').get(code)).toMatch(pattern)
  })

  test('[R8.1] something fails with each of them, but for those that are known', () => {
    const root = join(import.meta.dirname, '../../..')
    const sources = globSync('apps/*/src/**/*.{ts,tsx}', { cwd: root })
      .filter(file => !/\.test\.|fixture/.test(file))
      .map(file => readFileSync(join(root, file), 'utf8'))
    const isRaised = (code: string) => sources.some(source => new RegExp(`[':.]${code}\\b`).test(source))
    const seeds = [...Object.keys(SEED_MESSAGES), ...Object.keys(SEED_FAILURES)]
    expect(seeds.filter(code => !isRaised(code)).sort()).toEqual([...RAISED_BY_NOBODY].sort())
  })

  test.each([
    ['login_expired', 401],
    ['forbidden', 403],
    ['not_found', 404],
    ['internal', 500],
  ] as const)('[R8.1] %s goes out with status %i', (code, http) => {
    expect(ERRORS[code].http).toBe(http)
  })

  test('every code says to a program what to do, with a status that fits', () => {
    for (const [code, rule] of Object.entries(ERRORS)) {
      expect(['retry', 'change', 'give_up'], code).toContain(rule.verdict)
      const inBand = rule.http === 0 || rule.http === 200 || (rule.http >= 400 && rule.http <= 599)
      expect(inBand, `${code} answers ${rule.http}`).toBe(true)
    }
  })

  test('what failed at the gateway may be tried again as it is', () => {
    for (const [code, { http, verdict }] of Object.entries(ERRORS)) {
      if (http >= 500) expect(verdict, code).toBe('retry')
    }
  })

  test('codes and rules are spelled in snake case, each rule once', () => {
    for (const key of [...codes, ...FIELD_RULES]) expect(key).toMatch(/^[a-z][a-z0-9]*(_[a-z][a-z0-9]*)*$/)
    expect(new Set(FIELD_RULES).size).toBe(FIELD_RULES.length)
  })
})

describe.each([...LANGUAGES])('the texts in %s', language => {
  const expectedKeys = [
    ...codes,
    ...FIELD_RULES.map(rule => `rules.${rule}`),
    ...INSTANCE_STATUSES.map(status => `statuses.${status}`),
  ]

  test('[R8.1] every code, field rule and status has a text, and nothing else has', () => {
    expect([...textsIn(language).keys()].sort()).toEqual([...expectedKeys].sort())
    for (const [key, text] of textsIn(language)) expect(text.trim(), key).not.toBe('')
  })

  test('[R8.1] each text takes the same variables as in English', () => {
    for (const [key, text] of textsIn('en'))
      expect(variablesOf(textsIn(language).get(key) ?? ''), key).toEqual(variablesOf(text))
  })

  test('each text is written in the language', () => {
    for (const [key, text] of textsIn(language)) {
      expect(text, key).toMatch(SCRIPTS[language])
      if (language === 'zh') expect(text, key).not.toMatch(/[\p{Script=Hiragana}\p{Script=Katakana}]/u)
      if (language !== 'en') expect(text, key).not.toBe(textsIn('en').get(key))
    }
  })

  test('no text shouts, has stray blanks or a broken variable', () => {
    for (const [key, text] of textsIn(language)) {
      expect(text, key).not.toMatch(/[!！]/)
      expect(text, key).toBe(text.trim())
      expect(text, key).not.toContain('  ')
      expect(text.replace(/\{\{\w+\}\}/g, ''), key).not.toMatch(/[{}]/)
    }
  })

  test('a number that a text names is the one that the rule enforces', () => {
    for (const [key, numbers] of Object.entries(NUMBERS_IN_TEXTS))
      expect(numbersIn(textsIn(language).get(key) ?? ''), key).toEqual(numbers)
  })

  test('no key is written twice', () => {
    const keys = [...readFileSync(fileOf(language), 'utf8').matchAll(/^ {2}"(\w+)":/gm)].map(
      match => match[1],
    )
    expect(new Set(keys).size).toBe(keys.length)
  })
})

/** Texts that name a limit: the numbers they must show, ascending. */
const NUMBERS_IN_TEXTS: Record<string, number[]> = {
  idempotency_key_required: [IDEMPOTENCY_KEY_CHARS_MIN, IDEMPOTENCY_KEY_CHARS_MAX],
  'rules.password': [PASSWORD_CHARS_MIN],
  'rules.instance_name_length': [INSTANCE_NAME_CHARS_MAX],
  'rules.port_range': [1, PORT_MAX],
  'rules.ports_max': [PORTS_MAX],
  'rules.shells_max': [TERMINAL_SESSIONS_MAX],
}

/** Characters of which each text has at least one. */
const SCRIPTS: Record<Language, RegExp> = {
  en: /[a-z]/,
  zh: /\p{Script=Han}/u,
  ja: /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u,
  ko: /\p{Script=Hangul}/u,
}

function fileOf(language: Language): string {
  return join(import.meta.dirname, '..', 'locales', language, 'errors.json')
}

/** The texts of a language by their dotted key. */
function readTexts(language: Language): Map<string, string> {
  const flat = new Map<string, string>()
  const walk = (value: unknown, key: string) => {
    if (typeof value === 'string') flat.set(key, value)
    else
      for (const [name, inner] of Object.entries(value ?? {}))
        walk(inner, key === '' ? name : `${key}.${name}`)
  }
  walk(JSON.parse(readFileSync(fileOf(language), 'utf8')), '')
  return flat
}

function textsIn(language: Language): Map<string, string> {
  return texts.get(language) ?? new Map()
}

function variablesOf(text: string): string[] {
  return [...new Set([...text.matchAll(/\{\{(\w+)\}\}/g)].map(match => match[1] ?? ''))].sort()
}

function numbersIn(text: string): number[] {
  return [...text.matchAll(/\d+/g)].map(match => Number(match[0])).sort((a, b) => a - b)
}
