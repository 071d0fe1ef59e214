import type { IncomingMessage } from 'node:http'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type Docker from 'dockerode'
import type { Logger } from 'pino'
import { INSTANCE_LABEL, machineOf } from './container-plan.ts'

const RECONNECT_MS_MIN = 500
const RECONNECT_MS_MAX = 30_000
/** How soon a silent connection is asked for a sign of life: an engine that lost its network closes none. */
const KEEP_ALIVE_MS = 30_000

/** What a machine may have done by itself. */
const EVENTS = ['die', 'destroy', 'oom', 'pause', 'unpause']

interface EngineEvent {
  Actor?: { Attributes?: Record<string, string> }
}

/**
 * Follows the engine's events about one cloud's machines and calls back with their ids. A broken
 * stream is opened again with growing pauses; what may have been missed meanwhile is told by calling back
 * for every machine. Returns the way to stop.
 */
export function followEvents(options: {
  docker: Docker
  cloudId: string
  listIds(): Promise<string[]>
  onChange(id: string): void
  /** Called each time that a stream was opened: from here on, and until it breaks, nothing is missed. */
  onHearing?(): void
  /** Called before a stream that ended is opened again. */
  onBroken(): void
  log: Logger
}): () => void {
  const { docker, cloudId, log } = options
  let stopped = false
  let stream: Readable | null = null
  let timer: NodeJS.Timeout | null = null
  let pauseMs = RECONNECT_MS_MIN
  let attempts = 0

  const open = async () => {
    const isLate = attempts++ > 0
    try {
      const filters = {
        type: ['container'],
        event: EVENTS,
        label: [INSTANCE_LABEL],
      }
      stream = (await docker.getEvents({ filters } as Docker.GetEventsOptions)) as Readable
      if (stopped) {
        stream.destroy()
        return
      }
      pauseMs = RECONNECT_MS_MIN
      ;(stream as IncomingMessage).socket?.setKeepAlive(true, KEEP_ALIVE_MS)
      stream.on('error', () => undefined)
      stream.on('close', () => {
        options.onBroken()
        again()
      })
      const lines = createInterface({ input: stream })
      lines.on('line', line => {
        const id = machineIn(line, cloudId)
        if (id) options.onChange(id)
      })
      // It says again what the stream says; 'close' follows.
      lines.on('error', () => undefined)
      options.onHearing?.()
      if (isLate) for (const id of await options.listIds()) options.onChange(id)
    } catch (error) {
      log.debug({ err: error }, 'no event stream from Docker')
      again()
    }
  }
  const again = () => {
    if (stopped || timer) return
    timer = setTimeout(() => {
      timer = null
      open()
    }, pauseMs)
    timer.unref()
    pauseMs = Math.min(pauseMs * 2, RECONNECT_MS_MAX)
  }

  open()
  return () => {
    stopped = true
    if (timer) clearTimeout(timer)
    stream?.destroy()
  }
}

function machineIn(line: string, cloudId: string): string | null {
  try {
    return machineOf((JSON.parse(line) as EngineEvent).Actor?.Attributes, cloudId)
  } catch {
    return null
  }
}
