import type { Logger } from 'pino'
import type { ComputeDriver } from '../../drivers/compute/port.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database/database.ts'
import type { OpenDatabase } from '../../platform/database/open-database.ts'
import type { Route } from '../../platform/http/handler.ts'
import { isLoopback } from '../../platform/http/hosts.ts'
import type { ServiceOrigin } from '../../platform/http/server.ts'
import type { Ids } from '../../platform/ids.ts'
import { createConnections } from './connection.ts'
import { connectionRoutes } from './connection-routes.ts'
import type { Instances } from './instances.ts'
import { createServiceProxy, type ServiceLimits, type ServiceTarget } from './service-proxy.ts'
import { createTcpForwards } from './tcp-forwards.ts'
import type { TerminalLimits } from './terminal/terminal-limits.ts'
import { createTerminals, type Terminals } from './terminal/terminals.ts'

/** All ways into instances, put together. */
export interface Connect {
  terminals: Terminals
  serviceOrigin: ServiceOrigin<ServiceTarget>
  routes: Route[]
  /** Begins to close what belongs to instances that stop and sessions that end. @returns The way to stop. */
  start(): Promise<() => void>
  shutdown(): void
}

export interface ConnectDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Logger
  listen: OpenDatabase['listen']
  compute: ComputeDriver | null
  instances: Pick<Instances, 'findRunning' | 'findService'>
  identity: {
    isSessionOpen(sessionId: string): Promise<boolean>
    watchSessions(onChange: () => void): Promise<() => void>
  }
  /** The interface that the gateway listens on. */
  host: string
  publicUrl: string | null
  serviceHost: string
  limits?: { terminal?: Partial<TerminalLimits>; service?: Partial<ServiceLimits> }
}

/** Where forwarded TCP ports listen: never beyond this computer, whatever the gateway does. */
const FORWARD_HOST = '127.0.0.1'

/** Makes the ways into instances. Nothing listens by itself yet. */
export function createConnect(deps: ConnectDeps): Connect {
  const { compute, instances, limits = {} } = deps
  const terminals = createTerminals({ ...deps, limits: limits.terminal ?? {} })
  // On a loopback interface customers are at this computer; elsewhere its own ports are out of their reach.
  const tcp =
    compute && isLoopback(deps.host)
      ? { host: FORWARD_HOST, forwards: createTcpForwards({ ...deps, compute, host: FORWARD_HOST }) }
      : null
  const connections = createConnections({ ...deps, terminals, tcp })
  return {
    terminals,
    serviceOrigin: createServiceProxy({
      ...deps,
      scheme: deps.publicUrl?.startsWith('https:') ? 'https' : 'http',
      limits: limits.service ?? {},
    }),
    routes: connectionRoutes({ connections, terminals, instances }),
    start: connections.start,
    shutdown: () => {
      terminals.shutdown()
      tcp?.forwards.shutdown()
    },
  }
}
