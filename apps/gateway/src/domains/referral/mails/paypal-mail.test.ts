import { LANGUAGES } from '@berth/contract/limits'
import { expect, test } from 'vitest'
import { PAYPAL_TEXTS, paypalMail } from './paypal-mail.ts'

/** A script that only that language’s text is written in. */
const SCRIPTS = { en: /^Hello,/, zh: /您/, ja: /[ぁ-ん]/, ko: /[가-힣]/ }
const values = { brand: 'Berth', link: 'https://berth.example/refer-earn?paypal=x', hours: 48 }

test.each(LANGUAGES)('[R1.9] the mail to a PayPal account is whole in %s', language => {
  const mail = paypalMail('mira@example.org', language, values)
  expect(mail.to).toBe('mira@example.org')
  expect(mail.subject).toContain('Berth')
  expect(mail.subject).toContain('PayPal')
  expect(mail.text).toMatch(SCRIPTS[language])
  expect(mail.text).toContain('48')
  // The link stands on a line of its own, so that every mail program finds its end.
  expect(mail.text.split('\n')).toContain(values.link)
})

test('shares no text between two languages, and all have as many paragraphs', () => {
  const bodies = LANGUAGES.map(language => PAYPAL_TEXTS[language].body(values))
  expect(new Set(bodies.map(body => body.length)).size).toBe(1)
  const own = bodies.flatMap(body => body.filter(line => line !== values.link && line !== values.brand))
  expect(new Set(own).size).toBe(own.length)
})
