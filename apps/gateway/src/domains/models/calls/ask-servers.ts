import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { ModelAnswer, ModelRequest, ModelServer } from '../../../drivers/models/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import { ApiError } from '../../../platform/http/api-error.ts'

/** After so many failures in a row a server is left alone for a while, unless there is no other. */
const FAILURES_MAX = 5
const LEFT_ALONE_MS = 15_000
/** Each server is asked so often for one answer, with a pause between. */
const TRIES = 2
const PAUSE_MS = 200
const SERVER_TROUBLE = 500
const TOO_MANY = 429
/** In how many seconds a server may be asked again that has too much to do and does not say. */
const BUSY_SECONDS = 5
/** That the operator's own key is refused is no fault of who asks. */
const OPERATORS_FAULT: readonly number[] = [401, 403, 404]

/**
 * Asks a model's servers one after the other until an answer begins. Only before its first byte may another one be asked:
 * what has begun may have been used.
 * @returns Asks; an answer that refuses what was asked is an answer.
 */
export function createAskServers({ clock, log }: { clock: Clock; log: Pick<Logger, 'warn'> }) {
  const troubles = new Map<string, { failures: number; againAtMs: number }>()

  const isLeftAlone = (server: ModelServer) =>
    (troubles.get(server.name)?.againAtMs ?? 0) > clock.now().getTime()

  function noteTrouble(server: ModelServer): void {
    const failures = (troubles.get(server.name)?.failures ?? 0) + 1
    const againAtMs = failures >= FAILURES_MAX ? clock.now().getTime() + LEFT_ALONE_MS : 0
    troubles.set(server.name, { failures, againAtMs })
  }

  /** @returns The answer; else in how many seconds it may be asked again, where it says that it has too much to do. */
  async function tryOnce(
    server: ModelServer,
    request: ModelRequest,
  ): Promise<ModelAnswer | { busySeconds: number } | null> {
    try {
      const answer = await server.ask(request)
      const { status, retryAfterSeconds } = answer
      if (status < SERVER_TROUBLE && status !== TOO_MANY && !OPERATORS_FAULT.includes(status)) {
        troubles.delete(server.name)
        return answer
      }
      await leave(answer)
      if (status !== TOO_MANY) noteTrouble(server)
      log.warn({ server: server.name, status }, 'a model server refused a call')
      if (status === TOO_MANY) return { busySeconds: retryAfterSeconds ?? BUSY_SECONDS }
    } catch (error) {
      request.signal.throwIfAborted()
      noteTrouble(server)
      log.warn({ err: error, server: server.name }, 'a model server gave no answer')
    }
    return null
  }

  /**
   * @throws ApiError `too_many_requests` where those that answer have too much to do; `model_call_failed` where none does; the signal's reason where it aborts.
   */
  return async function ask(servers: readonly ModelServer[], request: ModelRequest): Promise<ModelAnswer> {
    const well = servers.filter(server => !isLeftAlone(server))
    let seconds: number | null = null
    for (const server of well.length > 0 ? well : servers) {
      for (let tried = 0; tried < TRIES; tried++) {
        if (tried > 0) await sleep(PAUSE_MS, undefined, { signal: request.signal })
        const answer = await tryOnce(server, request)
        if (answer && 'body' in answer) return answer
        if (answer === null) continue
        // It would say the same again.
        seconds = Math.min(seconds ?? answer.busySeconds, answer.busySeconds)
        break
      }
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
