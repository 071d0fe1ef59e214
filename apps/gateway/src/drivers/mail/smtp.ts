import { createTransport } from 'nodemailer'
import { type MailDriver, MailRefused } from './port.ts'

/** A mail server that is this slow counts as down; the queue tries again. */
const CONNECT_TIMEOUT_MS = 10_000
const GREETING_TIMEOUT_MS = 10_000
const SILENCE_TIMEOUT_MS = 20_000

/** Replies from 500 on are final by RFC 5321, but these speak of the session or of us, not of the mail. */
const REPLY_FINAL = 500
const REPLIES_ABOUT_THE_SESSION = new Set([503, 530, 534, 535, 538])

interface SmtpOptions {
  /** `smtp://user:password@host:port`, or `smtps://` for TLS from the first byte. */
  url: string
  /** The sender, such as `Berth <no-reply@example.com>`. */
  from: string
}

/**
 * Sends by a mail server. STARTTLS is used where the server offers it.
 * @param options.url Where and as whom; its password reaches no log.
 */
export function createSmtpDriver({ url, from }: SmtpOptions): MailDriver & { close(): void } {
  const transport = createTransport(
    {
      url,
      connectionTimeout: CONNECT_TIMEOUT_MS,
      greetingTimeout: GREETING_TIMEOUT_MS,
      socketTimeout: SILENCE_TIMEOUT_MS,
      // Texts are ours; nothing in them may make the transport read files or fetch addresses.
      disableFileAccess: true,
      disableUrlAccess: true,
    },
    { from },
  )
  return {
    name: 'smtp',
    async send({ id, to, subject, text }) {
      try {
        await transport.sendMail({
          to: { name: '', address: to },
          subject,
          text,
          // The same over tries: a server that took the mail but could not say so may drop the second one.
          messageId: `<${id}@berth>`,
          headers: { 'Auto-Submitted': 'auto-generated' },
        })
      } catch (error) {
        throw isFinal(error) ? new MailRefused('the mail server refused the mail', { cause: error }) : error
      }
    },
    close: () => transport.close(),
  }
}

function isFinal(error: unknown): boolean {
  const reply = (error as { responseCode?: unknown }).responseCode
  return typeof reply === 'number' && reply >= REPLY_FINAL && !REPLIES_ABOUT_THE_SESSION.has(reply)
}
