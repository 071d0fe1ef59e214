import { LANGUAGES, type Language } from '@berth/contract/limits'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createDice } from './captcha-dice.ts'
import { askQuestion } from './captcha-question.ts'

const SMALL =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'
const TENS = 'zero ten twenty thirty forty fifty sixty seventy eighty ninety'
/** How a number is read, written down apart from how the gateway writes it. */
const READ: Record<Language, (words: string) => number> = {
  en: words =>
    words.split('-').reduce((sum, word) => {
      const tens = TENS.split(' ').indexOf(word)
      return sum + (tens > 1 ? tens * 10 : SMALL.split(' ').indexOf(word))
    }, 0),
  zh: byTens('一二三四五六七八九', '十'),
  ja: byTens('一二三四五六七八九', '十'),
  ko: byTens('일이삼사오육칠팔구', '십'),
}
const WORDS: Record<Language, RegExp> = {
  en: new RegExp(
    `\\b(?:${[...SMALL.split(' ').slice(1), ...TENS.split(' ').slice(1)].join('|')})\\b(?:-\\w+)?`,
    'g',
  ),
  zh: /[一二三四五六七八九十]+/g,
  ja: /[一二三四五六七八九十]+/g,
  ko: /(?:[이삼사오육칠팔구]?십[일이삼사오육칠팔구]?|[일이삼사오육칠팔구])(?=에서? |만큼| |의)/g,
}
const MINUS = /minus|take|减|引|빼/

describe.each([...LANGUAGES])('in %s', language => {
  test('a question is in words alone, and its answer follows from the words', () => {
    fc.assert(
      fc.property(fc.string(), secret => {
        const { question, answer } = askQuestion(language, createDice(secret))
        expect(question).not.toMatch(/\p{Nd}/u)
        const numbers = (question.match(WORDS[language]) ?? []).map(READ[language])
        expect(numbers, question).toHaveLength(2)
        const [high = 0, low = 0] = numbers.sort((a, b) => b - a)
        expect(answer, question).toBe(String(MINUS.test(question) ? high - low : high + low))
      }),
      { numRuns: 300 },
    )
  })

  test('there are many questions, and no answer is much more likely than others', () => {
    const asked = Array.from({ length: 2_000 }, (_, n) => askQuestion(language, createDice(`${n}`)))
    expect(new Set(asked.map(({ question }) => question)).size).toBeGreaterThan(800)
    const counts = new Map<string, number>()
    for (const { answer } of asked) counts.set(answer, (counts.get(answer) ?? 0) + 1)
    expect(Math.max(...counts.values())).toBeLessThan(2_000 / 25)
  })
})

test('English questions read as they are spoken', () => {
  const asked = Array.from({ length: 200 }, (_, n) => askQuestion('en', createDice(`${n}`)).question)
  expect(asked).toContainEqual(expect.stringMatching(/^What is [a-z]+-[a-z]+ plus [a-z]+\?$/))
  expect(asked).toContainEqual(expect.stringMatching(/^What is left when you take [a-z]+ from [a-z-]+\?$/))
})

function byTens(digits: string, ten: string): (words: string) => number {
  return words => {
    if (!words.includes(ten)) return digits.indexOf(words) + 1
    const [tens = '', ones = ''] = words.split(ten)
    return (
      (tens === '' ? 1 : digits.indexOf(tens) + 1) * 10 + (digits.indexOf(ones) + 1) * (ones === '' ? 0 : 1)
    )
  }
}
