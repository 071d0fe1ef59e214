/** What makes a body that no call takes, seen before anything is made of it. */
export type JsonFault = { kind: 'overdone' } | { kind: 'duplicate_key'; key: string }

/** How much of it there may be. */
export interface JsonLimits {
  levelsMax: number
  /** Names and values. */
  partsMax: number
  /** Names of one object: each is compared with all others. Left out: as many as there may be parts. */
  namesMax?: number
}

/** More than any call takes: the most is a deploy, some hundred names and values in three levels. */
const OF_CALLS: JsonLimits = { levelsMax: 32, partsMax: 5_000 }

/** Everything that is not structure, white space or the beginning of a string: numbers, `true`, and what is no JSON. */
const BARE = /[^\s,:"[\]{}]+/y

/**
 * Looks for what a JSON text may not have here: more levels, or more names and values, than any call takes, and objects
 * that name one key twice, of which two readers may each take another. Goes once over the text, makes nothing of it, and
 * ends at the first fault, so that a text that is only brackets costs as little as a short one.
 *
 * It does not say that the text is JSON: what is none is left to the parser.
 * @param text Any text.
 * @param limits Left out: those of calls.
 */
export function faultOf(text: string, limits = OF_CALLS): JsonFault | null {
  const { levelsMax, partsMax, namesMax = partsMax } = limits
  /** The names of each object that is open, from the outside in; null for a list. */
  const open: (Set<string> | null)[] = []
  let parts = 0
  let namesNext = false
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]
    if (sign === '}' || sign === ']') {
      open.pop()
      namesNext = false
    } else if (sign === ',') {
      namesNext = Boolean(open.at(-1))
    } else if (sign !== ':' && !isSpace(sign)) {
      if (++parts > partsMax) return { kind: 'overdone' }
      if (sign === '{' || sign === '[') {
        if (open.push(sign === '{' ? new Set() : null) > levelsMax) return { kind: 'overdone' }
        namesNext = sign === '{'
      } else {
        const end = sign === '"' ? endOfString(text, at) : endOfBare(text, at)
        const names = namesNext ? open.at(-1) : null
        if (sign === '"' && names) {
          const key = keyOf(text.slice(at, end))
          if (names.has(key)) return { kind: 'duplicate_key', key }
          if (names.add(key).size > namesMax) return { kind: 'overdone' }
          namesNext = false
        }
        at = end - 1
      }
    }
  }
  return null
}

function isSpace(sign: string | undefined): boolean {
  return sign === ' ' || sign === '\n' || sign === '\r' || sign === '\t'
}

/** Where the string that begins at `start` is over; the end of the text for one that never is. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let slashes = 0
    while (text[quote - 1 - slashes] === '\\') slashes++
    if (slashes % 2 === 0) return quote + 1
  }
  return text.length
}

function endOfBare(text: string, start: number): number {
  BARE.lastIndex = start
  // What is a space elsewhere than in JSON is no token: one character is gone over.
  return BARE.test(text) ? BARE.lastIndex : start + 1
}

/** A key as it is read; one that cannot be read is left to the parser, which refuses the whole. */
function keyOf(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return JSON.parse(quoted) as string
  } catch {
    return quoted
  }
}
