import {
  addDeployTemplate,
  getDeployTemplate,
  getInstanceSetup,
  listDeployTemplates,
  removeDeployTemplate,
  renameDeployTemplate,
} from '@berth/contract/deploy-templates'
import { type Route, route } from '../../platform/http/handler.ts'
import type { Instances } from '../instances/instances.ts'
import { type DeployTemplates, repeatable } from './deploy-templates.ts'

/**
 * The calls by which a deploy is repeated (B18).
 * @param templates The domain.
 * @param instances Says what one was deployed with.
 */
export function deployTemplatesRoutes(
  templates: DeployTemplates,
  instances: Pick<Instances, 'setup'>,
): Route[] {
  return [
    route(listDeployTemplates, async ({ caller }) => templates.list(caller.userId)),
    route(getDeployTemplate, async ({ caller, params }) => templates.get(caller.userId, params.id)),
    route(addDeployTemplate, async ({ caller, body }) => templates.add(caller.userId, body)),
    route(renameDeployTemplate, async ({ caller, params, body }) =>
      templates.rename(caller.userId, params.id, body.name),
    ),
    route(removeDeployTemplate, async ({ caller, params }) => {
      await templates.remove(caller.userId, params.id)
      return null
    }),
    route(getInstanceSetup, async ({ caller, params }) =>
      repeatable(await instances.setup({ userId: caller.userId, instanceId: params.id })),
    ),
  ]
}
