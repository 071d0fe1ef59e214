import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { V1PersistentVolume, V1PersistentVolumeClaim } from '@kubernetes/client-node'
import type { KubeLink } from './kube-link.ts'
import { pathOf, SNAPSHOTS_API } from './kube-names.ts'

const run = promisify(execFile)
const [GROUP = '', VERSION = ''] = SNAPSHOTS_API.split('/')
const KIND = 'VolumeSnapshot'

/** What a cluster with snapshots serves, as far as it is looked at here: fields are not checked. */
export const SNAPSHOT_KINDS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: `volumesnapshots.${GROUP}`,
    // The group is a protected one.
    annotations: { 'api-approved.kubernetes.io': 'unapproved, for tests' },
  },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: { kind: KIND, plural: 'volumesnapshots', singular: 'volumesnapshot' },
    versions: [
      {
        name: VERSION,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
}

interface Snapshot {
  metadata: { namespace: string; name: string; uid: string }
  spec: { volumeSnapshotClassName?: string; source: { persistentVolumeClaimName: string } }
  status?: { readyToUse?: boolean }
}

/**
 * Stands for a driver of storage that makes snapshots: copies folders of the node's. It proves what the gateway asks for and
 * waits for, with the bytes of real machines; that a driver's snapshots are of one moment it does not prove.
 * @param volumeClass Snapshots of this class alone are made.
 * @param folder Where they are kept.
 */
export function createSnapshotter(admin: KubeLink, volumeClass: string, folder: string) {
  const copyInto = async (from: string, to: string) => {
    await mkdir(to, { recursive: true })
    await run('cp', ['-a', '--sparse=always', `${from}/.`, to])
  }
  const placeOf = (uid: string) => join(folder, `snapshot-${uid}`)

  return {
    /** Makes the snapshots that are asked for of volumes that are there. */
    async round(volumes: V1PersistentVolume[]): Promise<void> {
      const { items } = await admin.json<{ items: Snapshot[] }>('GET', pathOf('volumesnapshots', null))
      for (const { metadata, spec, status } of items) {
        if (spec.volumeSnapshotClassName !== volumeClass || status?.readyToUse) continue
        const { namespace, name, uid } = metadata
        const source = volumes.find(
          ({ spec: { claimRef } = {} }) =>
            claimRef?.namespace === namespace && claimRef?.name === spec.source.persistentVolumeClaimName,
        )
        if (!source?.spec?.hostPath) continue
        await copyInto(source.spec.hostPath.path, placeOf(uid))
        await admin.json('PATCH', `${pathOf('volumesnapshots', namespace, name)}/status`, {
          contentType: 'application/merge-patch+json',
          body: { status: { readyToUse: true, restoreSize: source.spec.capacity?.storage } },
        })
      }
    },

    /** Fills the folder of a new claim from the snapshot that it names. @returns Whether it may be given to the claim. */
    async fill({ metadata, spec }: V1PersistentVolumeClaim, to: string): Promise<boolean> {
      if (spec?.dataSource?.kind !== KIND) return true
      const path = pathOf('volumesnapshots', metadata?.namespace ?? '', spec.dataSource.name)
      const found = await admin.json<Snapshot>('GET', path).catch(() => null)
      if (!found?.status?.readyToUse) return false
      await copyInto(placeOf(found.metadata.uid), to)
      return true
    },
  }
}
