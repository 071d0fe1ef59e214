import { ComputeError } from '../../drivers/compute/port/compute-error.ts'
import { parseRegistryHost } from '../../drivers/compute/port/image-reference.ts'
import type { RegistryAccess, RegistryLogin } from '../../drivers/compute/port/registry-access.ts'
import type { RegistryLogin as StoredLogin } from './ask-registry.ts'
import { type Outbound, OutboundError } from './outbound.ts'

/** Name servers of strangers have so long. */
const LOOK_MS = 5_000

interface PullAccessDeps {
  outbound: Pick<Outbound, 'requirePublic' | 'mayBePrivate'>
  /** The credential that was chosen; null where it is gone. */
  chosen: () => Promise<StoredLogin | null>
  /** Others of the same customer. */
  others: () => Promise<StoredLogin[]>
  /** Whether one was chosen at all. */
  wantsLogin: boolean
}

/**
 * What the pull of a customer's image may show to its registry: the credential that the customer chose or, where that
 * one is gone, another one that the customer keeps for the same registry. Where the registry leads is looked at before
 * each pull, since an engine may look for itself only.
 */
export function pullAccess({ outbound, chosen, others, wantsLogin }: PullAccessDeps): RegistryAccess {
  return async host => {
    await requirePublic(outbound, host)
    const terms = { ca: null, also: [], is_stranger: !outbound.mayBePrivate(host) }
    if (!wantsLogin) return { ...terms, login: null }
    const stored = (await chosen()) ?? (await others()).find(login => isFor(login, host))
    if (!stored || !isFor(stored, host)) {
      throw new ComputeError('image_login_gone', `there is no credential for ${host} any more`)
    }
    return { ...terms, login: asLogin(stored) }
  }
}

/**
 * Whether a credential is for the registry of a reference.
 * @param host As references have it.
 */
export function isFor({ registry }: Pick<StoredLogin, 'registry'>, host: string): boolean {
  return parseRegistryHost(registry) === host
}

async function requirePublic(outbound: PullAccessDeps['outbound'], host: string): Promise<void> {
  try {
    await outbound.requirePublic(host, AbortSignal.timeout(LOOK_MS))
  } catch (cause) {
    if (!(cause instanceof OutboundError)) throw cause
    if (cause.fault === 'private') {
      throw new ComputeError('image_unavailable', `${host} is not on the public internet`, { cause })
    }
    throw new ComputeError('registry_unreachable', `${host} cannot be found`, { cause })
  }
}

function asLogin({ username, password }: StoredLogin): RegistryLogin {
  return { username, password }
}
