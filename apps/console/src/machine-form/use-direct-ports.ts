import { useQuery } from '@tanstack/react-query'
import { settingsQuery } from '../api/queries.ts'

/**
 * Whether TCP and UDP ports are reached from outside at the address that all instances share. As long as that is not known they
 * are taken to be: the gateway refuses what is not so.
 */
export function useDirectPorts(): boolean {
  return useQuery(settingsQuery).data?.direct_ports ?? true
}
