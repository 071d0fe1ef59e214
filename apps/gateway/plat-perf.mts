import fastify from 'fastify'
import { defineCall } from '@berth/contract/call'
import * as z from 'zod'
import { pino } from 'pino'
import { createServer } from './src/platform/http/server.ts'
import { route } from './src/platform/http/handler.ts'
import { systemClock } from './src/platform/clock.ts'
import { systemIds } from './src/platform/ids.ts'
import { createMetrics } from './src/platform/metrics.ts'
import { RATE_LIMITS } from './src/platform/http/rate-limits.ts'
const data = { currency: 'USD', account_balance: { amount: 1, amount_available: 1, amount_credits: 1, amount_free: 0, amount_freeze: 0 }, coupon_count: 0, burn_micro_per_hour: '0', lasts_seconds: null }
if (process.argv[2] === 'bare') {
  const app = fastify()
  app.get('/gateway/api/bill/balance', async () => ({ status: 'ok', msg: '', data }))
  await app.listen({ port: 18100 })
} else {
  const caller = { userId: 'u', sessionId: 's', emailVerified: true }
  const s = await createServer({ routes: [route(defineCall({ operation: 'bill.balance', method: 'GET', path: '/api/bill/balance', summary: '', audience: 'user', timeout: 'fast', data: z.any() }), async () => data)],
    authenticate: async () => caller, db: {} as never, clock: systemClock, ids: systemIds, log: pino({ level: 'info' }, pino.destination(2)), metrics: createMetrics(), rateLimits: { ...RATE_LIMITS, general_per_minute: 1e8 }, publicUrl: null, bindHost: '127.0.0.1', trustedProxies: [], consoleDir: null, openApi: {}, health: async () => {} })
  await s.listen('127.0.0.1', 18100)
}
