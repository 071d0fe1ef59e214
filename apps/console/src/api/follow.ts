import type { CallData, CallInput, ReadingCall } from '@berth/contract/call'
import { addressOf, failure, fromAnswer, headersOf, parsed, type RequestDeps } from './request.ts'

/** A call that answers with a stream of events. */
type StreamingCall = ReadingCall & { streams: true }

/** An event is far shorter than this; what is longer is none of ours. */
const EVENT_CHARS_MAX = 4_000_000
const DATA = 'data: '
/** Signs of life come each 15 seconds: a stream on which none came for so long leads nowhere any more. */
const SILENCE_MS = 45_000

/**
 * Follows a call that streams, until it ends or its signal is given.
 * @throws ApiError `network` where the stream broke or nothing came for long, `cancelled` by the signal, or what the
 *   gateway refuses.
 */
export type Follow = <C extends StreamingCall>(
  call: C,
  input: CallInput<C>,
  options: {
    signal: AbortSignal
    /** Told once that the gateway answers, before any event: one may be long in coming. */
    onOpen?: () => void
    /** Told each event; the next one is read when it has returned. */
    onEvent: (event: CallData<C>) => void
  },
) => Promise<void>

/**
 * Makes what follows calls that stream.
 * @param deps Those of the request layer.
 */
export function follower(deps: RequestDeps): Follow {
  return async (call, input, { signal, onOpen, onEvent }) => {
    const broken = () => failure(deps, call, signal.aborted ? 'cancelled' : 'network', 0)
    const silence = awaitSilence()
    try {
      const response = await fetch(deps.origin + addressOf(call, input), {
        headers: { ...headersOf(deps, null, null), Accept: 'text/event-stream' },
        signal: AbortSignal.any([signal, silence.signal]),
      }).catch(() => {
        throw broken()
      })
      if (!response.ok || !response.headers.get('content-type')?.startsWith('text/event-stream')) {
        const text = await response.text().catch(() => '')
        throw fromAnswer(deps, call, response.status, parsed(text))
      }
      onOpen?.()
      for await (const text of eventsOf(response.body, { broken, heard: silence.put })) {
        onEvent(call.data.parse(JSON.parse(text)) as CallData<typeof call>)
      }
    } finally {
      silence.stop()
    }
  }
}

/** Gives its signal when nothing was heard for too long; `put` puts that off. */
function awaitSilence() {
  const silent = new AbortController()
  const begin = () => setTimeout(() => silent.abort(), SILENCE_MS)
  let timer = begin()
  return {
    signal: silent.signal,
    put() {
      clearTimeout(timer)
      timer = begin()
    },
    stop: () => clearTimeout(timer),
  }
}

/** The data of each event of a stream. */
async function* eventsOf(
  body: Response['body'],
  { broken, heard }: { broken: () => Error; heard: () => void },
): AsyncGenerator<string> {
  const reader = body?.getReader()
  if (!reader) return
  const decoder = new TextDecoder()
  try {
    let rest = ''
    for (;;) {
      const { done, value } = await reader.read().catch(() => {
        throw broken()
      })
      if (done) return
      heard()
      const parts = (rest + decoder.decode(value, { stream: true })).split('\n\n')
      rest = parts.pop() ?? ''
      if (rest.length > EVENT_CHARS_MAX) throw broken()
      for (const part of parts) if (part.startsWith(DATA)) yield part.slice(DATA.length)
    }
  } finally {
    void reader.cancel().catch(() => undefined)
  }
}
