import { type PublicIp, publicIp } from '@berth/contract/public-ip'
import { wireOf } from '../../../platform/http/wire.ts'
import type { BoundIp } from '../../public-ips/public-ips.ts'
import type { InstanceRow } from '../rows.ts'

const publicIpOf = wireOf(publicIp)

/** An address of its own on the wire. */
export function dedicatedOf({ id, address, microPerHour, costsFrom }: BoundIp): PublicIp {
  return publicIpOf({ id, type: 'dedicated', address, rateMicroPerHour: microPerHour, costsFrom })
}

/**
 * The address that an instance shares with all others, where customers reach direct ports and it has any.
 * @param address Null where nobody reaches them.
 */
export function sharedOf(
  address: string | null,
  { tcpPorts, udpPorts }: Pick<InstanceRow, 'tcpPorts' | 'udpPorts'>,
): PublicIp | null {
  if (address === null || tcpPorts.length + udpPorts.length === 0) return null
  return publicIpOf({ id: null, type: 'shared', address, rateMicroPerHour: 0n, costsFrom: null })
}
