import { createHmac } from 'node:crypto'
import { SIGN_IN_CODE_DIGITS, SIGN_IN_CODE_LIFE_MS } from '@berth/contract/limits'
import { and, eq, gt, isNull, lt, sql } from 'drizzle-orm'
import type { MailContent, MailOutbox } from '../../../drivers/mail/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Caller } from '../../../platform/http/handler.ts'
import type { Ids } from '../../../platform/ids.ts'
import { deriveKey } from '../../../platform/secrets.ts'
import { forCustomer } from '../../customers/customers.ts'
import { type Account, findById, languageOf } from '../accounts/accounts-store.ts'
import { createDice } from '../captcha/captcha-dice.ts'
import { signInCodeMail } from '../mails/sign-in-code-mail.ts'
import { type PasswordProof, wrongPassword } from '../passwords/password-proof.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { session, signInCode } from '../tables.ts'
import type { MailLimits } from '../throttles/mail-limits.ts'

/** Wrong codes, after which the mailed one is worthless. */
const SIGN_IN_CODE_TRIES = 5
const SEED_BYTES = 32

/** How somebody confirms who they are: one of the two, the other one empty. */
interface Confirmation {
  caller: Pick<Caller, 'userId' | 'sessionId'>
  password: string
  /** Of the newest mail. */
  code: string
  /** Network address of the caller. */
  address: string
}

interface SignInConfirmationDeps {
  db: Database
  clock: Clock
  ids: Ids
  rootKey: Uint8Array
  proof: PasswordProof
  sessions: Pick<Sessions, 'announce' | 'forget' | 'isOpen'>
  limits: MailLimits
  mail: MailOutbox
  brandName: () => string
}

/**
 * Confirming in an open session who has it: by the account's password, or by a code that is mailed to its address. The
 * code is good for the session that asked for it alone, so that a stranger who asks for one gets no use of it.
 */
export function createSignInConfirmation(deps: SignInConfirmationDeps) {
  const { db, clock, ids, proof, sessions } = deps
  const key = deriveKey(deps.rootKey, 'berth sign-in codes')
  const queue = deps.mail.define('sign-in-code', compose)

  // Eight digits are found from a plain hash in no time; not so without the key.
  const hashOf = (sessionId: string, code: string) =>
    createHmac('sha256', key).update(`${sessionId} ${code}`).digest('base64url')

  /** Runs when the mail goes out, so that no code is at rest in the queue. A newer code takes the older one's place. */
  async function compose({ userId, sessionId }: Confirmation['caller']): Promise<MailContent | null> {
    const user = await findById(db, userId)
    if (!user || user.deletedAt || !(await sessions.isOpen(sessionId))) return null
    const dice = createDice(ids.secret(SEED_BYTES))
    const code = Array.from({ length: SIGN_IN_CODE_DIGITS }, () => dice.below(10)).join('')
    const expiresAt = new Date(clock.now().getTime() + SIGN_IN_CODE_LIFE_MS)
    const made = { codeHash: hashOf(sessionId, code), expiresAt, tries: 0 }
    await db
      .insert(signInCode)
      .values({ sessionId, ...made })
      .onConflictDoUpdate({ target: signInCode.sessionId, set: made })
    const values = { brand: deps.brandName(), code, minutes: SIGN_IN_CODE_LIFE_MS / 60_000 }
    return signInCodeMail(user.email, languageOf(user.language), values)
  }

  async function ownerOf({ userId }: Confirmation['caller']): Promise<Account> {
    const user = await findById(db, userId)
    if (!user || user.deletedAt) throw new ApiError('login_expired')
    return user
  }

  /** The session may do again what wants a recent sign-in, once the transaction is over. */
  async function renew(tx: Transaction, { userId, sessionId }: Confirmation['caller']): Promise<void> {
    const provenAt = clock.now()
    await tx
      .update(session)
      .set({ provenAt })
      .where(and(eq(session.id, sessionId), isNull(session.revokedAt)))
    await sessions.announce(tx, userId)
  }

  async function byPassword({ caller, password, address }: Confirmation): Promise<void> {
    const asked = { user: await ownerOf(caller), typed: password, address, field: 'password' }
    // An account without one is not confirmed by whatever is typed.
    if (!(await proof.check(asked))) throw wrongPassword('password')
    await db.transaction(async tx => {
      await forCustomer(tx, caller.userId)
      await proof.accept(tx, asked)
      await renew(tx, caller)
    })
  }

  async function byCode({ caller, code }: Confirmation): Promise<void> {
    const { sessionId } = caller
    // The try is counted before the code is looked at: guesses at once have no more tries than guesses in a row.
    const [tried] = await db
      .update(signInCode)
      .set({ tries: sql`${signInCode.tries} + 1` })
      .where(
        and(
          eq(signInCode.sessionId, sessionId),
          gt(signInCode.expiresAt, clock.now()),
          lt(signInCode.tries, SIGN_IN_CODE_TRIES),
        ),
      )
      .returning({ codeHash: signInCode.codeHash })
    const given = hashOf(sessionId, code.normalize('NFKC').replace(/\D/g, ''))
    if (tried?.codeHash !== given) throw wrongCode()
    await db.transaction(async tx => {
      await forCustomer(tx, caller.userId)
      const used = await tx
        .delete(signInCode)
        .where(and(eq(signInCode.sessionId, sessionId), eq(signInCode.codeHash, given)))
        .returning({ sessionId: signInCode.sessionId })
      if (used.length === 0) throw wrongCode()
      await renew(tx, caller)
    })
  }

  return {
    /** Queues the mail with the code. @throws ApiError `sign_in_code_wait` {seconds}. */
    async requestCode({ userId, sessionId }: Confirmation['caller']): Promise<void> {
      const { email } = await ownerOf({ userId, sessionId })
      await db.transaction(async tx => {
        await forCustomer(tx, userId)
        await deps.limits.take(tx, 'code', email)
        await queue(tx, { userId, sessionId })
      })
    },

    /**
     * Confirms who has the session, which then may do what wants a recent sign-in.
     * @throws ApiError `validation_failed` {required, password_wrong, code_wrong}, `login_frozen`, `too_many_requests`.
     */
    async confirm(input: Confirmation): Promise<void> {
      if (input.code !== '') await byCode(input)
      else if (input.password !== '') await byPassword(input)
      else throw new ApiError('validation_failed', { fields: [{ path: 'password', rule: 'required' }] })
      sessions.forget(input.caller.userId)
    },
  }
}

function wrongCode(): ApiError {
  return new ApiError('validation_failed', { fields: [{ path: 'code', rule: 'code_wrong' }] })
}
