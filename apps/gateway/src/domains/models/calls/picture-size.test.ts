import { expect, test } from 'vitest'
import { pictureTokens } from './asked-tokens.ts'
import { HEAD_BYTES, pictureSize } from './picture-size.ts'

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
  ['image/webp', webp('VP8X', '00000000 ff0f00 7f0c00'), [4_096, 3_200]],
  ['image/webp', webp('VP8 ', '000000 9d012a 8002 e001'), [640, 480]],
  ['image/webp', webp('VP8L', '2f 7fc27700'), [640, 480]],
] as const)('the size of a picture of %s is read of its first bytes', (type, head, [width, height]) => {
  expect(pictureSize(type, head)).toEqual({ width, height })
})

test('what does not say it has none, however it is made', () => {
  const cut = [Buffer.alloc(0), Buffer.alloc(20), jpeg(0).subarray(0, 8)]
  for (const head of cut)
    for (const type of ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/bmp'])
      expect(pictureSize(type, head)).toBeNull()
  expect(pictureSize('image/png', Buffer.alloc(HEAD_BYTES, 0x07))).toBeNull()
  expect(pictureSize('image/jpeg', Buffer.concat([hex('ffd8'), Buffer.alloc(HEAD_BYTES, 0xff)]))).toBeNull()
})

test('a picture counts by its size and what the catalogue says, and one of huge size in few bytes by its size, too', () => {
  expect(pictureTokens({ width: 1_024, height: 1_024 }, {})).toEqual({ about: 1_338, most: 5_350 })
  expect(pictureTokens({ width: 20_000, height: 10_000 }, {})).toEqual({ about: 16_384, most: 16_384 })
  expect(
    pictureTokens({ width: 1_024, height: 1_024 }, { pixels_per_token: 100, tokens_max: 2_000 }),
  ).toEqual({
    about: 2_000,
    most: 2_000,
  })
  expect(pictureTokens(null, {})).toEqual({ about: 1_000, most: 16_384 })
})
