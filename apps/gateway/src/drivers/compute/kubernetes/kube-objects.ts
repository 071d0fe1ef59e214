import type { V1PersistentVolumeClaim, V1Pod } from '@kubernetes/client-node'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { ComputeError } from '../port/compute-error.ts'
import { isLeftErrand, isLeftLaying } from './errand-pod.ts'
import { KubeRefusal } from './kube-errors.ts'
import { type KubeLink, orNull } from './kube-link.ts'
import {
  CLOUD_LABEL,
  type COPYING_LABEL,
  ERRAND_LABEL,
  FIELD_MANAGER,
  INSTANCE_LABEL,
  type KubeNames,
  OWNERS_MANAGER,
  pathOf,
  type VOLUME_LABEL,
} from './kube-names.ts'

const STATUS_CONFLICT = 409
const GONE_POLL_MS = 100
const PLACES_MAX = 50_000
const GONE_TIMEOUT_MS = 45_000

type Kind = Parameters<typeof pathOf>[0]

/** A disk, as the machine or the volume that it is. */
export interface FoundDisk {
  namespace: string
  claim: V1PersistentVolumeClaim
}

/** What one cloud has in a cluster, found by labels, made by server-side apply: nothing of it is kept here but where it is. */
export function createKubeObjects(deps: { link: KubeLink; names: KubeNames; cloudId: string }) {
  const { link, names, cloudId } = deps
  /** In which namespace a disk was, by its label and id: the next question goes there. */
  const places = new Map<string, string>()

  /** The disk of a machine, of a volume or of a copy under way; null where there is none that is this cloud's. */
  async function findDisk(
    label: typeof INSTANCE_LABEL | typeof VOLUME_LABEL | typeof COPYING_LABEL,
    id: string,
  ): Promise<FoundDisk | null> {
    if (!MACHINE_ID_PATTERN.test(id)) return null
    const key = `${label}=${id}`
    const name = label === INSTANCE_LABEL ? names.machine(id) : names.volume(id)
    const place = places.get(key)
    if (place !== undefined) {
      const claim = await orNull(
        link.json<V1PersistentVolumeClaim>('GET', pathOf('persistentvolumeclaims', place, name)),
      )
      const labels = claim?.metadata?.labels
      if (claim && labels?.[CLOUD_LABEL] === cloudId && labels[label] === id)
        return { namespace: place, claim }
      places.delete(key)
    }
    const [claim] = await listDisks(key)
    const namespace = claim?.metadata?.namespace
    if (claim === undefined || namespace === undefined) return null
    if (places.size >= PLACES_MAX) places.clear()
    places.set(key, namespace)
    return { namespace, claim }
  }

  /** @param label By which they are chosen, with or without a value. */
  async function listDisks(label: string): Promise<V1PersistentVolumeClaim[]> {
    const { items } = await link.json<{ items: V1PersistentVolumeClaim[] }>(
      'GET',
      pathOf('persistentvolumeclaims', null),
      { query: { labelSelector: names.selector(label) } },
    )
    return items
  }

  async function listPods(label: string, fieldSelector?: string): Promise<V1Pod[]> {
    const { items } = await link.json<{ items: V1Pod[] }>('GET', pathOf('pods', null), {
      query: { labelSelector: names.selector(label), fieldSelector },
    })
    return items
  }

  /** Makes an object, or gives one that is there what is said of it; what others say of it stays. */
  function apply<T>(path: string, object: unknown, signal?: AbortSignal): Promise<T> {
    return link.json<T>('PATCH', path, {
      query: { fieldManager: FIELD_MANAGER, force: true },
      contentType: 'application/apply-patch+yaml',
      body: object,
      ...(signal && { signal }),
    })
  }

  /**
   * Has a disk own an object beside its other owners: it goes with the last of them. What is applied later leaves that as it is.
   * @returns Whether it is there.
   */
  async function addOwner(path: string, disk: V1PersistentVolumeClaim): Promise<boolean> {
    const patch = link.json('PATCH', path, {
      query: { fieldManager: OWNERS_MANAGER },
      // Owners are merged by their uid.
      contentType: 'application/strategic-merge-patch+json',
      body: { metadata: { ownerReferences: [ownerOf(disk)] } },
    })
    return (await orNull(patch)) !== null
  }

  /** Notes something on a machine's disk. */
  function annotate(
    { namespace, claim }: FoundDisk,
    annotations: Record<string, string | null>,
  ): Promise<V1PersistentVolumeClaim> {
    const path = pathOf('persistentvolumeclaims', namespace, claim.metadata?.name ?? '')
    return link.json('PATCH', path, {
      contentType: 'application/merge-patch+json',
      body: { metadata: { annotations } },
    })
  }

  /**
   * Removes an object, with all that it owns, and waits until it is gone. Absent, or another one of its name: returns.
   * @param uid The very one that is meant; left out for whichever is there.
   */
  async function remove(
    kind: Kind,
    place: { namespace: string; name: string; uid?: string | undefined },
    options: { graceS?: number; signal?: AbortSignal } = {},
  ): Promise<void> {
    const path = pathOf(kind, place.namespace, place.name)
    const { graceS, signal } = options
    const body = {
      propagationPolicy: 'Background',
      ...(graceS !== undefined && { gracePeriodSeconds: graceS }),
      ...(place.uid !== undefined && { preconditions: { uid: place.uid } }),
    }
    const deadline = Date.now() + GONE_TIMEOUT_MS
    try {
      await orNull(link.json('DELETE', path, { body, ...(signal && { signal }) }))
      for (;;) {
        const found = await orNull(link.json<V1Pod>('GET', path, signal && { signal }))
        if (!found || (place.uid !== undefined && found.metadata?.uid !== place.uid)) return
        if (Date.now() > deadline) throw new ComputeError('failed', `${kind} ${place.name} does not go`)
        await new Promise(resolve => setTimeout(resolve, GONE_POLL_MS))
      }
    } catch (error) {
      // The one that was meant is gone, and another has its name.
      if (error instanceof KubeRefusal && error.status === STATUS_CONFLICT) return
      throw error
    }
  }

  function findPod(namespace: string, name: string): Promise<V1Pod | null> {
    return orNull(link.json<V1Pod>('GET', pathOf('pods', namespace, name)))
  }

  /**
   * Removes what a gateway that was killed has left running with nobody to wait for it: errands, and machines whose home is laid
   * for longer than it may be.
   * @param errandMsMax How long an errand may take with its image's way here.
   */
  async function sweepPods(errandMsMax: number): Promise<void> {
    const [errands, pending] = await Promise.all([
      listPods(ERRAND_LABEL),
      listPods(INSTANCE_LABEL, 'status.phase=Pending'),
    ])
    const nowMs = Date.now()
    const left = [
      ...errands.filter(pod => isLeftErrand(pod, nowMs, errandMsMax)),
      ...pending.filter(pod => isLeftLaying(pod, nowMs)),
    ]
    for (const { metadata } of left) {
      const { namespace = '', name = '', uid } = metadata ?? {}
      await remove('pods', { namespace, name, uid }, { graceS: 0 })
    }
  }

  return { sweepPods, findDisk, listDisks, listPods, apply, addOwner, annotate, remove, findPod }
}

export type KubeObjects = ReturnType<typeof createKubeObjects>

/** By which the disk of a machine owns what belongs to it: with it all of that goes. */
export function ownerOf({ metadata }: V1PersistentVolumeClaim): Record<string, unknown> {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    name: metadata?.name,
    uid: metadata?.uid,
  }
}
