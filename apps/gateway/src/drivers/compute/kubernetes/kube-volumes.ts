import type { V1PersistentVolumeClaim, V1Secret } from '@kubernetes/client-node'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { VolumeSpec, VolumeStore, VolumeUse } from '../port/volumes.ts'
import { createVolumeCount } from './count-volume.ts'
import { createKubeCopies } from './kube-copies.ts'
import { type KubeLink, translated } from './kube-link.ts'
import {
  CLOUD_LABEL,
  COPYING_LABEL,
  INSTANCE_LABEL,
  type KubeNames,
  pathOf,
  VOLUME_LABEL,
} from './kube-names.ts'
import type { KubeObjects } from './kube-objects.ts'
import { ordersIn } from './machine-orders.ts'
import { quantity } from './quantity.ts'
import type { createTenantNamespaces } from './tenant-namespaces.ts'

const BYTES_PER_GB = 1024 ** 3

/** Volumes as claims, of the class that the operator names, each in its customer's namespace. */
export function createKubeVolumes(deps: {
  link: KubeLink
  objects: KubeObjects
  names: KubeNames
  cloudId: string
  namespaces: ReturnType<typeof createTenantNamespaces>
  /** Null: the cluster's own choice. */
  storageClass: string | null
  /** Whether the class gives a volume to machines on several nodes. */
  isShared: boolean
  /** Whether the operator knows that it holds them to their size. */
  isBounded: boolean
  /** What counts what a volume holds. */
  helperImage: string
  /** By which snapshots are made; null where the operator names none. */
  snapshotClass: string | null
  /** Whether the cluster has snapshots at all. */
  servesSnapshots: boolean
}): VolumeStore {
  const { link, objects, names, cloudId } = deps
  const find = (id: string) => objects.findDisk(VOLUME_LABEL, id)
  const count = createVolumeCount({ link, objects, cloudId, helperImage: deps.helperImage })

  async function make({ id, size_gb, tenant }: VolumeSpec): Promise<void> {
    if (!MACHINE_ID_PATTERN.test(id)) throw new ComputeError('unsupported', `not a volume id: ${id}`)
    if (await find(id)) return
    const namespace = await deps.namespaces.ensure(tenant)
    const name = names.volume(id)
    await objects.apply(pathOf('persistentvolumeclaims', namespace, name), {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, namespace, labels: { [CLOUD_LABEL]: cloudId, [VOLUME_LABEL]: id } },
      spec: {
        accessModes: [deps.isShared ? 'ReadWriteMany' : 'ReadWriteOnce'],
        resources: { requests: { storage: `${size_gb}Gi` } },
        ...(deps.storageClass !== null && { storageClassName: deps.storageClass }),
      },
    })
  }

  async function mustFind(id: string) {
    const found = await find(id)
    if (!found) throw new ComputeError('not_found', `no volume ${id}`)
    return found
  }

  async function grow({ id, size_gb }: VolumeSpec): Promise<void> {
    const { namespace, claim } = await mustFind(id)
    if (quantity(claim.spec?.resources?.requests?.storage) >= size_gb * BYTES_PER_GB) return
    // A claim that nothing was made for yet is made anew of its new size: the API lets none of those grow.
    if (claim.status?.phase === 'Pending') {
      await objects.remove('persistentvolumeclaims', {
        namespace,
        name: names.volume(id),
        uid: claim.metadata?.uid,
      })
      return makeIn(namespace, claim, size_gb)
    }
    await link.json('PATCH', pathOf('persistentvolumeclaims', namespace, names.volume(id)), {
      contentType: 'application/merge-patch+json',
      body: { spec: { resources: { requests: { storage: `${size_gb}Gi` } } } },
    })
  }

  async function makeIn(namespace: string, claim: V1PersistentVolumeClaim, size_gb: number): Promise<void> {
    const { name = '', labels } = claim.metadata ?? {}
    await objects.apply(pathOf('persistentvolumeclaims', namespace, name), {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, namespace, labels },
      spec: {
        accessModes: claim.spec?.accessModes,
        resources: { requests: { storage: `${size_gb}Gi` } },
        ...(deps.storageClass !== null && { storageClassName: deps.storageClass }),
      },
    })
  }

  async function remove(id: string): Promise<void> {
    const found = (await find(id)) ?? (await objects.findDisk(COPYING_LABEL, id))
    if (!found) return
    if (await isAttached(id, found.namespace))
      throw new ComputeError('failed', `the volume ${id} is attached to a machine`)
    await objects.remove('persistentvolumeclaims', {
      namespace: found.namespace,
      name: names.volume(id),
      uid: found.claim.metadata?.uid,
    })
  }

  /** Whether a machine's orders name it, running or not. */
  async function isAttached(id: string, namespace: string): Promise<boolean> {
    const { items } = await link.json<{ items: V1Secret[] }>('GET', pathOf('secrets', namespace), {
      query: { labelSelector: names.selector(INSTANCE_LABEL) },
    })
    return items.some(secret => ordersIn(secret)?.spec.volumes?.some(volume => volume.id === id))
  }

  async function measure(id: string): Promise<VolumeUse | null> {
    return count(await mustFind(id))
  }

  const limit = deps.isBounded
    ? { enforced: true as const, how: 'the storage class' }
    : {
        enforced: false as const,
        why: 'Kubernetes does not tell whether the storage class holds a volume to its size',
      }
  return {
    size_limit: limit,
    fixed_size_limit: limit,
    sharing: deps.isShared
      ? { offered: true }
      : { offered: false, why: 'the storage class gives a volume to the machines of one node alone' },
    make: volume => translated(`making the volume ${volume.id}`, () => make(volume)),
    grow: volume => translated(`growing the volume ${volume.id}`, () => grow(volume)),
    delete: id => translated(`deleting the volume ${id}`, () => remove(id)),
    measure: id => translated(`measuring the volume ${id}`, () => measure(id)),
    folder: async id => {
      await translated(`looking for the volume ${id}`, () => mustFind(id))
      return {
        lacks: 'What a volume holds lies on the cluster’s storage, where this computer does not see it.',
      }
    },
    copies: createKubeCopies({ ...deps, find, remove, count }),
    list: async () => {
      const labels = [VOLUME_LABEL, COPYING_LABEL]
      const claims = await translated('listing volumes', () => Promise.all(labels.map(objects.listDisks)))
      // A copy becomes whole between the two questions: then both have it.
      const ids = labels.flatMap(
        (label, at) => claims[at]?.map(({ metadata }) => metadata?.labels?.[label]) ?? [],
      )
      return [...new Set(ids)].filter(id => id !== undefined)
    },
  }
}
