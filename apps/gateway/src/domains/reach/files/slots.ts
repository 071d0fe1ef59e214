import type { ErrorCode } from '@berth/contract/errors'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { SlotLimits } from './file-limits.ts'

/** Who moves files of which instance. */
export interface FileSubject {
  userId: string
  sessionId: string
  instanceId: string
}

/** One that is under way. */
export interface Slot {
  /** Aborted with the error that it is to end with. */
  signal: AbortSignal
  /** Called at its end. */
  free(): void
}

/** What is under way, and how much of it there may be. */
export interface Slots {
  /** @throws ApiError `transfer_limit` where there are as many as there may be. */
  take(subject: FileSubject): Slot
  /** Sessions that have any. */
  sessions(): Set<string>
  /** Ends those that match. */
  end(code: ErrorCode, which: (subject: FileSubject) => boolean): void
}

/** Makes room for so many. */
export function createSlots(limits: SlotLimits): Slots {
  const taken = new Map<AbortController, FileSubject>()
  return {
    take(subject) {
      const all = [...taken.values()]
      const isFull =
        all.length >= limits.max ||
        all.filter(one => one.instanceId === subject.instanceId).length >= limits.perInstanceMax ||
        all.filter(one => one.userId === subject.userId).length >= limits.perCustomerMax
      if (isFull) throw new ApiError('transfer_limit')
      const abort = new AbortController()
      taken.set(abort, subject)
      return { signal: abort.signal, free: () => taken.delete(abort) }
    },
    sessions: () => new Set([...taken.values()].map(({ sessionId }) => sessionId)),
    end(code, which) {
      for (const [abort, subject] of taken) if (which(subject)) abort.abort(new ApiError(code))
    },
  }
}
