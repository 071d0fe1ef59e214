import type { Logger } from 'pino'
import type { FollowLimits } from './follow-limits.ts'

/** Gathers which instances have changed, and has them read and told. */
export interface ChangeGatherer {
  /** Notes a change, as the database tells it: whose instance, and its id. */
  note(userId: string, instanceId: string): void
  /** Forgets what is noted of a customer whom nobody follows any more. */
  forget(userId: string): void
}

/**
 * Makes what gathers. The first change after a silence is told at once; what comes within `gatherMs` of the last reading
 * waits for the next one. One reading is under way at a time, of as many instances as `readMax` says, and no customer
 * has more of one than `eventMax`: who changes thousands holds nobody up.
 * @param deps.tell Reads what these instances are now and tells it; is called again with the same where it fails.
 */
export function createChangeGatherer(deps: {
  tell(instanceIds: string[]): Promise<void>
  limits: Pick<FollowLimits, 'gatherMs' | 'readMax' | 'eventMax' | 'retryMs'>
  log: Pick<Logger, 'warn'>
}): ChangeGatherer {
  const { limits } = deps
  const noted = new Map<string, Set<string>>()
  let isAtWork = false

  /** Whoever was looked at goes to the end of the line. */
  function take(): Map<string, string[]> {
    const taken = new Map<string, string[]>()
    let room = limits.readMax
    for (const [userId, ids] of [...noted]) {
      if (room <= 0) break
      const some = [...ids].slice(0, Math.min(room, limits.eventMax))
      room -= some.length
      taken.set(userId, some)
      for (const id of some) ids.delete(id)
      noted.delete(userId)
      if (ids.size > 0) noted.set(userId, ids)
    }
    return taken
  }

  function note(userId: string, instanceId: string): void {
    const ids = noted.get(userId)
    if (ids) ids.add(instanceId)
    else noted.set(userId, new Set([instanceId]))
    void work()
  }

  async function work(): Promise<void> {
    if (isAtWork) return
    isAtWork = true
    // What one transaction changed is heard in one turn.
    await new Promise(resolve => setImmediate(resolve))
    while (noted.size > 0) {
      const taken = take()
      try {
        await deps.tell([...taken.values()].flat())
        await pause(limits.gatherMs)
      } catch (error) {
        deps.log.warn({ err: error }, 'what changed of instances could not be read, and is tried again')
        await pause(limits.retryMs)
        for (const [userId, ids] of taken) for (const id of ids) note(userId, id)
      }
    }
    isAtWork = false
  }

  return { note, forget: userId => void noted.delete(userId) }
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms).unref())
}
