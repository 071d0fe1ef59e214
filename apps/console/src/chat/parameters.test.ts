import { describe, expect, test } from 'vitest'
import { fitted, PARAMETERS, rangeOf, sentParameters, USUAL } from './parameters.ts'

const MODEL = { output_tokens_max: 2_048 }

describe('[R3.14] the parameters of a chat', () => {
  test('[R3.14] are six, each with its range', () => {
    expect(Object.fromEntries(PARAMETERS.map(name => [name, rangeOf(name, [MODEL])]))).toMatchObject({
      max_tokens: { min: 1, max: 2_048 },
      temperature: { min: 0, max: 2 },
      top_p: { min: 0, max: 1 },
      presence_penalty: { min: -2, max: 2 },
      frequency_penalty: { min: -2, max: 2 },
      repetition_penalty: { min: 0, max: 2 },
    })
  })

  test('[R3.14] an answer is no longer than each of the models gives', () => {
    expect(rangeOf('max_tokens', [MODEL, { output_tokens_max: 512 }])).toMatchObject({ max: 512, usual: 512 })
    expect(sentParameters({ ...USUAL, max_tokens: 9_999 }, MODEL).max_tokens).toBe(2_048)
  })

  test('[R3.14] what was chosen is sent; what is as usual is left to the server, but for the longest answer', () => {
    expect(sentParameters(USUAL, MODEL)).toEqual({ max_tokens: 1_024 })
    const chosen = { ...USUAL, temperature: 0.2, repetition_penalty: 1.05, presence_penalty: -2 }
    expect(sentParameters(chosen, MODEL)).toEqual({
      max_tokens: 1_024,
      temperature: 0.2,
      presence_penalty: -2,
      repetition_penalty: 1.05,
    })
  })

  test.each([
    [3, 2],
    [-1, 0],
    [0.704999, 0.7],
    [0.1 + 0.2, 0.3],
  ])('%d fits as %d', (given, expected) => {
    expect(fitted(given, rangeOf('temperature', []))).toBe(expected)
  })
})
