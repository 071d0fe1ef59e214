import { diskFaults, type InstanceChange } from '@berth/contract/instances'
import type { VolumeMount } from '@berth/contract/volumes'
import { eq, sql } from 'drizzle-orm'
import type { Transaction } from '../../../platform/database/database.ts'
import { notify } from '../../../platform/database/open-database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { type ActionDeps, act, type Target } from '../act/actions.ts'
import { addEvent, INSTANCE_CHANNEL } from '../change-status.ts'
import type { InstanceRow } from '../rows.ts'
import { instance } from '../tables.ts'

/**
 * Attaches a network volume to an instance that does not run: its machine has it from its next start on. Attached already, it
 * moves to the path named.
 * @throws ApiError `not_found` for either, `instance_state`, `volume_state`, `volume_one_only`, or `validation_failed` for an
 *   instance that is elsewhere or a virtual machine (`volume_elsewhere`), or has something at the path
 *   (`volume_path_clash`).
 */
export function attach(deps: ActionDeps, target: Target, mount: VolumeMount): Promise<InstanceChange> {
  return act(deps, target, 'attach_volume', async (tx, row, at) => {
    const { networkVolume: had } = row
    if (had?.id === mount.id && had.path === mount.path) return row
    const { engineId, regionCode, name } = await deps.volumes.requireReady(tx, row.userId, mount.id)
    if (had && had.id !== mount.id) throw new ApiError('volume_one_only')
    // What is stored on either does not move, and a virtual machine has disks.
    if (row.kind !== 'POD' || engineId !== row.engineId || regionCode !== row.regionCode)
      throw refused('instance_id', 'volume_elsewhere')
    const { kind, dataDiskGb: data_disk_gb, podVolumeGb: pod_volume_gb, podVolumePath: pod_volume_path } = row
    const disks = { kind, data_disk_gb, pod_volume_gb, pod_volume_path, network_volume: mount }
    if (diskFaults(disks).length > 0) throw refused('path', 'volume_path_clash')
    const detail = `${name} ${mount.path}`
    return await change(tx, row, { networkVolume: mount, event: { at, code: 'volume_attached', detail } })
  })
}

/**
 * Takes a network volume from an instance that does not run; what the volume holds stays. Not attached: nothing happens.
 * @throws ApiError `not_found` for either, or `instance_state`.
 */
export function detach(deps: ActionDeps, target: Target, volumeId: string): Promise<InstanceChange> {
  return act(deps, target, 'detach_volume', async (tx, row, at) => {
    const { name } = await deps.volumes.find(row.userId, volumeId, tx)
    if (row.networkVolume?.id !== volumeId) return row
    return await change(tx, row, {
      networkVolume: null,
      event: { at, code: 'volume_detached', detail: name },
    })
  })
}

/** Whoever looks after the instance tells its machine at once, so that what it does not have any more can be deleted. */
async function change(
  tx: Transaction,
  row: InstanceRow,
  to: { networkVolume: VolumeMount | null; event: Parameters<typeof addEvent>[2] },
): Promise<InstanceRow> {
  const [changed] = await tx
    .update(instance)
    .set({
      networkVolume: to.networkVolume,
      volumeChanged: true,
      version: sql`${instance.version} + 1`,
      nextAttemptAt: to.event.at,
    })
    .where(eq(instance.id, row.id))
    .returning()
  await addEvent(tx, row, to.event)
  await notify(tx, INSTANCE_CHANNEL, row.id)
  return changed ?? row
}

function refused(path: string, rule: string): ApiError {
  return new ApiError('validation_failed', { fields: [{ path, rule }] })
}
