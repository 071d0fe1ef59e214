const MINUTE_S = 60

/** How long a film is, as players say it: `0:05`. */
export function lengthText(seconds: number): string {
  return `${Math.floor(seconds / MINUTE_S)}:${String(Math.round(seconds % MINUTE_S)).padStart(2, '0')}`
}
