import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import type { FastifyInstance } from 'fastify'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { API_HEADERS } from './call-handler.ts'

/**
 * Notes every call in metrics and log, by operation name. What only reads and worked is logged at `debug`, because
 * every open console asks every few seconds.
 */
export function noteRequests(
  app: FastifyInstance,
  { metrics, log }: { metrics: Metrics; log: Logger },
): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    // A call of a model is known to its customer by an id of its own.
    if (!reply.hasHeader('x-request-id')) reply.header('x-request-id', request.id)
    done(null, payload)
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { call } = request.routeOptions.config
    const operation = call?.operation ?? 'other'
    const { statusCode, elapsedTime } = reply
    metrics.observeCall(operation, statusCode, elapsedTime / 1_000)
    const quiet = !call || (call.readOnly && request.errorCode === null)
    if (!quiet || log.isLevelEnabled('debug')) {
      log[quiet ? 'debug' : 'info'](
        {
          operation,
          status: statusCode,
          ms: Math.round(elapsedTime * 10) / 10,
          reqId: request.id,
          user: request.caller?.userId,
          ...(request.errorCode && { code: request.errorCode }),
          ...(!call && { method: request.method, path: request.url.split('?')[0] }),
        },
        'request',
      )
    }
    done()
  })
}

/** Whether the gateway works, for whoever reaches the console's address; more is on the management port. */
export function registerHealth(app: FastifyInstance, { health }: { health(): Promise<void> }): void {
  app.get(`${GATEWAY_PREFIX}/health`, async (_request, reply) => {
    await health()
    reply.headers(API_HEADERS)
    return '{"status":"ok"}'
  })
}
