import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { LANGUAGES } from '@berth/contract/limits'
import { expect, test } from 'vitest'

const FOLDER = new URL('../public/locales/', import.meta.url)
const ERRORS = new URL('../../../packages/contract/locales/', import.meta.url)
const OTHERS = LANGUAGES.filter(language => language !== 'en')
const FILES = readdirSync(new URL('en/', FOLDER))

// Words that are the same in every language: names, units of the trade, patterns of figures, and examples of ids.
const SAME_EVERYWHERE =
  /^[^\p{L}]*(?:\{\{\w+\}\}[^\p{L}]*)*$|^(?:\{\{\w+\}\}|[\s·×/,.:+\d()-]|Berth|GB|MB|vCPU|VRAM|GPU|CPU|SSH|HTTP|TCP|UDP|datasets|URL|README|POD|VM|ID|CVC|Docs|Visa|h|s|m|d)+$|^[a-z0-9]+(?:-[a-z0-9]+)+$/u

test.each(OTHERS)('[R1.9] %s has the same files as English', language => {
  expect(readdirSync(new URL(`${language}/`, FOLDER)).sort()).toEqual([...FILES].sort())
})

test.each(OTHERS.flatMap(language => FILES.map(file => [language, file] as const)))(
  '[R1.9] %s/%s has every text of the English one, with the same values in it',
  (language, file) => {
    expectSameTexts(new URL(`en/${file}`, FOLDER), new URL(`${language}/${file}`, FOLDER), language)
  },
)

test('[R1.9] in Chinese a token has one word, and an invoice another one than a bill', () => {
  const read = (file: string) => readFileSync(new URL(`zh/${file}`, FOLDER), 'utf8')
  for (const file of FILES) expect(read(file), file).not.toContain('词元')
  expect(read('invoices.json')).not.toContain('账单')
})

test.each(OTHERS)('[R8.1] the error texts are complete in %s', language => {
  expectSameTexts(new URL('en/errors.json', ERRORS), new URL(`${language}/errors.json`, ERRORS), language)
})

test('[R2.15] no namespace of the console hides the one of the contract', () => {
  expect(existsSync(new URL('en/errors.json', FOLDER))).toBe(false)
})

function expectSameTexts(english: URL, other: URL, language: string): void {
  const wanted = textsOf(english, 'en')
  const given = textsOf(other, language)
  expect([...given.keys()].sort()).toEqual([...wanted.keys()].sort())
  for (const [key, text] of wanted) {
    const translated = given.get(key) ?? ''
    expect(valuesIn(translated), `${key} in ${language}`).toEqual(valuesIn(text))
    expect(translated.trim(), `${key} in ${language} is empty`).not.toBe('')
    if (!SAME_EVERYWHERE.test(text))
      expect(translated, `${key} in ${language} is not translated`).not.toBe(text)
  }
}

/** Texts by key. A plural is one text: languages differ in how many forms it has, so `other` stands for it. */
function textsOf(file: URL, language: string): Map<string, string> {
  const forms = new Intl.PluralRules(language).resolvedOptions().pluralCategories
  const texts = new Map<string, string>()
  const plurals = new Map<string, Set<string>>()
  const walk = (value: unknown, path: string) => {
    if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value)) walk(inner, path ? `${path}.${key}` : key)
      return
    }
    const plural = /^(.+)_(zero|one|two|few|many|other)$/.exec(path)
    if (!plural) texts.set(path, String(value))
    else {
      const [, base = '', form = ''] = plural
      plurals.set(base, (plurals.get(base) ?? new Set()).add(form))
      if (form === 'other') texts.set(base, String(value))
    }
  }
  walk(JSON.parse(readFileSync(file, 'utf8')), '')
  for (const [base, given] of plurals) {
    expect([...given].sort(), `${base} in ${language}`).toEqual([...forms].sort())
  }
  return texts
}

function valuesIn(text: string): string[] {
  return [...new Set(Array.from(text.matchAll(/\{\{-?\s*(\w+)[^}]*\}\}/g), match => match[1] ?? ''))].sort()
}
