import type { Readable } from 'node:stream'
import { COVER_BYTES_MAX } from '@berth/contract/limits'
import { coverFault } from './remake-cover.ts'

/** A picture of the most bytes comes within that by any line that a console is used on. */
const READ_MS_MAX = 60_000

/**
 * Reads a picture that a customer sends.
 * @param body What is left of it when this fails flows away.
 * @param leaving Ends it with its reason.
 * @throws ApiError `validation_failed` {cover_too_large}, or {cover_broken} where it did not come whole.
 */
export async function readSent(body: Readable, leaving: AbortSignal): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const broken = () => reject(coverFault('cover_broken'))
  const late = setTimeout(broken, READ_MS_MAX)
  const parts: Buffer[] = []
  let length = 0
  const leave = () => reject(leaving.reason)
  if (leaving.aborted) leave()
  leaving.addEventListener('abort', leave)
  if (body.readableEnded || body.destroyed) broken()
  body.on('data', (part: Buffer) => {
    length += part.length
    if (length > COVER_BYTES_MAX) reject(coverFault('cover_too_large'))
    else parts.push(part)
  })
  body.once('end', () => resolve(Buffer.concat(parts)))
  body.once('close', broken)
  body.once('error', broken)
  try {
    return await promise
  } finally {
    clearTimeout(late)
    leaving.removeEventListener('abort', leave)
    body.removeAllListeners('data')
    body.resume()
  }
}
