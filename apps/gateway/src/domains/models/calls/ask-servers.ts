import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { ModelAnswer, ModelRequest, ModelServer } from '../../../drivers/models/port.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { ServerHealth } from './server-health.ts'

/** Each server is asked so often for one answer, with a pause between. */
const TRIES = 2
const PAUSE_MS = 200
const SERVER_TROUBLE = 500
const TOO_MANY = 429
/** In how many seconds a server may be asked again that has too much to do and does not say. */
const BUSY_SECONDS = 5
/** That the operator's own key is refused is no fault of who asks. */
const OPERATORS_FAULT: readonly number[] = [401, 403, 404]

/** The answer; else in how many seconds a server may be asked again, where it says that it has too much to do. */
type Tried = ModelAnswer | { busySeconds: number } | null

/**
 * Asks a model's servers one after the other until an answer begins. Only before its first byte may another one be asked:
 * what has begun may have been used.
 * @returns Asks; an answer that refuses what was asked is an answer.
 */
export function createAskServers({ health, log }: { health: ServerHealth; log: Pick<Logger, 'warn'> }) {
  async function tryOnce(server: ModelServer, request: ModelRequest): Promise<Tried> {
    try {
      const answer = await server.ask(request)
      const { status, retryAfterSeconds } = answer
      if (status < SERVER_TROUBLE && status !== TOO_MANY && !OPERATORS_FAULT.includes(status)) {
        health.answered(server)
        return answer
      }
      await leave(answer)
      if (status !== TOO_MANY) health.failed(server)
      log.warn({ server: server.name, status }, 'a model server refused a call')
      if (status === TOO_MANY) return { busySeconds: retryAfterSeconds ?? BUSY_SECONDS }
    } catch (error) {
      request.signal.throwIfAborted()
      health.failed(server)
      log.warn({ err: error, server: server.name }, 'a model server gave no answer')
    }
    return null
  }

  /** Asks one server, as often as is right: a probe, and what is tried for want of another, once. */
  async function tryServer(
    server: ModelServer,
    request: ModelRequest,
    how: 'ask' | 'probe' | 'last',
  ): Promise<Tried> {
    try {
      for (let tried = 0; tried < (how === 'ask' ? TRIES : 1); tried++) {
        if (tried > 0) await sleep(PAUSE_MS, undefined, { signal: request.signal })
        const answer = await tryOnce(server, request)
        // One that has too much to do would say the same again.
        if (answer) return answer
      }
      return null
    } finally {
      if (how === 'probe') health.over(server)
    }
  }

  /**
   * @throws ApiError `too_many_requests` where those that answer have too much to do; `model_call_failed` where none does; the signal's reason where it aborts.
   */
  return async function ask(servers: readonly ModelServer[], request: ModelRequest): Promise<ModelAnswer> {
    let isAsked = false
    let seconds: number | null = null
    const tryAs = async (server: ModelServer, how: 'ask' | 'probe' | 'last') => {
      const answer = await tryServer(server, request, how)
      if (answer === null || 'body' in answer) return answer
      seconds = Math.min(seconds ?? answer.busySeconds, answer.busySeconds)
      return null
    }
    for (const server of servers) {
      const how = health.enter(server)
      if (how === null) continue
      isAsked = true
      const answer = await tryAs(server, how)
      if (answer) return answer
    }
    // Where all are left alone, a try is still better than none.
    for (const server of isAsked ? [] : servers) {
      const answer = await tryAs(server, 'last')
      if (answer) return answer
    }
    if (seconds !== null)
      throw new ApiError('too_many_requests', { values: { seconds: Math.max(1, seconds) } })
    throw new ApiError('model_call_failed')
  }
}

/** Ends an answer that nobody reads. */
async function leave({ body }: ModelAnswer): Promise<void> {
  await body[Symbol.asyncIterator]().return?.(undefined)
}
