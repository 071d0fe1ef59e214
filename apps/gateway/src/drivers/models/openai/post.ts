import { Agent, type ClientRequest, type IncomingMessage, type RequestOptions, request } from 'node:http'
import { Agent as TlsAgent, request as tlsRequest } from 'node:https'

/**
 * So long a connection waits for the next call: servers of models end theirs after five seconds, many of them, and say so to
 * nobody before.
 */
const WAITS_MS = 4_000
/** A server ends connections where it does not want so many. */
const OPTIONS = { keepAlive: true, maxFreeSockets: 256, timeout: WAITS_MS } as const
const agents = { plain: new Agent(OPTIONS), tls: new TlsAgent(OPTIONS) }

interface Asked {
  headers: Record<string, string>
  body: Buffer
  signal: AbortSignal
}

/**
 * Sends a body, once, and waits for the head of an answer. It is followed to no other address. By Node's own client, which
 * takes a fraction of what `fetch` does.
 * @param mayWait Whether it may go by a connection that has waited.
 * @returns The answer, whose body is read or destroyed by whoever asked.
 * @throws What the system says; the signal's reason where it aborts.
 */
export async function post(url: string, asked: Asked, mayWait: boolean): Promise<IncomingMessage> {
  try {
    return await postOnce(url, asked, mayWait)
  } catch (error) {
    if (!(error instanceof WaitedTooLong)) throw error
    return await postOnce(url, asked, false)
  }
}

/** A connection that had waited was ended before anything was sent on it. */
class WaitedTooLong extends Error {}

function postOnce(url: string, { headers, body, signal }: Asked, mayWait: boolean): Promise<IncomingMessage> {
  const isTls = url.startsWith('https:')
  const options: RequestOptions = {
    method: 'POST',
    headers: { ...headers, 'content-length': body.length },
    agent: mayWait && (isTls ? agents.tls : agents.plain),
    signal,
  }
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = isTls ? tlsRequest(url, options) : request(url, options)
    let isSent = false
    const send = () => {
      if (sent.destroyed) return
      isSent = true
      sent.end(body)
    }
    sent.once('response', resolve)
    // That a connection was ended while it waited is heard in the next round of events: what is sent before may be asked for,
    // though nobody answers it, and is not to be asked for twice.
    sent.once('socket', () => (sent.reusedSocket ? setImmediate(() => setImmediate(send)) : send()))
    sent.on('error', (error: NodeJS.ErrnoException) => {
      if (signal.aborted) reject(signal.reason)
      else if (!isSent && sent.reusedSocket) reject(new WaitedTooLong(error.message, { cause: error }))
      else reject(error)
    })
  })
}
