/** Letters that a token has in most alphabets; a sign of Chinese, Japanese or Korean is one about by itself. */
export const LETTERS_PER_TOKEN = 4
const SIGNS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu

/**
 * How many tokens a text has, about: each model cuts its own, and none of them is asked for that.
 * @param text Of any length.
 */
export function guessTokens(text: string): number {
  const signs = text.match(SIGNS)?.length ?? 0
  return signs + Math.ceil((text.length - signs) / LETTERS_PER_TOKEN)
}
