import type { Instance, InstanceEvent } from '@berth/contract/instances'

/** The way of a start, in order (B6). */
export const START_STEPS = ['scheduled', 'pulling', 'booting', 'probing'] as const
export type StartStep = (typeof START_STEPS)[number]

export interface StepState {
  step: StartStep
  state: 'done' | 'now' | 'later'
  /** How long it took, or takes so far; null where that is not known. */
  seconds: number | null
}

const BEGINNINGS: readonly InstanceEvent['code'][] = [
  'deployed',
  'started_by_customer',
  'restarted_by_customer',
  'moved_by_operator',
]

/**
 * Where a start is, step by step.
 * @param progress Of the instance.
 * @param events Newest first, as far as they are known.
 * @param nowMs Milliseconds since 1970.
 */
export function startSteps(
  progress: NonNullable<Instance['progress']>,
  events: readonly Pick<InstanceEvent, 'code' | 'at'>[],
  nowMs: number,
): readonly StepState[] {
  const current = progress.step === 'ready' ? START_STEPS.length : START_STEPS.indexOf(progress.step)
  const begun = beginnings(events)
  return START_STEPS.map((step, index) => {
    const state = index < current ? 'done' : index === current ? 'now' : 'later'
    const from = begun.get(step)
    const following = START_STEPS.slice(index + 1).find(later => begun.has(later))
    const until = state === 'now' ? nowMs : following && begun.get(following)
    const isKnown = state !== 'later' && from !== undefined && until !== undefined
    return { step, state, seconds: isKnown ? Math.max(0, (until - from) / 1_000) : null }
  })
}

/** When each step of the newest start began, by what happened; that ports are probed is told by no event. */
function beginnings(events: readonly Pick<InstanceEvent, 'code' | 'at'>[]): Map<StartStep, number> {
  const begun = new Map<StartStep, number>()
  for (const { code, at } of events) {
    if (code === 'pulling' || code === 'booting') begun.set(code, begun.get(code) ?? Date.parse(at))
    if (BEGINNINGS.includes(code)) {
      begun.set('scheduled', Date.parse(at))
      break
    }
  }
  return begun
}
