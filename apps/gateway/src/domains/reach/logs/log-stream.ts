import { type Duplex, Readable } from 'node:stream'
import type { LogEvent, LogSearchEvent } from '@berth/contract/instance-page'
import type { LogLimits } from './log-limits.ts'
import { createLogLines } from './log-lines.ts'
import { createLogSearch } from './log-search.ts'

/** A comment of an event stream: nobody hears it. */
const SIGN_OF_LIFE = ':\n\n'

/** Why whoever reads a log is left, besides that it is over. */
export type WhyLeft = 'session' | 'gateway'

/** An answer that tells of a log, as server-sent events. */
export interface LogStream {
  answer: Readable
  /** Tells why no more comes, and ends. */
  end(why: WhyLeft): void
}

type Timing = Pick<LogLimits, 'gatherMs' | 'aliveMs'>

/** What is made of a log's bytes until it is told. */
interface Gatherer<Piece> {
  add(bytes: Buffer): void
  /** There is no more to come. */
  finish?(): void
  /** @returns What there is to tell; null where that is nothing. */
  take(): Piece | null
}

/**
 * Makes the events of a log that is followed.
 * @param source As the machine writes; it belongs to the answer from here on. Null where the machine wrote nothing ever.
 */
export function createLogStream(source: Duplex | null, timing: Timing): LogStream {
  const event = (piece: Omit<LogEvent, 'ended'> | null, ended: LogEvent['ended']): LogEvent => ({
    ...(piece ?? { lines: [], open: '', skipped: 0 }),
    ended,
  })
  return createEvents(source, createLogLines(), { ...timing, event, over: 'machine', broken: 'machine' })
}

/**
 * Makes the events of a search in a log.
 * @param source All that is kept of it; it belongs to the answer from here on. Null where the machine wrote nothing ever.
 * @param timing.searchMs After so long it ends with what was found.
 */
export function createSearchStream(
  source: Duplex | null,
  text: string,
  timing: Timing & Pick<LogLimits, 'searchMs'>,
): LogStream {
  let last: Omit<LogSearchEvent, 'ended'> = { matches: [], found: 0, lines: 0, bytes: 0 }
  const event = (piece: typeof last | null, ended: LogSearchEvent['ended']): LogSearchEvent => {
    last = { ...(piece ?? last), matches: [] }
    return { ...last, matches: piece?.matches ?? [], ended }
  }
  const { answer, end } = createEvents(source, createLogSearch(text), {
    ...timing,
    event,
    over: 'whole',
    broken: 'gateway',
  })
  const timer = setTimeout(() => end('time'), timing.searchMs)
  answer.once('close', () => clearTimeout(timer))
  return { answer, end }
}

/**
 * Makes events of what a machine wrote. Who does not read holds the machine's stream up: besides one event nothing is kept
 * for them.
 * @param how.event What is told; the last one says why it ended: `over` where the machine's stream did, `broken` where that
 *   broke off.
 */
function createEvents<Piece, Ended extends string>(
  source: Duplex | null,
  gatherer: Gatherer<Piece>,
  how: Timing & { event(piece: Piece | null, ended: Ended | null): object; over: Ended; broken: Ended },
) {
  let gathering: NodeJS.Timeout | null = null
  let isWanted = false
  let ended: Ended | null = null

  const alive = setInterval(() => {
    if (isWanted) push(SIGN_OF_LIFE)
  }, how.aliveMs)
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
    const piece = gatherer.take()
    if (ended !== null) {
      push(textOf(how.event(piece, ended)))
      answer.push(null)
    } else if (piece) push(textOf(how.event(piece, null)))
    // Whoever has taken what there was is ready for more.
    else source?.resume()
  }

  function end(why: Ended): void {
    if (ended !== null) return
    ended = why
    source?.destroy()
    if (gathering) clearTimeout(gathering)
    gathering = null
    gatherer.finish?.()
    flush()
  }

  source?.on('data', (bytes: Buffer) => {
    gatherer.add(bytes)
    // More is taken in until the event goes out; then its reader is waited for.
    if (!isWanted) source.pause()
    gathering ??= setTimeout(() => {
      gathering = null
      flush()
    }, how.gatherMs)
  })
  source?.once('end', () => end(how.over))
  source?.once('close', () => end(how.broken))
  source?.on('error', () => end(how.broken))
  if (!source) end(how.over)
  return { answer, end }
}

function textOf(event: object): string {
  return `data: ${JSON.stringify(event)}\n\n`
}
