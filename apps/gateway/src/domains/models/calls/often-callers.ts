import type { AllowedCall, EndedCall, Wanted } from './allowance-book.ts'

/** Money that is set aside for calls to come. */
export interface Allowance {
  id: string
  amountMicro: bigint
  /** Neither set aside for a call that runs nor used. */
  leftMicro: bigint
  running: number
  /** Calls that are over and not written down. */
  ended: number
  /** When it is over, by `performance.now()`. */
  untilMs: number
  /** The same by the clock of the day: the other one stands still while the computer sleeps. */
  untilAtMs: number
}

export interface Running extends AllowedCall {
  allowance: Allowance
  mostMicro: bigint
  beganMs: number
  isSaid: boolean
}

/** A customer who calls often. */
export interface Often {
  userId: string
  calledMs: number[]
  /** What pays for calls that begin. */
  current: Allowance | null
  /** What pays for calls that began before. */
  former: Set<Allowance>
  running: Set<Running>
  ended: EndedCall[]
  wanted: Wanted | null
  notBeforeMs: number
  /** Grows when what was read of the customer may be true no more. */
  changes: number
  writing: Promise<void> | null
  timer: NodeJS.Timeout | null
}

/** A customer of whom nothing is known yet. */
export function createOften(userId: string): Often {
  return {
    ...{ userId, calledMs: [], current: null, former: new Set(), running: new Set(), ended: [] },
    ...{ wanted: null, notBeforeMs: 0, changes: 0, writing: null, timer: null },
  }
}

/** Whether an allowance pays for nothing more that begins: its time is over by one of both clocks. */
export function isOver({ untilMs, untilAtMs }: Allowance, nowMs: number, now: Date): boolean {
  return nowMs >= untilMs || now.getTime() >= untilAtMs
}

export function allOf({ current, former }: Often): Allowance[] {
  return current ? [current, ...former] : [...former]
}

/** Nothing begins any more that the current allowance pays for. */
export function retire(one: Often): void {
  if (one.current) one.former.add(one.current)
  one.current = null
}

/** What is set aside for calls that run. */
export function outstandingMicro({ running }: Often): bigint {
  return [...running].reduce((sum, { mostMicro }) => sum + mostMicro, 0n)
}

/** Has calls that run be paid for by a new allowance, so that those before it are let go. */
export function moveTo(one: Often, to: Allowance): void {
  for (const call of one.running) {
    if (call.allowance === to || to.leftMicro < call.mostMicro) continue
    to.leftMicro -= call.mostMicro
    to.running += 1
    call.allowance.leftMicro += call.mostMicro
    call.allowance.running -= 1
    call.allowance = to
  }
}

/** Calls that began before a moment and run, of which nothing is written down. */
export function runningLong({ running }: Often, beforeMs: number): Running[] {
  return [...running].filter(({ isSaid, beganMs }) => !isSaid && beganMs < beforeMs)
}

/** Former allowances that nothing needs any more once these calls are written down. */
export function overWith({ former }: Often, ended: readonly EndedCall[]): Allowance[] {
  const inThese = Map.groupBy(ended, ({ allowanceId }) => allowanceId)
  return [...former].filter(
    ({ id, running, ended: waiting }) => running === 0 && waiting === (inThese.get(id)?.length ?? 0),
  )
}

/** Notes that calls wait no more to be written down. */
export function noteEnded(one: Often, ended: readonly EndedCall[]): void {
  const byId = new Map(allOf(one).map(each => [each.id, each]))
  for (const { allowanceId } of ended) {
    const allowance = byId.get(allowanceId)
    if (allowance) allowance.ended -= 1
  }
}
