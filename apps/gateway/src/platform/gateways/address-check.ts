import { isLoopback } from '../http/hosts.ts'
import type { Logger } from '../log.ts'
import type { OtherGateway } from './registry.ts'

interface AddressCheckDeps {
  /** Gateways that live, but for this one. */
  others(): Promise<OtherGateway[]>
  /** Whether a gateway answers, and proves to be itself, at the address that it has told. */
  answers(other: OtherGateway): Promise<boolean>
  log: Pick<Logger, 'warn'>
}

/**
 * Says once of each gateway that lives but is not found where it says, most often since it tells an address that is good
 * on its own computer only. One that has just died is not found either: it is told from others by not renewing its row.
 * @returns One look at all of them.
 */
export function createAddressCheck({ others, answers, log }: AddressCheckDeps): () => Promise<void> {
  /** Gateways that are done with (null), or until when one lived that was not found. */
  const known = new Map<string, Date | null>()

  async function look(other: OtherGateway): Promise<void> {
    const { id, address, seenUntil } = other
    const missed = known.get(id)
    if (missed === null) return
    if (await answers(other)) {
      known.set(id, null)
    } else if (missed === undefined) {
      known.set(id, seenUntil)
    } else if (seenUntil > missed) {
      known.set(id, null)
      log.warn({ gateway: id, address }, adviceOn(address))
    }
  }

  return async () => {
    const found = await others()
    const alive = new Set(found.map(({ id }) => id))
    for (const id of known.keys()) if (!alive.has(id)) known.delete(id)
    await Promise.all(found.map(look))
  }
}

function adviceOn(address: string): string {
  const isLocal = isLoopback(address.slice(0, address.lastIndexOf(':')))
  return (
    `another gateway is not reached at ${address}, so terminals and services that lead through it fail here; ` +
    (isLocal
      ? 'that address is good on its own computer only: set BERTH_INTERNAL_HOST there'
      : 'see that its BERTH_INTERNAL_HOST, BERTH_INTERNAL_PORT and BERTH_INTERNAL_ADDRESS are reached from here')
  )
}
