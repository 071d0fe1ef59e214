import type { Language } from '@berth/contract/limits'

/** Who gets a customer's mails. */
export interface Recipient {
  email: string
  language: Language
}

/**
 * The address of a customer's mails; null where none is to be sent: the account is deleted, or nobody has shown that
 * the address is theirs.
 */
export type ReadRecipient = (userId: string) => Promise<Recipient | null>
