import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import { LANGUAGES, type Language } from '@berth/contract/limits'
import * as z from 'zod'
import type { Clock } from '../../../../../platform/clock.ts'
import { ApiError } from '../../../../../platform/http/api-error.ts'
import type { Sealer } from '../../../../../platform/sealer.ts'

/** Where a ticket is taken, below the gateway's prefix. */
export const PDF_PATH = '/invoice-pdf'
/** As long as a browser takes to follow an address that it was just given. */
const TICKET_MS = 60_000
const TICKET_CHARS_MAX = 600
const PLACE = ['invoice pdf']

const content = z.object({
  userId: z.uuid(),
  id: z.string(),
  language: z.enum(LANGUAGES),
  until: z.number(),
})

interface TicketDeps {
  clock: Clock
  sealer: Sealer
}

/** An address that opens one document in one language for a minute: browsers send no token with what they save. */
export function sealTicket(
  { clock, sealer }: TicketDeps,
  of: { userId: string; id: string; language: Language },
): string {
  const until = clock.now().getTime() + TICKET_MS
  const { box, keyId } = sealer.seal(JSON.stringify({ ...of, until }), PLACE)
  return `${GATEWAY_PREFIX}${PDF_PATH}/${keyId}.${box.toString('base64url')}`
}

/** What a ticket stands for. @throws ApiError `download_ticket_invalid`. */
export function openTicket({ clock, sealer }: TicketDeps, ticket: string): z.output<typeof content> {
  const [keyId = '', box = ''] = ticket.split('.')
  if (ticket.length > TICKET_CHARS_MAX || !sealer.knows(keyId)) throw new ApiError('download_ticket_invalid')
  let text: string
  try {
    text = sealer.open({ keyId, box: Buffer.from(box, 'base64url') }, PLACE)
  } catch (cause) {
    throw new ApiError('download_ticket_invalid', { cause })
  }
  const opened = content.parse(JSON.parse(text))
  if (opened.until < clock.now().getTime()) throw new ApiError('download_ticket_invalid')
  return opened
}
