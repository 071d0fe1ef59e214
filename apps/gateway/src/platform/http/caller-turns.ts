import type { Call } from '@berth/contract/call'
import { createAtOnceEach } from '../at-once.ts'
import { ApiError } from './api-error.ts'
import { countedAddress } from './counted-address.ts'

/**
 * Calls of one customer, or of the guests of one address, that one gateway works on at a time. Each may hold a connection of
 * the pool, of which there are twenty, and changes of one thing wait for each other there. Calls that wait for machines and
 * other servers hold none meanwhile, so there may be more of them: as many as a customer's files may be asked for and moved.
 */
export const QUICK_AT_ONCE_MAX = 8
export const SLOW_AT_ONCE_MAX = 32
/** More than a page ever asks for at once; what waits holds its body in memory. */
export const WAITING_MAX = 200

const QUICK: ReadonlySet<Call['timeout']> = new Set(['fast', 'normal', 'default'])

/** Who calls: a customer from anywhere, a guest by the address. */
export interface Calling {
  caller: { userId: string } | null
  /** Undefined where they have gone by now. */
  ip: string | undefined
}

/**
 * Makes the turns: however many calls somebody makes at once, few of them are worked on, so that others' calls wait for those
 * few and not for all.
 */
export function createCallerTurns() {
  const quick = createAtOnceEach(QUICK_AT_ONCE_MAX, { waitingMax: WAITING_MAX, refuse })
  const slow = createAtOnceEach(SLOW_AT_ONCE_MAX, { waitingMax: WAITING_MAX, refuse })

  /**
   * Waits for the turn of a call, and works on it.
   * @param call Null for what is no call.
   * @throws ApiError `too_many_requests` where too many wait already; what `work` throws.
   */
  return function inTurn<Result>(
    call: Pick<Call, 'timeout' | 'bytes'> | null,
    { caller, ip }: Calling,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const isQuick = call !== null && !call.bytes && QUICK.has(call.timeout)
    return (isQuick ? quick : slow)(caller?.userId ?? countedAddress(ip ?? ''), work)
  }
}

export type CallerTurns = ReturnType<typeof createCallerTurns>

function refuse(): never {
  throw new ApiError('too_many_requests', { values: { seconds: 1 } })
}
