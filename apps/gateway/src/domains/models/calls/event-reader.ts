/** More than any event of an answer has: a piece of text, or what was used. */
const EVENT_BYTES_MAX = 1_048_576
const LF = 0x0a
const CR = 0x0d

/** Thrown where a server sends an event that never ends. */
export class EventTooLong extends Error {
  constructor() {
    super('an event of the answer is too long')
    this.name = 'EventTooLong'
  }
}

/**
 * Cuts a stream of server-sent events into whole events, each with the empty line that ends it, whatever pieces it comes
 * in. No byte is changed.
 */
export function createEventReader() {
  let rest: Buffer = Buffer.alloc(0)
  /** Where in `rest` was looked already. */
  let seen = 0

  return {
    /** @returns The events that this piece ends. @throws EventTooLong */
    read(piece: Uint8Array): Buffer[] {
      rest = rest.length === 0 ? Buffer.from(piece) : Buffer.concat([rest, piece])
      const events: Buffer[] = []
      let from = 0
      for (let at = rest.indexOf(LF, seen); at !== -1; at = rest.indexOf(LF, at + 1)) {
        if (!isBlankLine(rest, from, at)) continue
        events.push(rest.subarray(from, at + 1))
        from = at + 1
      }
      rest = rest.subarray(from)
      // The next end may share its line break with what is here already.
      seen = Math.max(0, rest.length - 2)
      if (rest.length > EVENT_BYTES_MAX) throw new EventTooLong()
      return events
    },
    /** What came after the last whole event. */
    rest: (): Buffer => rest,
  }
}

/** Whether a line break ends an empty line, or the second of two that stand together. */
function isBlankLine(bytes: Buffer, from: number, at: number): boolean {
  const before = at > from && bytes[at - 1] === CR ? at - 2 : at - 1
  return before >= from && bytes[before] === LF
}

/** The data of an event; null where it has none, as a comment. Several lines of data are one text. */
export function dataOf(event: Buffer): string | null {
  const lines = event
    .toString('utf8')
    .split(/\r?\n/)
    .filter(line => line.startsWith('data:'))
    .map(line => line.slice('data:'.length).replace(/^ /, ''))
  return lines.length === 0 ? null : lines.join('\n')
}
