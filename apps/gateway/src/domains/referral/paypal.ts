import { consoleLink } from '@berth/contract/console-links'
import { type PaypalAccount, paypalAccount as paypalAccountSchema } from '@berth/contract/referral'
import { and, eq, isNull, max } from 'drizzle-orm'
import type { MailContent } from '../../drivers/mail/port.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { sha256Hex } from '../../platform/hash.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { wireOf } from '../../platform/http/wire.ts'
import { forCustomer } from '../customers/customers.ts'
import { referralNews } from './events.ts'
import { mailboxOf } from './mailbox-of.ts'
import { paypalMail } from './mails/paypal-mail.ts'
import type { ReferralDeps } from './referral-deps.ts'
import { DAY_MS, HOUR_MS } from './settlement-plan.ts'
import { paypalAccount, referralSettlement } from './tables.ts'

/** How long a link counts. */
const LINK_HOURS = 48
const TOKEN_BYTES = 24
/** Between two mails that a customer asks for. */
const MAIL_WAIT_MS = 60_000
/** Mails of one account, and mails to one mailbox, in a day: nobody fills somebody else's. */
const MAILS_PER_DAY_MAX = 6

const accountOf = wireOf(paypalAccountSchema)
type Row = typeof paypalAccount.$inferSelect

