import { and, count, desc, eq, gt, ilike, isNull, or } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Audit } from '../../audit/audit.ts'
import { readmitCustomer, type Suspension, suspendCustomer, suspensionOf } from '../../customers/customers.ts'
import type { GuardMails } from '../mails/guard-mails.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { session, userAccount } from '../tables.ts'
import { type Account, findById, findNamed } from './accounts-store.ts'

/** Accounts that one search shows. */
const FOUND_MAX = 100

interface DeskDeps {
  db: Database
  clock: Clock
  sessions: Pick<Sessions, 'endAll' | 'forget'>
  guardMails: Pick<GuardMails, 'suspended'>
  audit: Pick<Audit, 'note'>
}

/** An account as its operator sees it. */
export interface SeenCustomer {
  account: Account
  sessions: number
  suspension: Suspension | null
}

/** What operators do with accounts (R6.5). */
export function createCustomerDesk({ db, clock, sessions, guardMails, audit }: DeskDeps) {
  return {
    /**
     * Accounts that are meant by an address, an account number, an id, or a part of an address or of a name; the newest
     * first, a hundred at most.
     */
    async find(typed: string): Promise<Account[]> {
      const id = await findNamed(db, typed)
      if (id !== null) return [await findById(db, id)].filter(account => account !== null)
      const part = `%${typed.trim().replace(/[\\%_]/g, '\\$&')}%`
      return await db
        .select()
        .from(userAccount)
        .where(
          and(
            isNull(userAccount.deletedAt),
            or(ilike(userAccount.email, part), ilike(userAccount.displayName, part)),
          ),
        )
        .orderBy(desc(userAccount.createdAt), desc(userAccount.id))
        .limit(FOUND_MAX)
    },

    /** One account. @throws ApiError `not_found`. */
    async show(userId: string): Promise<SeenCustomer> {
      const account = await findById(db, userId)
      if (!account || account.deletedAt) throw new ApiError('not_found')
      const [open] = await db
        .select({ count: count() })
        .from(session)
        .where(and(eq(session.userId, userId), isNull(session.revokedAt), gt(session.expiresAt, clock.now())))
      return { account, sessions: open?.count ?? 0, suspension: await suspensionOf(db, userId) }
    },

    /**
     * Keeps a customer out: nobody signs in, sessions end, calls are refused with `account_suspended`. The customer is told
     * by mail. Who is suspended already gets the new reason and time.
     * @param input.machinesUntil When what runs is stopped.
     * @returns How many sessions ended. @throws ApiError `login_expired` for a deleted account.
     */
    async suspend(input: { userId: string; reason: string; machinesUntil: Date }): Promise<number> {
      const { userId, machinesUntil } = input
      const ended = await db.transaction(async tx => {
        await suspendCustomer(tx, { ...input, at: clock.now() })
        await guardMails.suspended(tx, { userId, at: machinesUntil.toISOString() })
        return await sessions.endAll(tx, userId, null)
      })
      sessions.forget(userId)
      audit.note({ userId, actor: 'operator', action: 'account.suspend' })
      return ended
    },

    /** Lets a customer in again; what was stopped stays stopped. @returns Whether anybody kept them out. */
    async resume(userId: string): Promise<boolean> {
      const was = await db.transaction(tx => readmitCustomer(tx, userId))
      sessions.forget(userId)
      if (was) audit.note({ userId, actor: 'operator', action: 'account.resume' })
      return was
    },
  }
}
