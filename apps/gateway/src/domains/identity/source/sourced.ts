import type { Logger } from 'pino'
import type { IdentitySource } from '../../../drivers/identity/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import type { Events } from '../../../platform/events/events.ts'
import type { Ids } from '../../../platform/ids.ts'
import type { Secrets } from '../../../platform/secrets.ts'
import type { Audit } from '../../audit/audit.ts'
import type { Billing } from '../../billing/billing.ts'
import type { AccountKeeper } from '../accounts/account-keeper.ts'
import type { Accounts } from '../accounts/accounts.ts'
import type { EmailVerification } from '../links/email-verification.ts'
import type { LinkTokens } from '../links/link-tokens.ts'
import type { KnownAddress } from '../mails/known-address.ts'
import type { PasswordProof } from '../passwords/password-proof.ts'
import type { Passwords } from '../passwords/passwords.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Attempts } from '../throttles/attempts.ts'
import type { LoginThrottle } from '../throttles/login-throttle.ts'
import { createMirror } from './mirror.ts'
import { createSourceAccounts } from './source-accounts.ts'
import { prepareSourceChange } from './source-password-change.ts'
import { createSourcePasswordCheck } from './source-password-check.ts'
import { createSourcePasswordProof } from './source-password-proof.ts'
import { prepareSourceReset } from './source-password-reset.ts'
import { createSourceProviders } from './source-providers.ts'
import { createSourceTokens } from './source-tokens.ts'

interface SourcedDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Pick<Logger, 'warn'>
  secrets: Pick<Secrets, 'rootKey'>
  source: IdentitySource
  billing: Pick<Billing, 'openWallet'>
  events: Pick<Events, 'emit'>
  attempts: Attempts
  throttle: LoginThrottle
  links: LinkTokens
  sessions: Sessions
  accounts: Accounts
  verification: EmailVerification
  knownAddress: KnownAddress
  passwords: Pick<Passwords, 'check'>
  audit: Pick<Audit, 'note'>
  embeddedProof: PasswordProof
  pause: (ms: number) => Promise<void>
  publicUrl: () => string
}

/** Accounts that an identity source keeps; their rows here stand for them. */
export function createSourced(deps: SourcedDeps): AccountKeeper {
  const mirror = createMirror(deps)
  const tokens = createSourceTokens({ ...deps, rootKey: deps.secrets.rootKey })
  const parts = { ...deps, mirror, tokens }
  const accounts = createSourceAccounts(parts)
  return {
    application: deps.source,
    checkPassword: createSourcePasswordCheck(parts),
    proof: createSourcePasswordProof(parts),
    preparePasswordChange: prepareSourceChange(parts),
    preparePasswordReset: prepareSourceReset(parts),
    findAddressee: accounts.findAddressee,
    calls({ visits, signIn, remove, erase }) {
      const providers = createSourceProviders({ ...parts, visits, signIn })
      const { endToken, signUp, wantsCaptcha, makeCaptcha, account, rename, verifyEmail } = accounts
      return {
        ...{ endToken, signUp, wantsCaptcha, makeCaptcha, account, rename, verifyEmail },
        providers,
        unlink: providers.unlink,
        deleteAccount: input => accounts.leave(input.caller.userId, () => remove(input)),
        eraseAccount: userId => accounts.leave(userId, () => erase(userId)),
      }
    },
  }
}
