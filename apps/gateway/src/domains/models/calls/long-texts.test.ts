import { MODEL_BODY_BYTES_MAX } from '@berth/contract/limits'
import { describe, expect, test, vi } from 'vitest'
import { liftLongTexts } from './long-texts.ts'

const ids = { secret: () => 'mark' }
const BODY_BYTES = 55_000_000
const picture = `"data:image/png;base64,${'A'.repeat(20_000)}"`

/** What a body is lifted to, and where in it the platform's own search was begun. */
function lift(text: string) {
  const json = Buffer.from(text)
  const searches = vi.spyOn(json, 'indexOf')
  const lifted = liftLongTexts(json, ids)
  return { lifted, at: searches.mock.calls.map(([, from]) => Number(from)) }
}

describe('long texts', () => {
  test('are set apart as they stand, and short ones stay', () => {
    const { lifted } = lift(`{"a":"short \\" \\\\","b":${picture},"c":[${picture}],"d":""}`)
    expect(lifted?.json.toString()).toBe('{"a":"short \\" \\\\","b":"mark-0","c":["mark-1"],"d":""}')
    expect([...(lifted?.texts ?? [])].map(([mark, text]) => [mark, text.toString()])).toEqual([
      ['mark-0', picture],
      ['mark-1', picture],
    ])
  })

  test('may have as many quotes as words may be long, also one that never ends', () => {
    const quoted = `"${'\\"'.repeat(MODEL_BODY_BYTES_MAX / 2 - 10)}"`
    expect(lift(`{"a":${quoted}}`).lifted?.texts.size).toBe(1)
    expect(lift(`{"a":${quoted.slice(0, -1)}`).lifted?.texts.size).toBe(0)
    expect(lift(`{"a":${quoted},"b":${quoted}}`).lifted).toBeNull()
  })

  test.each([
    ['empty texts', '', '"'],
    ['short texts', '', `"${'x'.repeat(99)}`],
    ['quotes within one text', '{"a":"', '\\"'],
    ['quotes far from each other within one text', '{"a":"', `${'x'.repeat(99)}\\"`],
    ['quotes within long texts', '', `"${'\\"'.repeat(10_000)}"`],
    ['backslashes', '{"a":"', '\\'.repeat(1_000)],
    ['white space', '', ' '],
  ])(
    '[B10] a body that is nothing but %s is looked at no further than words may be long',
    (_, begin, part) => {
      const { lifted, at } = lift(begin + part.repeat(BODY_BYTES / part.length))
      expect(lifted).toBeNull()
      // One search may go through to the end; none is begun behind what is too long, and none for quotes that are near.
      expect(Math.max(0, ...at)).toBeLessThan(MODEL_BODY_BYTES_MAX + 200)
      expect(at.length).toBeLessThan(MODEL_BODY_BYTES_MAX / 50)
    },
  )
})
