import { setTimeout as delay } from 'node:timers/promises'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { Part } from '../port/part.ts'
import type { CopyOrder, VolumeCopies, VolumeUse } from '../port/volumes.ts'
import type { CountVolume } from './count-volume.ts'
import { type KubeLink, translated } from './kube-link.ts'
import {
  CLOUD_LABEL,
  COPIED_ANNOTATION,
  COPYING_LABEL,
  type KubeNames,
  pathOf,
  SNAPSHOTS_API,
  VOLUME_LABEL,
} from './kube-names.ts'
import { type FoundDisk, type KubeObjects, ownerOf } from './kube-objects.ts'

/** Cloud storage takes minutes for its first snapshot of a large volume, and as long to make a volume of one. */
const SNAPSHOT_MS_MAX = 15 * 60_000
const RESTORE_MS_MAX = 30 * 60_000
/** The storage tries again by itself what it could not do; for so long that is waited for. */
const TROUBLE_MS_MAX = 60_000
const LOOK_MS = 500

/** What is read of a snapshot. */
interface VolumeSnapshot {
  status?: { readyToUse?: boolean; error?: { message?: string } }
}

/**
 * Copies of volumes by snapshots of the cluster's storage. A snapshot lasts until the copy is whole and belongs to the copy's
 * claim, with which it goes if the gateway does not come to that. Until then the claim has a label of its own.
 */
export function createKubeCopies(deps: {
  link: KubeLink
  objects: KubeObjects
  names: KubeNames
  cloudId: string
  snapshotClass: string | null
  servesSnapshots: boolean
  find(id: string): Promise<FoundDisk | null>
  /** Removes a volume or what was to become one. */
  remove(id: string): Promise<void>
  count: CountVolume
}): Part<VolumeCopies> {
  const { link, objects, names, cloudId, snapshotClass } = deps
  if (snapshotClass === null) {
    return { lacks: 'Volumes are copied by snapshots here, and the operator has named no class of them.' }
  }
  if (!deps.servesSnapshots) {
    return { lacks: 'Volumes are copied by snapshots here, and the cluster serves none.' }
  }

  async function copy(order: CopyOrder, signal: AbortSignal): Promise<VolumeUse> {
    const { from, id, bytes_max } = order
    if (!MACHINE_ID_PATTERN.test(id)) throw new ComputeError('unsupported', `not a volume id: ${id}`)
    const whole = await deps.find(id)
    if (whole) return useOf(whole)
    const source = await deps.find(from)
    if (!source) throw new ComputeError('not_found', `no volume ${from}`)
    await deps.remove(id)
    mustGoOn(signal)
    const held = await deps.count(source)
    if (!held) throw new ComputeError('failed', `the volume ${from} has too many files to be copied`)
    if (held.used_bytes > bytes_max) throw new ComputeError('failed', `the volume ${from} holds too much`)
    try {
      return await make(source, order, signal)
    } catch (error) {
      await deps.remove(id)
      await objects.remove('volumesnapshots', { namespace: source.namespace, name: names.volume(id) })
      throw error
    }
  }

  async function make(source: FoundDisk, { from, id }: CopyOrder, signal: AbortSignal): Promise<VolumeUse> {
    const { namespace } = source
    const name = names.volume(id)
    const snapshot = { namespace, name }
    // One of an earlier try may wait for the cluster to collect it, and holds what the volume was then.
    await objects.remove('volumesnapshots', snapshot)
    mustGoOn(signal)
    // The claim comes first: it owns the snapshot, so that nobody has to find one that is left.
    const claim = await objects.apply<FoundDisk['claim']>(pathOf('persistentvolumeclaims', namespace, name), {
      ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim' },
      metadata: { name, namespace, labels: { [CLOUD_LABEL]: cloudId, [COPYING_LABEL]: id } },
      spec: planOf(source, name),
    })
    await objects.apply(pathOf('volumesnapshots', namespace, name), {
      ...{ apiVersion: SNAPSHOTS_API, kind: 'VolumeSnapshot' },
      metadata: { ...snapshot, labels: { [CLOUD_LABEL]: cloudId }, ownerReferences: [ownerOf(claim)] },
      spec: {
        volumeSnapshotClassName: snapshotClass,
        source: { persistentVolumeClaimName: source.claim.metadata?.name },
      },
    })
    await awaitSnapshot(snapshot, from, signal)
    const use = await deps.count({ namespace, claim }, { waitMs: RESTORE_MS_MAX, signal })
    if (!use) throw new ComputeError('failed', `the copy of the volume ${from} did not come in time`)
    mustGoOn(signal)
    await objects.remove('volumesnapshots', snapshot)
    await link.json('PATCH', pathOf('persistentvolumeclaims', namespace, name), {
      contentType: 'application/merge-patch+json',
      body: {
        metadata: {
          labels: { [VOLUME_LABEL]: id, [COPYING_LABEL]: null },
          annotations: { [COPIED_ANNOTATION]: String(use.used_bytes) },
        },
      },
    })
    return use
  }

  /** Waits until a snapshot holds what the volume held. Fails where the storage says for a minute that it cannot. */
  async function awaitSnapshot(
    { namespace, name }: { namespace: string; name: string },
    from: string,
    signal: AbortSignal,
  ): Promise<void> {
    const deadlineMs = performance.now() + SNAPSHOT_MS_MAX
    let troubleMs: number | null = null
    for (;;) {
      mustGoOn(signal)
      const { status } = await link.json<VolumeSnapshot>('GET', pathOf('volumesnapshots', namespace, name))
      if (status?.readyToUse === true) return
      const nowMs = performance.now()
      const said = status?.error?.message
      troubleMs = said === undefined ? null : (troubleMs ?? nowMs)
      const isStuck = troubleMs !== null && nowMs - troubleMs > TROUBLE_MS_MAX
      if (isStuck || nowMs > deadlineMs)
        throw new ComputeError('failed', `no snapshot of the volume ${from}: ${said ?? 'it took too long'}`)
      await delay(LOOK_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  /** What a copy holds: as it was counted, or, of a volume that is no copy, now. */
  async function useOf(found: FoundDisk): Promise<VolumeUse> {
    const counted = found.claim.metadata?.annotations?.[COPIED_ANNOTATION]
    if (counted !== undefined) return { used_bytes: Number(counted) }
    const use = await deps.count(found)
    if (!use) throw new ComputeError('failed', 'it has too many files to be counted')
    return use
  }

  return {
    copy: (order, signal) => translated(`copying the volume ${order.from}`, () => copy(order, signal)),
  }
}

/** A claim of the same kind as another one, filled from a snapshot. Storage makes none that is smaller than what it is made of. */
function planOf({ claim }: FoundDisk, snapshot: string) {
  const { spec, status } = claim
  return {
    accessModes: spec?.accessModes,
    storageClassName: spec?.storageClassName,
    resources: {
      requests: { storage: status?.capacity?.storage ?? spec?.resources?.requests?.storage },
    },
    dataSource: { apiGroup: SNAPSHOTS_API.split('/')[0], kind: 'VolumeSnapshot', name: snapshot },
  }
}

function mustGoOn(signal: AbortSignal): void {
  if (signal.aborted) throw new ComputeError('failed', 'it was given up')
}
