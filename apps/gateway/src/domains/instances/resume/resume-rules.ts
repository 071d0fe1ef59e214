import type { Quotes } from '../offer/quotes.ts'
import { type SizedColumns, sizedAs } from '../offer/sized.ts'
import type { InstanceRow } from '../rows.ts'

/** How long after each try that failed the next one comes; after the last there is none before more money comes. */
export const RESUME_PAUSES_MINUTES = [1, 5, 15, 30, 60, 120, 240, 480] as const

export type ResumeTry = NonNullable<InstanceRow['resumeTry']>

type State = Pick<InstanceRow, 'resumeAfterTopup' | 'emptiedAt' | 'resumeTry' | 'stopAt' | 'desired'>

/**
 * Whether an instance that stopped for an empty balance starts again by itself once the balance covers it (B4): its
 * customer asked for it, and the moment at which they wanted it to stop has not passed meanwhile.
 */
export function isToResume(row: State, now: Date): row is State & { emptiedAt: Date } {
  const isOver = row.stopAt !== null && row.stopAt <= now
  return row.resumeAfterTopup && row.emptiedAt !== null && row.desired === 'stopped' && !isOver
}

/** Whether it was given up, so that it waits for more money than has come by then. */
export function isGivenUp({ resumeTry }: Pick<InstanceRow, 'resumeTry'>): boolean {
  return resumeTry !== null && resumeTry.next_at === null
}

/** Since when money has to have come: of one that was given up, after that. */
export function moneySince({ emptiedAt, resumeTry }: { emptiedAt: Date } & Pick<State, 'resumeTry'>): Date {
  return resumeTry?.next_at === null ? new Date(new Date(resumeTry.at).getTime() + 1) : emptiedAt
}

/** Whether its next try is not due yet. */
export function isPausing({ resumeTry }: Pick<InstanceRow, 'resumeTry'>, now: Date): boolean {
  return resumeTry?.next_at != null && new Date(resumeTry.next_at) > now
}

/** What is noted of a try that failed. @param failure As its error says it. */
export function failedTry(before: ResumeTry | null, failure: ResumeTry['failure'], now: Date): ResumeTry {
  // Of one that was given up the tries begin anew: more money has come.
  const attempts = before === null || before.next_at === null ? 0 : before.attempts
  const pause = RESUME_PAUSES_MINUTES[attempts]
  return {
    attempts: attempts + 1,
    failure,
    next_at: pause === undefined ? null : new Date(now.getTime() + pause * 60_000).toISOString(),
    at: now.toISOString(),
  }
}

/**
 * What is set aside at once when an instance starts: its first hour, or the price of its first term.
 * @throws ApiError `region_not_supported` or `gpu_spec_unknown` where it is not offered any more.
 */
export function atOnceMicro(
  quotes: Pick<Quotes, 'rates' | 'term'>,
  row: SizedColumns & Pick<InstanceRow, 'chargeCycle'>,
): bigint {
  const sized = sizedAs(row)
  if (row.chargeCycle !== null) return quotes.term(sized, row.chargeCycle).termMicro
  return quotes.rates(sized).runningMicroPerHour
}
