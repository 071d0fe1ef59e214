import { createHmac, timingSafeEqual } from 'node:crypto'
import { CREATION_FILES_PATH } from '@berth/contract/creations'
import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import type { Clock } from '../../../platform/clock.ts'

/** An address is good for at least so long, and is the same for as long again, so that browsers keep what they have. */
const SLOT_SECONDS = 6 * 3_600
const MAC_BYTES = 18

/**
 * The addresses of files: whoever has one may read its file for some hours, as a player does that sends no token. What is named
 * says whose it is: it is read for as long as that customer has it.
 */
export function createFileAddresses({ key, clock }: { key: Uint8Array; clock: Clock }) {
  const macOf = (place: string, until: number) =>
    createHmac('sha256', key).update(`${place}.${until}`).digest().subarray(0, MAC_BYTES)

  return {
    /**
     * On the gateway's origin.
     * @param place Whose, and what: `customer.file`, as one part of an address.
     * @param path Below its prefix, where that is served.
     */
    urlOf(place: string, path = CREATION_FILES_PATH): string {
      const now = Math.floor(clock.now().getTime() / 1_000)
      const until = (Math.floor(now / SLOT_SECONDS) + 2) * SLOT_SECONDS
      const ticket = `${until}-${macOf(place, until).toString('base64url')}`
      return `${GATEWAY_PREFIX}${path}/${place}/${ticket}`
    },

    /** Whether a ticket of such an address is ours, for this place, and still good. */
    isGood(place: string, ticket: string): boolean {
      const [, seconds = '', given = ''] = /^(\d{1,12})-([\w-]{24})$/.exec(ticket) ?? []
      const until = Number(seconds)
      const mac = Buffer.from(given, 'base64url')
      if (mac.length !== MAC_BYTES || until * 1_000 <= clock.now().getTime()) return false
      return timingSafeEqual(mac, macOf(place, until))
    },
  }
}
export type FileAddresses = ReturnType<typeof createFileAddresses>
