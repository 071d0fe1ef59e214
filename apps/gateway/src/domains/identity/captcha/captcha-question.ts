import type { Language } from '@berth/contract/limits'
import type { Dice } from './captcha-dice.ts'

type Wording = (first: string, second: string) => string

interface Words {
  /** A number from 1 to 99 in words. */
  number(value: number): string
  plus: readonly [Wording, ...Wording[]]
  minus: readonly [Wording, ...Wording[]]
}

/** Sums stay easy to do in the head: one number is small. */
const FIRST = { from: 20, count: 70 }
const SECOND = { from: 2, count: 8 }

/**
 * A little sum, asked in words alone, for people who do not see a picture: read aloud it is the same.
 * @param language Of the question.
 * @param dice What chooses it.
 * @returns The question, and its answer in digits.
 */
export function askQuestion(language: Language, dice: Dice): { question: string; answer: string } {
  const { number, plus, minus } = WORDS[language]
  const first = FIRST.from + dice.below(FIRST.count)
  const second = SECOND.from + dice.below(SECOND.count)
  const isPlus = dice.below(2) === 0
  const wording = dice.pick(isPlus ? plus : minus)
  const answer = isPlus ? first + second : first - second
  return { question: wording(number(first), number(second)), answer: String(answer) }
}

const ENGLISH_SMALL =
  'one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  )
const ENGLISH_TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')

function english(value: number): string {
  if (value < 20) return ENGLISH_SMALL[value - 1] ?? ''
  const tens = ENGLISH_TENS[Math.floor(value / 10) - 2] ?? ''
  return value % 10 === 0 ? tens : `${tens}-${ENGLISH_SMALL[(value % 10) - 1]}`
}

/** Chinese, Japanese and Korean count alike: tens, the word for ten, ones. */
function countedByTens(digits: string, ten: string): (value: number) => string {
  const one = (value: number) => digits[value - 1] ?? ''
  return value => {
    const tens = Math.floor(value / 10)
    const head = tens === 0 ? '' : `${tens === 1 ? '' : one(tens)}${ten}`
    return value % 10 === 0 ? head : `${head}${one(value % 10)}`
  }
}

const WORDS: Record<Language, Words> = {
  en: {
    number: english,
    plus: [(a, b) => `What is ${a} plus ${b}?`, (a, b) => `What do you get when you add ${b} to ${a}?`],
    minus: [(a, b) => `What is ${a} minus ${b}?`, (a, b) => `What is left when you take ${b} from ${a}?`],
  },
  zh: {
    number: countedByTens('一二三四五六七八九', '十'),
    plus: [(a, b) => `${a}加${b}等于多少？`, (a, b) => `${a}与${b}的和是多少？`],
    minus: [(a, b) => `${a}减${b}等于多少？`, (a, b) => `从${a}中减去${b}，还剩多少？`],
  },
  ja: {
    number: countedByTens('一二三四五六七八九', '十'),
    plus: [(a, b) => `${a}足す${b}はいくつですか？`, (a, b) => `${a}に${b}を足すといくつになりますか？`],
    minus: [(a, b) => `${a}引く${b}はいくつですか？`, (a, b) => `${a}から${b}を引くといくつ残りますか？`],
  },
  ko: {
    // Worded without the particles that change with the sound before them.
    number: countedByTens('일이삼사오육칠팔구', '십'),
    plus: [(a, b) => `${a} 더하기 ${b}의 답은 얼마입니까?`, (a, b) => `${a}에 ${b}만큼 더하면 얼마입니까?`],
    minus: [(a, b) => `${a} 빼기 ${b}의 답은 얼마입니까?`, (a, b) => `${a}에서 ${b}만큼 빼면 얼마입니까?`],
  },
}
