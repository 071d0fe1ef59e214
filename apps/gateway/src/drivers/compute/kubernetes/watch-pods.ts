import type { IncomingMessage } from 'node:http'
import { createInterface } from 'node:readline'
import type { V1Pod } from '@kubernetes/client-node'
import type { Logger } from 'pino'
import { asRefusal, KubeRefusal } from './kube-errors.ts'
import type { KubeLink } from './kube-link.ts'
import { INSTANCE_LABEL } from './kube-names.ts'

const AGAIN_MS_MIN = 500
const AGAIN_MS_MAX = 30_000
/** The API server ends a watch by itself after this; a connection that was lost is noticed no later. */
const WATCH_S = 240
const SILENCE_MS = (WATCH_S + 30) * 1_000
/** What was asked about is not kept any more: all is listed anew. */
const STATUS_GONE = 410

interface PodEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  object: V1Pod & { code?: number; message?: string }
}

/**
 * Tells of machines whose pods have changed, for as long as it is let. A watch that ends goes on behind the last version that
 * it has seen, bookmarks included; where the API server does not keep that any more, all is listed, and every machine is told
 * of. What is told is only that one is to be looked at: whoever looks asks the API server, so that old news change nothing.
 * @param options.selector Of which pods.
 * @param options.onOpened Called each time that a watch is open: something may have been missed before.
 * @returns The way to stop.
 */
export function watchPods(options: {
  link: Pick<KubeLink, 'json' | 'stream'>
  selector: string
  onChange(id: string): void
  /** All machines that there are, with pods or without. */
  listIds(): Promise<string[]>
  onOpened?(): void
  log: Logger
}): () => void {
  const { link, selector, log } = options
  const stopping = new AbortController()
  let version: string | null = null
  let pauseMs = AGAIN_MS_MIN
  /** Pods that were told of, by uid, so that one which is gone after a gap is told of, too. */
  let seen = new Map<string, string>()
  /** Whoever begins to watch has looked at all machines; once something may have been missed they are told of. */
  let isFirst = true

  async function list(): Promise<void> {
    const found = await link.json<{ metadata: { resourceVersion: string }; items: V1Pod[] }>(
      'GET',
      '/api/v1/pods',
      { query: { labelSelector: selector }, signal: stopping.signal },
    )
    version = found.metadata.resourceVersion
    const before = seen
    seen = new Map(found.items.flatMap(pod => pairOf(pod)))
    const wasFirst = isFirst
    isFirst = false
    if (wasFirst) return
    const all = await options.listIds()
    for (const id of new Set([...before.values(), ...seen.values(), ...all])) options.onChange(id)
  }

  async function watch(): Promise<void> {
    const stream = await link.stream('/api/v1/pods', {
      query: {
        labelSelector: selector,
        watch: true,
        allowWatchBookmarks: true,
        resourceVersion: version ?? undefined,
        timeoutSeconds: WATCH_S,
      },
      signal: stopping.signal,
    })
    options.onOpened?.()
    for await (const event of eventsOf(stream)) take(event)
  }

  function take({ type, object }: PodEvent): void {
    if (type === 'ERROR') throw asRefusal(object.code ?? 0, JSON.stringify(object))
    version = object.metadata?.resourceVersion ?? version
    pauseMs = AGAIN_MS_MIN
    if (type === 'BOOKMARK') return
    for (const [uid, id] of pairOf(object)) {
      if (type === 'DELETED') seen.delete(uid)
      else seen.set(uid, id)
      options.onChange(id)
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        if (version === null) await list()
        const openedMs = performance.now()
        await watch()
        if (performance.now() - openedMs < AGAIN_MS_MIN) await pause(AGAIN_MS_MIN, stopping.signal)
      } catch (error) {
        if (stopping.signal.aborted) return
        isFirst = false
        const isGone = error instanceof KubeRefusal && error.status === STATUS_GONE
        log.debug({ err: error }, isGone ? 'a watch is listed anew' : 'a watch of pods broke')
        // What else ended it does not say that what was seen is not kept any more.
        if (isGone) version = null
        else await pause(pauseMs, stopping.signal)
        pauseMs = Math.min(pauseMs * 2, AGAIN_MS_MAX)
      }
    }
  }

  void run()
  return () => stopping.abort()
}

/** The events of a watch, until it ends; one that stays silent for longer than it may is over. */
export async function* eventsOf(stream: IncomingMessage): AsyncGenerator<PodEvent> {
  stream.socket.setKeepAlive(true, AGAIN_MS_MAX)
  const patience = setTimeout(() => stream.destroy(), SILENCE_MS)
  const lines = createInterface({ input: stream })
  // It says again what the stream says.
  lines.on('error', () => undefined)
  // A stream that breaks off does not end, which is all that they listen for.
  stream.on('error', () => undefined)
  stream.once('close', () => lines.close())
  try {
    for await (const line of lines) if (line !== '') yield JSON.parse(line) as PodEvent
  } finally {
    clearTimeout(patience)
    stream.destroy()
  }
}

function pairOf({ metadata }: V1Pod): [string, string][] {
  const id = metadata?.labels?.[INSTANCE_LABEL]
  return id !== undefined && metadata?.uid !== undefined ? [[metadata.uid, id]] : []
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
    function done() {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
  })
}
