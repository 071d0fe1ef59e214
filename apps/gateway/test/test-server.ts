import type { Call } from '@berth/contract/call'
import { RECENT_SIGN_IN_MS } from '@berth/contract/limits'
import { pino } from 'pino'
import { systemClock } from '../src/platform/clock.ts'
import { brands } from '../src/platform/config/brands.ts'
import type { Database } from '../src/platform/database/database.ts'
import type { Caller, Route } from '../src/platform/http/handler.ts'
import { openApiDocument } from '../src/platform/http/openapi.ts'
import { RATE_LIMITS } from '../src/platform/http/rate-limits.ts'
import { createServer, type GatewayServer, type ServerOptions } from '../src/platform/http/server.ts'
import { systemIds } from '../src/platform/ids.ts'
import { createMetrics } from '../src/platform/metrics.ts'
import { openCustomers } from './open-customers.ts'

const customer = (last: string) => ({
  userId: `01890000-0000-7000-8000-00000000000${last}`,
  sessionId: `session-${last}`,
  emailVerified: true,
  // Now, whenever that is asked: one process may run files for longer than a sign-in counts as recent.
  get provenAt() {
    return systemClock.now()
  },
})

/** Tokens that the test server knows. */
export const TOKENS: Record<string, Caller> = {
  anna: customer('a'),
  ben: customer('b'),
  unverified: Object.assign(customer('c'), { emailVerified: false }),
  /** Signed in a while ago. */
  idle: { ...customer('d'), provenAt: new Date(systemClock.now().getTime() - RECENT_SIGN_IN_MS - 1) },
}

export interface TestServer extends GatewayServer {
  origin: string
  port: number
}

/** The real server with routes of the test's own, on a free port; those of `TOKENS` are customers. */
export async function startTestServer(
  db: Database,
  routes: Route[],
  overrides: Partial<ServerOptions> = {},
): Promise<TestServer> {
  await openCustomers(db, ...Object.values(TOKENS).map(({ userId }) => userId))
  const server = await createServer({
    routes,
    authenticate: async token => TOKENS[token] ?? null,
    db,
    clock: systemClock,
    ids: systemIds,
    log: pino({ level: 'silent' }),
    metrics: createMetrics(),
    rateLimits: RATE_LIMITS,
    contentKey: new Uint8Array(32).fill(7),
    publicUrl: null,
    bindHost: '127.0.0.1',
    trustedProxies: [],
    brands: brands.parse([{ hosts: ['default'], name: 'Berth', docs_url: '/gateway/docs' }]),
    payments: 'offered',
    consoleDir: null,
    openApi: () => openApiDocument(routes.map(({ call }) => call as Call)),
    health: async () => {
      await db.execute('select 1')
    },
    checkAnswers: true,
    ...overrides,
  })
  const port = await server.listen('127.0.0.1', 0)
  return { ...server, port, origin: `http://127.0.0.1:${port}` }
}
