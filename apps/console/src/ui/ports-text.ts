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
