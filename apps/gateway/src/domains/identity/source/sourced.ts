import type { Logger } from 'pino'
import type { IdentitySource } from '../../../drivers/identity/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import type { Ids } from '../../../platform/ids.ts'
import type { Secrets } from '../../../platform/secrets.ts'
import type { Audit } from '../../audit/audit.ts'
import type { Billing } from '../../billing/billing.ts'
import type { Deletion } from '../accounts/account-deletion.ts'
import type { AccountKeeper } from '../accounts/account-keeper.ts'
import type { Accounts } from '../accounts/accounts.ts'
import type { EmailVerification } from '../links/email-verification.ts'
import type { LinkTokens } from '../links/link-tokens.ts'
import type { GuardMails } from '../mails/guard-mails.ts'
import type { PasswordProof } from '../passwords/password-proof.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { ProviderVisits } from '../sign-in/provider-visits.ts'
import type { SignIn } from '../sign-in/sign-in.ts'
import type { Attempts } from '../throttles/attempts.ts'
import type { LoginThrottle } from '../throttles/login-throttle.ts'
import { createMirror } from './mirror.ts'
import { createSourceAccounts } from './source-accounts.ts'
import { createSourcePasswordChange } from './source-password-change.ts'
import { createSourcePasswordCheck } from './source-password-check.ts'
import { createSourcePasswordProof } from './source-password-proof.ts'
import { createSourcePasswordReset } from './source-password-reset.ts'
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
  attempts: Attempts
  throttle: LoginThrottle
  links: LinkTokens
  sessions: Sessions
  accounts: Accounts
  verification: EmailVerification
  guardMails: GuardMails
  audit: Pick<Audit, 'note'>
  embeddedProof: PasswordProof
  pause: (ms: number) => Promise<void>
  publicUrl: () => string
}

/** What is done differently where an identity source keeps the accounts. */
export function createSourced(deps: SourcedDeps) {
  const mirror = createMirror(deps)
  const tokens = createSourceTokens({ ...deps, rootKey: deps.secrets.rootKey })
  const parts = { ...deps, mirror, tokens }
  const accounts = createSourceAccounts(parts)
  const { changePassword } = createSourcePasswordChange(parts)
  const resetPassword = createSourcePasswordReset(parts)
  return {
    proof: createSourcePasswordProof(parts),
    checkPassword: createSourcePasswordCheck(parts),
    findAddressee: accounts.findAddressee,

    /** Made last, since it signs in. @param later `remove` deletes an account here. */
    keeper(later: {
      visits: ProviderVisits
      signIn: SignIn
      remove(input: Deletion): Promise<void>
    }): AccountKeeper {
      const providers = createSourceProviders({ ...parts, ...later })
      const { application, endToken, signUp, wantsCaptcha, makeCaptcha, account, rename, verifyEmail } =
        accounts
      return {
        ...{ application, endToken, signUp, wantsCaptcha, makeCaptcha, account, rename, verifyEmail },
        organization: deps.source.organization,
        providers,
        unlink: providers.unlink,
        resetPassword,
        setPassword: changePassword,
        deleteAccount: input => accounts.leave(input, later.remove),
      }
    },
  }
}
