import { type Duplex, Readable } from 'node:stream'
import type { LogEvent } from '@berth/contract/instance-page'
import type { LogLimits } from './log-limits.ts'
import { createLogLines } from './log-lines.ts'

/** A comment of an event stream: nobody hears it. */
const SIGN_OF_LIFE = ':\n\n'

/** An answer that follows a log, as server-sent events. */
export interface LogStream {
  answer: Readable
  /** Tells why no more comes, and ends. */
  end(why: NonNullable<LogEvent['ended']>): void
}

/**
 * Makes the events of a log that is followed. Who does not read holds the machine's stream up: besides one event nothing
 * is kept for them.
 * @param source As the machine writes; it belongs to the answer from here on. Null where the machine wrote nothing ever.
 */
export function createLogStream(
  source: Duplex | null,
  limits: Pick<LogLimits, 'gatherMs' | 'aliveMs'>,
): LogStream {
  const lines = createLogLines()
  let gathering: NodeJS.Timeout | null = null
  let isWanted = false
  let ended: LogEvent['ended'] = null

  const alive = setInterval(() => {
    if (isWanted) push(SIGN_OF_LIFE)
  }, limits.aliveMs)
  alive.unref()

  const answer = new Readable({
    highWaterMark: 0,
    read() {
      isWanted = true
      flush()
    },
    destroy(error, done) {
      clearInterval(alive)
      if (gathering) clearTimeout(gathering)
      source?.destroy()
      done(error)
    },
  })

  // Whoever asked hears at once that there is an answer, though the machine may be silent for long.
  answer.push(SIGN_OF_LIFE)

  function push(text: string): void {
    isWanted = false
    answer.push(text)
  }

  function flush(): void {
    if (gathering || !isWanted || answer.destroyed) return
    const piece = lines.take()
    if (ended !== null) {
      push(eventOf({ ...(piece ?? { lines: [], open: '', skipped: 0 }), ended }))
      answer.push(null)
    } else if (piece) push(eventOf({ ...piece, ended }))
    // Whoever has taken what there was is ready for more.
    else source?.resume()
  }

  function end(why: NonNullable<LogEvent['ended']>): void {
    if (ended !== null) return
    ended = why
    source?.destroy()
    if (gathering) clearTimeout(gathering)
    gathering = null
    flush()
  }

  source?.on('data', (bytes: Buffer) => {
    lines.add(bytes)
    // More is taken in until the event goes out; then its reader is waited for.
    if (!isWanted) source.pause()
    gathering ??= setTimeout(() => {
      gathering = null
      flush()
    }, limits.gatherMs)
  })
  source?.once('end', () => end('machine'))
  source?.once('close', () => end('machine'))
  source?.on('error', () => end('machine'))
  if (!source) end('machine')
  return { answer, end }
}

function eventOf(event: LogEvent): string {
  return `data: ${JSON.stringify(event)}\n\n`
}
