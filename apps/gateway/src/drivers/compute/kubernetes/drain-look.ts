import type { V1PersistentVolume, V1PersistentVolumeClaim, V1Pod } from '@kubernetes/client-node'
import type { Logger } from 'pino'
import type { HostDrain } from '../port/machines.ts'
import { KubeRefusal } from './kube-errors.ts'
import { type KubeLink, orNull } from './kube-link.ts'
import { pathOf } from './kube-names.ts'
import type { KubeNodes } from './kube-nodes.ts'
import { hasElsewhere, isDraining } from './node-drain.ts'

const STATUS_FORBIDDEN = 403

/** Tells of machines whose nodes are being taken out of service. Of their disks it asks where there are such machines alone. */
export function createDrainLook(deps: {
  link: Pick<KubeLink, 'json'>
  nodes: Pick<KubeNodes, 'all'>
  log: Pick<Logger, 'warn'>
}) {
  const { link, nodes, log } = deps
  let isRefused = false

  /** What a pod's claims are bound to; null where that is not known, so that nobody can say where else they could be had. */
  async function disksOf({ metadata, spec }: V1Pod): Promise<V1PersistentVolume[] | null> {
    const names = spec?.volumes?.flatMap(one => one.persistentVolumeClaim?.claimName ?? []) ?? []
    const disks = await Promise.all(
      names.map(async name => {
        const path = pathOf('persistentvolumeclaims', metadata?.namespace ?? '', name)
        const claim = await orNull(link.json<V1PersistentVolumeClaim>('GET', path))
        const volume = claim?.spec?.volumeName
        if (volume === undefined) return null
        return orNull(link.json<V1PersistentVolume>('GET', pathOf('persistentvolumes', null, volume)))
      }),
    ).catch(error => {
      if (!(error instanceof KubeRefusal) || error.status !== STATUS_FORBIDDEN) throw error
      if (!isRefused) log.warn({ err: error }, 'disks may not be looked at: apply rbac.yaml anew')
      isRefused = true
      return [null]
    })
    const found = disks.flatMap(disk => disk ?? [])
    return found.length === disks.length ? found : null
  }

  /** @returns Null where its node goes on; for one that is not known, too. */
  return async (pod: V1Pod): Promise<HostDrain | null> => {
    const all = await nodes.all()
    const own = all.find(({ metadata }) => metadata?.name === pod.spec?.nodeName)
    if (own === undefined || !isDraining(own)) return null
    const disks = await disksOf(pod)
    return disks !== null && hasElsewhere(pod, all, disks) ? 'movable' : 'fixed'
  }
}
