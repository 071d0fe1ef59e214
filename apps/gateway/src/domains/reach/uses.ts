import type { Logger } from 'pino'
import { createLoop, type Loop } from '../../platform/loop.ts'
import type { Instances } from '../instances/instances.ts'

/** That an instance is used is written down this often while somebody is connected to it. */
const WRITE_MS = 30_000
/** Connections that come and go within so long are written down together. */
const GATHER_MS = 1_000
/** Nobody is connected: nothing to do. */
const IDLE_MS = 3_600_000

/** Who is connected to which instances through this gateway, written down for all of them to know (B5). */
export interface Uses extends Pick<Loop, 'start' | 'stop'> {
  /** Somebody is connected to an instance from now on. Whoever asks has seen that it is theirs. @returns To call at the end. */
  hold(instanceId: string): () => void
}

/** Makes what writes down which instances are used: sparingly, in one statement for all of them. */
export function createUses({
  instances,
  log,
}: {
  instances: Pick<Instances, 'noteUsed'>
  log: Pick<Logger, 'error'>
}): Uses {
  const held = new Map<string, number>()
  /** Those that are, or were, held since it was last written. */
  const used = new Set<string>()
  /** When those were written down that were a moment ago, in ms. */
  const written = new Map<string, number>()

  const loop = createLoop({
    name: 'reach.uses',
    pauseMs: IDLE_MS,
    errorPauseMs: GATHER_MS,
    log,
    async run() {
      const nowMs = performance.now()
      for (const [id, atMs] of written) if (nowMs - atMs >= WRITE_MS) written.delete(id)
      for (const id of held.keys()) used.add(id)
      if (used.size === 0) return
      const ids = [...used]
      used.clear()
      try {
        await instances.noteUsed(ids)
        for (const id of ids) written.set(id, nowMs)
      } catch (error) {
        for (const id of ids) used.add(id)
        throw error
      }
    },
    dueInMs: () => (held.size + used.size === 0 ? null : WRITE_MS),
  })

  return {
    start: loop.start,
    stop: loop.stop,
    hold(instanceId) {
      const count = held.get(instanceId) ?? 0
      held.set(instanceId, count + 1)
      used.add(instanceId)
      loop.wake(written.has(instanceId) ? WRITE_MS : GATHER_MS)
      let isHeld = true
      return () => {
        if (!isHeld) return
        isHeld = false
        const left = (held.get(instanceId) ?? 1) - 1
        if (left > 0) held.set(instanceId, left)
        else held.delete(instanceId)
      }
    },
  }
}
