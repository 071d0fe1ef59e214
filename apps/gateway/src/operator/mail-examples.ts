import type { Language } from '@berth/contract/limits'
import { activationMail } from '../domains/identity/mails/activation-mail.ts'
import { farewellMail } from '../domains/identity/mails/farewell-mail.ts'
import { knownAddressMail } from '../domains/identity/mails/known-address-mail.ts'
import { passwordChangedMail } from '../domains/identity/mails/password-changed-mail.ts'
import { resetMail } from '../domains/identity/mails/reset-mail.ts'
import { signInCodeMail } from '../domains/identity/mails/sign-in-code-mail.ts'
import { signInMethodMail } from '../domains/identity/mails/sign-in-method-mail.ts'
import { suspensionMail } from '../domains/identity/mails/suspension-mail.ts'
import { NOTICE_EXAMPLES } from '../domains/notifications/mails/notice-examples.ts'
import { noticeMail } from '../domains/notifications/mails/notice-mail.ts'
import type { MailContent } from '../drivers/mail/port.ts'

const TO = 'ada@example.com'

/** A mail as it would go out, with made-up facts. */
export interface MailExample {
  name: string
  compose(language: Language): MailContent
}

/** Every mail that customers may get, each with made-up facts, by a name that can be typed. @param brand As mails say it. @param url The console's address. */
export function mailExamples(brand: string, url: string): MailExample[] {
  const at = '2026-03-01 12:00 UTC'
  const link = `${url}/auth`
  const linked = { brand, link, hours: 24 }
  const account: [string, MailExample['compose']][] = [
    ['activation', language => activationMail(TO, language, linked)],
    ['reset-password', language => resetMail(TO, language, linked)],
    ['known-address', language => knownAddressMail(TO, language, { brand, link })],
    [
      'password-changed',
      language => passwordChangedMail(TO, language, { brand, at, link, address: '203.0.113.7' }),
    ],
    ['sign-in-code', language => signInCodeMail(TO, language, { brand, code: '123456', minutes: 10 })],
    [
      'service-linked',
      language => signInMethodMail(TO, language, 'linked', { brand, link, service: 'GitHub' }),
    ],
    [
      'service-unlinked',
      language => signInMethodMail(TO, language, 'unlinked', { brand, link, service: 'GitHub' }),
    ],
    ['suspended', language => suspensionMail(TO, language, { brand, at })],
    ['farewell', language => farewellMail(TO, language, { brand, at })],
  ]
  const notices = NOTICE_EXAMPLES.map(([name, texts, values]): [string, MailExample['compose']] => [
    name.toLowerCase().replaceAll(' ', '-'),
    language => {
      const all = { ...values, brand, link: `${url}/instances`, settings: `${url}/settings` }
      return noticeMail({ email: TO, language }, texts[language], all as never)
    },
  ])
  return [...account, ...notices].map(([name, compose]) => ({ name, compose }))
}
