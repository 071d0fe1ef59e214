import type { V1Pod } from '@kubernetes/client-node'
import { type GPU_TOLERATION, WITHOUT_GPUS } from './gpu-environment.ts'
import { CLOUD_LABEL, ERRAND_LABEL } from './kube-names.ts'
import { SECURITY } from './pod-plan.ts'

/** An errand that has begun is over in a moment: one that runs for so long has nobody who waits for it. */
const ERRAND_RUN_MS_MAX = 60_000
/** What an image has in its home is laid onto a new disk by the image's own programs, which nobody pays for yet. */
const LAY_MS_MAX = 300_000
/** Whoever waits for a machine says first that it took too long. */
const LAY_GRACE_MS = 60_000
const MS_PER_S = 1_000

/**
 * The pod of an errand: one program for a moment, without a GPU, which the cluster itself ends.
 * @param options.deadlineMs From its node's first look at it on, with the pull of its image; the cluster ends it then, whether or
 *   not there is a gateway. By this it also counts for no quota of machines.
 * @param options.cpu What it may take of a processor.
 */
export function planErrand(options: {
  cloudId: string
  place: { namespace: string; name: string }
  what: 'pull' | 'measure'
  owner?: Record<string, unknown>
  container: { image: string; script: string; cpu: string } & Record<string, unknown>
  deadlineMs: number
  tolerations?: (typeof GPU_TOLERATION)[]
  spec?: Record<string, unknown>
}): Record<string, unknown> {
  const { cloudId, place, what, owner, tolerations = [] } = options
  const { image, script, cpu, ...container } = options.container
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...place,
      labels: { [CLOUD_LABEL]: cloudId, [ERRAND_LABEL]: what },
      ...(owner && { ownerReferences: [owner] }),
    },
    spec: {
      restartPolicy: 'Never',
      activeDeadlineSeconds: Math.ceil(options.deadlineMs / MS_PER_S),
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 0,
      ...(tolerations.length > 0 && { tolerations }),
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      ...options.spec,
      containers: [
        {
          name: 'machine',
          image,
          command: ['/bin/sh', '-c', script],
          env: WITHOUT_GPUS,
          resources: { requests: { cpu: '10m', memory: '16Mi' }, limits: { cpu, memory: '128Mi' } },
          securityContext: SECURITY,
          ...container,
        },
      ],
    },
  }
}

/**
 * Whether an errand's pod is one that a killed gateway has left: it is done, or runs though whoever made it would have taken it away.
 * @param waitMsMax How long the longest errand may wait for its image.
 */
export function isLeftErrand({ metadata, status }: V1Pod, nowMs: number, waitMsMax: number): boolean {
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return true
  const began = status?.containerStatuses?.[0]?.state?.running?.startedAt
  if (began !== undefined && nowMs - new Date(began).getTime() > ERRAND_RUN_MS_MAX) return true
  const made = metadata?.creationTimestamp
  return made !== undefined && nowMs - new Date(made).getTime() > waitMsMax + ERRAND_RUN_MS_MAX
}

/** Whether what lays a machine's home has run for longer than it may. */
export function laysTooLong({ status }: V1Pod, nowMs: number): boolean {
  const began = status?.initContainerStatuses?.[0]?.state?.running?.startedAt
  return began !== undefined && nowMs - new Date(began).getTime() > LAY_MS_MAX
}

/** The same, where nobody has taken it away since: its gateway was killed. */
export const isLeftLaying = (pod: V1Pod, nowMs: number) => laysTooLong(pod, nowMs - LAY_GRACE_MS)
