import type { Card } from '@berth/contract/billing'
import type { Language } from '@berth/contract/limits'
import type { MailContent } from '../../../drivers/mail/port.ts'
import type { Recipient } from '../facts.ts'

/** What every notice is filled with besides its own values. */
export interface NoticeFrame {
  brand: string
  /** The page that shows more. */
  link: string
  /** Where these mails are switched off. */
  settings: string
}

/**
 * The texts of one notice in one language. They greet nobody by name, and what others typed (an address, the name of
 * a key) stands in a sentence of ours: a mail must not carry somebody else's words as its own.
 */
export interface NoticeText<Values extends object> {
  subject(values: Values & NoticeFrame): string
  /** Paragraphs; a link is one of its own, so that every mail program finds its end. */
  body(values: Values & NoticeFrame): string[]
}

export type NoticeTexts<Values extends object> = Record<Language, NoticeText<Values>>

/** One line under each notice says that it can be switched off. */
export const SWITCH_OFF: Record<Language, (settings: string) => string> = {
  en: settings => `You can switch mails of this kind off in the settings: ${settings}`,
  zh: settings => `您可以在设置中关闭此类邮件：${settings}`,
  ja: settings => `この種のメールは設定で停止できます: ${settings}`,
  ko: settings => `이런 메일은 설정에서 끌 수 있습니다: ${settings}`,
}

/** The same line under a notice that cannot be. */
export const NOT_SWITCHED: Record<Language, string> = {
  en: 'You get this mail whatever is switched off in the settings, because data of yours is at stake.',
  zh: '此邮件关系到您的数据，因此无论设置中关闭了哪些邮件都会发送。',
  ja: 'お客様のデータに関わるため、このメールは設定にかかわらず送信されます。',
  ko: '고객님의 데이터가 걸린 일이므로 이 메일은 설정과 관계없이 발송됩니다.',
}

/** The same where it is about money that waits for somebody's choice, or goes to an account. */
export const MONEY_AT_STAKE: Record<Language, string> = {
  en: 'You get this mail whatever is switched off in the settings, because money of yours is at stake.',
  zh: '此邮件关系到您的款项，因此无论设置中关闭了哪些邮件都会发送。',
  ja: 'お客様のお金に関わるため、このメールは設定にかかわらず送信されます。',
  ko: '고객님의 돈이 걸린 일이므로 이 메일은 설정과 관계없이 발송됩니다.',
}

/** The same where each mail is asked for by itself. */
export const ASKED_FOR: Record<Language, string> = {
  en: 'You get this mail because you asked for it on the page.',
  zh: '您收到此邮件，是因为您在页面上选择了邮件通知。',
  ja: 'このメールは、お客様がページで通知を希望されたためお送りしています。',
  ko: '고객님이 페이지에서 메일 알림을 요청하셨기에 이 메일을 보내드립니다.',
}

/** What was said of it, in its own words, where there are some. */
export const quoted = (detail: string): string[] => (detail === '' ? [] : [`> ${detail}`])

const NAME_CHARS_MAX = 100

/**
 * A notice, with the line that says how to switch it off, or that it cannot be.
 * @param text In the recipient's language.
 */
export function noticeMail<Values extends object>(
  { email, language }: Recipient,
  text: NoticeText<Values>,
  values: Values & NoticeFrame,
  { isSwitched = true, why = NOT_SWITCHED } = {},
): MailContent {
  const line = isSwitched ? SWITCH_OFF[language](values.settings) : why[language]
  const paragraphs = [...text.body(values), values.brand, `-- \n${line}`]
  return { to: email, subject: text.subject(values), text: `${paragraphs.join('\n\n')}\n` }
}

/** What a card is called, such as `Visa ending 4242`. Mails that a version before has queued do not say it. */
export function cardText(language: Language, { brand, last4 }: Card = NO_CARD): string {
  return last4 === '' ? lineOf(brand) : CARDS[language](lineOf(brand), lineOf(last4))
}

const NO_CARD: Card = { brand: '', last4: '' }

const CARDS: Record<Language, (brand: string, last4: string) => string> = {
  en: (brand, last4) => `${brand} ending ${last4}`,
  zh: (brand, last4) => `尾号 ${last4} 的 ${brand}`,
  ja: (brand, last4) => `末尾 ${last4} の ${brand}`,
  ko: (brand, last4) => `${brand} 카드(끝자리 ${last4})`,
}

/** A moment for people, the same in every language: `2026-03-01 14:05 UTC`. */
export function timeText(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`
}

/** What somebody typed, on one line and of bounded length. */
export function lineOf(typed: string): string {
  return typed
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, NAME_CHARS_MAX)
}

/** How long something lasts, in hours and minutes, such as `2 h 50 min`; never more than it does. */
export function durationText(language: Language, seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  return DURATIONS[language](Math.floor(minutes / 60), minutes % 60)
}

const DURATIONS: Record<Language, (hours: number, minutes: number) => string> = {
  en: (hours, minutes) => (hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min`),
  zh: (hours, minutes) => (hours > 0 ? `${hours} 小时 ${minutes} 分钟` : `${minutes} 分钟`),
  ja: (hours, minutes) => (hours > 0 ? `${hours} 時間 ${minutes} 分` : `${minutes} 分`),
  ko: (hours, minutes) => (hours > 0 ? `${hours}시간 ${minutes}분` : `${minutes}분`),
}
