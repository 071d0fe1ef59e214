import { CREATION_FILES_PATH } from '@berth/contract/creations'
import { ApiError } from '../../../platform/http/api-error.ts'
import { dispositionOf } from '../../../platform/http/file-names.ts'
import type { RawAnswer, RawRequest, RawRoute } from '../../../platform/http/raw-routes.ts'
import { byteRangeOf } from './byte-range.ts'
import type { FileAddresses } from './file-addresses.ts'
import { endingOf } from './file-types.ts'
import type { KeptFiles } from './kept-files.ts'

/** A picture or a film and nothing else, whatever is in its bytes: it runs nothing, asks for nothing, and is shown here alone. */
export const HARMLESS = {
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
} as const

/**
 * A file as players and pictures read it, whole or in part.
 * @param saved What it is to be saved under; null where it is shown.
 * @param caching For whom and how long it may be kept.
 */
export function answerWithFile(
  files: Pick<KeptFiles, 'read'>,
  file: { id: string; type: string; bytes: number; digest: string },
  { headers, saved, caching }: { headers: RawRequest['headers']; saved: string | null; caching: string },
): RawAnswer {
  const etag = `"${file.digest}"`
  const all: Record<string, string> = {
    ...HARMLESS,
    'content-type': file.type,
    'cache-control': caching,
    'accept-ranges': 'bytes',
    etag,
    ...(saved !== null && { 'content-disposition': dispositionOf(saved) }),
  }
  if (headers['if-none-match'] === etag) return { status: 304, headers: all, body: '' }
  const asked = headers['if-range'] === undefined || headers['if-range'] === etag ? headers.range : undefined
  const range = byteRangeOf(asked === undefined ? undefined : String(asked), file.bytes)
  if (range === 'none') {
    return { status: 416, headers: { ...all, 'content-range': `bytes */${file.bytes}` }, body: '' }
  }
  const { from, last } = range ?? { from: 0, last: file.bytes - 1 }
  return {
    status: range ? 206 : 200,
    headers: {
      ...all,
      'content-length': String(last - from + 1),
      ...(range && { 'content-range': `bytes ${from}-${last}/${file.bytes}` }),
    },
    body: files.read(file.id, from, last),
  }
}

/** Where pictures and films are read by whoever was given the address, for as long as its customer has them and is not kept out. */
export function creationFileRoute(files: KeptFiles, addresses: FileAddresses): RawRoute {
  return {
    methods: ['GET'],
    path: `${CREATION_FILES_PATH}/:place/:ticket`,
    bodyBytesMax: 1,
    async handle({ params: { place = '', ticket = '' }, headers, query }) {
      // Before anything is looked up: nobody learns which files there are.
      if (!addresses.isGood(place, ticket)) throw new ApiError('not_found')
      const [userId = '', id = ''] = place.split('.')
      const file = await files.findOf(userId, id)
      if (!file) throw new ApiError('not_found')
      const saved = query.download === undefined ? null : `berth-${id.slice(-12)}.${endingOf(file.type)}`
      return answerWithFile(
        files,
        { id, ...file },
        { headers, saved, caching: 'private, max-age=21600, immutable' },
      )
    },
  }
}
