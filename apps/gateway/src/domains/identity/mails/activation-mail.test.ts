import { LANGUAGES } from '@berth/contract/limits'
import { expect, test } from 'vitest'
import { ACTIVATION_TEXTS, activationMail } from './activation-mail.ts'

const VALUES = { brand: 'Berth', link: 'https://berth.example/activty?token=abc_-9', hours: 24 }

/** A script that only that language’s text is written in. */
const SCRIPTS = { en: /sign/, zh: /您/, ja: /[ぁ-ん]/, ko: /[가-힣]/ }

test.each(LANGUAGES)('[R1.9] the activation mail is whole in %s', language => {
  const mail = activationMail('ada@example.com', language, VALUES)
  expect(mail.to).toBe('ada@example.com')
  expect(mail.subject).toContain('Berth')
  expect(mail.subject).not.toMatch(/[\r\n]/)
  expect(mail.text).toMatch(SCRIPTS[language])
  expect(mail.text).toContain('24')
  expect(mail.text).toContain('Berth')
  // The link stands on a line of its own, so that every mail program finds its end.
  expect(mail.text.split('\n')).toContain(VALUES.link)
})

test('no two languages share a text, and all have as many paragraphs', () => {
  const bodies = LANGUAGES.map(language => ACTIVATION_TEXTS[language].body(VALUES))
  expect(new Set(bodies.map(body => body.length)).size).toBe(1)
  const own = bodies.map(body => body.filter(line => line !== VALUES.link && line !== VALUES.brand))
  expect(new Set(own.flat()).size).toBe(own.flat().length)
})
