import { Agent, type ClientRequest, type IncomingMessage, type RequestOptions, request } from 'node:http'
import { Agent as TlsAgent, request as tlsRequest } from 'node:https'

/** Connections that wait for the next call; a server ends them where it does not want so many. */
const OPTIONS = { keepAlive: true, maxFreeSockets: 256 } as const
const agents = { plain: new Agent(OPTIONS), tls: new TlsAgent(OPTIONS) }

/**
 * Sends a body and waits for the head of an answer. It is followed to no other address. By Node's own client, which takes a
 * fraction of what `fetch` does.
 * @returns The answer, whose body is read or destroyed by whoever asked.
 * @throws What the system says; the signal's reason where it aborts.
 */
export async function post(
  url: string,
  asked: { headers: Record<string, string>; body: Buffer; signal: AbortSignal },
): Promise<IncomingMessage> {
  try {
    return await postOnce(url, asked)
  } catch (error) {
    // A server that ended a connection that waited has read nothing of what was sent on it just then.
    if (!(error instanceof WaitedTooLong)) throw error
    return await postOnce(url, asked, false)
  }
}

/** A connection that had waited was ended before anything came on it. */
class WaitedTooLong extends Error {}

function postOnce(
  url: string,
  { headers, body, signal }: { headers: Record<string, string>; body: Buffer; signal: AbortSignal },
  mayWait = true,
): Promise<IncomingMessage> {
  const isTls = url.startsWith('https:')
  const options: RequestOptions = {
    method: 'POST',
    headers: { ...headers, 'content-length': body.length },
    agent: mayWait && (isTls ? agents.tls : agents.plain),
    signal,
  }
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = isTls ? tlsRequest(url, options) : request(url, options)
    sent.once('response', resolve)
    sent.on('error', (error: NodeJS.ErrnoException) => {
      if (signal.aborted) reject(signal.reason)
      else if (sent.reusedSocket && error.code === 'ECONNRESET')
        reject(new WaitedTooLong(error.message, { cause: error }))
      else reject(error)
    })
    sent.end(body)
  })
}
