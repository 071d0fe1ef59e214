import type { Queryable } from '../../platform/database/database.ts'

/** The mail port. */
export interface MailDriver {
  /** `smtp` or `mailbox`. */
  readonly name: string
  /**
   * Hands a mail over; returns when it was taken.
   * @throws MailRefused when it will never be taken; any other error means that it may be tried again.
   */
  send(mail: OutgoingMail): Promise<void>
}

export interface MailContent {
  to: string
  subject: string
  /** Plain text, lines parted by `\n`. */
  text: string
}

export interface OutgoingMail extends MailContent {
  /** A UUID, the same over tries, so that a driver that can tell sends it once. */
  id: string
}

/** The mail server said no for good, such as for an address that does not exist there. */
export class MailRefused extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'MailRefused'
  }
}

/** Queues a mail in the caller's transaction: it is sent if that commits, and only then. */
export type QueueMail<Data extends object> = (q: Queryable, data: Data) => Promise<void>

/** Where domains hand in mails. What waits here outlives a crash and an outage of the mail server. */
export interface MailOutbox {
  /**
   * Names a kind of mail. A job holds only what the mail is about; the text, with its secret links, is composed
   * when the mail goes out and is never at rest in the queue.
   * @param kind Such as `activation`; lasting, because jobs of an older start carry it.
   * @param compose Makes the mail, anew at every try; null means that there is nothing to send after all.
   * @returns What queues a mail of that kind.
   */
  define<Data extends object>(
    kind: string,
    compose: (data: Data) => Promise<MailContent | null>,
  ): QueueMail<Data>
}

/** A mail that was kept on this machine because no mail server is set. */
export interface StoredMail extends OutgoingMail {
  sentAt: Date
}

/** What the mailbox page reads. */
export interface Mailbox {
  /** Kept mails, newest first. */
  list(): Promise<StoredMail[]>
}
