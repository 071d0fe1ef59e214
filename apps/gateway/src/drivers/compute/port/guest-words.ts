/** Controls, and marks that turn the direction in which what follows is read. */
const CONTROLS = /[\p{Cc}\u2028-\u202E\u2066-\u2069]+/gu

/** What a guest says, whatever its customer likes, as words that may be shown: one line without controls. */
export function inOneLine(words: string, charsMax: number): string {
  return words.replace(CONTROLS, ' ').trim().slice(0, charsMax)
}
