import { sql } from 'drizzle-orm'
import { composeGateway } from '../../src/compose.ts'
import { GrantRefused } from '../../src/domains/billing/credits/coupon-desk.ts'
import type { Clock } from '../../src/platform/clock.ts'
import type { Customer } from './caller.ts'
import { COUPONS, pick } from './chances.ts'
import { createDisputes, disputeAtBank } from './disputes.ts'
import { runParts } from './run-parts.ts'

/** While the database is away, operators try again. */
const RETRY_MS = 100
const RETRIES_MAX = 300

/** Whoever runs the installation: the same domains as the gateways', without loops and without listening. */
export async function createOperator({ url, clock }: { url: string; clock: Clock }) {
  const parts = runParts({ url, clock }, { gatewayId: crypto.randomUUID(), level: 'silent' })
  const gateway = await composeGateway({ ...parts, engines: [] })
  const { db } = parts.database
  await gateway.openJobs()
  await createDisputes(db)
  for (const { code, cents, totalMax, perCustomerMax } of COUPONS) {
    await gateway.billing.couponDesk.create({
      ...{ code, totalMax, perCustomerMax, currency: 'USD', amountMicro: BigInt(cents) * 10_000n },
      ...{ modelsOnly: false, endsAt: null, firstTopupOnly: false, paidMinMicro: 0n, creditDays: null },
    })
  }

  /** Does something that may be done again, until the database is there; what is refused came to nothing. */
  async function surely<T>(work: () => Promise<T>): Promise<T | null> {
    for (let tries = 1; ; tries++) {
      try {
        return await work()
      } catch (error) {
        const { name } = (error as Error).constructor
        if (name === 'RefundRefused' || error instanceof GrantRefused) return null
        if (tries === RETRIES_MAX) throw error
        await new Promise(resolve => setTimeout(resolve, RETRY_MS))
      }
    }
  }

  const paymentsOf = async (userId: string) =>
    (
      await db.execute<{ id: string; platform_intent_id: string; amount_cents: number }>(sql`
        select id, platform_intent_id, amount_cents from payment_intent
        where user_id = ${userId} and platform_intent_id is not null order by created_at, id`)
    ).rows

  async function signIn(userId: string): Promise<string> {
    const token = await surely(async () => {
      const link = await gateway.identity.createSignInLink(userId)
      return await gateway.identity.signInByLink(link, {
        address: '127.0.0.1',
        userAgent: 'proof',
        stay: true,
      })
    })
    if (token === null) throw new Error('a sign-in was refused')
    return token
  }

  return {
    gateway,
    db,
    signIn,

    async signUp(email: string): Promise<Customer> {
      const made = await surely(async () => {
        const { rows } = await db.execute<{ id: string }>(
          sql`select id from user_account where email = ${email}`,
        )
        if (rows[0]) return rows[0].id
        const name = { displayName: 'Proof', language: 'en' as const }
        return (await gateway.identity.createVerifiedUser({ email, ...name })).userId
      })
      const userId = made ?? ''
      return { userId, token: await signIn(userId) }
    },

    /** Gives a part of one of a customer's payments back. @returns Whether it was. */
    async refund(userId: string, { which, part, id }: { which: number; part: number; id: string }) {
      const done = await surely(async () => {
        const payment = pick(await paymentsOf(userId), which)
        if (!payment) return null
        const amount = part < 0.4 ? {} : { amountCents: Math.max(1, Math.floor(payment.amount_cents * part)) }
        return await gateway.billing.refunds.create({ id, paymentId: `t_${payment.id}`, ...amount })
      })
      return done !== null && done.state !== 'refused'
    },

    async giveCredit(
      userId: string,
      { id, amountMicro, endsInSeconds }: { id: string; amountMicro: bigint; endsInSeconds: number | null },
    ) {
      const endsAt = endsInSeconds === null ? null : new Date(clock.now().getTime() + endsInSeconds * 1_000)
      const grant = { id, userId, amountMicro, kind: 'bonus', reason: 'proof', endsAt } as const
      return (await surely(() => gateway.billing.couponDesk.give(grant))) !== null
    },

    /** A bank takes one of a customer's payments, or gives it back. @returns Whether it did. */
    async dispute(userId: string, { which, wins }: { which: number; wins: boolean }) {
      const done = await surely(async () => {
        const payment = pick(await paymentsOf(userId), which)
        if (!payment) return false
        return await disputeAtBank(db, { intentId: payment.platform_intent_id, wins, at: clock.now() })
      })
      return done === true
    },

    async close() {
      await gateway.stopLoops().catch(() => {})
      await parts.database.close()
    },
  }
}
export type Operator = Awaited<ReturnType<typeof createOperator>>
