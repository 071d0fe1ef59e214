import { isIP } from 'node:net'
import { z } from 'zod'
import { inOneLine } from '../port/guest-words.ts'
import type { GuestFacts } from '../port/observation.ts'

const OS_CHARS_MAX = 100
/** As the kernel of Linux has them; other systems have longer ones, of which the beginning says enough. */
const INTERFACE_CHARS_MAX = 32
const ADDRESSES_MAX = 64
/** The longest address, with its zone. */
const ADDRESS_CHARS_MAX = 64
const ANSWERS_MAX = 1_000

const osInfo = z.object({ 'pretty-name': z.string() })
const interfaces = z.array(z.unknown()).max(ANSWERS_MAX)
const networkInterface = z.object({
  name: z.string(),
  'ip-addresses': z.array(z.unknown()).max(ANSWERS_MAX),
})
const networkAddress = z.object({ 'ip-address': z.string().max(ADDRESS_CHARS_MAX) })

/**
 * Reads what a guest's agent answered.
 * @param answers Its answers to `guest-get-osinfo` and `guest-network-get-interfaces`: whatever its customer likes.
 * @returns What of it is of sense; null where there is no answer.
 */
export function readGuestFacts(answers: unknown): GuestFacts | null {
  const told = z.object({ os: z.unknown(), interfaces: z.unknown() }).safeParse(answers).data
  if (!told) return null
  const name = osInfo.safeParse(told.os).data?.['pretty-name'] ?? ''
  return { os: inOneLine(name, OS_CHARS_MAX) || null, addresses: addressesOf(told.interfaces) }
}

function addressesOf(told: unknown): GuestFacts['addresses'] {
  const found: GuestFacts['addresses'] = []
  for (const one of interfaces.safeParse(told).data ?? []) {
    const known = networkInterface.safeParse(one).data
    for (const candidate of known?.['ip-addresses'] ?? []) {
      const address = networkAddress.safeParse(candidate).data?.['ip-address'] ?? ''
      if (isIP(address) === 0 || leadsToItself(address)) continue
      if (found.length >= ADDRESSES_MAX) return found
      found.push({ interface: inOneLine(known?.name ?? '', INTERFACE_CHARS_MAX), address })
    }
  }
  return found
}

/** Whether nobody else could mean the machine by it: its loopback, and what is only of a cable. */
function leadsToItself(address: string): boolean {
  return /^(127\.|::1$|fe[89ab])/i.test(address)
}
