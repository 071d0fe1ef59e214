import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createEventReader, dataOf, EventTooLong } from './event-reader.ts'

const END = fc.constantFrom('\n\n', '\r\n\r\n')
const event = fc
  .tuple(fc.string({ unit: 'grapheme', maxLength: 20 }), END)
  .map(([text, end]) => `data: ${text.replace(/[\r\n]/g, ' ')}${end}`)

/** The same bytes in pieces, cut wherever. */
function cut(bytes: Buffer, at: readonly number[]): Buffer[] {
  const places = [...new Set(at.map(one => one % (bytes.length + 1)))].toSorted((a, b) => a - b)
  return [...places, bytes.length].map((to, index) => bytes.subarray(index === 0 ? 0 : places[index - 1], to))
}

describe('[B10] events of an answer', () => {
  test('come whole and unchanged, in whatever pieces they arrive', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 8 }), fc.array(fc.nat(400)), (events, at) => {
        const reader = createEventReader()
        const read = cut(Buffer.from(events.join('')), at).flatMap(piece => reader.read(piece))
        expect(read.map(String)).toEqual(events)
        expect(reader.rest()).toHaveLength(0)
      }),
    )
  })

  test('what is not ended is the rest, and one that never ends is given up', () => {
    const reader = createEventReader()
    expect(reader.read(Buffer.from('data: a\n\ndata: b')).map(String)).toEqual(['data: a\n\n'])
    expect(String(reader.rest())).toBe('data: b')
    const piece = Buffer.alloc(65_536, 'x')
    expect(() => {
      for (let times = 0; times < 20; times++) reader.read(piece)
    }).toThrow(EventTooLong)
  })

  test('say their data, in one line or several, and nothing where they have none', () => {
    expect(dataOf(Buffer.from('event: x\ndata: {"a":1}\n\n'))).toBe('{"a":1}')
    expect(dataOf(Buffer.from('data:one\r\ndata: two\r\n\r\n'))).toBe('one\ntwo')
    expect(dataOf(Buffer.from(': still here\n\n'))).toBeNull()
  })
})
