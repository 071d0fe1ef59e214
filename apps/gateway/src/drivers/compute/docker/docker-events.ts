import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type Docker from 'dockerode'
import type { Logger } from 'pino'
import { INSTALLATION_LABEL, INSTANCE_LABEL } from './container-plan.ts'

const RECONNECT_MS_MIN = 500
const RECONNECT_MS_MAX = 30_000

/** What a machine may have done by itself. */
const EVENTS = ['die', 'destroy', 'oom', 'pause', 'unpause']

interface EngineEvent {
  Actor?: { Attributes?: Record<string, string> }
}

/**
 * Follows the engine's events about one installation's machines and calls back with their ids. A broken
 * stream is opened again with growing pauses; what may have been missed meanwhile is told by calling back
 * for every machine. Returns the way to stop.
 */
export function followEvents(options: {
  docker: Docker
  installationId: string
  listIds(): Promise<string[]>
  onChange(id: string): void
  log: Logger
}): () => void {
  const { docker, installationId, log } = options
  let stopped = false
  let stream: Readable | null = null
  let timer: NodeJS.Timeout | null = null
  let pauseMs = RECONNECT_MS_MIN
  let connections = 0

  const open = async () => {
    try {
      const filters = {
        type: ['container'],
        event: EVENTS,
        label: [`${INSTALLATION_LABEL}=${installationId}`],
      }
      stream = (await docker.getEvents({ filters } as Docker.GetEventsOptions)) as Readable
      if (stopped) {
        stream.destroy()
        return
      }
      pauseMs = RECONNECT_MS_MIN
      stream.on('error', () => undefined)
      stream.on('close', again)
      createInterface({ input: stream }).on('line', line => {
        const id = instanceOf(line)
        if (id) options.onChange(id)
      })
      if (connections++ > 0) for (const id of await options.listIds()) options.onChange(id)
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

function instanceOf(line: string): string | null {
  try {
    return (JSON.parse(line) as EngineEvent).Actor?.Attributes?.[INSTANCE_LABEL] ?? null
  } catch {
    return null
  }
}
