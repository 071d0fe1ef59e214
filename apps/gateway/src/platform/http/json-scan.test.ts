import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { faultOf } from './json-scan.ts'

const OVERDONE = { kind: 'overdone' }

describe('an object that names a key twice', () => {
  test.each([
    ['{"a":1,"a":2}', 'a'],
    ['{"a":{"b":[{"c":1,"d":{},"c":2}]}}', 'c'],
    ['{"amount":1,"\\u0061mount":2}', 'amount'],
    ['{"a":"}","b":"{\\"a\\":1","a":1}', 'a'],
    ['{"a\\\\":1,"a\\\\":2}', 'a\\'],
    ['{"":1,"":2}', ''],
    ['\ufeff{"a":1,"a":2}', 'a'],
    [' {\n"a"\t:\r1 , "a" : 2 } ', 'a'],
  ])('is found: %s', (text, key) => {
    expect(faultOf(text)).toEqual({ kind: 'duplicate_key', key })
  })

  test.each([
    '[{"a":1},{"a":1}]',
    '{"a":{"a":{"a":1}}}',
    '{"a":"a","b":"a"}',
    '{"a":["a","a"]}',
    '{"a":1,"A":2," a":3}',
  ])('is not one whose keys stand in different objects, or are values: %s', text => {
    expect(faultOf(text)).toBeNull()
  })
})

describe('more than any call takes', () => {
  test('is levels, from the first one too many', () => {
    expect(faultOf('['.repeat(32) + ']'.repeat(32))).toBeNull()
    expect(faultOf('['.repeat(33) + ']'.repeat(33))).toEqual(OVERDONE)
    expect(faultOf('{"a":'.repeat(33))).toEqual(OVERDONE)
  })

  test('is names of one object, where those are limited', () => {
    const limits = { levelsMax: 9, partsMax: 99, namesMax: 2 }
    expect(faultOf('[{"a":1,"b":2},{"c":3,"d":4}]', limits)).toBeNull()
    expect(faultOf('[{"a":1,"b":2,"c":3}]', limits)).toEqual(OVERDONE)
  })

  test('is names and values', () => {
    expect(faultOf(`[${'1,'.repeat(4_998)}1]`)).toBeNull()
    expect(faultOf(`[${'1,'.repeat(4_999)}1]`)).toEqual(OVERDONE)
    expect(faultOf(`{${Array.from({ length: 5_000 }, (_, n) => `"${n}",`).join('')}`)).toEqual(OVERDONE)
  })
})

test('any JSON is taken as it is, however it is spaced and escaped', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), fc.nat(4), fc.boolean(), (json, indent, escaped) => {
      const spaced = JSON.stringify(JSON.parse(json), null, indent)
      const text = escaped ? spaced.replace(/[a-z](?=\w*":)/g, escapedSign) : spaced
      fc.pre(isJson(text))
      expect(faultOf(text)).toBeNull()
    }),
  )
})

test('a key that stands twice is found wherever it is put, in any JSON', () => {
  const twice = fc.tuple(fc.string(), fc.jsonValue(), fc.jsonValue())
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), twice, fc.nat(), (json, [key, one, other], nth) => {
      const name = JSON.stringify(key)
      const object = `{${name}:${JSON.stringify(one)},${name}:${JSON.stringify(other)}}`
      const places = [...json.matchAll(/true|false|null/g)].map(({ index }) => index)
      const place = places[nth % places.length]
      const whole =
        place === undefined ? object : json.slice(0, place) + json.slice(place).replace(/^\w+/, () => object)
      // The word may have stood inside a string, where it says nothing.
      fc.pre(isJson(whole) && (place === undefined || countOf(whole) > countOf(json)))
      expect(faultOf(whole)?.kind).toBe('duplicate_key')
    }),
  )
})

test('what the parser takes and this finds no fault with has each of its keys once', () => {
  const scraps = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    '"a"',
    '"b":',
    '1',
    'true',
    ' ',
    '\ufeff',
    '\u00a0',
  )
  fc.assert(
    fc.property(fc.array(scraps, { maxLength: 14 }), parts => {
      const text = parts.join('')
      const isClean = faultOf(text) === null
      if (isClean && isJson(text)) expect(keysRead(text)).toBe(keysWritten(text))
    }),
    { numRuns: 2_000 },
  )
})

function escapedSign(sign: string): string {
  return `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** How many values a reader finds. */
function countOf(text: string): number {
  let count = 0
  JSON.parse(text, (_key, value) => {
    count++
    return value
  })
  return count
}

/** How many keys are left once a reader has read them. */
function keysRead(text: string): number {
  let count = 0
  JSON.parse(text, (_key, value) => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      count += Object.keys(value).length
    return value
  })
  return count
}

/** How many the text has: outside strings, each colon belongs to one. */
function keysWritten(text: string): number {
  return text.replace(/"(?:\\.|[^"\\])*"/g, '""').split(':').length - 1
}
