import { billingObstacle, instanceCan } from '@berth/contract/instance-states'
import {
  type BillingPreview,
  billingPreview,
  convertChargeType,
  renewInstance,
  toggleSubscription,
} from '@berth/contract/instance-terms'
import type { InstanceChange } from '@berth/contract/instances'
import { eq, sql } from 'drizzle-orm'
import type { Queryable, Transaction } from '../../../platform/database/database.ts'
import { notify } from '../../../platform/database/open-database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { wireOf } from '../../../platform/http/wire.ts'
import { earlierResult, keepResult } from '../../../platform/once.ts'
import { type ActionDeps, act, statusDeps, type Target } from '../act/actions.ts'
import { addEvent, changeBilling, INSTANCE_CHANNEL, instanceSubject, termEndOf } from '../change-status.ts'
import { findOwn } from '../reads.ts'
import type { InstanceRow } from '../rows.ts'
import { isHeld } from '../status-meaning.ts'
import { instance } from '../tables.ts'
import { type BillingWanted, type PlannedChange, planChange } from './billing-change.ts'
import { requirePrice, requireUnderLimit } from './term-checks.ts'

const previewOf = wireOf(billingPreview)

/** A change of how an instance is paid for, as its customer has confirmed it. */
export interface BillingConfirmed extends BillingWanted {
  /** The price that was shown, in micro-units: of the term, or of an hour on demand. */
  priceMicro: string
  /** Of an instance that gets its first term here. */
  autoRenew?: boolean
  /** What is repeated with its key does nothing again (B3). */
  idempotencyKey: string
}

/** Which action of the state table a change is, and by which call it is made. */
const CHANGES = {
  renew: { action: 'renew', call: renewInstance },
  subscribe: { action: 'switch_to_subscription', call: toggleSubscription },
  convert: { action: 'convert_charge_type', call: convertChargeType },
} as const

/**
 * Buys an instance's next term, switches it to terms, or from one charge type to another: terms that end early are
 * given back first, then the new one is taken, all or nothing. The same key again gives the instance as it is then.
 * @throws ApiError `not_found`, `instance_state`, `not_prepaid`, `already_prepaid`, `term_not_begun`, `charge_type_same`,
 *   `price_changed`, `term_too_far`, `validation_failed` at its spend limit, `insufficient_balance`, or
 *   `region_not_supported` or `gpu_spec_unknown` where it is not offered any more.
 */
export function changePaying(
  deps: ActionDeps,
  target: Target,
  wanted: BillingConfirmed,
): Promise<InstanceChange> {
  const { action, call } = CHANGES[wanted.change]
  const key = { userId: target.userId, operation: call.operation, key: wanted.idempotencyKey }
  return act(
    deps,
    target,
    action,
    async (tx, row, at) => {
      await keepResult(tx, key, row.id)
      const plan = planChange(deps.quotes, row, wanted, at)
      requirePrice(wanted.priceMicro, plan.priceMicro)
      await requireRoom(deps, tx, row, plan, at)
      return await carryOut(deps, tx, row, { wanted, plan, at })
    },
    async tx => (await earlierResult(tx, key, deps.clock.now())) !== null,
  )
}

async function carryOut(
  deps: ActionDeps,
  tx: Transaction,
  row: InstanceRow,
  { wanted, plan, at }: { wanted: BillingConfirmed; plan: PlannedChange; at: Date },
): Promise<InstanceRow> {
  const until = plan.patch.expiryTime?.toISOString() ?? ''
  const begins = wanted.change === 'renew' ? 'renewed_by_customer' : 'term_begun'
  const changed = await changeBilling(tx, statusDeps(deps), row, {
    at,
    event: { code: plan.termFrom ? begins : 'term_ended_early', detail: until },
    endsTerm: plan.endsTerm,
    ...(plan.termFrom && { termFrom: plan.termFrom }),
    patch: { ...plan.patch, ...(wanted.change === 'subscribe' && { autoRenew: wanted.autoRenew ?? true }) },
  })
  if (isHeld(changed) && !isHeld(row)) {
    const key = { userId: row.userId, subject: instanceSubject(row.id) }
    await deps.billing.hold(tx, { ...key, amountMicro: changed.runningMicroPerHour })
  }
  return changed
}

