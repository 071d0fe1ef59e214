import { consoleLink } from '@berth/contract/console-links'
import type { MailContent, MailOutbox } from '../../../drivers/mail/port.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { type FindAddressee, findByEmail, languageOf } from '../accounts/accounts-store.ts'
import type { MailLimits } from '../throttles/mail-limits.ts'
import { knownAddressMail } from './known-address-mail.ts'

interface KnownAddressDeps {
  db: Database
  mail: MailOutbox
  limits: MailLimits
  /** Whose address it is, when a mail goes out. */
  findAddressee: FindAddressee
  publicUrl: () => string
  brandName: () => string
}

/**
 * What becomes of a sign-up whose address has an account: the call answers as any other, and its owner is told by mail.
 */
export function createKnownAddress(deps: KnownAddressDeps) {
  const queue = deps.mail.define('known-address', compose)

  async function compose({ email }: { email: string }): Promise<MailContent | null> {
    // Where an identity service keeps the accounts, some may still be here alone.
    const user = (await deps.findAddressee(email)) ?? (await findByEmail(deps.db, email))
    if (!user) return null
    const values = { brand: deps.brandName(), link: consoleLink(deps.publicUrl(), 'sign_in') }
    return knownAddressMail(email, languageOf(user.language), values)
  }

  return {
    /** Queues the mail, unless the address got enough of them. */
    async tell(tx: Transaction, email: string): Promise<void> {
      if (await deps.limits.passes(tx, 'known', email)) await queue(tx, { email })
    },
  }
}
export type KnownAddress = ReturnType<typeof createKnownAddress>
