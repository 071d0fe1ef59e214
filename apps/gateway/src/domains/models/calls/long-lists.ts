import * as z from 'zod'

/** One text or several, or the tokens of one or of several. */
type TextsOrTokens = string | string[] | number[] | number[][]

interface TextsLimits {
  textsMax: number
  /** Of each text. */
  tokensMax: number
  /** Left out: a text may be empty. */
  charsMin?: number
}

/**
 * Reads texts or tokens. A union of lists would gather a fault for each of a hundred thousand numbers and each form that a list
 * may have; this one ends at the first.
 */
export function textsOrTokens({ textsMax, tokensMax, charsMin = 0 }: TextsLimits) {
  const isText = (one: unknown) => typeof one === 'string' && one.length >= charsMin
  const isTokens = (one: unknown) => isList(one, tokensMax, Number.isSafeInteger)
  return z.custom<TextsOrTokens>(
    value =>
      isText(value) ||
      isTokens(value) ||
      isList(value, textsMax, isText) ||
      isList(value, textsMax, isTokens),
  )
}

/** Reads a list of one or more, of which the first that is at fault is told. */
export function eachOf<One>(isOne: (one: unknown) => one is One, countMax: number) {
  return z.custom<One[]>().superRefine((list: unknown, context) => {
    const isCounted = Array.isArray(list) && list.length > 0 && list.length <= countMax
    const at = isCounted ? list.findIndex(one => !isOne(one)) : -1
    if (!isCounted) context.addIssue({ code: 'custom' })
    if (at !== -1) context.addIssue({ code: 'custom', path: [at] })
  })
}

function isList(value: unknown, countMax: number, isOne: (one: unknown) => boolean): boolean {
  return Array.isArray(value) && value.length > 0 && value.length <= countMax && value.every(isOne)
}
