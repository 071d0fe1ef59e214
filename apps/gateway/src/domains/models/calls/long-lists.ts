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

/** Reads a list of one or more, of which the first that is at fault is told, and the first field of it that is not known. */
export function eachOf<Schema extends z.ZodType>(one: Schema, countMax: number) {
  return z.custom<unknown>().transform((list, context): z.output<Schema>[] => {
    if (!Array.isArray(list) || list.length === 0 || list.length > countMax) {
      context.addIssue({ code: 'custom' })
      return z.NEVER
    }
    const all: z.output<Schema>[] = []
    for (const [at, value] of list.entries()) {
      const read = one.safeParse(value)
      if (!read.success) {
        const [issue] = read.error.issues
        const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
        context.addIssue({ code: 'custom', path: [at, ...unknown] })
        return z.NEVER
      }
      all.push(read.data)
    }
    return all
  })
}

/** Reads a list, or the values of an object, which are all of a kind: it ends at the first that is not, and is one fault. */
export function allOf<Schema extends z.ZodType>(one: Schema, kind: 'list' | 'object' = 'list') {
  return z.custom<object>(
    value =>
      typeof value === 'object' &&
      value !== null &&
      Array.isArray(value) === (kind === 'list') &&
      Object.values(value).every(part => one.safeParse(part).success),
  )
}

function isList(value: unknown, countMax: number, isOne: (one: unknown) => boolean): boolean {
  return Array.isArray(value) && value.length > 0 && value.length <= countMax && value.every(isOne)
}
