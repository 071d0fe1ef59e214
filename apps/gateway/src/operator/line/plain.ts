/** What a terminal obeys, what turns the words behind it around, and what is not seen. */
const OBEYED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u
const ALL_OBEYED = new RegExp(OBEYED.source, 'gu')
const ROWS_OBEYED = new RegExp(`(?:${OBEYED.source})+`, 'gu')

/** What somebody else wrote, on one line and without what a terminal would obey. */
export function plainLine(text: string): string {
  return text.replace(ROWS_OBEYED, ' ')
}

/** Lines without what a terminal would obey: whatever customers wrote is somewhere among them. */
export function plainLines(text: string): string {
  return text.replace(ALL_OBEYED, char => (char === '\n' || char === '\t' ? char : ''))
}

/** JSON that says the same, without what a terminal would obey: `JSON.stringify` leaves some of that as it is. */
export function plainJson(data: unknown): string {
  return JSON.stringify(data, null, 2).replace(ALL_OBEYED, char => (char === '\n' ? char : escaped(char)))
}

function escaped(char: string): string {
  const units = Array.from({ length: char.length }, (_, at) => char.charCodeAt(at))
  return units.map(unit => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}
