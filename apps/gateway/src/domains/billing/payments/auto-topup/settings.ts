import { type AutoTopup, type autoTopupBody, autoTopup as autoTopupEntity } from '@berth/contract/auto-topup'
import { AUTO_TOPUP_DEFAULTS } from '@berth/contract/limits'
import type * as z from 'zod'
import { ApiError } from '../../../../platform/http/api-error.ts'
import { wireOf } from '../../../../platform/http/wire.ts'
import { forCustomer } from '../../../customers/customers.ts'
import { currencyOf, lockWallet } from '../../ledger/wallet.ts'
import type { PaymentsDeps } from '../intents.ts'
import { whyNotCharged } from '../methods/chargeable.ts'
import { findSaved, methodRowId, methodWireId } from '../methods/stored.ts'
import { CALM } from './outcomes.ts'
import { type AutoTopupRow, chargedCents, isCharging, readAuto } from './stored.ts'
import { autoTopup } from './tables.ts'

const toWire = wireOf(autoTopupEntity)

/** Auto top-up as it is set, and what it did; what its form begins with for who has never set it. */
export async function readSettings(
  { db, clock }: Pick<PaymentsDeps, 'db' | 'clock'>,
  userId: string,
): Promise<AutoTopup> {
  const now = clock.now()
  return await db.transaction(
    async tx => {
      const row = await readAuto(tx, userId)
      const method = await findSaved(tx, userId, row?.methodId ?? null)
      return toWire({
        enabled: row?.enabled ?? false,
        threshold: row?.thresholdCents ?? AUTO_TOPUP_DEFAULTS.threshold,
        amount: row?.amountCents ?? AUTO_TOPUP_DEFAULTS.amount,
        monthlyCap: row?.monthlyCapCents ?? AUTO_TOPUP_DEFAULTS.monthlyCap,
        paymentMethodId: row?.methodId ? methodWireId(row.methodId) : null,
        currency: await currencyOf(tx, userId),
        status: statusOf(row, await isCharging(tx, userId), now),
        card: method && { brand: method.brand, last4: method.last4 },
        chargedThisMonth: await chargedCents(tx, userId, now),
        nextTryAt: row?.enabled && row.nextTryAt !== null && row.nextTryAt > now ? row.nextTryAt : null,
        refusedAt: row?.refusedAt ?? null,
        refusedCard: row?.refusedBrand ? { brand: row.refusedBrand, last4: row.refusedLast4 ?? '' } : null,
        refusedFor: row?.refusedFor ?? null,
      })
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  )
}

/**
 * Sets all of it in one statement, so that nothing is ever half saved. What was refused before is forgotten: the
 * customer has looked at it. A cap that is reached stays so, and is not told anew, unless there is room again.
 * @throws ApiError `payment_method_required` for turning it on with nothing to charge; `card_expired`;
 *   `payment_platform_unknown` for a method whose platform is not offered; `not_found` for one that is not the customer's.
 */
export async function saveSettings(
  deps: PaymentsDeps,
  userId: string,
  body: z.output<typeof autoTopupBody>,
): Promise<AutoTopup> {
  await deps.db.transaction(async tx => {
    await forCustomer(tx, userId)
    const { currency } = await lockWallet(tx, userId)
    const now = deps.clock.now()
    const chosen = body.payment_method_id
    const methodId = chosen === null ? null : methodRowId(chosen)
    const method = await findSaved(tx, userId, methodId)
    if (chosen !== null && (methodId === null || method === null)) throw new ApiError('not_found')
    if (body.enabled && method === null) throw new ApiError('payment_method_required')
    const refusal = body.enabled && method !== null ? whyNotCharged(deps, method, currency) : null
    if (refusal !== null) {
      throw new ApiError(refusal, { fields: [{ path: 'payment_method_id', rule: 'not_allowed' }] })
    }
    const before = await readAuto(tx, userId)
    const isCapped =
      before?.halt === 'capped' &&
      before.nextTryAt !== null &&
      before.nextTryAt > now &&
      (await chargedCents(tx, userId, now)) + body.amount > body.monthly_cap
    const values = {
      enabled: body.enabled,
      thresholdCents: body.threshold,
      amountCents: body.amount,
      monthlyCapCents: body.monthly_cap,
      methodId,
      ...CALM,
      ...(isCapped ? { halt: 'capped' as const, nextTryAt: before.nextTryAt } : { halt: null }),
      updatedAt: now,
    }
    await tx
      .insert(autoTopup)
      .values({ userId, ...values })
      .onConflictDoUpdate({ target: autoTopup.userId, set: values })
  })
  return await readSettings(deps, userId)
}

function statusOf(row: AutoTopupRow | null, charging: boolean, now: Date): AutoTopup['status'] {
  if (charging) return 'charging'
  if (!row?.enabled) return row?.halt === 'declined' ? 'declined' : 'off'
  if (row.nextTryAt === null || row.nextTryAt <= now) return 'waiting'
  return row.halt === 'capped' ? 'capped' : 'backing_off'
}
