import type { Gateway } from '../compose.ts'
import type { MailDesk } from '../drivers/mail/mail-desk.ts'
import type { KeptSecrets } from '../platform/installation/kept-secrets.ts'

/** What the command line does its work by: the domains of an installation, none of whose loops runs here. */
export type Operated = Pick<
  Gateway,
  'audit' | 'billing' | 'catalogues' | 'identity' | 'images' | 'instances' | 'referral'
> & {
  /** Keys of tokens. */
  keys: Pick<KeptSecrets, 'listTokenKeys' | 'replaceTokenKey'>
  /** Mails that have not gone out. */
  mails: MailDesk
}
