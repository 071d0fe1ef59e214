import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { S3Error } from '../s3-error.ts'

/** Of one connection, and no word about the request or its answer. */
const OF_CONNECTION = new Set(['connection', 'keep-alive'])

/**
 * Has a request answered by the gateway that reaches its volume. It goes on as it came, so that its signature is checked
 * there again, with its body; the answer comes back as it is.
 * @param open Opens a stream to that gateway's S3 server.
 * @throws S3Error `ServiceUnavailable` where nobody answers; the client may try again.
 */
export async function passOn(
  { incoming, response }: { incoming: IncomingMessage; response: ServerResponse },
  open: () => Duplex,
): Promise<void> {
  const sent = request({
    createConnection: open,
    method: incoming.method,
    path: incoming.url,
    // It is ended here: who refuses is not to hang up before the refusal has been read.
    headers: [...headersOf(incoming).flat(), 'connection', 'keep-alive'],
    setHost: false,
  })
  const answered = Promise.withResolvers<IncomingMessage>()
  sent.once('response', answered.resolve)
  sent.on('error', answered.reject)
  // Who waits to be told to go on is told so by whoever takes the body.
  sent.on('continue', () => response.writeContinue())
  // The other end may refuse before it has all: whoever sends is not cut off for that before it has read why.
  incoming.pipe(sent)
  const cut = () => {
    if (!incoming.complete) sent.destroy(new Error('the client hung up'))
  }
  if (incoming.destroyed) cut()
  else incoming.once('close', cut)
  try {
    await sendBack(await answered.promise, { incoming, response })
  } catch (cause) {
    if (response.headersSent) return void response.destroy()
    const message = 'The gateway that reaches the volume does not answer now. Please try again.'
    throw new S3Error('ServiceUnavailable', { message, cause })
  } finally {
    sent.destroy()
  }
}

async function sendBack(
  answer: IncomingMessage,
  { incoming, response }: { incoming: IncomingMessage; response: ServerResponse },
): Promise<void> {
  for (const name of response.getHeaderNames()) response.removeHeader(name)
  for (const [name, value] of headersOf(answer)) response.appendHeader(name, value)
  response.statusCode = answer.statusCode ?? 0
  // What it would still send is not read for the sake of an answer.
  if (!incoming.complete) {
    response.setHeader('connection', 'close')
    response.once('finish', () => incoming.destroy())
  }
  await pipeline(answer, response)
}

function headersOf({ rawHeaders }: IncomingMessage): [string, string][] {
  const pairs: [string, string][] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (!OF_CONNECTION.has(name.toLowerCase())) pairs.push([name, rawHeaders[at + 1] ?? ''])
  }
  return pairs
}
