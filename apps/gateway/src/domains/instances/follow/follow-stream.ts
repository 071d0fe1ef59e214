import { Readable } from 'node:stream'
import type { InstancesEvent } from '@berth/contract/instance-follow'

/** A comment of an event stream: nobody hears it. */
const SIGN_OF_LIFE = Buffer.from(':\n\n')

/** Changes of one customer's instances, in one language: each as JSON, or null where it is gone. */
export interface Changes {
  byId: ReadonlyMap<string, string | null>
  /** All of them as one event, made once for all who follow. */
  event: Buffer
}

/** An answer that follows a customer's instances, as server-sent events. */
export interface FollowStream {
  answer: Readable
  tell(changes: Changes): void
  /** Something was missed: all is to be read again. */
  missed(): void
  /** Sends a sign of life. Who took none of what was sent since the one before is cut off. */
  alive(): void
  /** Tells why no more comes, and ends. */
  end(why: NonNullable<InstancesEvent['ended']>): void
}

/**
 * Makes the answer to one follower. For one who does not read, the newest of each instance waits, or one word that all
 * is to be read again: never more than `waitingMax` changes.
 */
export function createFollowStream({ waitingMax }: { waitingMax: number }): FollowStream {
  let waiting = new Map<string, string | null>()
  // Whoever begins to follow has read nothing yet that counts.
  let reread = true
  let ended: InstancesEvent['ended'] = null
  let isWanted = false
  let wasTaken = true

  const answer = new Readable({
    highWaterMark: 0,
    read() {
      isWanted = true
      wasTaken = true
      flush()
    },
  })

  function push(text: Buffer): void {
    isWanted = false
    answer.push(text)
  }

  function flush(): void {
    if (!isWanted || answer.destroyed) return
    if (reread || waiting.size > 0 || ended !== null) {
      const told = waiting
      const isReread = reread
      waiting = new Map()
      reread = false
      push(eventOf(told, { reread: isReread, ended }))
    }
    if (ended !== null) answer.push(null)
  }

  function missed(): void {
    waiting.clear()
    reread = true
    flush()
  }

  return {
    answer,
    tell(changes) {
      if (ended !== null || answer.destroyed) return
      // What is to be read again is read after this.
      if (reread) return flush()
      if (isWanted && waiting.size === 0) return push(changes.event)
      for (const [id, text] of changes.byId) waiting.set(id, text)
      if (waiting.size > waitingMax) missed()
      else flush()
    },
    missed,
    alive() {
      if (!wasTaken) return void answer.destroy()
      wasTaken = isWanted
      if (isWanted) push(SIGN_OF_LIFE)
    },
    end(why) {
      if (ended !== null) return
      ended = why
      flush()
    },
  }
}

/**
 * Puts an event together from what is JSON already, so that an instance is written once for all who follow it.
 * @param byId As in `Changes`.
 */
export function eventOf(
  byId: Changes['byId'],
  { reread, ended }: Pick<InstancesEvent, 'reread' | 'ended'> = { reread: false, ended: null },
): Buffer {
  const instances: string[] = []
  const gone: string[] = []
  for (const [id, text] of byId) {
    if (text === null) gone.push(id)
    else instances.push(text)
  }
  const rest = JSON.stringify({ gone, reread, ended } satisfies Omit<InstancesEvent, 'instances'>)
  return Buffer.from(`data: {"instances":[${instances.join()}],${rest.slice(1)}\n\n`)
}
