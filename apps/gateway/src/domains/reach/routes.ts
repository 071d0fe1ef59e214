import { diagnoseConnection } from '@berth/contract/connection-doctor'
import { followInstanceLogs, searchInstanceLogs, startLogDownload } from '@berth/contract/instance-page'
import { getConnection, getInstanceLogs, startWebTerminal, stopWebTerminal } from '@berth/contract/instances'
import { ComputeError } from '../../drivers/compute/port/compute-error.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { type Route, route } from '../../platform/http/handler.ts'
import { wireOf } from '../../platform/http/wire.ts'
import type { Instances } from '../instances/instances.ts'
import type { Connections } from './connections.ts'
import type { Doctor } from './doctor/doctor.ts'
import { fileRoutes } from './files/file-routes.ts'
import type { Files } from './files/files.ts'
import { logDownloadPath } from './logs/log-download-route.ts'
import type { LogFollowers } from './logs/log-followers.ts'
import type { MachineWays } from './machine-ways.ts'
import type { Terminals } from './terminal/terminals.ts'

const ticketOf = wireOf(startWebTerminal.data)

/** The calls that connect to an instance (R7.4). */
export function reachRoutes(deps: {
  connections: Pick<Connections, 'find'>
  doctor: Doctor
  terminals: Pick<Terminals, 'issueTicket' | 'stop'>
  instances: Pick<Instances, 'findOwn' | 'findRunning'>
  ways: Pick<MachineWays, 'logs'>
  logFollowers: Pick<LogFollowers, 'follow' | 'search' | 'startDownload'>
  files: Files
}): Route[] {
  const { connections, doctor, terminals, instances, ways, logFollowers, files } = deps
  return [
    route(getConnection, ({ caller, params, origin }) =>
      connections.find({ userId: caller.userId, instanceId: params.id }, origin),
    ),
    route(diagnoseConnection, ({ caller, params }) =>
      doctor.diagnose({ userId: caller.userId, instanceId: params.id }),
    ),
    route(getInstanceLogs, async ({ caller, params }) => {
      await instances.findOwn({ userId: caller.userId, instanceId: params.id })
      return await ways.logs(params.id).catch(refusalOf)
    }),
    route(followInstanceLogs, ({ caller: { userId, sessionId }, params }) =>
      logFollowers.follow({ userId, sessionId, instanceId: params.id }),
    ),
    route(searchInstanceLogs, ({ caller: { userId, sessionId }, params, query }) =>
      logFollowers.search({ userId, sessionId, instanceId: params.id }, query.text),
    ),
    route(startLogDownload, async ({ caller: { userId, sessionId }, params }) => {
      const started = await logFollowers.startDownload({ userId, sessionId, instanceId: params.id })
      return {
        path: logDownloadPath(started.ticket),
        name: started.name,
        expires_at: started.expiresAt.toISOString(),
      }
    }),
    route(startWebTerminal, async ({ caller, body }) => {
      const { userId, sessionId } = caller
      const subject = { userId, sessionId, instanceId: body.instance_id }
      return ticketOf(await terminals.issueTicket(subject, body.session))
    }),
    route(stopWebTerminal, async ({ caller, body }) => {
      await instances.findRunning(caller.userId, body.instance_id)
      await terminals.stop(body.instance_id, body.session)
      return { instance_id: body.instance_id }
    }),
    ...fileRoutes(files),
  ]
}

/** A machine that was not made yet has written nothing; what else goes wrong with it may be right in a moment. */
function refusalOf(error: unknown): { text: string; cut: boolean } {
  if (!(error instanceof ComputeError)) throw error
  if (error.code === 'not_found') return { text: '', cut: false }
  throw new ApiError('unavailable', { cause: error })
}
