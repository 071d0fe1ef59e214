import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MODEL_PICTURE_PIXELS_MAX } from './limits.ts'
import { hasFewPixels, pictureHeadBytes, pictureSize } from './picture-size.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')
const jpeg = (notes: number) =>
  Buffer.concat([
    hex('ffd8'),
    ...Array.from({ length: notes }, () => Buffer.concat([hex('ffe1ffff'), Buffer.alloc(65_533)])),
    hex('ff ffc2 0011 08 0c80 1000 03'),
    Buffer.alloc(20),
  ])
const webp = (kind: string, rest: string) =>
  Buffer.concat([Buffer.from(`RIFF....WEBP${kind}`), Buffer.alloc(4), hex(rest), Buffer.alloc(10)])

test.each([
  ['image/png', hex('89504e470d0a1a0a 0000000d49484452 00004e20 00002710 08'), [20_000, 10_000]],
  ['image/gif', hex('474946383961 8002 e001 00'), [640, 480]],
  ['image/jpeg', jpeg(0), [4_096, 3_200]],
  ['image/jpeg', jpeg(3), [4_096, 3_200]],
  ['image/jpeg', jpeg(60), [4_096, 3_200]],
  ['image/webp', webp('VP8X', '00000000 ff0f00 7f0c00'), [4_096, 3_200]],
  ['image/webp', webp('VP8 ', '000000 9d012a 8002 e001'), [640, 480]],
  ['image/webp', webp('VP8L', '2f 7fc27700'), [640, 480]],
] as const)('the size of a picture of %s is read of its first bytes', (type, head, [width, height]) => {
  expect(pictureSize(type, head)).toEqual({ width, height })
})

test('what does not say it has none, however it is made', () => {
  const cut = [Buffer.alloc(0), Buffer.alloc(20), jpeg(0).subarray(0, 8), jpeg(70)]
  for (const head of cut)
    for (const type of ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/bmp'])
      expect(pictureSize(type, head)).toBeNull()
  expect(pictureSize('image/png', Buffer.alloc(32))).toBeNull()
  expect(
    pictureSize(
      'image/jpeg',
      Buffer.concat([hex('ffd8'), Buffer.alloc(pictureHeadBytes('image/jpeg'), 0xff)]),
    ),
  ).toBeNull()
})

test('whatever comes, a size is one of a picture, or there is none', () => {
  const heads = [hex('89504e470d0a1a0a'), hex('474946383961'), hex('ffd8ff'), Buffer.from('RIFF....WEBPVP8X')]
  const types = fc.constantFrom('image/png', 'image/gif', 'image/jpeg', 'image/webp', 'image/avif')
  fc.assert(
    fc.property(types, fc.constantFrom(...heads), fc.uint8Array({ maxLength: 80 }), (type, head, rest) => {
      const size = pictureSize(type, Buffer.concat([head, rest]))
      expect(size === null || (size.width > 0 && size.height > 0)).toBe(true)
    }),
  )
})

test('[R5.10] what has too many pixels, or does not say how many, is no picture for a model', () => {
  expect(hasFewPixels({ width: 10_000, height: 8_000 })).toBe(true)
  expect(hasFewPixels({ width: 10_000, height: 8_001 })).toBe(false)
  expect(hasFewPixels(null)).toBe(false)
})

test.each(['en', 'zh', 'ja', 'ko'])('[R5.10] the rule says the limit as it is, in %s', language => {
  const file = join(import.meta.dirname, `../locales/${language}/errors.json`)
  const { rules } = JSON.parse(readFileSync(file, 'utf8'))
  // Chinese, Japanese and Korean count by ten thousands.
  const [count, unit] = language === 'en' ? (['80', 1_000_000] as const) : (['8,000', 10_000] as const)
  expect(rules.picture_pixels).toContain(count)
  expect(Number(count.replace(',', '')) * unit).toBe(MODEL_PICTURE_PIXELS_MAX)
})
