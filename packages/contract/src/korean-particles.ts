/**
 * Particles of Korean that have two forms, by the one after a consonant and the one after a vowel. Both together name
 * the pair; texts write it behind the value: `{{name, 을를}}`.
 */
export const KOREAN_PARTICLES = {
  은는: ['은', '는'],
  이가: ['이', '가'],
  을를: ['을', '를'],
  으로: ['으로', '로'],
} as const satisfies Record<string, readonly [string, string]>
export type KoreanParticle = keyof typeof KOREAN_PARTICLES

/** What a text ends on as it is read. `ㄹ` counts as a consonant but for 으로. */
type LastSound = 'vowel' | 'consonant' | 'ㄹ'

const HANGUL_FIRST = 0xac00
const HANGUL_LAST = 0xd7a3
const FINALS = 28
const FINAL_RIEUL = 8

/** 영 일 이 삼 사 오 육 칠 팔 구; round numbers end on 십, 백, 천 or 만, which are consonants as 영 is. */
const DIGITS: readonly LastSound[] = [
  'consonant',
  'ㄹ',
  'vowel',
  'consonant',
  'vowel',
  'vowel',
  'consonant',
  'ㄹ',
  'ㄹ',
  'vowel',
]
/** Letters by their names that do not end on a vowel: 엘, 알, 엠, 엔. */
const LETTERS: Readonly<Record<string, LastSound>> = { l: 'ㄹ', r: 'ㄹ', m: 'consonant', n: 'consonant' }

/** Amounts are read with their currency behind them: 달러, 유로, 엔 and 원 are said as such elsewhere. */
const AMOUNT = /^[+−-]?[$€][\d.,]+$/

/**
 * A text with the form of a particle behind it that its last sound asks for.
 * @param text Anything that a sentence names: Hangul, digits, words of Latin letters, an amount in dollars or euros.
 * @param particle The pair.
 * @returns Such as `서버를`, `GPU를`, `vision-1을`, `seoul로`.
 */
export function withParticle(text: string, particle: KoreanParticle): string {
  const [afterConsonant, afterVowel] = KOREAN_PARTICLES[particle]
  const sound = lastSoundOf(text)
  const closed = sound === 'consonant' || (sound === 'ㄹ' && particle !== '으로')
  return text + (closed ? afterConsonant : afterVowel)
}

function lastSoundOf(text: string): LastSound {
  if (AMOUNT.test(text.trim())) return 'vowel'
  // What is written behind the last letter or digit, such as a bracket, is not read.
  const read = /[\p{L}\p{N}]+(?=[^\p{L}\p{N}]*$)/u.exec(text)?.[0] ?? ''
  const last = read.at(-1) ?? ''
  const code = last.charCodeAt(0)
  if (code >= HANGUL_FIRST && code <= HANGUL_LAST) {
    const final = (code - HANGUL_FIRST) % FINALS
    return final === 0 ? 'vowel' : final === FINAL_RIEUL ? 'ㄹ' : 'consonant'
  }
  if (/\d/.test(last)) return DIGITS[Number(last)] ?? 'vowel'
  const letters = /[A-Za-z]+$/.exec(read)?.[0] ?? ''
  // A capital abbreviation is spelled out, and so is a letter by itself.
  if (letters.length < 2 || letters === letters.toUpperCase()) return LETTERS[last.toLowerCase()] ?? 'vowel'
  return soundOfWord(letters.toLowerCase())
}

/** An English word as Korean writes it: `file` is 파일, `name` 네임, `ping` 핑, `bot` 봇, `test` 테스트. */
function soundOfWord(word: string): LastSound {
  const stem = /[^aeiou]e$/.test(word) ? word.slice(0, -1) : word
  if (stem.endsWith('l')) return 'ㄹ'
  if (/(m|n|ng)$/.test(stem)) return 'consonant'
  // A stop right after a short vowel closes the syllable; with a silent e, or behind another consonant, it does not.
  return stem === word && /[aeiou](ck|pp?|tt?)$/.test(word) && !/[aeiou]{2}(ck|pp?|tt?)$/.test(word)
    ? 'consonant'
    : 'vowel'
}
