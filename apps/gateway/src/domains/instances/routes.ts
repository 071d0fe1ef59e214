import { getInstance } from '@berth/contract/instance-page'
import { pageInstances } from '@berth/contract/instance-paging'
import {
  checkResource,
  deployInstance,
  editInstance,
  getPrice,
  listInstanceEvents,
  listInstances,
  restartInstance,
  startInstance,
  stopInstance,
  terminateInstance,
} from '@berth/contract/instances'
import type { Say } from '../../platform/config/catalogue-words.ts'
import { type Route, route } from '../../platform/http/handler.ts'
import type { Instances } from './instances.ts'
import { networkVolumeRoutes } from './network-volume/routes.ts'
import type { Quotes } from './offer/quotes.ts'
import { publicIpRoutes } from './public-ip/routes.ts'
import { resumeRoutes } from './resume/routes.ts'
import { saidIn } from './said.ts'
import { termRoutes } from './terms/routes.ts'

/**
 * The calls on instances (R7.4), but for those that connect to one.
 * @param instances The domain.
 * @param quotes Prices and preflight checks.
 * @param say How the catalogue's texts are said in a language.
 */
export function instancesRoutes(
  instances: Instances,
  quotes: Pick<Quotes, 'price' | 'check'>,
  say: Say,
): Route[] {
  const said = saidIn(say)
  return [
    route(deployInstance, ({ caller, idempotencyKey, body }) =>
      instances.deploy({ userId: caller.userId, idempotencyKey, body }),
    ),
    route(listInstances, async ({ caller, language }) => {
      const own = await instances.list(caller.userId)
      return own.map(one => said(one, language))
    }),
    route(pageInstances, async ({ caller, query, language }) => {
      const page = await instances.page(caller.userId, {
        ...query,
        ids: query.instance_id,
        statuses: query.status,
        say: english => say(english, language),
      })
      return { ...page, items: page.items.map(one => said(one, language)) }
    }),
    route(getInstance, async ({ caller, params, language }) =>
      said(await instances.get({ userId: caller.userId, instanceId: params.id }), language),
    ),
    route(editInstance, ({ caller, body }) =>
      instances.edit(
        { userId: caller.userId, instanceId: body.instance_id },
        {
          name: body.name,
          stopAt: typeof body.stop_at === 'string' ? new Date(body.stop_at) : body.stop_at,
          spendLimitCents: body.spend_limit_cents,
          idleStopMinutes: body.idle_stop_minutes,
          resumeAfterTopup: body.resume_after_topup,
          httpPorts: body.http_ports,
          tcpPorts: body.tcp_ports,
          udpPorts: body.udp_ports,
          env: body.env,
          secretEnv: body.secret_env,
          startCommand: body.start_command,
          onCommandEnd: body.on_command_end,
          sshKeyIds: body.ssh_key_ids,
          restart: body.restart,
        },
      ),
    ),
    route(terminateInstance, ({ caller, params }) =>
      instances.terminate({ userId: caller.userId, instanceId: params.id }),
    ),
    route(stopInstance, ({ caller, params }) =>
      instances.stop({ userId: caller.userId, instanceId: params.id }),
    ),
    route(restartInstance, ({ caller, params }) =>
      instances.restart({ userId: caller.userId, instanceId: params.id }),
    ),
    route(startInstance, ({ caller, idempotencyKey, body }) =>
      instances.start(
        { userId: caller.userId, instanceId: body.instance_id },
        { specId: body.gpu_spec_id, gpuCount: body.gpu_count, idempotencyKey },
      ),
    ),
    ...termRoutes(instances),
    ...resumeRoutes(instances, say),
    ...publicIpRoutes(instances),
    ...networkVolumeRoutes(instances),
    route(listInstanceEvents, ({ caller, params }) =>
      instances.events({ userId: caller.userId, instanceId: params.id }),
    ),
    route(checkResource, async request => {
      const { ok, checks } = await quotes.check(request)
      return {
        ok,
        checks: checks.map(({ values: { region, ...values }, ...check }) => ({
          ...check,
          values: typeof region === 'string' ? { ...values, region: say(region, request.language) } : values,
        })),
      }
    }),
    route(getPrice, async request => {
      const price = await quotes.price(request)
      return {
        ...price,
        lines: price.lines.map(line => ({ ...line, name: say(line.name, request.language) })),
      }
    }),
  ]
}
