import { LANGUAGES } from '@berth/contract/limits'
import { describe, expect, test } from 'vitest'
import { FAREWELL_TEXTS, farewellMail } from './farewell-mail.ts'
import { KNOWN_ADDRESS_TEXTS, knownAddressMail } from './known-address-mail.ts'
import { PASSWORD_CHANGED_TEXTS, passwordChangedMail } from './password-changed-mail.ts'
import { SIGN_IN_CODE_TEXTS, signInCodeMail } from './sign-in-code-mail.ts'
import { SUSPENSION_TEXTS, suspensionMail } from './suspension-mail.ts'

/** A script that only that language’s text is written in. */
const SCRIPTS = { en: /^Hello,/, zh: /您/, ja: /[ぁ-ん]/, ko: /[가-힣]/ }
const values = {
  brand: 'Berth',
  at: '2026-03-01 12:00 UTC',
  address: '203.0.113.7',
  link: 'https://berth.example/auth',
}

describe.each([
  ['new password', PASSWORD_CHANGED_TEXTS, passwordChangedMail],
  ['farewell', FAREWELL_TEXTS, farewellMail],
  ['suspension', SUSPENSION_TEXTS, suspensionMail],
] as const)('the mail about a %s', (name, texts, mailOf) => {
  test.each(LANGUAGES)('[R1.9] is whole in %s', language => {
    const mail = mailOf('ada@example.com', language, values)
    expect(mail.to).toBe('ada@example.com')
    expect(mail.subject).toContain('Berth')
    expect(mail.subject).not.toMatch(/[\r\n]/)
    expect(mail.text).toMatch(SCRIPTS[language])
    expect(mail.text).toContain(values.at)
    if (name !== 'new password') return
    expect(mail.text).toContain(values.address)
    expect(mail.text.split('\n')).toContain(values.link)
  })

  test('shares no text between two languages, and all have as many paragraphs', () => {
    const bodies = LANGUAGES.map(language => texts[language].body(values))
    expect(new Set(bodies.map(body => body.length)).size).toBe(1)
    const own = bodies.map(body => body.filter(line => line !== values.link && line !== values.brand))
    expect(new Set(own.flat()).size).toBe(own.flat().length)
  })
})

describe('the mail with a code that confirms a sign-in', () => {
  const code = { brand: 'Berth', code: '01234567', minutes: 15 }

  test.each(LANGUAGES)('[R1.9] is whole in %s, and its subject does not hold the code', language => {
    const mail = signInCodeMail('ada@example.com', language, code)
    expect(mail.subject).toContain('Berth')
    expect(mail.subject).not.toContain(code.code)
    expect(mail.text).toMatch(SCRIPTS[language])
    expect(mail.text).toContain('15')
    expect(mail.text.split('\n')).toContain(code.code)
  })

  test('shares no text between two languages', () => {
    const own = LANGUAGES.flatMap(language =>
      SIGN_IN_CODE_TEXTS[language].body(code).filter(line => ![code.code, code.brand].includes(line)),
    )
    expect(new Set(own).size).toBe(own.length)
  })
})

describe('the mail about a sign-up by a known address', () => {
  test.each(LANGUAGES)('[R1.9] is whole in %s', language => {
    const mail = knownAddressMail('ada@example.com', language, values)
    expect(mail.subject).toContain('Berth')
    expect(mail.text).toMatch(SCRIPTS[language])
    expect(mail.text.split('\n')).toContain(values.link)
  })

  test('shares no text between two languages', () => {
    const own = LANGUAGES.flatMap(language =>
      KNOWN_ADDRESS_TEXTS[language].body(values).filter(line => ![values.link, values.brand].includes(line)),
    )
    expect(new Set(own).size).toBe(own.length)
  })
})
