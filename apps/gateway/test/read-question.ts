const FIRST = 'one two three four five six seven eight nine'.split(' ')
const TEENS = 'ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(' ')
const TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')

/**
 * What a person makes of a captcha's question in English.
 * @param question Such as `What is forty-one minus six?`.
 * @returns The answer in digits.
 */
export function sumOf(question: string): string {
  const numbers = (question.toLowerCase().match(/[a-z-]+/g) ?? []).map(numberIn).filter(value => value > 0)
  const [high = 0, low = 0] = numbers.sort((a, b) => b - a)
  return String(/minus|take/.test(question) ? high - low : high + low)
}

function numberIn(word: string): number {
  const [tens = '', ones = ''] = word.split('-')
  if (FIRST.includes(word)) return FIRST.indexOf(word) + 1
  if (TEENS.includes(word)) return TEENS.indexOf(word) + 10
  return TENS.includes(tens) ? (TENS.indexOf(tens) + 2) * 10 + FIRST.indexOf(ones) + 1 : 0
}
