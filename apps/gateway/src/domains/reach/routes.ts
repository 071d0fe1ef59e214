import { getConnection, startWebTerminal, stopWebTerminal } from '@berth/contract/instances'
import { type Route, route } from '../../platform/http/handler.ts'
import { wireOf } from '../../platform/http/wire.ts'
import type { Instances } from '../instances/instances.ts'
import type { Connections } from './connections.ts'
import type { Terminals } from './terminal/terminals.ts'

const ticketOf = wireOf(startWebTerminal.data)

/** The calls that connect to an instance (R7.4). */
export function reachRoutes(deps: {
  connections: Pick<Connections, 'find'>
  terminals: Pick<Terminals, 'issueTicket' | 'stop'>
  instances: Pick<Instances, 'findRunning'>
}): Route[] {
  const { connections, terminals, instances } = deps
  return [
    route(getConnection, ({ caller, params, origin }) =>
      connections.find({ userId: caller.userId, instanceId: params.id }, origin),
    ),
    route(startWebTerminal, async ({ caller, body }) => {
      const { userId, sessionId } = caller
      const issued = await terminals.issueTicket({ userId, sessionId, instanceId: body.instance_id })
      return ticketOf(issued)
    }),
    route(stopWebTerminal, async ({ caller, body }) => {
      await instances.findRunning(caller.userId, body.instance_id)
      await terminals.stop(body.instance_id)
      return { instance_id: body.instance_id }
    }),
  ]
}
