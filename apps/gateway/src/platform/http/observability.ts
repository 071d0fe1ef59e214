import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { ApiError } from './api-error.ts'
import { API_HEADERS } from './call-handler.ts'
import { isLoopback, wasForwarded } from './hosts.ts'

/**
 * Notes every call in metrics and log, by operation name. What only reads and worked is logged at `debug`, because
 * every open console asks every few seconds.
 */
export function noteRequests(
  app: FastifyInstance,
  { metrics, log }: { metrics: Metrics; log: Logger },
): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    reply.header('x-request-id', request.id)
    done(null, payload)
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { call } = request.routeOptions.config
    const operation = call?.operation ?? 'other'
    const { statusCode, elapsedTime } = reply
    metrics.observeCall(operation, statusCode, elapsedTime / 1_000)
    const quiet = !call || ((call.method === 'GET' || call.retry) && request.errorCode === null)
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

/** What operators ask: whether it works, and its metrics (from this computer only). */
export function registerHealth(
  app: FastifyInstance,
  { health, metrics }: { health(): Promise<void>; metrics: Metrics },
): void {
  app.get(`${GATEWAY_PREFIX}/health`, async (_request, reply) => {
    await health()
    reply.headers(API_HEADERS)
    return '{"status":"ok"}'
  })
  app.get(`${GATEWAY_PREFIX}/metrics`, async (request, reply) => {
    if (!comesFromHere(request)) throw new ApiError('not_found')
    reply.header('content-type', metrics.contentType)
    return metrics.text()
  })
}

/** Whether it was asked for on this computer; a proxy here that passes somebody else's request on does not count. */
function comesFromHere({ socket, hostname, headers }: FastifyRequest): boolean {
  return (
    isLoopback(socket.remoteAddress ?? '') &&
    isLoopback(hostname) &&
    !wasForwarded(headers)
  )
}
