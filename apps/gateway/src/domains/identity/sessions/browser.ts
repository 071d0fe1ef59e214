/** A browser as people know it; empty where it is none of these. */
export interface Browser {
  /** Such as `Firefox`. */
  browser: string
  /** Such as `Linux`. */
  system: string
}

/** In this order: most browsers also name those that they descend from. */
const BROWSERS: readonly [RegExp, string][] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\b(?:OPR|Opera)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|Chromium|CriOS)\//, 'Chrome'],
  [/\bVersion\/.*\bSafari\//, 'Safari'],
  [/^curl\//, 'curl'],
  [/^python-requests\//, 'Python'],
]
const SYSTEMS: readonly [RegExp, string][] = [
  [/\b(?:iPhone|iPad|iPod)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\b(?:Macintosh|Mac OS X)\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
]

/**
 * Reads a browser out of its user agent, without its version: an update makes no other browser of it. Only words of
 * ours come back, since whoever signs in writes the user agent.
 */
export function browserOf(userAgent: string): Browser {
  return { browser: find(BROWSERS, userAgent), system: find(SYSTEMS, userAgent) }
}

function find(known: readonly [RegExp, string][], userAgent: string): string {
  return known.find(([pattern]) => pattern.test(userAgent))?.[1] ?? ''
}
