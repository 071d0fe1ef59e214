import { and, eq, ne } from 'drizzle-orm'
import { type PaymentDriver, PaymentRefused } from '../../../../drivers/payments/port.ts'
import { lockWallet } from '../../ledger/wallet.ts'
import type { PaymentsDeps } from '../intents.ts'
import { begin } from './asking.ts'
import { CHECKOUT_SOURCE, isBeingCharged, type Method } from './stored.ts'
import { paymentMethod } from './tables.ts'

/**
 * Has the platform forget what a row that is `removing` names, and then forgets it here. What another row names stays at
 * the platform. @returns Null once that is done; the row while a payment charges it.
 * @throws PaymentUnavailable when the platform did not answer: recovery goes on.
 */
export async function forget(deps: PaymentsDeps, driver: PaymentDriver, row: Method): Promise<Method | null> {
  if (await isBeingCharged(deps.db, row.id)) return row
  const methodId = row.platformMethodId ?? (await idOfUnfinished(deps, driver, row))
  if (methodId !== null && (await isLast(deps, row, methodId))) await driver.forgetMethod(methodId)
  await drop(deps, row)
  return null
}

/** Deletes a row that is not saved. */
export async function drop({ db }: Pick<PaymentsDeps, 'db'>, { id }: Method): Promise<void> {
  await db.delete(paymentMethod).where(and(eq(paymentMethod.id, id), ne(paymentMethod.state, 'saved')))
}

/**
 * Whether no other row names what the platform has under that id. Then the row says, before the platform is asked, that
 * it is forgotten, so that nobody takes it over meanwhile. Else the row goes, and the other one is there for it.
 */
async function isLast(
  { db }: Pick<PaymentsDeps, 'db'>,
  row: Method,
  platformMethodId: string,
): Promise<boolean> {
  const { id, userId, platformName } = row
  return await db.transaction(async tx => {
    await lockWallet(tx, userId)
    const others = await tx.$count(
      paymentMethod,
      and(
        eq(paymentMethod.userId, userId),
        eq(paymentMethod.platformName, platformName),
        eq(paymentMethod.platformMethodId, platformMethodId),
        ne(paymentMethod.id, id),
      ),
    )
    const isIt = and(eq(paymentMethod.id, id), eq(paymentMethod.state, 'removing'))
    if (others > 0) {
      await tx.delete(paymentMethod).where(isIt)
      return false
    }
    // Whoever took it over in the meantime has deleted it.
    const changed = { isForgetting: true, platformMethodId }
    return (await tx.update(paymentMethod).set(changed).where(isIt).returning()).length > 0
  })
}

/** What the platform may have kept before somebody removed what was still saving; null where it has nothing. */
async function idOfUnfinished(
  deps: PaymentsDeps,
  driver: PaymentDriver,
  row: Method,
): Promise<string | null> {
  try {
    // An open visit would keep a card for nobody.
    if (row.platformPageId !== null)
      return (await driver.endVisit(row.platformPageId)).method?.method_id ?? null
    // A page that was never opened has taken no card; what was refused was kept by nobody.
    if (row.source === null || row.source === CHECKOUT_SOURCE) return null
    const { method, visit_id: visitId } = await begin(deps, driver, row)
    return method?.method_id ?? (visitId && (await driver.endVisit(visitId)).method?.method_id) ?? null
  } catch (error) {
    if (error instanceof PaymentRefused) return null
    throw error
  }
}