/**
 * What a change of how an instance is paid for would cost or give back now. What is refused whatever the balance says
 * why, and has no prices.
 * @throws ApiError `not_found`.
 */
export async function previewBilling(
  deps: Pick<ActionDeps, 'db' | 'clock' | 'billing' | 'quotes'>,
  target: Target,
  wanted: BillingWanted,
): Promise<BillingPreview> {
  const { db, clock, billing, quotes } = deps
  const at = clock.now()
  const row = await findOwn(db, target)
  const { currency } = await billing.totals(db, target.userId)
  try {
    requireState(row, wanted)
    const plan = planChange(quotes, row, wanted, at)
    return previewOf({
      currency,
      billingType: plan.patch.billingType ?? row.billingType,
      chargeCycle: plan.patch.chargeCycle === undefined ? row.chargeCycle : plan.patch.chargeCycle,
      priceMicro: plan.priceMicro,
      costMicro: plan.termFrom ? plan.priceMicro : 0n,
      backMicro: await backMicro(billing, db, row, plan, at),
      reserveMicro: plan.termFrom || !row.mayRun ? 0n : plan.priceMicro,
      expiryTime: plan.patch.expiryTime ?? null,
      refused: null,
    })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { billingType, chargeCycle, expiryTime } = row
    const none = { priceMicro: 0n, costMicro: 0n, backMicro: 0n, reserveMicro: 0n }
    return previewOf({ currency, billingType, chargeCycle, expiryTime, ...none, refused: error.code })
  }
}

function requireState(row: InstanceRow, { change }: BillingWanted): void {
  const { action } = CHANGES[change]
  if (!instanceCan(action, row)) throw new ApiError('instance_state')
  const state = { billing_type: row.billingType, expiry_time: row.expiryTime }
  const obstacle = billingObstacle(action, state)
  if (obstacle) throw new ApiError(obstacle)
}

/**
 * Says whether an instance is renewed when its term is over, or released.
 * @throws ApiError `not_found`, `instance_state` or `not_prepaid`.
 */
export function toggleRenewal(deps: ActionDeps, target: Target, autoRenew: boolean): Promise<InstanceChange> {
  return act(deps, target, autoRenew ? 'toggle_renewal' : 'cancel_renewal', async (tx, row, at) => {
    if (row.autoRenew === autoRenew) return row
    const [changed] = await tx
      .update(instance)
      // What will become of it is told anew.
      .set({ autoRenew, termNoticeDay: null, nextAttemptAt: at, version: sql`${instance.version} + 1` })
      .where(eq(instance.id, row.id))
      .returning()
    await addEvent(tx, row, { at, code: autoRenew ? 'renewal_on' : 'renewal_off' })
    await notify(tx, INSTANCE_CHANNEL, row.id)
    return changed ?? row
  })
}

/** A term must not cost more than what its instance may cost in all. */
async function requireRoom(
  { billing }: Pick<ActionDeps, 'billing'>,
  tx: Transaction,
  row: InstanceRow,
  plan: PlannedChange,
  at: Date,
): Promise<void> {
  if (row.spendLimitCents === null || !plan.termFrom) return
  const costs = await billing.costMicro(tx, 'instance', [row.id])
  const back = await backMicro(billing, tx, row, plan, at)
  requireUnderLimit(row.spendLimitCents, (costs.get(row.id) ?? 0n) - back + plan.priceMicro)
}

async function backMicro(
  billing: Pick<ActionDeps['billing'], 'termBackMicro'>,
  q: Queryable,
  row: InstanceRow,
  { endsTerm }: PlannedChange,
  at: Date,
): Promise<bigint> {
  return endsTerm ? await billing.termBackMicro(q, termEndOf(row, at)) : 0n
}
