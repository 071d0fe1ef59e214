import { newPassword as rules } from '@berth/contract/fields'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Caller } from '../../../platform/http/handler.ts'
import { forCustomer } from '../../customers/customers.ts'
import type { LinkTokens } from '../links/link-tokens.ts'
import type { GuardMails } from '../mails/guard-mails.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { guessableBy, type PasswordOwner } from './guessable.ts'

/** A new password that a customer chose in the settings. */
export interface PasswordChange {
  caller: Pick<Caller, 'userId' | 'sessionId'>
  /** Organization and login name of the account that is meant, as Casdoor's form names it. */
  userOwner: string
  userName: string
  oldPassword: string
  newPassword: string
  /** Network address of the caller. */
  address: string
}

/**
 * Looks whose account is meant, at the new password and at the old one, and makes the change ready where the password
 * is kept, or makes it.
 * @returns What is written down in the transaction that ends what the old password opened.
 * @throws ApiError `not_found` for any other account than the caller's, whether or not there is one;
 * `first_password_by_mail` where it has none: a session alone must not become a lasting way in;
 * `password_too_weak`; `validation_failed` {password_wrong, password_same}; `login_frozen`.
 */
export type PreparePasswordChange = (input: PasswordChange) => Promise<(tx: Transaction) => Promise<void>>

interface PasswordChangeDeps {
  db: Database
  prepare: PreparePasswordChange
  links: Pick<LinkTokens, 'void'>
  sessions: Pick<Sessions, 'endAll' | 'forget'>
  guardMails: Pick<GuardMails, 'passwordChanged'>
}

/** Choosing a new password by somebody who is signed in and knows the old one. */
export function createPasswordChange(deps: PasswordChangeDeps) {
  return {
    /**
     * Sets the caller's own password, ends the other sessions, and makes older links worthless: whoever got in by
     * what was known before is out.
     * @throws ApiError as `PreparePasswordChange`.
     */
    async change(input: PasswordChange): Promise<void> {
      const { caller, address } = input
      const write = await deps.prepare(input)
      await deps.db.transaction(async tx => {
        await forCustomer(tx, caller.userId)
        // Links before the account: using one locks them in that order.
        await deps.links.void(tx, caller.userId, ['reset_password', 'sign_in'])
        await write(tx)
        await deps.sessions.endAll(tx, caller.userId, caller.sessionId)
        await deps.guardMails.passwordChanged(tx, { userId: caller.userId, address })
      })
      deps.sessions.forget(caller.userId)
    },
  }
}

/**
 * Holds a new password against the rules, and against what is guessed first.
 * @param path The field that it was typed into.
 * @param owner Whose it is to be.
 * @throws ApiError `password_too_weak` with the rule that it breaks.
 */
export function checkNewPassword(password: string, path: string, owner: PasswordOwner): void {
  const rule = rules.safeParse(password).error?.issues[0]?.message ?? guessableBy(password, owner)
  if (rule) throw tooWeakPassword(path, rule)
}

/** The error of a new password that breaks a rule. */
export function tooWeakPassword(path: string, rule: string): ApiError {
  return new ApiError('password_too_weak', { fields: [{ path, rule }] })
}

/** The error of a new password that is the one until now. */
export function samePassword(path: string): ApiError {
  return new ApiError('validation_failed', { fields: [{ path, rule: 'password_same' }] })
}
