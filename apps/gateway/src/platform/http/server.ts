import type { Duplex } from 'node:stream'
import type { Call } from '@berth/contract/call'
import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import type { ErrorCode } from '@berth/contract/errors'
import { BODY_BYTES_MAX } from '@berth/contract/limits'
import fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Database } from '../database/database.ts'
import type { Ids } from '../ids.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { ApiError } from './api-error.ts'
import { type BodyPace, createBodyPace } from './body-pace.ts'
import type { CallDone } from './call-done.ts'
import { API_HEADERS, type Authenticate, answerOf, createCallHandler, toApiError } from './call-handler.ts'
import { type CallerTurns, createCallerTurns } from './caller-turns.ts'
import { registerConsole } from './console-files.ts'
import { registerDocs } from './docs-page.ts'
import { createFrontDoor, type FrontDoorOptions } from './front-door.ts'
import type { Caller, Route } from './handler.ts'
import { createIdempotency, type Idempotency } from './idempotency.ts'
import { createLongBodies, type LongBodies, longBytes } from './long-bodies.ts'
import { noteRequests, registerHealth } from './observability.ts'
import type { PageSources } from './page-security.ts'
import { createRateCounts } from './rate-counts.ts'
import { createRateLimits, type LimitOf, type RateLimits } from './rate-limits.ts'
import { type RawRoute, registerRawRoutes } from './raw-routes.ts'
import { acceptBodies, acceptRawBodies } from './request-bodies.ts'

export interface ServerOptions extends FrontDoorOptions {
  routes: Route[]
  /** Addresses that are no calls. */
  rawRoutes?: readonly RawRoute[]
  authenticate: Authenticate
  db: Database
  ids: Ids
  log: Logger
  metrics: Metrics
  rateLimits: RateLimits
  /** Hashes what comes with idempotency keys; the same for every replica. */
  contentKey: Uint8Array
  /** What the console's page says of payments: whether there are any, and whether their money is real. */
  payments: string
  /** The built console; null or a folder that is missing: the page says so. */
  consoleDir: string | null
  /** Others' origins that every page of the console may load from; null or left out: none. */
  sources?: PageSources | null
  /** The same of the sign-in page, besides. */
  signInSources?: PageSources | null
  /** Makes the published document; asked once. */
  openApi: () => object
  /** Resolves when the gateway can do its work. */
  health(): Promise<void>
  checkAnswers?: boolean
  /** How fast long bodies must come; left out: as customers have it. */
  bodyPace?: BodyPace | undefined
  /** Is told of each call that does not only look, once it is done or refused; must return at once. */
  onCallDone?: (done: CallDone) => void
}

export interface GatewayServer {
  app: FastifyInstance
  /** Begins to listen and gives the port. */
  listen(host: string, port: number): Promise<number>
  /** Has every connection end with its next answer, so that who keeps one asks another gateway; all is answered as before. */
  leave(): void
  /** Stops accepting, lets running calls end, then cuts what is left after `patienceMs`. */
  close(patienceMs: number): Promise<void>
  /** Removes old answers of spending calls. */
  pruneIdempotency: Idempotency['prune']
  /** Removes counts of calls whose window is over. */
  pruneRateCounts(): Promise<void>
}

/** How often it is looked, while the server closes, which connections have nothing to do any more. */
const CLOSE_LOOK_MS = 200

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
    /** What the request failed with, for the log. */
    errorCode: ErrorCode | null
  }
  interface FastifyContextConfig {
    call?: Call
  }
}

/**
 * Makes the gateway's server: calls, console, documents and service origins on one port. It does not listen yet.
 */
export async function createServer(options: ServerOptions): Promise<GatewayServer> {
  const { log } = options
  const upgraded = new Set<Duplex>()
  const app = fastify({
    loggerInstance: log as never,
    logController: new LogController({ disableRequestLogging: true }),
    // Whoever says something names its request: most requests say nothing, and a logger of their own is no small part of a call.
    childLoggerFactory: logger => logger,
    genReqId: createRequestIds(options.ids),
    // Whoever still has a connection when the server closes is answered as before.
    return503OnClosing: false,
    bodyLimit: BODY_BYTES_MAX,
    trustProxy: options.trustedProxies.length > 0 ? options.trustedProxies : false,
    routerOptions: { maxParamLength: 300 },
    frameworkErrors: (error, request, reply) => sendError(error, request as never, reply as never),
    serverFactory: handler => createFrontDoor(options, handler as never, upgraded),
  }) as unknown as FastifyInstance
  app.decorateRequest('caller', null)
  app.decorateRequest('errorCode', null)
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply))
  app.setNotFoundHandler((request, reply) => sendError(missing(request, options.routes), request, reply))
  acceptBodies(app)
  noteRequests(app, options)
  const rateCounts = createRateCounts(options)
  const limitOf = await createRateLimits(app, options.rateLimits, rateCounts)
  const idempotency = createIdempotency(options)
  const inTurn = createCallerTurns()
  const longBodies = createLongBodies()
  const parts = { idempotency, limitOf, inTurn, longBodies }
  const { plain = [], raw = [] } = Object.groupBy(options.routes, ({ call }) => (call.raw ? 'raw' : 'plain'))
  registerCalls(app, options, plain, parts)
  await app.register(async scope => {
    acceptRawBodies(scope)
    registerCalls(scope, options, raw, parts)
  })
  await registerRawRoutes(app, options.rawRoutes ?? [], {
    ...{ limitOf, inTurn, longBodies, known },
    bodyPace: options.bodyPace,
  })
  registerHealth(app, options)
  await registerDocs(app, options)
  await registerConsole(app, options)
  let isLeaving = false
  function leave(): void {
    if (isLeaving) return
    isLeaving = true
    app.server.prependListener('request', (_request, response) => {
      response.shouldKeepAlive = false
    })
  }
  return {
    app,
    leave,
    async listen(host, port) {
      await app.listen({ host, port })
      const address = app.server.address()
      return typeof address === 'object' && address ? address.port : port
    },
    async close(patienceMs) {
      leave()
      const cut = setTimeout(() => {
        app.server.closeAllConnections()
        for (const socket of upgraded) socket.destroy()
      }, patienceMs)
      // A connection whose answer began before would be kept for a next request that nobody takes.
      const letGo = setInterval(() => app.server.closeIdleConnections(), CLOSE_LOOK_MS)
      // Sockets are told by what serves them; those that stay are cut with the rest.
      await app.close().finally(() => {
        clearTimeout(cut)
        clearInterval(letGo)
      })
      for (const socket of upgraded) socket.destroy()
    },
    pruneIdempotency: idempotency.prune,
    pruneRateCounts: rateCounts.prune,
  }
}

