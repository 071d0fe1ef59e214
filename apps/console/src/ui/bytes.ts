const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const
const STEP = 1_000
/** From here on a decimal only flickers. */
const WHOLE_FROM = 100

/**
 * An amount of bytes as people say it: `6.1 GB`, `740 MB`.
 * @param bytes Negative counts as zero.
 */
export function bytesText(bytes: number): string {
  let value = Math.max(0, bytes)
  let unit = 0
  while (value >= STEP && unit < UNITS.length - 1) {
    value /= STEP
    unit += 1
  }
  const shown = unit === 0 || value >= WHOLE_FROM ? String(Math.round(value)) : value.toFixed(1)
  return `${shown} ${UNITS[unit]}`
}
