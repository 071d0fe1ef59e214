import { COVER_PATTERN, COVERS_PATH } from '@berth/contract/covers'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { RawRoute } from '../../../platform/http/raw-routes.ts'
import type { Covers } from './covers.ts'

const SUFFIX = '.webp'

/**
 * A picture and nothing else, whoever shows it: it runs nothing and asks for nothing. Other origins may show it, since a
 * brand's image storage passes these headers on (R1.10). What it is never changes under its address.
 */
const PICTURE = {
  'content-type': 'image/webp',
  'cache-control': 'public, max-age=31536000, immutable',
  'content-security-policy': "default-src 'none'; sandbox",
  'cross-origin-resource-policy': 'cross-origin',
} as const

/** Where covers are served, to anybody. */
export function coverRoute(covers: Pick<Covers, 'findCover'>): RawRoute {
  return {
    methods: ['GET'],
    path: `${COVERS_PATH}/:file`,
    bodyBytesMax: 1,
    async handle({ params: { file = '' }, headers }) {
      const digest = file.slice(0, -SUFFIX.length)
      if (!file.endsWith(SUFFIX) || !COVER_PATTERN.test(digest)) throw new ApiError('not_found')
      const webp = await covers.findCover(digest)
      if (!webp) throw new ApiError('not_found')
      const etag = `"${digest}"`
      const isKnown = headers['if-none-match'] === etag
      return { status: isKnown ? 304 : 200, headers: { ...PICTURE, etag }, body: isKnown ? '' : webp }
    },
  }
}
