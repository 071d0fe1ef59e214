import type { V1ContainerStatus, V1Pod } from '@kubernetes/client-node'
import { readCommandEnd } from '../port/command-end.ts'
import { ComputeError, type ComputeErrorCode } from '../port/compute-error.ts'
import type { MachineStatus } from '../port/machines.ts'
import { MACHINE_CONTAINER } from './pod-plan.ts'

const MESSAGE_LENGTH_MAX = 300
const ENDED: ReadonlySet<string> = new Set(['Succeeded', 'Failed'])

/** The machine's own container; undefined before the kubelet has looked at the pod. */
function containerOf(pod: V1Pod): V1ContainerStatus | undefined {
  return pod.status?.containerStatuses?.find(({ name }) => name === MACHINE_CONTAINER)
}

/** Whether a pod has ended, or is about to be taken away: what its phase says comes a moment later. */
export function isOver(pod: V1Pod): boolean {
  const hasEnded = ENDED.has(pod.status?.phase ?? '') || containerOf(pod)?.state?.terminated !== undefined
  return hasEnded || pod.metadata?.deletionTimestamp !== undefined
}

/** When a machine's first process began; null while none runs. */
export function runsSince(pod: V1Pod): Date | null {
  const at = containerOf(pod)?.state?.running?.startedAt
  return at === undefined ? null : new Date(at)
}

/**
 * What a pod says of its machine.
 * @param pod Null where there is none.
 * @param disk What stands on the machine's disk: that it has run, and that nobody stopped it since.
 * @returns For one that is being made the state before: it is the start that waits for it.
 * @throws ComputeError `engine_unavailable` while its node does not answer, so that nobody knows.
 */
export function statusOf(pod: V1Pod | null, disk: { hasRun: boolean; isToRun: boolean }): MachineStatus {
  const before: MachineStatus = disk.hasRun ? { state: 'stopped', exit_code: null } : { state: 'created' }
  if (pod === null) return disk.isToRun ? { ...stopped(null), cause: 'node_lost' } : before
  const { phase, reason } = pod.status ?? {}
  const state = containerOf(pod)?.state
  const ended = state?.terminated
  if (ENDED.has(phase ?? '') || ended) {
    if (reason === 'Evicted') return { ...stopped(null), cause: 'evicted' }
    if (reason === 'NodeLost' || reason === 'NodeShutdown' || reason === 'Terminated')
      return { ...stopped(null), cause: 'node_lost' }
    if (ended?.reason === 'OOMKilled') return { ...stopped(ended.exitCode), cause: 'out_of_memory' }
    // That it was told how its command ended says that it ended with it.
    const isTold = ended?.message !== undefined && commandEnd(ended.message, ended.finishedAt) !== null
    return isTold ? { ...stopped(ended.exitCode), cause: 'command_ended' } : stopped(ended?.exitCode ?? null)
  }
  const started_at = runsSince(pod)
  if (started_at === null) return before
  if (isOutOfSight(pod)) {
    throw new ComputeError('engine_unavailable', `the node ${pod.spec?.nodeName} of the machine is away`)
  }
  return { state: 'running', started_at }
}

const stopped = (exit_code: number | null) => ({ state: 'stopped' as const, exit_code })

/**
 * Whether a pod's node has given no sign of life for some time: then its keeper says that the pod is not ready, of which the kubelet
 * would say the same of its containers.
 */
function isOutOfSight({ status }: V1Pod): boolean {
  const stateOf = (wanted: string) => status?.conditions?.find(({ type }) => type === wanted)?.status
  return stateOf('Ready') === 'False' && stateOf('ContainersReady') === 'True'
}

/** What the first process told the kubelet of its command's end; null for nothing of sense. */
function commandEnd(message: string, finishedAt: Date | string | undefined) {
  const ended_at = new Date(finishedAt ?? 0)
  return readCommandEnd(message, { started_at: new Date(0), ended_at, now: ended_at })
}

/**
 * Why a pod that waits will not come up as things are; null while it may.
 * @param hadLogin Whether its registry was shown a login.
 */
export function troubleOf(pod: V1Pod, hadLogin: boolean): ComputeError | null {
  const { initContainerStatuses = [], containerStatuses = [], conditions = [] } = pod.status ?? {}
  for (const { state } of [...initContainerStatuses, ...containerStatuses]) {
    const { reason = '', message = '' } = state?.waiting ?? {}
    if (IMAGE_TROUBLES.has(reason)) return imageTrouble(reason, message, hadLogin)
    if (CONTAINER_TROUBLES.has(reason)) return new ComputeError('failed', short(`${reason}: ${message}`))
  }
  const unplaced = conditions.find(({ type, status }) => type === 'PodScheduled' && status === 'False')
  if (unplaced?.reason !== 'Unschedulable') return null
  return new ComputeError('unschedulable', short(`no node takes it: ${unplaced.message ?? ''}`))
}

const IMAGE_TROUBLES: ReadonlySet<string> = new Set([
  ...['ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', 'ErrImageNeverPull'],
  ...['ImageInspectError', 'RegistryUnavailable', 'SignatureValidationFailed'],
])
const CONTAINER_TROUBLES: ReadonlySet<string> = new Set([
  ...['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError', 'CrashLoopBackOff'],
])

/** By what container runtimes say, the first that fits. */
const IMAGE_WORDS: readonly (readonly [RegExp, ComputeErrorCode])[] = [
  [/no space left/i, 'no_room'],
  [/toomanyrequests|too many requests|rate limit/i, 'registry_busy'],
  [
    /unauthorized|authentication required|authorization failed|insufficient_scope|denied|403 Forbidden/i,
    'image_needs_login',
  ],
  [/manifest unknown|not found|no such image|name unknown/i, 'image_not_found'],
  [/no match for platform|exec format|unsupported media/i, 'image_unfit'],
  [/digest|checksum|unexpected commit size/i, 'image_damaged'],
  [
    /no such host|dial tcp|i\/o timeout|connection re(fused|set)|TLS|x509|EOF|50[0-9] /i,
    'registry_unreachable',
  ],
]

function imageTrouble(reason: string, message: string, hadLogin: boolean): ComputeError {
  const code = IMAGE_WORDS.find(([words]) => words.test(message))?.[1] ?? 'image_unavailable'
  const told = code === 'image_needs_login' && hadLogin ? 'image_login_refused' : code
  return new ComputeError(told, short(`${reason}: ${message}`))
}

const short = (text: string) => text.slice(0, MESSAGE_LENGTH_MAX)
