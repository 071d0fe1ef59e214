/** An event of a model's answer is far shorter; what is longer is no answer. */
const EVENT_CHARS_MAX = 4_000_000
const BETWEEN_EVENTS = /\r?\n\r?\n/
const DATA_LINE = /^data: ?/

/**
 * Reads server-sent events that somebody else has written, whatever their ends of lines are; comments are left out.
 * @param body Of the answer.
 * @param heard Told each time that something came, comments too.
 * @returns The data of each event.
 * @throws What reading throws where the answer breaks off; RangeError where an event has no end.
 */
export async function* rawEvents(
  body: ReadableStream<Uint8Array>,
  heard: () => void,
): AsyncGenerator<string> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  try {
    let rest = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      heard()
      const parts = (rest + decoder.decode(value, { stream: true })).split(BETWEEN_EVENTS)
      rest = parts.pop() ?? ''
      if (rest.length > EVENT_CHARS_MAX) throw new RangeError('An event of the answer has no end.')
      for (const part of parts) {
        const data = dataOf(part)
        if (data !== null) yield data
      }
    }
  } finally {
    void reader.cancel().catch(() => undefined)
  }
}

function dataOf(event: string): string | null {
  const lines = event.split(/\r?\n/).filter(line => DATA_LINE.test(line))
  return lines.length === 0 ? null : lines.map(line => line.replace(DATA_LINE, '')).join('\n')
}
