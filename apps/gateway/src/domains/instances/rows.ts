import type { InstanceKind, InstanceStatus } from '@berth/contract/instance-states'
import { instanceChange } from '@berth/contract/instances'
import { sql } from 'drizzle-orm'
import { wireOf } from '../../platform/http/wire.ts'
import { instance } from './tables.ts'

/** An instance as its table keeps it. */
export type InstanceRow = typeof instance.$inferSelect

/** In which status an image is made of a machine of each kind (R4.6). */
const BUILT_IN: Record<InstanceKind, InstanceStatus> = { POD: 'running', VM: 'stopped' }

const toChange = wireOf(instanceChange)

/** What every call that changes an instance answers. */
export function changeOf(row: Pick<InstanceRow, 'id' | keyof Shown>) {
  return toChange({ instanceId: row.id, status: shownStatus(row) })
}

type Shown = Pick<InstanceRow, 'status' | 'kind' | 'buildingImageId'>

/**
 * The status that customers see, and that says what they may do: while an image is made of it an instance goes on as it was,
 * so that the row's own status stays, by which it is looked after and costs what it costs.
 */
export function shownStatus({ status, kind, buildingImageId }: Shown): InstanceStatus {
  return buildingImageId !== null && status === BUILT_IN[kind] ? 'imageBuilding' : status
}

/** The same, where rows are found by it. */
export const shownStatusSql = sql<InstanceStatus>`case
  when ${instance.buildingImageId} is not null
    and ${instance.status} = case ${instance.kind} when 'POD' then ${BUILT_IN.POD} else ${BUILT_IN.VM} end
  then 'imageBuilding' else ${instance.status} end`

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
