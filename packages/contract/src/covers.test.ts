import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { COVER_HEAD_BYTES, coverTypeOf, coverUrlOf } from './covers.ts'
import { COVER_BYTES_MAX, COVER_PIXELS_MAX, COVER_SIDE_PX_MIN } from './limits.ts'

const bytes = (text: string) => Uint8Array.from(text, sign => sign.charCodeAt(0))

test.each([
  ['image/png', '\x89PNG\r\n\x1a\n\0\0\0\rIHDR'],
  ['image/jpeg', '\xff\xd8\xff\xe0\0\x10JFIF'],
  ['image/gif', 'GIF87a\x01\0'],
  ['image/gif', 'GIF89a\x01\0'],
  ['image/webp', 'RIFF\x24\0\0\0WEBPVP8 '],
  ['image/avif', '\0\0\0\x1cftypavif\0\0\0\0mif1miaf'],
  ['image/avif', '\0\0\0\x1cftypmif1\0\0\0\0mif1avif'],
])('[R5.6] %s is known by its first bytes', (type, head) => {
  expect(coverTypeOf(bytes(head))).toBe(type)
})

test.each([
  ['an SVG', '<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>'],
  ['an SVG behind a declaration', '<?xml version="1.0"?><svg/>'],
  ['HTML', '<!doctype html><script>1</script>'],
  ['a film of the same box', '\0\0\0\x1cftypisom\0\0\0\0isommp42'],
  ['a version that spells the brand', '\0\0\0\x14ftypheicavifheic'],
  ['a brand behind the end of its box', '\0\0\0\x10ftypheic\0\0\0\0avif'],
  ['another RIFF', 'RIFF\x24\0\0\0WAVEfmt '],
  ['a PDF', '%PDF-1.7'],
  ['nothing', ''],
])('[R5.6] %s is no picture that a cover is made of', (_, head) => {
  expect(coverTypeOf(bytes(head))).toBeNull()
})

test('[R5.6] whatever begins like nothing that is known is nothing, and its head alone decides', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), file => {
      expect(coverTypeOf(file)).toBe(coverTypeOf(file.subarray(0, COVER_HEAD_BYTES)))
    }),
  )
})

test('a cover is served by its digest', () => {
  expect(coverUrlOf('ab'.repeat(32))).toBe(`/gateway/covers/${'ab'.repeat(32)}.webp`)
})

test.each(['en', 'zh', 'ja', 'ko'])('[R5.6] the rules say their limits as they are, in %s', language => {
  const file = join(import.meta.dirname, `../locales/${language}/errors.json`)
  const { rules } = JSON.parse(readFileSync(file, 'utf8'))
  expect(rules.cover_too_large).toContain(`${COVER_BYTES_MAX / 1_000_000} MB`)
  expect(rules.cover_too_small).toContain(String(COVER_SIDE_PX_MIN))
  // Chinese, Japanese and Korean count by ten thousands.
  const [count, unit] = language === 'en' ? (['24', 1_000_000] as const) : (['2,400', 10_000] as const)
  expect(rules.cover_pixels).toContain(count)
  expect(Number(count.replace(',', '')) * unit).toBe(COVER_PIXELS_MAX)
})
