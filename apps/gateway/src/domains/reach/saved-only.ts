/**
 * What an instance holds, as a browser saves it: nothing of it is ever shown on the console's origin, and nothing in it
 * may ask for anything there.
 */
export const SAVED_ONLY = {
  'content-type': 'application/octet-stream',
  'cache-control': 'no-store',
  'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
} as const

/** The name that a file is saved under: for old programs in ASCII, for others as it is. */
export function dispositionOf(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%/]/g, '_')
  const whole = encodeURIComponent(name).replace(
    /['()*]/g,
    sign => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${whole}`
}
