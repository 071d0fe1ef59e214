import { PassThrough, type Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from './api-error.ts'
import { longBytes } from './long-bodies.ts'

/** A long body has so long to begin with, and comes at this pace at the least: 2 Mbit a second. */
const GRACE_MS = 20_000
const BYTES_PER_SECOND_MIN = 250_000

/** How fast long bodies must come. */
export interface BodyPace {
  graceMs: number
  bytesPerSecondMin: number
}

const PACE: BodyPace = { graceMs: GRACE_MS, bytesPerSecondMin: BYTES_PER_SECOND_MIN }

/**
 * Ends long bodies that come too slowly: each holds room until it is there, and who sends it byte by byte would hold that of
 * others for hours. Short ones hold none; they end where nothing comes any more.
 * @param bodyBytesMax Of the route.
 * @returns A hook that stands before a body is read. It fails with `body_too_slow`.
 */
export function createBodyPace(bodyBytesMax: number, { graceMs, bytesPerSecondMin }: BodyPace = PACE) {
  return async function pace(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: Readable,
  ): Promise<Readable | undefined> {
    const bytes = longBytes(request.headers, bodyBytesMax)
    if (bytes === null) return undefined
    const paced = new PassThrough()
    // What the body is read from is not destroyed: its connection has the answer to give.
    const late = setTimeout(
      () => {
        payload.unpipe(paced)
        payload.resume()
        reply.header('connection', 'close')
        paced.destroy(new ApiError('body_too_slow'))
      },
      graceMs + (bytes / bytesPerSecondMin) * 1_000,
    )
    const over = () => clearTimeout(late)
    payload.once('error', error => paced.destroy(error))
    payload.once('close', over)
    paced.once('close', over)
    return payload.pipe(paced)
  }
}
