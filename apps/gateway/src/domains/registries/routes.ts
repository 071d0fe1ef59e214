import {
  addRegistryCredential,
  checkRegistryCredential,
  editRegistryCredential,
  listRegistryCredentials,
  removeRegistryCredential,
} from '@berth/contract/registries'
import { type Route, route } from '../../platform/http/handler.ts'
import type { Registries } from './registries.ts'

/**
 * The calls on registry credentials (R3.12).
 * @param registries The domain.
 */
export function registriesRoutes(registries: Registries): Route[] {
  return [
    route(listRegistryCredentials, async ({ caller }) => registries.list(caller.userId)),
    route(addRegistryCredential, async ({ caller, body }) => registries.add(caller.userId, body)),
    route(editRegistryCredential, async ({ caller, params, body }) =>
      registries.edit(caller.userId, params.id, body),
    ),
    route(removeRegistryCredential, async ({ caller, params }) => {
      await registries.remove(caller.userId, params.id)
      return null
    }),
    route(checkRegistryCredential, async ({ caller, params }) => registries.check(caller.userId, params.id)),
  ]
}
