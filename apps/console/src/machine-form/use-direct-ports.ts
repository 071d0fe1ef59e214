import { useQuery } from '@tanstack/react-query'
import { settingsQuery } from '../api/queries.ts'

/**
 * Whether TCP and UDP ports of an instance are reached from outside. As long as that is not known they are taken to be: the gateway
 * refuses what is not so.
 * @param ownAddress It has, or is to have, an address that no other one has, and is reached there in any case.
 */
export function useDirectPorts(ownAddress = false): boolean {
  const isShared = useQuery(settingsQuery).data?.direct_ports ?? true
  return isShared || ownAddress
}
