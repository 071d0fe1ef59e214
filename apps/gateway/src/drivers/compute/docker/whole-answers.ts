import type { Agent, ClientRequest, IncomingMessage } from 'node:http'
import { inspect } from 'node:util'

/** Node calls it with each request of an agent; its type declarations do not know it. */
interface AddsRequests {
  addRequest(request: ClientRequest, ...rest: unknown[]): void
}

/**
 * Has the requests of an agent fail when their answer breaks off. The client of the engine waits for the end of an
 * answer and hears of no other: a daemon that is killed half way through one would be waited for without an end, and the
 * machine could not be changed any more.
 *
 * It also has them cost no more than they must: the client writes each request out for its own log, also where nobody
 * reads that, and with it the agent and all that hangs on its sockets, which takes tens of milliseconds where many are open.
 */
export function failBrokenAnswers<T extends Agent>(agent: T): T {
  const adding = agent as unknown as AddsRequests
  const add = adding.addRequest.bind(agent)
  adding.addRequest = (request, ...rest) => {
    request.once('response', (answer: IncomingMessage) => {
      answer.on('error', error => request.emit('error', error))
    })
    add(request, ...rest)
  }
  return Object.assign(agent, { [inspect.custom]: () => 'Agent' })
}
