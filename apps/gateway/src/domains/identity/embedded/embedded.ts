import { APPLICATION, type Application, ORGANIZATION } from '@berth/contract/account'
import type { IdentityProvider } from '../../../drivers/sign-in/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import type { AccountKeeper } from '../accounts/account-keeper.ts'
import type { Accounts } from '../accounts/accounts.ts'
import { findByEmail } from '../accounts/accounts-store.ts'
import type { EmailVerification } from '../links/email-verification.ts'
import type { PasswordProof } from '../passwords/password-proof.ts'
import type { Passwords } from '../passwords/passwords.ts'
import type { LinkedIdentities } from '../sign-in/linked-identities.ts'
import { createProviderSignIn } from '../sign-in/provider-sign-in.ts'
import type { SignInMethods } from '../sign-in/sign-in-methods.ts'
import { describeEmbedded } from './embedded-application.ts'
import { prepareEmbeddedChange } from './embedded-password-change.ts'
import { createEmbeddedPasswordCheck } from './embedded-password-check.ts'
import { prepareEmbeddedReset } from './embedded-password-reset.ts'

interface EmbeddedDeps {
  db: Database
  clock: Clock
  passwords: Passwords
  embeddedProof: PasswordProof
  accounts: Accounts
  verification: EmailVerification
  identities: LinkedIdentities
  methods: SignInMethods
  /** Services that customers may sign in through, and as they are listed. */
  providers: readonly IdentityProvider[]
  listed: Application['providers']
  publicUrl: () => string
  brandName: () => string
}

/** Accounts whose passwords and profiles are in this database. */
export function createEmbedded(deps: EmbeddedDeps): AccountKeeper {
  const { db, embeddedProof: proof, accounts, methods } = deps
  return {
    application: {
      organization: ORGANIZATION,
      application: APPLICATION,
      describeApplication: async () => describeEmbedded(deps.brandName(), deps.listed),
    },
    checkPassword: createEmbeddedPasswordCheck(deps),
    proof,
    preparePasswordChange: prepareEmbeddedChange({ ...deps, proof }),
    preparePasswordReset: prepareEmbeddedReset(deps),
    findAddressee: email => findByEmail(db, email),
    calls: ({ visits, signIn, captcha, remove, erase }) => ({
      // Nobody else knows of a session.
      endToken: async () => {},
      signUp: accounts.signUp,
      wantsCaptcha: signIn.wantsCaptcha,
      makeCaptcha: captcha.make,
      providers: createProviderSignIn({ ...deps, visits, signIn }),
      unlink: (caller, choice) => methods.unlink(caller.userId, choice),
      account: accounts.account,
      rename: accounts.rename,
      verifyEmail: deps.verification.verify,
      deleteAccount: remove,
      eraseAccount: erase,
    }),
  }
}