function registerCalls(
  app: FastifyInstance,
  options: ServerOptions,
  routes: readonly Route[],
  {
    idempotency,
    limitOf,
    inTurn,
    longBodies,
  }: { idempotency: Idempotency; limitOf: LimitOf; inTurn: CallerTurns; longBodies: LongBodies },
): void {
  const deps = {
    authenticate: options.authenticate,
    clock: options.clock,
    idempotency,
    inTurn,
    contentKey: options.contentKey,
    checkAnswers: options.checkAnswers ?? false,
    onCallDone: options.onCallDone ?? null,
  }
  for (const route of routes) {
    const { call } = route
    const { admit, handler } = createCallHandler(route, deps)
    const limit = limitOf(call.rateClass)
    /** What a raw call is given is held whole. */
    const makeRoom = async ({ headers, caller }: FastifyRequest, { raw }: FastifyReply) => {
      const bytes = call.raw ? longBytes(headers, call.bodyBytesMax) : null
      if (bytes !== null) longBodies.take(caller?.userId ?? '', bytes, raw)
    }
    app.route({
      method: call.method,
      url: GATEWAY_PREFIX + call.path.replace(/\{(\w+)\}/g, ':$1'),
      config: { call },
      bodyLimit: call.bodyBytesMax,
      // Nothing of a body is read before it is known that its sender may make the call.
      onRequest: [...(limit ? [limit] : []), admit, ...(call.raw ? [makeRoom] : [])],
      ...(call.raw && { preParsing: createBodyPace(call.bodyBytesMax, options.bodyPace) }),
      handler,
    })
  }
}

function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply) {
  const call = request.routeOptions.config.call ?? null
  const told = known(error, request)
  request.errorCode = told.code
  const answer = answerOf(told, call, request)
  if (told.code === 'unavailable') reply.header('retry-after', '1')
  // Whoever asked for a part that is not there hears how long the whole is.
  if (told.code === 'file_range') reply.header('content-range', `bytes */${told.values.size}`)
  // No hook sees an address that cannot be decoded, so the id is put here too.
  reply.header('x-request-id', request.id)
  return reply.code(answer.httpStatus).headers(API_HEADERS).send(answer.text)
}

/** What anything that was thrown is in our codes. */
function known(error: unknown, request: FastifyRequest): ApiError {
  if (error instanceof ApiError) return toApiError(error, request)
  return fromFastify(error, request) ?? toApiError(error, request)
}

/** Addresses that cannot be decoded, name things longer than any name, or lead out of the console's folder. */
const NOWHERE: ReadonlySet<string> = new Set([
  'FST_ERR_BAD_URL',
  'FST_ERR_ASYNC_CONSTRAINT',
  'FST_ERR_MAX_PARAM_LENGTH',
  'FST_STATIC_FORBIDDEN_PATH',
])

/** What Fastify itself found fault with, in our codes; null for anything else. */
function fromFastify(error: unknown, request: FastifyRequest): ApiError | null {
  const { config, bodyLimit } = request.routeOptions
  const { code, statusCode } = error as Partial<FastifyError>
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return new ApiError('body_too_large', { values: { limit: sizeText(bodyLimit ?? 0) } })
  }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new ApiError('unsupported_media_type')
  if (code !== undefined && NOWHERE.has(code)) return new ApiError('not_found')
  // Only calls take a body; elsewhere the address itself is what cannot be, one with a zero byte say.
  if (statusCode === 400) return new ApiError(config.call ? 'malformed_json' : 'not_found')
  return null
}

function sizeText(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.floor(bytes / 1_000)} kB` : `${bytes / 1_000_000} MB`
}

/** Nothing answers this; or something does, but not by this method. */
function missing(request: FastifyRequest, routes: Route[]): ApiError {
  const path = request.url.split('?')[0] ?? ''
  const known = routes.some(({ call }) => pathPattern(call.path).test(path))
  return new ApiError(known ? 'method_not_allowed' : 'not_found')
}

function pathPattern(path: string): RegExp {
  return new RegExp(`^${GATEWAY_PREFIX}${path.replace(/\{\w+\}/g, '[^/]+').replaceAll('.', '\\.')}$`)
}

/** Unique over restarts, and cheap. */
function createRequestIds(ids: Ids): () => string {
  const run = ids.secret(6)
  let count = 0
  return () => `${run}-${(++count).toString(36)}`
}
