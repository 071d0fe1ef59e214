import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import { ApiError } from '../../../platform/http/api-error.ts'
import { dispositionOf } from '../../../platform/http/file-names.ts'
import type { RawRoute } from '../../../platform/http/raw-routes.ts'
import { SAVED_ONLY } from '../../../platform/http/saved-only.ts'
import { TICKET } from '../tickets.ts'
import type { LogFollowers } from './log-followers.ts'

/** Where a ticket is taken, below the gateway's prefix. */
const DOWNLOAD_PATH = '/log-download'

/** The address that a ticket for a log opens, once. */
export function logDownloadPath(ticket: string): string {
  return `${GATEWAY_PREFIX}${DOWNLOAD_PATH}/${ticket}`
}

/** The address that a ticket opens, for browsers: they send no token with what they save. */
export function logDownloadRoute(logFollowers: Pick<LogFollowers, 'takeDownload'>): RawRoute {
  return {
    methods: ['GET'],
    path: `${DOWNLOAD_PATH}/:ticket`,
    bodyBytesMax: 1,
    async handle({ params: { ticket = '' } }) {
      if (!TICKET.test(ticket)) throw new ApiError('download_ticket_invalid')
      const { name, body } = await logFollowers.takeDownload(ticket)
      const type = { 'content-type': 'text/plain; charset=utf-8' }
      return {
        status: 200,
        headers: { ...SAVED_ONLY, ...type, 'content-disposition': dispositionOf(name) },
        body,
      }
    },
  }
}
