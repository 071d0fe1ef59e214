import { ed25519Pair, type SshKeyPair } from '../../platform/openssh-key.ts'
import { deriveKey } from '../../platform/secrets.ts'

/** The keys by which the gateway and the SSH server of one virtual machine know each other. */
export interface GuestKeys {
  /** The gateway signs in with it. */
  signIn: SshKeyPair
  /** The server of the machine is known by it. */
  host: SshKeyPair
}

/**
 * Makes the keys of virtual machines: from the installation's root key and the machine's own name, so that all gateways
 * have the same ones, none stands in the database, and whoever has those of one machine has no other's.
 * @param rootKey 32 bytes.
 */
export function createGuestKeys(rootKey: Uint8Array): (instanceId: string) => GuestKeys {
  const pair = (purpose: string, instanceId: string) =>
    ed25519Pair(deriveKey(rootKey, `berth ssh into a guest, ${purpose} ${instanceId}`))
  return instanceId => ({ signIn: pair('sign-in', instanceId), host: pair('host', instanceId) })
}
