import { isIP } from 'node:net'
import { ApiError } from '../../platform/http/api-error.ts'
import type { Outbound } from './outbound.ts'
import { isPublicAddress } from './public-address.ts'

/**
 * Refuses what can be told to be wrong of a registry's host without asking anybody.
 * @param host As the contract lets it pass: lower case, perhaps with a port.
 * @throws ApiError with the rule `registry_host` or `registry_host_private`.
 */
export function checkRegistryHost(host: string, outbound: Pick<Outbound, 'mayBePrivate'>): void {
  const url = URL.parse(`https://${host}/`)
  const [name = '', port] = host.split(':')
  // An address that is not written out, such as 127.1 or 2130706433, becomes another one in a URL.
  if (!url || url.hostname !== name || port === '0') throw hostFault('registry_host')
  if (outbound.mayBePrivate(host)) return
  const isLocal = name === 'localhost' || name.endsWith('.localhost')
  if (isLocal || (isIP(name) && !isPublicAddress(name))) throw hostFault('registry_host_private')
}

/** The error of a field `registry` that breaks a rule. */
export function hostFault(rule: 'registry_host' | 'registry_host_private'): ApiError {
  return new ApiError('validation_failed', { fields: [{ path: 'registry', rule }] })
}
