import { instanceChange } from '@berth/contract/instances'
import { wireOf } from '../../platform/http/wire.ts'
import type { instance } from './tables.ts'

/** An instance as its table keeps it. */
export type InstanceRow = typeof instance.$inferSelect

const toChange = wireOf(instanceChange)

/** What every call that changes an instance answers. */
export function changeOf(row: Pick<InstanceRow, 'id' | 'status'>) {
  return toChange({ instanceId: row.id, status: row.status })
}

export type Progress = NonNullable<InstanceRow['progress']>

/** What a step that came through leaves of the tries before it. */
export const NO_FAILURE = { attempts: 0, failureCode: null, failureDetail: null } as const

/** What a start shows at each step; a pull fills in its own bytes and percent. */
export const PROGRESS: Record<Progress['step'], Progress> = {
  scheduled: { step: 'scheduled', percent: 0, bytes_done: null, bytes_total: null },
  pulling: { step: 'pulling', percent: 5, bytes_done: null, bytes_total: null },
  booting: { step: 'booting', percent: 75, bytes_done: null, bytes_total: null },
  probing: { step: 'probing', percent: 90, bytes_done: null, bytes_total: null },
  ready: { step: 'ready', percent: 100, bytes_done: null, bytes_total: null },
}
