import type { Check } from '@berth/contract/instances'
import type { Database } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Fleet } from '../../fleet/fleet.ts'
import type { Volumes } from '../../volumes/volumes.ts'

/** What a check found: whether all is well, the code of its text, what stands in that. `field` is the form's. */
export type Found = [ok: boolean, code: string, values: Check['values']]

interface Asked {
  userId: string
  volumeId: string
  regionCode: string
  /** Engines that can make the instance; null where none answers. */
  engineIds: string[] | null
}

/** Whether an instance can have a network volume now, as a check of a deploy (B7). */
export async function volumeCheck(
  deps: {
    db: Database
    volumes: Pick<Volumes, 'find' | 'obstacle'>
    fleet: Pick<Fleet, 'isReached'>
    regionName(code: string): string
  },
  { userId, volumeId, regionCode, engineIds }: Asked,
): Promise<Found> {
  const { db, volumes, fleet, regionName } = deps
  const not = (code: string, values: Check['values'] = {}): Found => [
    false,
    code,
    { field: 'network_volume.id', ...values },
  ]
  const volume = await volumes.find(userId, volumeId).catch(missing)
  if (!volume) return not('volume_unknown')
  const { name, engineId } = volume
  if (volume.regionCode !== regionCode) {
    return not('volume_in_region', { name, region: regionName(volume.regionCode) })
  }
  if (!fleet.isReached(engineId)) return not('volume_away', { name })
  const obstacle = await volumes.obstacle(db, { userId, id: volumeId, instanceId: null })
  // No engine that makes instances has one, whatever else stands in the way.
  if (obstacle?.code === 'volume_of_objects') return not(obstacle.code, { name })
  // What is stored there does not move.
  if (engineIds && !engineIds.includes(engineId)) return not('volume_elsewhere', { name })
  if (obstacle) return not(obstacle.code, { name, ...obstacle.values })
  // A deploy would have it read-only. Whoever can pay for the deploy has the volume paid for within a moment.
  if (volume.unpaidSince !== null) return not('volume_unpaid', { name })
  return [true, 'volume_ready', { name }]
}

function missing(error: unknown): null {
  if (error instanceof ApiError && error.code === 'not_found') return null
  throw error
}
