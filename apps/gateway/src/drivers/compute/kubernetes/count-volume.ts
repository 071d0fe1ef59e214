import type { V1Pod } from '@kubernetes/client-node'
import type { VolumeUse } from '../port/volumes.ts'
import { awaitPod } from './await-pod.ts'
import { planErrand } from './errand-pod.ts'
import type { KubeLink } from './kube-link.ts'
import { pathOf } from './kube-names.ts'
import { type FoundDisk, type KubeObjects, ownerOf } from './kube-objects.ts'
import { SECURITY } from './pod-plan.ts'

const BYTES_PER_KB = 1024
/** Counting takes so long at most; what is larger is not measured. */
const COUNT_TIMEOUT_MS = 20_000
/** What it counts goes where the kubelet reads how a container ended. */
const COUNT_SCRIPT = 'du -sk /volume | cut -f1 > /dev/termination-log'

/** How long a volume's storage may take to be there, and who may give it up; left out: it is there already. */
export interface CountPatience {
  waitMs: number
  signal: AbortSignal
}

/**
 * Makes what counts a volume: a pod for a moment, which looks at it and has no rights over it.
 * @returns Tells what a claim holds; null where its files are too many to count in time. Fails where no node takes the pod, or
 *   the volume does not come to it.
 */
export function createVolumeCount(deps: {
  link: KubeLink
  objects: KubeObjects
  cloudId: string
  helperImage: string
}) {
  const { link, objects, cloudId } = deps
  return async ({ namespace, claim }: FoundDisk, patience?: CountPatience): Promise<VolumeUse | null> => {
    const claimName = claim.metadata?.name ?? ''
    const name = `measure-${claimName}`
    const place = { namespace, name }
    const waitMs = patience?.waitMs ?? COUNT_TIMEOUT_MS
    await objects.remove('pods', place, { graceS: 0 })
    const plan = planErrand({
      cloudId,
      place,
      what: 'measure',
      owner: ownerOf(claim),
      deadlineMs: waitMs,
      container: {
        image: deps.helperImage,
        script: COUNT_SCRIPT,
        cpu: '1',
        securityContext: { ...SECURITY, readOnlyRootFilesystem: true },
        volumeMounts: [{ name: 'volume', mountPath: '/volume', readOnly: true }],
      },
      spec: { volumes: [{ name: 'volume', persistentVolumeClaim: { claimName } }] },
    })
    const pod = await objects.apply<V1Pod>(pathOf('pods', namespace, name), plan)
    try {
      const timeoutMs = waitMs + COUNT_TIMEOUT_MS
      const done = await awaitPod(
        link,
        { ...place, uid: pod.metadata?.uid },
        {
          until: ({ status }) => status?.phase === 'Succeeded' || status?.phase === 'Failed',
          hadLogin: false,
          signal: patience?.signal ?? AbortSignal.timeout(timeoutMs),
          timeoutMs,
        },
      )
      const said = done.status?.containerStatuses?.[0]?.state?.terminated?.message ?? ''
      return /^\d{1,15}\s*$/.test(said) ? { used_bytes: Number(said) * BYTES_PER_KB } : null
    } finally {
      await objects.remove('pods', { ...place, uid: pod.metadata?.uid }, { graceS: 0 }).catch(() => undefined)
    }
  }
}
export type CountVolume = ReturnType<typeof createVolumeCount>
