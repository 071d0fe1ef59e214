import { addSshKey, listSshKeys, removeSshKey } from '@berth/contract/ssh-keys'
import { type Route, route } from '../../platform/http/handler.ts'
import type { SshKeys } from './ssh-keys.ts'

/**
 * The calls on SSH keys (R1.7).
 * @param keys The domain.
 */
export function sshKeysRoutes(keys: SshKeys): Route[] {
  return [
    route(listSshKeys, async ({ caller }) => keys.list(caller.userId)),
    route(addSshKey, async ({ caller, body }) => keys.add(caller.userId, body)),
    route(removeSshKey, async ({ caller, params }) => {
      await keys.remove(caller.userId, params.id)
      return null
    }),
  ]
}
