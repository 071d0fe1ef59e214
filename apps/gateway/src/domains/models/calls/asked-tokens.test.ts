import { expect, test } from 'vitest'
import { pictureTokens } from './asked-tokens.ts'

test('a picture counts by its size and what the catalogue says, and one of huge size in few bytes by its size, too', () => {
  expect(pictureTokens({ width: 1_024, height: 1_024 }, {})).toEqual({ about: 1_338, most: 5_350 })
  expect(pictureTokens({ width: 20_000, height: 10_000 }, {})).toEqual({ about: 16_384, most: 16_384 })
  expect(
    pictureTokens({ width: 1_024, height: 1_024 }, { pixels_per_token: 100, tokens_max: 2_000 }),
  ).toEqual({
    about: 2_000,
    most: 2_000,
  })
})
