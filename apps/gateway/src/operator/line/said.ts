const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

/** `27 Nov 2026`, of UTC. */
export function day(at: Date): string {
  return `${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]} ${at.getUTCFullYear()}`
}

/** `27 Nov 2026, 11:40 UTC`. */
export function minute(at: Date): string {
  return `${day(at)}, ${at.toISOString().slice(11, 16)} UTC`
}

/** `in 3 days`, `5 minutes ago`, `now`: whole units of the largest that fits, rounded down. */
export function fromNow(at: Date, now: Date): string {
  const distanceMs = at.getTime() - now.getTime()
  if (Math.abs(distanceMs) < MINUTE_MS) return 'now'
  const words = lasting(Math.abs(distanceMs))
  return distanceMs > 0 ? `in ${words}` : `${words} ago`
}

/** `3 days`, `1 hour`, `less than a minute`. */
export function lasting(spanMs: number): string {
  for (const [unitMs, name] of [
    [DAY_MS, 'day'],
    [HOUR_MS, 'hour'],
    [MINUTE_MS, 'minute'],
  ] as const) {
    if (spanMs >= unitMs) return counted(Math.floor(spanMs / unitMs), name)
  }
  return 'less than a minute'
}

/** `1 image`, `2 images`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

/** `1.4 GB`. */
export function bytesSaid(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  while (value >= 1_000 && unit < units.length - 1) {
    value /= 1_000
    unit++
  }
  return unit === 0 ? `${value} bytes` : `${value.toFixed(1)} ${units[unit]}`
}
