/** Browsers by the word that only their user agent has; the first that is found counts, because most claim to be others too. */
const BROWSERS: readonly [pattern: RegExp, name: string][] = [
  [/\bEdgA?(?:iOS)?\//, 'Edge'],
  [/\b(?:OPR|OPT|OPiOS)\//, 'Opera'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\bYaBrowser\//, 'Yandex Browser'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\bHeadlessChrome\//, 'Chrome'],
  [/\b(?:Chrome|CriOS|Chromium)\//, 'Chrome'],
  [/\bVersion\/[\d.]+.*\bSafari\//, 'Safari'],
]

const SYSTEMS: readonly [pattern: RegExp, name: string][] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bLinux\b|\bX11\b/, 'Linux'],
]

/** Programs announce themselves as `name/version`. */
const PROGRAM = /^([A-Za-z][\w.+ -]{0,39})\/\d/

/** What a user agent says of the device; what it does not say is null. */
export interface DeviceParts {
  /** A browser, or a program such as `curl`. */
  client: string | null
  system: string | null
}

/**
 * Reads a browser's name for itself.
 * @param userAgent The header as it was sent; may be empty.
 */
export function deviceParts(userAgent: string): DeviceParts {
  const system = SYSTEMS.find(([pattern]) => pattern.test(userAgent))?.[1] ?? null
  const browser = BROWSERS.find(([pattern]) => pattern.test(userAgent))?.[1]
  if (browser) return { client: browser, system }
  const program = PROGRAM.exec(userAgent)?.[1]
  return { client: program && program !== 'Mozilla' ? program : null, system }
}
