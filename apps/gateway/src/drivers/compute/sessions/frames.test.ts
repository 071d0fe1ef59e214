import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import {
  encodeChunks,
  encodeFrame,
  encodeJson,
  FRAME,
  FRAME_GATHERED_BYTES_MAX,
  FrameReader,
} from './frames.ts'

test('frames come out as they went in, however the stream is cut', () => {
  const type = fc.constantFrom(FRAME.ok, FRAME.data, FRAME.stderr, FRAME.exit, FRAME.resize)
  const payload = fc.uint8Array({ minLength: 1, maxLength: 300 })
  fc.assert(
    fc.property(
      fc.array(fc.tuple(type, payload)),
      fc.array(fc.integer({ min: 1, max: 40 })),
      (frames, cuts) => {
        const stream = Buffer.concat(frames.map(([kind, bytes]) => encodeFrame(kind, bytes)))
        expect(joined(readAll(stream, cuts))).toEqual(joined(frames))
      },
    ),
  )
})

test('what is held is neither lost nor handed on, and comes in order after', () => {
  const seen: string[] = []
  const reader = new FrameReader((_type, payload) => {
    seen.push(payload.toString())
    if (payload.toString() === 'one') reader.hold()
  })
  reader.push(Buffer.concat(['one', 'two', 'three'].map(word => encodeFrame(FRAME.data, Buffer.from(word)))))
  expect(seen).toEqual(['one'])
  reader.release()
  expect(seen).toEqual(['one', 'two', 'three'])
})

test('what comes behind a frame can be taken out as it is', () => {
  let rest = Buffer.alloc(0)
  const reader = new FrameReader(() => {
    reader.hold()
    rest = reader.takeRest() as Buffer<ArrayBuffer>
  })
  reader.push(Buffer.concat([encodeJson(FRAME.ok, {}), Buffer.from('raw bytes')]))
  expect(rest.toString()).toBe('raw bytes')
})

test('a frame that would fill the memory is refused', () => {
  const header = Buffer.alloc(5)
  header.writeUInt8(FRAME.ok, 0)
  header.writeUInt32BE(FRAME_GATHERED_BYTES_MAX + 1, 1)
  expect(() => new FrameReader(() => undefined).push(header)).toThrow(/past the limit/)
})

test.each([FRAME.data, FRAME.stderr])('a frame of type %i that holds nothing is refused', type => {
  const seen: number[] = []
  const reader = new FrameReader(kind => seen.push(kind))
  expect(() => reader.push(encodeFrame(type, Buffer.alloc(0)))).toThrow(/no data/)
  expect(seen).toEqual([])
})

test('a frame that comes in tiny pieces has little copied for each of them', () => {
  const pieceBytes = 16
  const joined = vi.spyOn(Buffer, 'concat')
  let whole = 0
  const reader = new FrameReader((_type, payload) => {
    whole = payload.length
  })
  const frame = encodeFrame(FRAME.exit, Buffer.alloc(FRAME_GATHERED_BYTES_MAX))
  for (let at = 0; at < frame.length; at += pieceBytes) reader.push(frame.subarray(at, at + pieceBytes))
  const copiedBytes = joined.mock.results.reduce((sum, { value }) => sum + (value as Buffer).length, 0)
  joined.mockRestore()
  expect(whole).toBe(FRAME_GATHERED_BYTES_MAX)
  // What a read from a socket may bring at once is no more to copy than that.
  expect(copiedBytes / (frame.length / pieceBytes)).toBeLessThan(64 * 1024)
})

test('many chunks make the same frame as one', () => {
  const chunks = ['ab', '', 'cde'].map(part => Buffer.from(part))
  expect(encodeChunks(FRAME.data, chunks, 5)).toEqual(encodeFrame(FRAME.data, Buffer.from('abcde')))
})

type Piece = [number, Uint8Array]

function readAll(stream: Buffer, cuts: number[]): Piece[] {
  const pieces: Piece[] = []
  const reader = new FrameReader((type, payload) => pieces.push([type, payload]))
  let at = 0
  for (const cut of cuts) {
    reader.push(stream.subarray(at, at + cut))
    at = Math.min(stream.length, at + cut)
  }
  reader.push(stream.subarray(at))
  return pieces
}

/** Streamed payloads may come in pieces, and empty ones not at all; neighbours of one type are joined. */
function joined(pieces: Piece[]): [number, string][] {
  const streamed = (type: number | undefined) => type === FRAME.data || type === FRAME.stderr
  const result: [number, string][] = []
  for (const [type, bytes] of pieces) {
    const hex = Buffer.from(bytes).toString('hex')
    const last = result.at(-1)
    if (streamed(type) && last?.[0] === type) last[1] += hex
    else if (!streamed(type) || hex !== '') result.push([type, hex])
  }
  return result
}
