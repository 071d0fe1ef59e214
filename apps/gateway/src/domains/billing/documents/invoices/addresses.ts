import { type BillingAddress, billingAddress as entity } from '@berth/contract/invoices'
import { eq } from 'drizzle-orm'
import type { Database, Queryable, Transaction } from '../../../../platform/database/database.ts'
import { wireOf } from '../../../../platform/http/wire.ts'
import { forCustomer } from '../../../customers/customers.ts'
import { billingAddress } from './tables.ts'

const addressOf = wireOf(entity)

/** What a customer wants written on invoices; empty texts where nothing was said. */
export async function readAddress(q: Pick<Queryable, 'select'>, userId: string): Promise<BillingAddress> {
  const [row] = await q.select().from(billingAddress).where(eq(billingAddress.userId, userId))
  return row ? addressOf(row) : { name: '', address: '', tax_id: '' }
}

/** Keeps it for what is made from now on. @returns What is kept. @throws ApiError `login_expired` for a deleted account. */
export async function saveAddress(
  db: Database,
  userId: string,
  { name, address, tax_id: taxId }: BillingAddress,
): Promise<BillingAddress> {
  return await db.transaction(async tx => {
    await forCustomer(tx, userId)
    const values = { name, address, taxId }
    await tx
      .insert(billingAddress)
      .values({ userId, ...values })
      .onConflictDoUpdate({ target: billingAddress.userId, set: values })
    return addressOf({ userId, ...values } as typeof billingAddress.$inferSelect)
  })
}

/** Forgets it with its account; what was printed on invoices stays there, as books must. */
export async function forgetAddress(tx: Transaction, userId: string): Promise<void> {
  await tx.delete(billingAddress).where(eq(billingAddress.userId, userId))
}
