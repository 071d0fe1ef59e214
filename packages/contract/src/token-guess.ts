/** Letters that a token has in most alphabets; a sign of Chinese, Japanese or Korean is one about by itself. */
export const LETTERS_PER_TOKEN = 4
/** What a message has around its text, in tokens. */
export const TOKENS_AROUND = 4
const SIGNS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu
// Most texts have none of them, which is found out sooner.
const OTHER_LETTERS = /[\u0080-\uffff]/

/**
 * How many tokens a text has, about: each model cuts its own, and none of them is asked for that.
 * @param text Of any length.
 */
export function guessTokens(text: string): number {
  const signs = OTHER_LETTERS.test(text) ? (text.match(SIGNS)?.length ?? 0) : 0
  return signs + Math.ceil((text.length - signs) / LETTERS_PER_TOKEN)
}
