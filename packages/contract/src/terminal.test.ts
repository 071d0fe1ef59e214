import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { TERMINAL_COLS_MAX, TERMINAL_ROWS_MAX } from './limits.ts'
import {
  decodeClientFrame,
  decodeServerFrame,
  encodeClientFrame,
  encodeServerFrame,
  TERMINAL_CLOSE,
  TERMINAL_FRAME,
  TERMINAL_INPUT_BYTES_MAX,
  type TerminalClientFrame,
  type TerminalEnd,
  type TerminalServerFrame,
  terminalEndOf,
} from './terminal.ts'

// Goal: what one end says is what the other hears, and nonsense is heard as nonsense. Method: every frame goes
// there and back; arbitrary bytes go into both decoders.

describe('[R2.23] terminal frames', () => {
  test('a client frame comes out as it went in', () => {
    fc.assert(
      fc.property(clientFrame(), frame => {
        expect(decodeClientFrame(encodeClientFrame(frame))).toEqual(frame)
      }),
    )
  })

  test('a server frame comes out as it went in', () => {
    fc.assert(
      fc.property(serverFrame(), frame => {
        expect(decodeServerFrame(encodeServerFrame(frame))).toEqual(frame)
      }),
    )
  })

  test('a frame that is a view into a larger buffer is read at its own place', () => {
    const around = Uint8Array.of(9, 9, ...encodeClientFrame({ kind: 'resize', cols: 80, rows: 24 }), 9)
    expect(decodeClientFrame(around.subarray(2, 7))).toEqual({ kind: 'resize', cols: 80, rows: 24 })
  })

  test('arbitrary bytes never throw, and what they decode to is within the limits', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), bytes => {
        decodeServerFrame(bytes)
        const frame = decodeClientFrame(bytes)
        if (frame?.kind !== 'resize') return
        expect(frame.cols).toBeGreaterThanOrEqual(1)
        expect(frame.cols).toBeLessThanOrEqual(TERMINAL_COLS_MAX)
        expect(frame.rows).toBeGreaterThanOrEqual(1)
        expect(frame.rows).toBeLessThanOrEqual(TERMINAL_ROWS_MAX)
      }),
    )
  })

  test.each([
    ['nothing', []],
    ['an unknown kind', [0x7f, 1]],
    ['a frame of the server', [TERMINAL_FRAME.output, 1]],
    ['a short resize', [TERMINAL_FRAME.resize, 0, 80, 0]],
    ['a long resize', [TERMINAL_FRAME.resize, 0, 80, 0, 24, 0]],
    ['a resize to no columns', [TERMINAL_FRAME.resize, 0, 0, 0, 24]],
    ['a resize past the limit', [TERMINAL_FRAME.resize, 0xff, 0xff, 0, 24]],
    ['a short ack', [TERMINAL_FRAME.ack, 0, 0, 1]],
  ])('the server takes no %s', (_, bytes) => {
    expect(decodeClientFrame(Uint8Array.from(bytes))).toBeNull()
  })

  test('input past the limit is refused at both ends', () => {
    const bytes = new Uint8Array(TERMINAL_INPUT_BYTES_MAX + 1)
    expect(() => encodeClientFrame({ kind: 'input', bytes })).toThrow(RangeError)
    expect(decodeClientFrame(Uint8Array.of(TERMINAL_FRAME.input, ...bytes))).toBeNull()
  })

  test('an exit for a reason that does not exist is passed over', () => {
    const text = new TextEncoder().encode('{"reason":"toString","code":1}')
    expect(decodeServerFrame(Uint8Array.of(TERMINAL_FRAME.exit, ...text))).toBeNull()
  })
})

describe('close codes', () => {
  test('each end has its own code, in the range that is free for applications or 1001', () => {
    const codes = ends().map(end => TERMINAL_CLOSE[end].code)
    expect(new Set(codes).size).toBe(codes.length)
    for (const code of codes) expect(code === 1001 || (code >= 4000 && code <= 4999)).toBe(true)
  })

  test('a code leads back to its end, and a foreign one to none', () => {
    for (const end of ends()) expect(terminalEndOf(TERMINAL_CLOSE[end].code)).toBe(end)
    expect(terminalEndOf(1006)).toBeNull()
  })
})

function ends(): TerminalEnd[] {
  return Object.keys(TERMINAL_CLOSE) as TerminalEnd[]
}

function clientFrame(): fc.Arbitrary<TerminalClientFrame> {
  return fc.oneof(
    fc.record({ kind: fc.constant('input' as const), bytes: fc.uint8Array() }),
    fc.record({
      kind: fc.constant('resize' as const),
      cols: fc.integer({ min: 1, max: TERMINAL_COLS_MAX }),
      rows: fc.integer({ min: 1, max: TERMINAL_ROWS_MAX }),
    }),
    fc.record({ kind: fc.constant('ack' as const), bytes: fc.integer({ min: 0, max: 0xffff_ffff }) }),
  )
}

function serverFrame(): fc.Arbitrary<TerminalServerFrame> {
  const reason = fc.constantFrom(...ends())
  return fc.oneof(
    fc.record({ kind: fc.constant('output' as const), bytes: fc.uint8Array() }),
    fc.constantFrom({ kind: 'replay_begin' as const }, { kind: 'replay_end' as const }),
    fc.record({ kind: fc.constant('exit' as const), reason, code: fc.option(fc.integer()) }),
    fc.record({ kind: fc.constant('error' as const), reason, message: fc.string({ unit: 'binary' }) }),
  )
}
