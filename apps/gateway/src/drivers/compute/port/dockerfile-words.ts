/** A word without the quotes around it. */
export function unquoted(word: string): string {
  const [, quote = '', inner = ''] = /^(["'])(.*)\1$/s.exec(word) ?? []
  return quote === '' ? word : inner
}

const VARIABLE = /\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?::?-([^${}]*))?\})/g

/**
 * Puts values in the place of `$NAME`, `${NAME}` and `${NAME:-else}`.
 * @returns Null where one has no value, or a `$` is left that means something else.
 */
export function expandWord(word: string, values: ReadonlyMap<string, string>): string | null {
  let isWhole = true
  const expanded = word.replace(VARIABLE, (_, plain?: string, braced?: string, otherwise?: string) => {
    const value = values.get(plain ?? braced ?? '') || otherwise
    if (value === undefined) isWhole = false
    return value ?? ''
  })
  return isWhole && !word.replace(VARIABLE, '').includes('$') ? expanded : null
}
