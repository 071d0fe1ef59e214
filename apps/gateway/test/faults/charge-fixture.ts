import type { InstanceEventCode } from '@berth/contract/instance-codes'
import type { InstanceEvent } from '@berth/contract/instances'
import type { MachineStretch } from './books-fixture.ts'

/** Whether an instance's machine is charged for in the moment of an event; of one that is not named nothing follows. */
const IS_CHARGED: Partial<Record<InstanceEventCode, boolean>> = {
  deployed: false,
  started_by_customer: false,
  ready: true,
  seen_again: true,
  lost_sight: false,
  stopped: false,
  exited: false,
  failed: false,
  terminated: false,
}
/** Where a machine waits to be let begin, it is charged from one of these on. */
const BEGINNINGS: readonly InstanceEventCode[] = ['ready', 'seen_again']

/**
 * Compares for which time a machine was charged with what its instance went through: never before it was ready, never past
 * its end.
 * @param waits Whether it ran nothing before it was ready. Elsewhere a start but the first is charged from before it.
 * @returns A sentence for each difference.
 */
export function chargeProblems(
  stretches: readonly MachineStretch[],
  events: readonly Pick<InstanceEvent, 'code' | 'at'>[],
  { waits }: { waits: boolean },
): string[] {
  const problems: string[] = []
  const covering = (ms: number) =>
    stretches.filter(({ startedAt, endedAt }) => startedAt <= ms && (endedAt === null || endedAt > ms))
  for (const { code, at } of events) {
    const wanted = IS_CHARGED[code]
    const count = covering(Date.parse(at)).length
    if (wanted !== undefined && count !== Number(wanted)) problems.push(`${count} charges at ${code}, ${at}`)
  }
  const first = Math.min(...stretches.map(({ startedAt }) => startedAt))
  for (const { startedAt } of stretches) {
    const isBeginning = events.some(
      ({ code, at }) => BEGINNINGS.includes(code) && Date.parse(at) === startedAt,
    )
    if (!isBeginning && (waits || startedAt === first)) {
      problems.push(`charged from ${new Date(startedAt).toISOString()} on, when it was not ready`)
    }
  }
  return problems
}
