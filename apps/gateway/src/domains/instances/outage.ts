import { TERM_DAYS } from '@berth/contract/charge-terms'
import type { InstanceReasonCode } from '@berth/contract/instance-codes'
import type { InstanceStatus } from '@berth/contract/instance-states'
import type { InstanceRow } from './rows.ts'
import { inTerm } from './terms/term-rules.ts'

/**
 * What is the platform's own fault, by status (B17). A machine of which its engine is silent is not among them: who is
 * root in it might bring that about.
 */
const OUR_FAULTS: Partial<Record<InstanceStatus, readonly InstanceReasonCode[]>> = {
  unknown: ['engine_away'],
  error: ['machine_lost'],
}

/** Statuses in which an outage may be going on. */
export const FAULT_STATUSES = Object.keys(OUR_FAULTS) as InstanceStatus[]

/** A time in which a machine was to run and, by the platform's fault, did not or could not be seen to. */
export interface Outage {
  since: Date
  until: Date
  /** What the machine costs in an hour, in micro-units of the wallet's currency. */
  microPerHour: bigint
}

type OutageRow = Pick<
  InstanceRow,
  | 'status'
  | 'reasonCode'
  | 'statusSince'
  | 'runningMicroPerHour'
  | 'billingType'
  | 'chargeCycle'
  | 'termMicro'
  | 'expiryTime'
  | 'desired'
  | 'terminatedAt'
>

/**
 * The outage that ends when an instance's status changes, or that lasts until now; null: none. Pure.
 * @param before The row until now.
 * @param at When it changes.
 */
export function outageOf(before: OutageRow, at: Date): Outage | null {
  const { status, reasonCode, statusSince: since } = before
  if (reasonCode === null || !OUR_FAULTS[status]?.includes(reasonCode) || at <= since) return null
  return { since, until: at, microPerHour: microPerHour(before) }
}

/** What its customer pays by the hour, or has paid of a term for each hour of it. */
function microPerHour(row: OutageRow): bigint {
  if (!inTerm(row) || row.chargeCycle === null || row.termMicro === null) return row.runningMicroPerHour
  return row.termMicro / BigInt(TERM_DAYS[row.chargeCycle] * 24)
}
