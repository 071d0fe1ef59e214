import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import {
  filePath,
  listFiles,
  makeFolder,
  planUpload,
  removeFile,
  renameFile,
  startFileDownload,
  uploadPiece,
} from '@berth/contract/files'
import { ApiError } from '../../../platform/http/api-error.ts'
import { dispositionOf } from '../../../platform/http/file-names.ts'
import { type Caller, type Route, route } from '../../../platform/http/handler.ts'
import type { RawRoute } from '../../../platform/http/raw-routes.ts'
import { SAVED_ONLY } from '../../../platform/http/saved-only.ts'
import { TICKET } from '../tickets.ts'
import type { Files, TakenDownload } from './files.ts'
import type { DownloadRange } from './open-download.ts'

/** Where a ticket is taken, below the gateway's prefix. */
const DOWNLOAD_PATH = '/file-download'

/** The calls on files of instances. */
export function fileRoutes(files: Files): Route[] {
  const of = ({ userId, sessionId }: Caller, { id }: { id: string }) => ({
    userId,
    sessionId,
    instanceId: id,
  })
  return [
    route(listFiles, ({ caller, params, query }) => files.list(of(caller, params), query)),
    route(planUpload, ({ caller, params, body }) => files.plan(of(caller, params), body.files)),
    route(uploadPiece, ({ caller, params, query, body }) => files.upload(of(caller, params), query, body)),
    route(startFileDownload, async ({ caller, params, body }) => {
      const { ticket, name, expiresAt } = await files.startDownload({
        ...of(caller, params),
        path: body.path,
      })
      return {
        path: `${GATEWAY_PREFIX}${DOWNLOAD_PATH}/${ticket}?${new URLSearchParams({ path: body.path })}`,
        name,
        expires_at: expiresAt.toISOString(),
      }
    }),
    route(makeFolder, async ({ caller, params, body: { path } }) => {
      await files.makeFolder({ ...of(caller, params), path })
      return { path }
    }),
    route(renameFile, async ({ caller, params, body: { path, to } }) => {
      await files.rename({ ...of(caller, params), path }, to)
      return { path: to }
    }),
    route(removeFile, async ({ caller, params, body: { path, with_content } }) => {
      await files.remove({ ...of(caller, params), path }, with_content)
      return { path }
    }),
  ]
}

/** The address that a ticket opens, for browsers: they send no token with what they save. */
export function downloadRoute(files: Pick<Files, 'takeDownload'>): RawRoute {
  return {
    methods: ['GET'],
    path: `${DOWNLOAD_PATH}/:ticket`,
    bodyBytesMax: 1,
    async handle({ params, query, headers }) {
      const { ticket = '' } = params
      const range = rangeOf(headers.range, headers['if-range'])
      const asked = filePath.safeParse(query.path)
      // Without a path it would be a ticket for something else.
      if (!TICKET.test(ticket) || !asked.success) throw new ApiError('download_ticket_invalid')
      const taken = await files.takeDownload(ticket, asked.data, range)
      return { status: taken.file?.part ? 206 : 200, headers: headersOf(taken), body: taken.body }
    },
  }
}

const RANGE = /^bytes=(\d{1,15})-(\d{1,15})?$/
const TAG = /^"(\d{1,15})-(\d{1,15})"$/

/** Only one range from somewhere on is heard; for others everything is a right answer, which null asks for. */
function rangeOf(
  asked: string | string[] | undefined,
  ifRange: string | string[] | undefined,
): DownloadRange | null {
  const [, first, last] = RANGE.exec(typeof asked === 'string' ? asked : '') ?? []
  if (first === undefined) return null
  const from = Number(first)
  const length = last === undefined ? null : Number(last) - from + 1
  if (length !== null && length < 1) return null
  if (ifRange === undefined) return { from, length, of: null }
  const [, size, modified] = TAG.exec(typeof ifRange === 'string' ? ifRange : '') ?? []
  // A tag that is none of ours is of another file.
  if (size === undefined) return null
  return { from, length, of: { size: Number(size), modifiedS: Number(modified) } }
}

function headersOf({ file, name }: TakenDownload): Record<string, string> {
  const common = { ...SAVED_ONLY, 'content-disposition': dispositionOf(name) }
  if (!file) return common
  const { size, modifiedS, part } = file
  return {
    ...common,
    'accept-ranges': 'bytes',
    etag: `"${size}-${modifiedS}"`,
    'content-length': String(part?.length ?? size),
    ...(part && { 'content-range': `bytes ${part.from}-${part.from + part.length - 1}/${size}` }),
  }
}
