import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import type { FastifyInstance } from 'fastify'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { beginSpan, type OpenSpan } from '../tracing/spans.ts'
import { API_HEADERS } from './call-handler.ts'
import { createProxies } from './proxies.ts'

/** A header of W3C Trace Context is no longer than this; what is longer is none. */
const TRACEPARENT_CHARS_MAX = 100

declare module 'fastify' {
  interface FastifyRequest {
    /** Null where no traces are wanted. */
    span: OpenSpan | null
  }
}

/**
 * Has every request be a span: by its operation's name, or by the route where it is no call. It goes on with the trace of a
 * proxy that is believed, and of nobody else: which traces are sent goes by their ids, which strangers could choose.
 */
function traceRequests(app: FastifyInstance, trustedProxies: readonly string[]): void {
  const proxies = createProxies(trustedProxies)
  app.decorateRequest('span', null)
  app.addHook('onRequest', (request, _reply, done) => {
    const { config, url } = request.routeOptions
    const { traceparent } = request.headers
    const isTold = typeof traceparent === 'string' && proxies.has(request.socket.remoteAddress ?? '')
    const from = isTold ? traceparent.slice(0, TRACEPARENT_CHARS_MAX) : ''
    const facts = { 'http.request.method': request.method, 'http.route': url }
    request.span = beginSpan(config.call?.operation ?? `${request.method} ${url ?? 'nowhere'}`, facts, from)
    if (request.span) request.span.within(done)
    else done()
  })
  // A body comes by events of its connection, which know nothing of the request.
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.span) request.span.within(done)
    else done()
  })
  app.addHook('onResponse', (request, { statusCode }, done) => {
    const failure = request.errorCode ?? (statusCode >= 500 ? String(statusCode) : null)
    request.span?.end({ 'http.response.status_code': statusCode }, failure)
    done()
  })
}

/**
 * Notes every call in metrics, log and traces, by operation name. What only reads and worked is logged at `debug`, because
 * every open console asks every few seconds.
 */
export function noteRequests(
  app: FastifyInstance,
  { metrics, log, trustedProxies }: { metrics: Metrics; log: Logger; trustedProxies: readonly string[] },
): void {
  traceRequests(app, trustedProxies)
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
