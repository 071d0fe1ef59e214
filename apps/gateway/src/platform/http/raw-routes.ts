import type { Readable } from 'node:stream'
import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import type { Language } from '@berth/contract/limits'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from './api-error.ts'
import { type BodyPace, createBodyPace } from './body-pace.ts'
import type { CallerTurns } from './caller-turns.ts'
import { unstorableTexts } from './input-shape.ts'
import { pickLanguage } from './languages.ts'
import { leavingSignal } from './leaving-signal.ts'
import { type LongBodies, longBytes } from './long-bodies.ts'
import type { LimitOf } from './rate-limits.ts'

export type RawMethod = 'GET' | 'POST' | 'DELETE'

/** What a raw route is given: bytes as they came, and nothing of Fastify. */
export interface RawRequest {
  method: RawMethod
  params: Readonly<Record<string, string>>
  query: Readonly<Record<string, unknown>>
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** Empty where none came. */
  body: Buffer
  language: Language
  /** Network address of whoever asks. */
  address: string
  /** Aborts when whoever asks has left before the answer was sent. */
  signal: AbortSignal
}

export interface RawAnswer {
  status: number
  headers: Record<string, string>
  /** A stream is closed by whoever asked when they leave. */
  body: string | Buffer | Readable
}

/**
 * An address that is no call of the contract: whoever asks is no console of ours, and its bytes or its page have a
 * form of their own. It may fail with an `ApiError` like a call.
 */
export interface RawRoute {
  methods: RawMethod[]
  /** Below the gateway's prefix, with Fastify's parameters: `/pay/:platform/:token`. */
  path: `/${string}`
  /** Not below that prefix, but where others' clients look for it. */
  atRoot?: boolean
  /** False where it counts its callers by itself, and gives each of them turns: many may share an address. */
  isCounted?: boolean
  bodyBytesMax: number
  /**
   * Asked before a long body is read, so that only who may have it read has it read; it fails as `handle` does.
   * @returns Whose it is, for the room that it takes.
   */
  admitLong?(head: Pick<RawRequest, 'headers' | 'address'>): Promise<string>
  handle(request: RawRequest): Promise<RawAnswer>
  /** How it says what it refuses; left out: in the envelope, as calls do. */
  refusal?(error: ApiError, language: Language): RawAnswer
}

/** Registers raw routes; bodies of any type reach them unread. */
export async function registerRawRoutes(
  app: FastifyInstance,
  routes: readonly RawRoute[],
  {
    limitOf,
    inTurn,
    longBodies,
    bodyPace,
    known,
  }: {
    limitOf: LimitOf
    inTurn: CallerTurns
    longBodies: LongBodies
    /** Left out: as customers have it. */
    bodyPace?: BodyPace | undefined
    /** What anything that was thrown is in our codes. */
    known(error: unknown, request: FastifyRequest): ApiError
  },
): Promise<void> {
  await app.register(async scope => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    for (const {
      methods,
      path,
      atRoot,
      isCounted = true,
      bodyBytesMax,
      handle,
      refusal,
      admitLong,
    } of routes) {
      scope.route({
        method: methods,
        url: atRoot ? path : GATEWAY_PREFIX + path,
        bodyLimit: bodyBytesMax,
        onRequest: [
          ...[(isCounted && limitOf('general')) || []].flat(),
          ...(admitLong
            ? [
                async ({ headers, ip }: FastifyRequest, { raw }: FastifyReply) => {
                  const bytes = longBytes(headers, bodyBytesMax)
                  if (bytes === null) return
                  longBodies.take(await admitLong({ headers, address: ip ?? '' }), bytes, raw)
                },
              ]
            : []),
        ],
        ...(admitLong && { preParsing: createBodyPace(bodyBytesMax, bodyPace) }),
        // Whatever answers a GET may do something once.
        exposeHeadRoute: false,
        ...(refusal && {
          errorHandler(error: unknown, request: FastifyRequest, reply: FastifyReply) {
            const told = known(error, request)
            request.errorCode = told.code
            const language = pickLanguage(request.headers['accept-language'])
            const { status, headers, body } = refusal(told, language)
            return reply
              .code(status)
              .headers({ 'x-request-id': request.id, ...headers })
              .send(body)
          },
        }),
        async handler(request, reply) {
          const params = request.params as Record<string, string>
          // What no text of the database can be is the name of nothing; asking it would be an error.
          if (unstorableTexts(params).length > 0) throw new ApiError('not_found')
          const asked: RawRequest = {
            // Only those of the route come here.
            method: request.method as RawMethod,
            params,
            query: request.query as Record<string, unknown>,
            headers: request.headers,
            body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
            language: pickLanguage(request.headers['accept-language']),
            address: request.ip ?? '',
            signal: leavingSignal(reply.raw),
          }
          const work = () => handle(asked)
          const { status, headers, body } = await (isCounted ? inTurn(null, request, work) : work())
          return reply.code(status).headers(headers).send(body)
        },
      })
    }
  })
}