/** PayPal accounts of customers: said, confirmed by a mail that goes there, and left alone before money goes there. */
export function createPaypalAccounts(deps: ReferralDeps) {
  const { db, clock, ids, billing } = deps
  const countMails = deps.counts.within('paypal mail')
  const queue = deps.mail.define<{ userId: string; email: string }>('paypal-confirmation', compose)

  /** Runs when the mail goes out: the link's secret is never at rest in the queue, and the newest link counts alone. */
  async function compose({ userId, email }: { userId: string; email: string }): Promise<MailContent | null> {
    const to = await deps.recipient(userId)
    if (!to) return null
    const token = ids.secret(TOKEN_BYTES)
    const tokenUntil = new Date(clock.now().getTime() + LINK_HOURS * HOUR_MS)
    const marked = await db
      .update(paypalAccount)
      .set({ tokenHash: sha256Hex(token), tokenUntil })
      .where(
        and(
          eq(paypalAccount.userId, userId),
          eq(paypalAccount.email, email),
          isNull(paypalAccount.confirmedAt),
        ),
      )
      .returning({ userId: paypalAccount.userId })
    if (marked.length === 0) return null
    const link = consoleLink(deps.publicUrl(), 'referral', { paypal: token })
    return paypalMail(email, to.language, { brand: deps.brandName(), link, hours: LINK_HOURS })
  }

  async function shown(q: Pick<Queryable, 'select'>, row: Row): Promise<PaypalAccount> {
    return accountOf({
      paypalAccount: row.email,
      state: row.confirmedAt === null ? 'unconfirmed' : 'confirmed',
      confirmedAt: row.confirmedAt,
      mailSentAt: row.mailedAt,
      mailAgainAt: new Date(row.mailedAt.getTime() + MAIL_WAIT_MS),
      frozenUntil: await frozenUntil(q, row.userId),
    })
  }

  async function frozenUntil(q: Pick<Queryable, 'select'>, userId: string): Promise<Date | null> {
    const [paid] = await q
      .select({ at: max(referralSettlement.payoutAt) })
      .from(referralSettlement)
      .where(and(eq(referralSettlement.userId, userId), eq(referralSettlement.state, 'to_be_paid')))
    return paid?.at ?? null
  }

  async function requireUnfrozen(tx: Transaction, userId: string): Promise<void> {
    const until = await frozenUntil(tx, userId)
    if (until === null) return
    throw new ApiError('paypal_frozen', {
      values: { until: until.toISOString().slice(0, 16).replace('T', ' ') },
    })
  }

  async function read(q: Pick<Queryable, 'select'>, userId: string): Promise<Row | null> {
    const [row] = await q.select().from(paypalAccount).where(eq(paypalAccount.userId, userId))
    return row ?? null
  }

  /** @throws ApiError `paypal_mail_wait`. */
  async function sendMail(tx: Transaction, userId: string, email: string): Promise<void> {
    for (const key of [`account ${userId}`, `address ${mailboxOf(email)}`]) {
      const { current, ttlMs } = await countMails(tx, key, { windowMs: DAY_MS })
      if (current > MAILS_PER_DAY_MAX) throw waitFor(ttlMs)
    }
    await queue(tx, { userId, email })
  }

  return {
    read,
    shown,

    /** What a customer has said; null where nothing. */
    async get(userId: string): Promise<PaypalAccount | null> {
      const row = await read(db, userId)
      return row && (await shown(db, row))
    },

    /**
     * Says where money is paid to, and mails a link there. The same again changes nothing and mails nothing.
     * @throws ApiError `paypal_frozen` {until} while money goes there soon, `paypal_mail_wait` {seconds}.
     */
    async set(userId: string, email: string): Promise<PaypalAccount> {
      return await db.transaction(async tx => {
        await forCustomer(tx, userId)
        const { currency } = await billing.lockWallet(tx, userId)
        const known = await read(tx, userId)
        if (known?.email === email) return await shown(tx, known)
        await requireUnfrozen(tx, userId)
        const now = clock.now()
        const row = {
          ...{ userId, email, confirmedAt: null, tokenHash: null, tokenUntil: null },
          ...{ mailedAt: now, createdAt: now },
        }
        await tx
          .insert(paypalAccount)
          .values(row)
          .onConflictDoUpdate({ target: paypalAccount.userId, set: row })
        await sendMail(tx, userId, email)
        await deps.events.emit(tx, referralNews, {
          ...{ userId, at: now.toISOString(), news: 'paypal_changed', quarter: null, currency },
          ...{ amountMicro: '0', feeMicro: null, until: null, about: email },
        })
        return await shown(tx, row)
      })
    },

    /**
     * Confirms the caller's account by the token of the newest link, which counts once.
     * @throws ApiError `paypal_link_invalid`, also for another customer's link.
     */
    confirm: (userId: string, token: string): Promise<PaypalAccount> =>
      db.transaction(async tx => {
        await forCustomer(tx, userId)
        await billing.lockWallet(tx, userId)
        const row = await read(tx, userId)
        const now = clock.now()
        const isIt = row?.tokenHash === sha256Hex(token) && row.tokenUntil !== null && row.tokenUntil > now
        if (!row || !isIt) throw new ApiError('paypal_link_invalid')
        const confirmed = { confirmedAt: row.confirmedAt ?? now, tokenHash: null, tokenUntil: null }
        await tx.update(paypalAccount).set(confirmed).where(eq(paypalAccount.userId, userId))
        return await shown(tx, { ...row, ...confirmed })
      }),

    /**
     * Mails another link; one that is confirmed stays so and gets none.
     * @throws ApiError `not_found` where none is said, `paypal_mail_wait` {seconds}.
     */
    resend: (userId: string): Promise<PaypalAccount> =>
      db.transaction(async tx => {
        await forCustomer(tx, userId)
        await billing.lockWallet(tx, userId)
        const row = await read(tx, userId)
        if (!row) throw new ApiError('not_found')
        if (row.confirmedAt !== null) return await shown(tx, row)
        const now = clock.now()
        const waitMs = row.mailedAt.getTime() + MAIL_WAIT_MS - now.getTime()
        if (waitMs > 0) throw waitFor(waitMs)
        await sendMail(tx, userId, row.email)
        await tx.update(paypalAccount).set({ mailedAt: now }).where(eq(paypalAccount.userId, userId))
        return await shown(tx, { ...row, mailedAt: now })
      }),

    /** Removes it; none is there: nothing. @throws ApiError `paypal_frozen` {until}. */
    remove: (userId: string): Promise<void> =>
      db.transaction(async tx => {
        await forCustomer(tx, userId)
        await billing.lockWallet(tx, userId)
        await requireUnfrozen(tx, userId)
        await tx.delete(paypalAccount).where(eq(paypalAccount.userId, userId))
      }),

    /** Forgets that of an account that was deleted. */
    async forget(tx: Transaction, userId: string): Promise<void> {
      await tx.delete(paypalAccount).where(eq(paypalAccount.userId, userId))
    },
  }
}
export type PaypalAccounts = ReturnType<typeof createPaypalAccounts>

function waitFor(ms: number): ApiError {
  return new ApiError('paypal_mail_wait', { values: { seconds: Math.ceil(ms / 1_000) } })
}
