import type { Transaction } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Billing } from '../../billing/billing.ts'
import type { Fleet } from '../../fleet/fleet.ts'
import type { Images } from '../../images/images.ts'
import type { Regions } from '../../regions/regions.ts'
import { instanceSubject } from '../change-status.ts'
import type { Quotes } from '../offer/quotes.ts'
import { sizedAs } from '../offer/sized.ts'
import { takeStock } from '../offer/stock.ts'
import type { InstanceRow } from '../rows.ts'
import { requireUnderLimit } from '../terms/term-checks.ts'
import { inTerm } from '../terms/term-rules.ts'

interface ReserveDeps {
  billing: Pick<Billing, 'closeMeters' | 'hold'>
  regions: Pick<Regions, 'offer' | 'stock'>
  quotes: Pick<Quotes, 'rates' | 'term'>
  fleet: Pick<Fleet, 'isReached' | 'place'>
  images: Pick<Images, 'ofInstance'>
}

/**
 * GPUs, prices and what is set aside for an instance that has none of them: its first hour, or the price of its first
 * term. Where it is paid for already, its GPUs alone.
 * @returns Columns of its row.
 * @throws ApiError as `start` says.
 */
export async function reserve(
  { regions, quotes, billing, fleet, images }: ReserveDeps,
  tx: Transaction,
  row: InstanceRow,
  wanted: { specId: string; gpuCount: number },
  at: Date,
) {
  if (row.engineId !== null && !fleet.isReached(row.engineId)) {
    throw new ApiError('compute_unavailable', {
      cause: new Error('no gateway reaches the engine that it is on'),
    })
  }
  // What it stored is on its engine: there it stays.
  const engineIds = row.engineId
    ? [row.engineId]
    : fleet.place({
        regionCode: row.regionCode,
        kind: row.kind,
        canMake: (await images.ofInstance(row, tx)).makes,
      })
  const { specId, gpuCount } = wanted
  const isPaid = inTerm(row)
  if (isPaid) requirePaidSpec(row, wanted)
  const offer = regions.offer(row.regionCode, specId)
  const given = await takeStock(tx, regions.stock, { offer, gpuCount, instanceId: row.id, engineIds })
  if (isPaid) return given
  const sized = sizedAs({ ...row, gpuSpecId: specId, gpuCount })
  const { runningMicroPerHour, stoppedMicroPerHour, trafficMicroPerGb } = quotes.rates(sized)
  const term = row.chargeCycle === null ? null : quotes.term(sized, row.chargeCycle)
  if (term) requireUnderLimit(row.spendLimitCents, term.termMicro)
  const key = { userId: row.userId, subject: instanceSubject(row.id) }
  // What the disk has cost is paid first, so that the hour is not set aside from money that is owed.
  await billing.closeMeters(tx, { ...key, at })
  await billing.hold(tx, { ...key, amountMicro: term?.termMicro ?? runningMicroPerHour })
  return { ...given, ...term, runningMicroPerHour, stoppedMicroPerHour, trafficMicroPerGb }
}

/** What is paid for in advance is paid for its GPUs: it starts on as many of the same. */
function requirePaidSpec(row: InstanceRow, { specId, gpuCount }: { specId: string; gpuCount: number }): void {
  const path = specId !== row.gpuSpecId ? 'gpu_spec_id' : gpuCount !== row.gpuCount ? 'gpu_count' : null
  if (path) throw new ApiError('validation_failed', { fields: [{ path, rule: 'not_allowed' }] })
}
