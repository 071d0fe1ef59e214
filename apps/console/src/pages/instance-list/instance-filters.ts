import { CHANGING_STATUSES, type InstanceStatus } from '@berth/contract/instance-states'
import type { Instance } from '@berth/contract/instances'

/** What the list can be narrowed to (R2.26). */
export const INSTANCE_GROUPS = ['all', 'running', 'changing', 'stopped', 'error'] as const
export type InstanceGroup = (typeof INSTANCE_GROUPS)[number]

/**
 * The group that a status belongs to, beside `all`.
 * @param status Any; `unknown` stands with the errors, because somebody should look at it.
 */
export function groupOf(status: InstanceStatus): Exclude<InstanceGroup, 'all'> {
  if (CHANGING_STATUSES.includes(status)) return 'changing'
  if (status === 'running') return 'running'
  return status === 'stopped' || status === 'exited' ? 'stopped' : 'error'
}

/**
 * The instances in whose name, id or image a text stands, whatever its case and width.
 * @param instances In the order that they are to keep.
 * @param text As typed; blank finds all.
 */
export function findInstances(instances: readonly Instance[], text: string): readonly Instance[] {
  const wanted = plain(text.trim())
  if (wanted === '') return instances
  return instances.filter(one => wordsOf(one).includes(wanted))
}

/**
 * How many instances stand in each group.
 * @param instances Those that the search found, so that each number is what its filter will show.
 */
export function countGroups(instances: readonly Instance[]): Record<InstanceGroup, number> {
  const counts = { all: instances.length, running: 0, changing: 0, stopped: 0, error: 0 }
  for (const { status } of instances) counts[groupOf(status)] += 1
  return counts
}

/**
 * The instances of a group.
 * @param instances In the order that they are to keep.
 */
export function inGroup(instances: readonly Instance[], group: InstanceGroup): readonly Instance[] {
  return group === 'all' ? instances : instances.filter(({ status }) => groupOf(status) === group)
}

/** What is searched in, made once for each instance: of many thousands that takes longer than to search. */
const words = new WeakMap<Instance, string>()

function wordsOf(instance: Instance): string {
  const known = words.get(instance)
  if (known !== undefined) return known
  const { name, instance_id, image_name } = instance
  // No text that is searched for holds a line break.
  const made = plain([name, instance_id, image_name].join('\n'))
  words.set(instance, made)
  return made
}

function plain(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}
