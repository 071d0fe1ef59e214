import type { InstanceEventCode, InstanceReasonCode } from '@berth/contract/instance-codes'
import type { Transaction } from '../../platform/database/database.ts'
import { changeStatus, type StatusDeps } from './change-status.ts'
import { forgetUse } from './idle.ts'
import type { InstanceRow } from './rows.ts'

/**
 * Begins to remove an instance and all that it stored, whoever wants that: the reconciler does the rest. The caller
 * holds the locks: first the wallet's, then the row's.
 * @param why.event What is written down of it.
 * @param why.reason Why, where nobody has asked for it.
 * @returns The row as it is now.
 */
export async function beginRemoval(
  tx: Transaction,
  deps: StatusDeps,
  row: InstanceRow,
  why: { at: Date; event: InstanceEventCode; reason?: InstanceReasonCode },
): Promise<InstanceRow> {
  await forgetUse(tx, row.id)
  return changeStatus(tx, deps, row, {
    status: 'deleting',
    at: why.at,
    event: { code: why.event },
    ...(why.reason && { reason: { code: why.reason, detail: '' } }),
    patch: { desired: 'terminated' },
  })
}
