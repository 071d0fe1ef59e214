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
