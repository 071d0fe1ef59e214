import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EscapeTracker } from './escape-tracker.ts'
import { OutputHistory } from './output-history.ts'

// Goal: a replay is always the true end of the output, begins where a fresh terminal can begin, and brings the modes
// along. Method: random output made of whole pieces, cut into random chunks; a replay must begin between two pieces.

const RING_BYTES = 16_384

describe('[B9] the history of a shell', () => {
  test('before the ring is full, the replay is everything', () => {
    const history = new OutputHistory(RING_BYTES)
    history.append(Buffer.from('one\r\n'))
    history.append(Buffer.from('two\x1b[1m'))
    expect(history.replay().toString()).toBe('one\r\ntwo\x1b[1m')
  })

  test('a replay ends as the output did, and begins between two pieces of it', () => {
    fc.assert(
      fc.property(fc.array(piece(), { maxLength: 60 }), fc.infiniteStream(chunkBytes()), (pieces, sizes) => {
        const output = Buffer.concat(pieces.map(text => Buffer.from(text)))
        const history = new OutputHistory(RING_BYTES)
        let at = 0
        while (at < output.length) {
          const bytes = sizes.next().value ?? 1
          history.append(output.subarray(at, at + bytes))
          at += bytes
        }
        const replay = history.replay()
        const shown = output.subarray(output.length - replay.length)
        expect(replay.equals(shown)).toBe(true)
        expect(beginnings(pieces)).toContain(output.length - replay.length)
      }),
      { numRuns: 300 },
    )
  })

  test('most of the ring is replayed', () => {
    const history = new OutputHistory(RING_BYTES)
    for (let line = 0; line < 10_000; line++) history.append(Buffer.from(`line ${line}\r\n`))
    const replay = history.replay().toString()
    expect(replay.length).toBeGreaterThan(RING_BYTES / 3)
    expect(replay).toMatch(/^line \d+\r\n/)
    expect(replay.endsWith('line 9999\r\n')).toBe(true)
  })

  test('modes whose sequences are gone come first in the replay', () => {
    const history = new OutputHistory(RING_BYTES)
    history.append(Buffer.from('\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[?2004l\x1b[?1000;1006h'))
    expect(history.alternateScreen).toBe(true)
    flood(history)
    expect(history.replay().toString().startsWith('\x1b[?1049h\x1b[?25l\x1b[?1000h\x1b[?1006hx')).toBe(true)
    history.append(Buffer.from('\x1b[?1049l'))
    expect(history.alternateScreen).toBe(false)
    history.append(Buffer.from('\x1bc'))
    flood(history)
    expect(history.replay().toString()).toMatch(/^x+\r\n/)
  })

  test('a string that never ends leaves nothing to replay, and nothing grows', () => {
    const history = new OutputHistory(RING_BYTES)
    history.append(Buffer.from('\x1bPq'))
    flood(history)
    expect(history.replay()).toHaveLength(0)
    history.append(Buffer.from('\x1b\\back\r\n'))
    flood(history)
    expect(history.replay().toString()).toMatch(/^x+\r\n/)
    expect(history.bytesHeld).toBe(RING_BYTES)
  })
})

describe('the escape tracker', () => {
  test.each([
    ['plain text', 'abc', 'abc'],
    ['colours', 'a\x1b[1;31mb\x1b[0mc', 'abc'],
    ['a title that BEL ends', 'a\x1b]0;title\x07b', 'ab'],
    ['a title that ST ends', 'a\x1b]0;title\x1b\\b', 'ab'],
    ['a device string, which BEL does not end', 'a\x1bPq\x07#0\x1b\\b', 'ab'],
    ['a character set', 'a\x1b(0b', 'ab'],
    ['a character set of two bytes', 'a\x1b$(Db', 'ab'],
    ['a sequence that another one breaks off', 'a\x1b[12\x1b[3mb', 'ab'],
    ['a sequence that is cancelled', 'a\x1b[12\x18b', 'ab'],
    ['a sequence that has not ended', 'a\x1b[12', 'a'],
  ])('finds the text between sequences: %s', (_, output, text) => {
    const chunk = Buffer.from(output)
    let found = ''
    new EscapeTracker().feed(chunk, (from, to) => {
      found += chunk.subarray(from, to).toString()
    })
    expect(found).toBe(text)
  })

  test('parameters without end are nobody’s modes', () => {
    const tracker = new EscapeTracker()
    tracker.feed(Buffer.from(`\x1b[?${'1;'.repeat(1_000)}1049h\x1b[?${'9'.repeat(400)}h`), () => undefined)
    expect(tracker.alternateScreen).toBe(false)
    expect(tracker.modePrefix).toBe('\x1b[?1h')
  })
})

function flood(history: OutputHistory): void {
  for (let line = 0; line < 1_000; line++) history.append(Buffer.from(`${'x'.repeat(78)}\r\n`))
}

/** Something that is shown whole or not at all. No mode switches: the replay would put them in front. */
function piece(): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 3_000 }).map(count => 'é漢x🙂'.repeat(count)) },
    fc.constantFrom(
      '\r\n',
      '\x1b[1;31m',
      '\x1b[0m',
      '\x1b(B',
      '\x1b]0;a title\x07',
      '\x1b]8;;http://x\x1b\\',
    ),
    fc.integer({ min: 1, max: 2_000 }).map(count => `\x1bPq${'#0~\n'.repeat(count)}\x1b\\`),
  )
}

function chunkBytes(): fc.Arbitrary<number> {
  return fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 50, max: 100_000 }))
}

/** Offsets at which a replay may begin: the end, and before each character of text and each sequence. */
function beginnings(pieces: string[]): Set<number> {
  const offsets = new Set<number>([0])
  let at = 0
  for (const text of pieces) {
    for (const unit of text.startsWith('\x1b') ? [text] : text) {
      offsets.add(at)
      at += Buffer.byteLength(unit)
    }
    offsets.add(at)
  }
  return offsets
}
