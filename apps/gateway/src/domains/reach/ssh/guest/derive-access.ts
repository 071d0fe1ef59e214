import type { GuestAccess } from '../../../../drivers/compute/port/guest-access.ts'
import type { SshKeys } from '../../../ssh-keys/ssh-keys.ts'

/** The part of a machine's keys that the gateway has use for. */
export function guestAccess({ guestKeys }: Pick<SshKeys, 'guestKeys'>, instanceId: string): GuestAccess {
  const { signIn, host } = guestKeys(instanceId)
  return { privateKey: signIn.private, hostKey: host.public }
}
