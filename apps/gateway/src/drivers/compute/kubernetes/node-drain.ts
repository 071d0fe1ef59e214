import type { V1Node, V1NodeSelectorTerm, V1PersistentVolume, V1Pod } from '@kubernetes/client-node'
import { GPU_RESOURCE } from './gpu-environment.ts'
import { quantity } from './quantity.ts'

/** Taints that nodes get by themselves, for as long as something is amiss with them. */
const BY_ITSELF = 'node.kubernetes.io/'
/** Of those, the two that somebody gives a node who takes it out of service. */
const BY_SOMEBODY: ReadonlySet<string> = new Set(
  ['unschedulable', 'out-of-service'].map(one => BY_ITSELF + one),
)
/** What a node must have for a pod's processors, memory and GPUs. */
const HELD = ['cpu', 'memory', GPU_RESOURCE]

/** Whether a node's kubelet says that all is well. */
export function isReady({ status }: V1Node): boolean {
  return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true
}

/**
 * Whether a node is being taken out of service, and gets no machine any more: it was cordoned, it is being deleted, or it has a
 * taint that no machine tolerates, as autoscalers give one before they end it. What a node says of itself, such as that its
 * memory is used up, comes and goes.
 */
export function isDraining({ metadata, spec }: Pick<V1Node, 'metadata' | 'spec'>): boolean {
  if (spec?.unschedulable === true || metadata?.deletionTimestamp !== undefined) return true
  return (spec?.taints ?? []).some(
    ({ key, effect }) =>
      effect !== 'PreferNoSchedule' &&
      key !== GPU_RESOURCE &&
      (!key.startsWith(BY_ITSELF) || BY_SOMEBODY.has(key)),
  )
}

/**
 * Whether a pod could be made again on one of these nodes with all of its disks. Whether there is room for it the scheduler
 * alone knows: here a node counts that is large enough when nothing else is on it.
 * @param nodes Of the cluster; the pod's own is none of those that it could go to.
 * @param disks What its claims are bound to.
 */
export function hasElsewhere(
  pod: V1Pod,
  nodes: readonly V1Node[],
  disks: readonly V1PersistentVolume[],
): boolean {
  const { nodeName, nodeSelector = {}, tolerations = [], containers = [] } = pod.spec ?? {}
  const toleratesGpus = tolerations.some(({ key }) => key === GPU_RESOURCE)
  if (disks.some(lastsNowhereElse)) return false
  return nodes.some(node => {
    const { metadata, spec, status } = node
    if (metadata?.name === nodeName || !isReady(node) || isDraining(node)) return false
    if (!toleratesGpus && spec?.taints?.some(isKeptForGpus)) return false
    const isChosen = Object.entries(nodeSelector).every(([name, value]) => metadata?.labels?.[name] === value)
    const fits = HELD.every(name => {
      const wanted = containers.reduce((sum, { resources }) => sum + quantity(resources?.requests?.[name]), 0)
      return quantity(status?.allocatable?.[name]) >= wanted
    })
    return isChosen && fits && disks.every(disk => isHadAt(disk, node))
  })
}

/** Whether a node takes nothing but what asks for GPUs. */
export function isKeptForGpus({ key, effect }: { key: string; effect: string }): boolean {
  return key === GPU_RESOURCE && effect !== 'PreferNoSchedule'
}

/** A folder of some node's, which nobody says the name of: on another one an empty folder would stand in its place. */
function lastsNowhereElse({ spec }: V1PersistentVolume): boolean {
  return spec?.hostPath !== undefined && spec.nodeAffinity?.required === undefined
}

/** Whether a disk can be had at a node; one that says nothing of nodes can be had at all. */
function isHadAt({ spec }: V1PersistentVolume, node: V1Node): boolean {
  const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms
  return terms === undefined || terms.some(term => matches(term, node))
}

function matches(
  { matchExpressions = [], matchFields = [] }: V1NodeSelectorTerm,
  { metadata }: V1Node,
): boolean {
  // By Kubernetes' own rule a term that asks for nothing fits no node.
  if (matchExpressions.length + matchFields.length === 0) return false
  const labels = metadata?.labels ?? {}
  const fields = { 'metadata.name': metadata?.name }
  return (
    matchExpressions.every(one => holds(one, labels[one.key])) &&
    matchFields.every(one => holds(one, one.key === 'metadata.name' ? fields[one.key] : undefined))
  )
}

function holds(
  { operator, values = [] }: { operator: string; values?: string[] },
  value: string | undefined,
): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    case 'Gt':
      return Number(value) > Number(values[0])
    case 'Lt':
      return Number(value) < Number(values[0])
    default:
      return false
  }
}
