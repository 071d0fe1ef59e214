/**
 * The texts of a mail in one language. They greet nobody by name: a display name is chosen freely by whoever signs up with
 * somebody's address, and would carry their words into a mail of ours.
 */
export interface MailText<Values> {
  subject(values: Values): string
  /** Paragraphs; a link or a code is one of its own, so that every mail program finds its end. */
  body(values: Values): string[]
}

/**
 * A mail of plain text.
 * @param to Who gets it.
 * @param text In the recipient's language.
 */
export function writeMail<Values>(to: string, { subject, body }: MailText<Values>, values: Values) {
  return { to, subject: subject(values), text: `${body(values).join('\n\n')}\n` }
}
