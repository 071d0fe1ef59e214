import type { MailContent } from '../../../drivers/mail/port.ts'

/** What the texts of a mail with a link are filled with. */
export interface LinkMailValues {
  brand: string
  link: string
  hours: number
}

/**
 * The texts greet nobody by name: a display name is chosen freely by whoever signs up with somebody's address,
 * and would carry their words into a mail of ours.
 */
export interface LinkMailText {
  subject(values: LinkMailValues): string
  /** Paragraphs; the link is one of its own, so that every mail program finds its end. */
  body(values: LinkMailValues): string[]
}

/**
 * A mail that holds a link.
 * @param to Who gets it.
 * @param text In the customer's language.
 */
export function linkMail(to: string, text: LinkMailText, values: LinkMailValues): MailContent {
  return { to, subject: text.subject(values), text: `${text.body(values).join('\n\n')}\n` }
}
