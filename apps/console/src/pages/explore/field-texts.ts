/**
 * Reads ports as a person types them.
 * @param text Numbers apart by commas or blanks, such as `8888, 22`.
 * @returns Numbers in the order typed; what is no number comes out as NaN, which the ports' rule refuses.
 */
export function portsFromText(text: string): number[] {
  return text
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map(part => (/^\d+$/.test(part) ? Number(part) : Number.NaN))
}

/**
 * Writes ports as `portsFromText` reads them.
 * @param ports Port numbers.
 */
export function portsToText(ports: readonly number[]): string {
  return ports.join(', ')
}

/**
 * Reads environment variables, one `NAME=value` a line. Blank lines do not count; a line without `=` is a name
 * with an empty value, so that a slip shows up in the rule on names and not as a lost line.
 * @param text What was typed.
 * @returns Values by name; of a repeated name the last counts.
 */
export function envFromText(text: string): Record<string, string> {
  const pairs = text
    .split(/\r?\n/)
    .filter(line => line.trim() !== '')
    .map((line): [string, string] => {
      const at = line.indexOf('=')
      return at < 0 ? [line.trim(), ''] : [line.slice(0, at).trim(), line.slice(at + 1)]
    })
  return Object.fromEntries(pairs)
}
