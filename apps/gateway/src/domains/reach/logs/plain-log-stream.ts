import { type Duplex, type Readable, Transform } from 'node:stream'
import { plainLine } from '../plain-log.ts'
import { createLineSplitter } from './split-lines.ts'

/** More than any engine keeps: what goes on past it is no log. */
const DOWNLOAD_BYTES_MAX = 512 * 1024 * 1024

/**
 * A log as plain text, for people and their tools: without what a terminal would obey, and each line as it stood at last.
 * Read no faster than whoever asked reads it.
 * @param source As the machine wrote it; it belongs to the answer from here on. Null where it wrote nothing ever.
 * @param idleMs For how long nobody may read before it is ended.
 * @returns Destroy it to end both.
 */
export function createPlainLogStream(source: Duplex | null, { idleMs }: { idleMs: number }): Readable {
  let text = ''
  let bytes = 0
  const lines = createLineSplitter(line => {
    text += `${plainLine(line)}\n`
  })
  const answer = new Transform({
    transform(piece: Buffer, _encoding, done) {
      idle.refresh()
      bytes += piece.length
      if (bytes > DOWNLOAD_BYTES_MAX) return done(new Error('a log is longer than any that is kept'))
      lines.add(piece)
      done(null, take())
    },
    flush(done) {
      lines.end()
      done(null, take())
    },
    destroy(error, done) {
      clearTimeout(idle)
      source?.destroy()
      done(error)
    },
  })
  const idle = setTimeout(() => answer.destroy(new Error('nobody reads this log')), idleMs)
  idle.unref()
  // It may end before anybody listens.
  answer.on('error', () => undefined)

  function take(): string {
    const taken = text
    text = ''
    return taken
  }

  if (!source) answer.end()
  else {
    // A log that breaks off is not told as whole.
    source.once('error', error => answer.destroy(error))
    source.once('close', () => {
      if (!source.readableEnded) answer.destroy(new Error('the log broke off'))
    })
    source.pipe(answer)
  }
  return answer
}
