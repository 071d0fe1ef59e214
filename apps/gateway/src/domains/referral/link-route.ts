import type { RawRoute } from '../../platform/http/raw-routes.ts'
import { CODE_PATTERN } from './links.ts'

/** Longer than any code. */
const CODE_CHARS_MAX = 40

/** What an account's link leads to: a sign-up, with the code in its address, where the console keeps it (R2.11). */
export function referralLinkRoute(): RawRoute {
  return {
    methods: ['GET'],
    path: '/r/:code',
    atRoot: true,
    bodyBytesMax: 1,
    async handle({ params: { code = '' } }) {
      const asked = code.toLowerCase()
      const isCode = asked.length <= CODE_CHARS_MAX && CODE_PATTERN.test(asked)
      return {
        status: 302,
        headers: {
          location: `/auth?mode=signup${isCode ? `&ref=${asked}` : ''}`,
          // The same link may lead elsewhere one day.
          'cache-control': 'no-store',
        },
        body: '',
      }
    },
  }
}
