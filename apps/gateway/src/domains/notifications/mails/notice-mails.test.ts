import { LANGUAGES } from '@berth/contract/limits'
import { describe, expect, test } from 'vitest'
import { endingLine } from './credits-ending-mail.ts'
import { NOTICE_EXAMPLES } from './notice-examples.ts'
import { cardText, durationText, lineOf, NOT_SWITCHED, noticeMail, SWITCH_OFF } from './notice-mail.ts'

/** A script that only that language’s text is written in. */
const SCRIPTS = { en: /^Hello,/, zh: /您/, ja: /[ぁ-ん]/, ko: /[가-힣]/ }
const at = '2026-03-01 12:00 UTC'

/** Values that no mail says as they are: they choose between its words. */
const CHOOSES_WORDS: ReadonlySet<string> = new Set([
  'what',
  'cause',
  'outcome',
  'news',
  'period',
  'stops',
  'of',
])

describe.each(NOTICE_EXAMPLES)('the mail about a %s', (_, texts, values) => {
  const frame = {
    brand: 'Berth',
    link: 'https://berth.example/page',
    settings: 'https://berth.example/settings',
  }
  const all = { ...values, ...frame }

  test.each(LANGUAGES)('[R1.9] is whole in %s', language => {
    const mail = noticeMail({ email: 'ada@example.com', language }, texts[language], all as never)
    expect(mail.to).toBe('ada@example.com')
    expect(mail.subject).toContain('Berth')
    expect(mail.subject).not.toMatch(/[\r\n]/)
    expect(mail.text).toMatch(SCRIPTS[language])
    expect(mail.text).not.toContain('undefined')
    const said = Object.entries(values).filter(([name]) => !CHOOSES_WORDS.has(name))
    for (const [, value] of said) expect(`${mail.subject}\n${mail.text}`).toContain(value)
    // The link stands on a line of its own, so that every mail program finds its end.
    expect(mail.text.split('\n')).toContain(frame.link)
    expect(mail.text.split('\n')).toContain(SWITCH_OFF[language](frame.settings))
    const always = noticeMail({ email: 'ada@example.com', language }, texts[language], all as never, {
      isSwitched: false,
    })
    expect(always.text.split('\n').at(-2)).toBe(NOT_SWITCHED[language])
    expect(always.text).not.toContain(frame.settings)
  })

  test('shares no text between two languages, and all have as many paragraphs', () => {
    const bodies = LANGUAGES.map(language => texts[language].body(all as never))
    expect(new Set(bodies.map(body => body.length)).size).toBe(1)
    const own = bodies.map(body => body.filter(line => line !== frame.link))
    expect(new Set(own.flat()).size).toBe(own.flat().length)
  })
})

test('[R1.9] a card is called so in each language; what has no digits has its name alone', () => {
  const texts = LANGUAGES.map(language => cardText(language, { brand: 'Visa', last4: '4242' }))
  expect(new Set(texts).size).toBe(LANGUAGES.length)
  for (const text of texts) expect(text).toMatch(/Visa.*4242|4242.*Visa/)
  for (const language of LANGUAGES) expect(cardText(language, { brand: 'Bank', last4: '' })).toBe('Bank')
})

test('[R1.9] an amount of credits with its end is said in each language, and what it is for', () => {
  const lines = [false, true].flatMap(modelsOnly =>
    LANGUAGES.map(language => endingLine(language, { amount: '$7.50', until: at, modelsOnly })),
  )
  expect(new Set(lines).size).toBe(2 * LANGUAGES.length)
  for (const line of lines) expect(line).toMatch(/\$7\.50.*2026-03-01 12:00 UTC/)
})

test.each(LANGUAGES)('a duration in %s is never more than it is', language => {
  expect(durationText(language, 9_059)).toMatch(/^2\D+30\D+$/)
  expect(durationText(language, 59)).toMatch(/^0\D+$/)
})

test('what somebody typed stays on one line', () => {
  expect(lineOf('  a\r\nBcc: x\u2028y\u202ez ')).toBe('a Bcc: x y z')
  expect(lineOf('a'.repeat(500))).toHaveLength(100)
})
