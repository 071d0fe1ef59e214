import type { BillStretch } from '@berth/contract/bills'
import type { InstanceEventCode } from '@berth/contract/instance-codes'
import type { InstanceEventsReader } from './receipts.ts'
import type { Snapshot } from './used.ts'

/** An event and the meter that it moves are of one transaction; looks at a machine are a little apart. */
const TOGETHER_MS = 2_000
/** What was found dead ended before anybody saw it. */
const SEEN_LATE_MS = 10 * 60_000

/** What meters begin and end by. That something has stopped only confirms what came before it. */
const CAUSES: ReadonlySet<InstanceEventCode> = new Set<InstanceEventCode>([
  'ready',
  'started_by_customer',
  'started_after_topup',
  'restarted_by_customer',
  'stopped_by_customer',
  'stopped_no_balance',
  'stopped_at_time',
  'stopped_at_limit',
  'stopped_at_budget',
  'stopped_when_idle',
  'stopped_by_operator',
  'moved_by_operator',
  'terminated_by_customer',
  'exited',
  'failed',
  'lost_sight',
  'seen_again',
  'gateway_stopped',
  'gateway_restarted',
  'term_begun',
  'term_renewed',
  'renewed_by_customer',
  'term_ended_early',
  'term_unpaid',
  'released_at_expiry',
  'deleted_when_stopped',
  'deleted_unpaid',
])

type Event = Awaited<ReturnType<InstanceEventsReader>>[number]

/**
 * Stretches with what began and what ended each, where it is an instance's and its events say so.
 * @returns The same stretches, in the same order.
 */
export async function withCauses(
  { instanceEvents }: { instanceEvents: InstanceEventsReader },
  { tx, userId }: Pick<Snapshot, 'tx' | 'userId'>,
  stretches: readonly BillStretch[],
): Promise<BillStretch[]> {
  const ofInstance = Map.groupBy(
    stretches.filter(({ subject }) => subject.kind === 'instance'),
    ({ subject }) => subject.id,
  )
  const found = new Map<string, Event[]>()
  for (const [instanceId, its] of ofInstance) {
    const moments = its.flatMap(({ started_at, ended_at }) =>
      [started_at, ended_at ?? started_at].map(Date.parse),
    )
    const from = new Date(Math.min(...moments) - TOGETHER_MS)
    const to = new Date(Math.max(...moments) + SEEN_LATE_MS)
    const events = await instanceEvents(tx, { userId, instanceId, from, to })
    // Some are told of when they were, which is before others that came to be known earlier.
    found.set(
      instanceId,
      events.toSorted((one, other) => one.at.getTime() - other.at.getTime()),
    )
  }
  return stretches.map(stretch => {
    const events = stretch.subject.kind === 'instance' ? found.get(stretch.subject.id) : undefined
    return events && stretch.charge !== 'once' ? { ...stretch, ...causesOf(stretch, events) } : stretch
  })
}

/**
 * What began and what ended a stretch.
 * @param events Of its instance, oldest first.
 */
function causesOf(
  { charge, started_at, ended_at }: BillStretch,
  events: readonly Event[],
): Pick<BillStretch, 'began_by' | 'ended_by'> {
  const began = Date.parse(started_at)
  const first = events.findLast(
    ({ at, code }) =>
      Math.abs(at.getTime() - began) <= TOGETHER_MS && (CAUSES.has(code) || code === 'stopped'),
  )
  if (ended_at === null) return { began_by: first?.code ?? null, ended_by: null }
  const ended = Date.parse(ended_at)
  const after = events.filter(({ at, code }) => at.getTime() > began && CAUSES.has(code))
  // A term goes on while its machine is stopped, and ends at its hour.
  if (charge === 'term') {
    const over = after.find(({ at }) => Math.abs(at.getTime() - ended) <= TOGETHER_MS)
    return { began_by: first?.code ?? null, ended_by: over?.code ?? null }
  }
  const last =
    after.findLast(({ at }) => at.getTime() <= ended + TOGETHER_MS) ??
    after.find(({ at }) => at.getTime() <= ended + SEEN_LATE_MS)
  return { began_by: first?.code ?? null, ended_by: last?.code ?? null }
}
