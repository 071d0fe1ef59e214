import { LANGUAGES } from '@berth/contract/limits'
import { describe, expect, test } from 'vitest'
import { ACTIVATION_TEXTS, activationMail } from './activation-mail.ts'
import { RESET_TEXTS, resetMail } from './reset-mail.ts'

/** A script that only that language’s text is written in. */
const SCRIPTS = { en: /please/, zh: /您/, ja: /[ぁ-ん]/, ko: /[가-힣]/ }

describe.each([
  ['activation', ACTIVATION_TEXTS, activationMail, '/activty'],
  ['password reset', RESET_TEXTS, resetMail, '/reset-password'],
] as const)('the %s mail', (_, texts, mailOf, path) => {
  const values = { brand: 'Berth', link: `https://berth.example${path}?token=abc_-9`, hours: 24 }

  test.each(LANGUAGES)('[R1.9] is whole in %s', language => {
    const mail = mailOf('ada@example.com', language, values)
    expect(mail.to).toBe('ada@example.com')
    expect(mail.subject).toContain('Berth')
    expect(mail.subject).not.toMatch(/[\r\n]/)
    expect(mail.text).toMatch(SCRIPTS[language])
    expect(mail.text).toContain('24')
    expect(mail.text).toContain('Berth')
    // The link stands on a line of its own, so that every mail program finds its end.
    expect(mail.text.split('\n')).toContain(values.link)
  })

  test('shares no text between two languages, and all have as many paragraphs', () => {
    const bodies = LANGUAGES.map(language => texts[language].body(values))
    expect(new Set(bodies.map(body => body.length)).size).toBe(1)
    const own = bodies.map(body => body.filter(line => line !== values.link && line !== values.brand))
    expect(new Set(own.flat()).size).toBe(own.flat().length)
  })
})
