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
/** Where a machine waits to be let begin, it is metered from one of these on. */
const BEGINNINGS: readonly InstanceEventCode[] = ['ready', 'seen_again', 'term_ended_early']
/** With one of these a machine begins another run; the one of its deploy may never have been ready. */
const STARTS_AGAIN: readonly InstanceEventCode[] = ['started_by_customer', 'restarted_by_customer']

/**
 * Compares for which time a machine was charged with what its instance went through: never before it was ready, never past
 * its end, and not by the hour what is paid for in advance, which is paid for once.
 * @param waits Whether it ran nothing before it was ready. Elsewhere a start but the first is charged from before it.
 * @returns A sentence for each difference.
 */
export function chargeProblems(
  stretches: readonly MachineStretch[],
  events: readonly Pick<InstanceEvent, 'code' | 'at'>[],
  { waits }: { waits: boolean },
): string[] {
  const problems: string[] = []
  // One that was given back before it began has no length.
  const terms = stretches.filter(({ term, startedAt, endedAt }) => term !== null && startedAt !== endedAt)
  const metered = stretches.filter(({ term }) => term === null)
  for (const { code, at } of events) {
    const ms = Date.parse(at)
    const times = covering(terms, ms)
    const wanted = times > 0 ? false : IS_CHARGED[code]
    const count = covering(metered, ms)
    if (times > 1) problems.push(`paid for ${times} times in advance at ${code}, ${at}`)
    if (wanted !== undefined && count !== Number(wanted)) problems.push(`${count} charges at ${code}, ${at}`)
  }
  for (const { startedAt, endedAt } of metered) {
    const isBeginning = events.some(
      ({ code, at }) => BEGINNINGS.includes(code) && Date.parse(at) === startedAt,
    )
    const isAnotherStart = events.some(
      ({ code, at }) => STARTS_AGAIN.includes(code) && Date.parse(at) <= startedAt,
    )
    if (!isBeginning && (waits || !isAnotherStart)) {
      problems.push(`charged from ${new Date(startedAt).toISOString()} on, when it was not ready`)
    }
    const until = endedAt ?? Number.POSITIVE_INFINITY
    if (terms.some(term => term.startedAt < until && startedAt < (term.endedAt ?? 0))) {
      problems.push(`metered from ${new Date(startedAt).toISOString()} on within a term`)
    }
  }
  return problems
}

/** How many of these stretches there are at a moment, in ms since 1970. */
function covering(stretches: readonly MachineStretch[], ms: number): number {
  return stretches.filter(({ startedAt, endedAt }) => startedAt <= ms && (endedAt === null || endedAt > ms))
    .length
}
