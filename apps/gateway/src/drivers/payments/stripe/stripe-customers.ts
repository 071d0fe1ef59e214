import { and, eq } from 'drizzle-orm'
import type Stripe from 'stripe'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import { stripeCustomer } from '../tables.ts'
import { askStripe, isMissing } from './stripe-client.ts'

export interface CustomersDeps {
  db: Database
  clock: Clock
  stripe: Stripe
}

/**
 * Does something with a customer's customer at Stripe. It is made once: its id is kept, and who makes it at the same
 * moment has the same key. One that was deleted at Stripe, or that belongs to keys of before, is made anew; then the
 * work is done once more.
 * @param work Must find what it has done by keys that hold the given id.
 */
export async function withStripeCustomer<Answer>(
  deps: CustomersDeps,
  userId: string,
  work: (stripeCustomerId: string) => Promise<Answer>,
): Promise<Answer> {
  const known = await stripeCustomerOf(deps, userId)
  try {
    return await work(known)
  } catch (error) {
    if (!isMissing(error, 'customer') && !(await isDeleted(deps, known, error))) throw error
    return await work(await remake(deps, userId, known))
  }
}

/** Deletes a customer's customer at Stripe, with the cards that it has; one that is gone is deleted. */
export async function forgetStripeCustomer(deps: CustomersDeps, userId: string): Promise<void> {
  const [row] = await deps.db.select().from(stripeCustomer).where(eq(stripeCustomer.userId, userId))
  if (!row) return
  await askStripe(async () => {
    try {
      await deps.stripe.customers.del(row.customerId)
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  })
  const isSame = eq(stripeCustomer.customerId, row.customerId)
  await deps.db.delete(stripeCustomer).where(and(eq(stripeCustomer.userId, userId), isSame))
}

/** The customer's id at Stripe, made now where there is none. */
async function stripeCustomerOf(deps: CustomersDeps, userId: string): Promise<string> {
  const [row] = await deps.db.select().from(stripeCustomer).where(eq(stripeCustomer.userId, userId))
  if (row) return row.customerId
  const customerId = await makeCustomer(deps, userId, 0)
  await deps.db
    .insert(stripeCustomer)
    .values({ userId, customerId, generation: 0, createdAt: deps.clock.now() })
    .onConflictDoNothing()
  const [kept] = await deps.db.select().from(stripeCustomer).where(eq(stripeCustomer.userId, userId))
  return kept?.customerId ?? customerId
}

async function remake(deps: CustomersDeps, userId: string, gone: string): Promise<string> {
  const [row] = await deps.db.select().from(stripeCustomer).where(eq(stripeCustomer.userId, userId))
  // Another call has been here.
  if (row && row.customerId !== gone) return row.customerId
  const generation = (row?.generation ?? 0) + 1
  const customerId = await makeCustomer(deps, userId, generation)
  await deps.db
    .update(stripeCustomer)
    .set({ customerId, generation })
    .where(and(eq(stripeCustomer.userId, userId), eq(stripeCustomer.customerId, gone)))
  return customerId
}

async function makeCustomer({ stripe }: CustomersDeps, userId: string, generation: number): Promise<string> {
  const made = await stripe.customers.create(
    { metadata: { customer: userId } },
    { idempotencyKey: `customer:${userId}:${generation}` },
  )
  return made.id
}

/** A deleted customer is found by its id, as deleted; some calls say of it only that something is wrong. */
async function isDeleted({ stripe }: CustomersDeps, customerId: string, error: unknown): Promise<boolean> {
  const isRefusal = error instanceof Error && 'statusCode' in error && error.statusCode === 400
  if (!isRefusal) return false
  const found = await stripe.customers.retrieve(customerId)
  return found.deleted === true
}
