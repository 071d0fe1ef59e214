import { randomUUID } from 'node:crypto'
import { login, signup } from '@berth/contract/account'
import { topup } from '@berth/contract/billing'
import { getReferral, listReferralRecords } from '@berth/contract/referral'
import { eq } from 'drizzle-orm'
import { userAccount } from '../src/domains/identity/tables.ts'
import { eventually, loginBody, signUpBody } from './identity-bench.ts'
import type { TestGateway } from './start-gateway.ts'

/** Somebody who is signed in. */
export interface Person {
  userId: string
  token: string
  email: string
}

/** What referrers and their friends do over HTTP, as the console does it. */
export function createReferralPeople(gateway: TestGateway) {
  return {
    summaryOf: ({ token }: { token: string }) => gateway.data(getReferral, {}, { token }),
    recordsOf: ({ token }: { token: string }, query = {}) =>
      gateway.data(listReferralRecords, { query }, { token }),

    /** Somebody signs up by a code, and verifies their address. @param of.email Left out: one that nobody has had. */
    async signUpBy(code: string, of: { device?: string; email?: string } = {}): Promise<Person> {
      const { device, email = `friend-${randomUUID()}@fastmail.com` } = of
      await gateway.data(signup, { body: signUpBody(email, { referralCode: code }) })
      const token = await gateway.data(login, { body: { ...loginBody(email), ...(device && { device }) } })
      const [row] = await gateway.database.db
        .update(userAccount)
        .set({ emailVerifiedAt: new Date() })
        .where(eq(userAccount.email, email))
        .returning({ userId: userAccount.id })
      return { email, token, userId: row?.userId ?? '' }
    },

    /** Tops up by a test card. @param amount In cents. */
    pay: ({ token }: { token: string }, amount: number, source = '5555 5555 5555 4444') =>
      gateway.data(
        topup,
        { body: { amount, currency: 'USD', platform_name: 'testcard', source } },
        { token },
      ),

    /** The secret of the newest link that was mailed to a PayPal account. */
    mailedToken: (email: string): Promise<string> =>
      eventually('the mail to the PayPal account', async () => {
        const mails = await gateway.gateway.identity.mails({
          ...{ address: '127.0.0.1', origin: gateway.origin, forwarded: false },
        })
        const found = mails.find(({ to, text }) => to === email && text.includes('paypal='))
        return found && (/paypal=([\w-]+)/.exec(found.text)?.[1] ?? '')
      }),
  }
}
