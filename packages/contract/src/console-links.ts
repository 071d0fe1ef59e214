/**
 * The pages of the console that mails lead to, by what they are for: paths with their queries. A test of the console
 * holds that each is there.
 */
export const CONSOLE_LINKS = {
  sign_in: '/auth',
  activation: '/activty',
  reset_password: '/reset-password',
  instances: '/instance-list',
  explore: '/explore',
  volumes: '/network-volume',
  images: '/my-images',
  payments: '/payments',
  video_model: '/video-model',
  referral: '/refer-earn',
  notifications: '/settings?section=notifications',
  sessions: '/settings?section=sessions',
  ways_to_sign_in: '/settings?section=sign-in',
  ssh_keys: '/settings?section=ssh-keys',
  registries: '/settings?section=registries',
  api_keys: '/settings?section=api-keys',
} as const
export type ConsoleLink = keyof typeof CONSOLE_LINKS

/**
 * The address of a page of the console, for a mail.
 * @param publicUrl Where the console is reached, with or without a slash at its end.
 * @param query What the address holds besides, such as a token.
 */
export function consoleLink(
  publicUrl: string,
  page: ConsoleLink,
  query: Readonly<Record<string, string>> = {},
): string {
  const url = new URL(publicUrl.replace(/\/$/, '') + CONSOLE_LINKS[page])
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url.href
}
