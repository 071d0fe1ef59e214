import { setTimeout as sleep } from 'node:timers/promises'
import { CREATION_VIDEO_BYTES_MAX } from '@berth/contract/limits'
import type { Logger } from 'pino'
import {
  FilmAnswerWrong,
  type FilmOrder,
  FilmRefused,
  type FilmSeen,
  type ModelServer,
  ModelServerFailed,
} from '../../../drivers/models/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { ServerHealth } from '../calls/server-health.ts'
import { cleaned } from '../v1/upstream-refusal.ts'
import { filmTypeOf } from './file-types.ts'
import { NotMade } from './items.ts'
import { type ComeFile, FileTooLarge, type KeptFiles } from './kept-files.ts'

/** How films are waited for. */
export interface FilmLimits {
  /** Between two looks at one. */
  lookMs: number
  /** From when a server was asked until it is ready. */
  filmMs: number
  /** Until all of it has come. */
  fetchMs: number
  /** Looks in a row that may get no answer. */
  failuresMax: number
}

export const FILM_LIMITS: FilmLimits = {
  lookMs: 2_000,
  filmMs: 45 * 60_000,
  fetchMs: 10 * 60_000,
  failuresMax: 15,
}

const TRIES = 2
const SERVER_TROUBLE = 500
const TOO_MANY = 429
/** That the operator's own key is refused is no fault of who asks, and neither is a film that is not there any more. */
const OPERATORS_FAULT: readonly number[] = [401, 403, 404]
/** Types under which films come; some servers say none. */
const FILM_TYPES = /^(video\/|application\/octet-stream|binary\/octet-stream|application\/mp4|$)/

interface FilmDeps {
  clock: Clock
  log: Pick<Logger, 'warn'>
  health: ServerHealth
  servers: ReadonlyMap<string, readonly ModelServer[]>
  files: Pick<KeptFiles, 'take'>
  limits: FilmLimits
}

/** A film as it is at a server. */
export interface FilmAt {
  server: string
  serverId: string
  askedAt: Date
}

/** Has films made by servers: begins them, follows them, and fetches what came of them. */
export function createFilmMaker(deps: FilmDeps) {
  const { clock, log, health, servers, files, limits } = deps

  async function beginAt(
    server: ModelServer,
    order: FilmOrder,
    signal: AbortSignal,
  ): Promise<FilmSeen | NotMade> {
    for (let tried = 1; ; tried++) {
      try {
        const seen = await server.films.begin(order, signal)
        health.answered(server)
        return seen
      } catch (error) {
        signal.throwIfAborted()
        const failure = failureOf(error)
        log.warn({ err: error, server: server.name }, 'a model server did not begin a film')
        if (failure.code === 'model_call_failed') health.failed(server)
        if (failure.code !== 'model_call_failed' || tried >= TRIES) return failure
      }
    }
  }

  return {
    /**
     * Asks a model's servers one after the other to begin a film. What one refuses is refused by all.
     * @throws NotMade
     */
    async begin(
      modelId: string,
      order: FilmOrder,
      signal: AbortSignal,
    ): Promise<FilmAt & { seen: FilmSeen }> {
      let failure = new NotMade('model_call_failed')
      for (const server of servers.get(modelId) ?? []) {
        const askedAt = clock.now()
        const seen = await beginAt(server, order, signal)
        if (!(seen instanceof NotMade)) return { server: server.name, serverId: seen.id, askedAt, seen }
        failure = seen
        if (seen.code === 'model_refused') break
      }
      throw failure
    },

    /**
     * Follows a film until it is ready.
     * @param onSeen Told each time how it is.
     * @throws NotMade
     */
    async follow(
      modelId: string,
      { server, serverId, askedAt }: FilmAt,
      { signal, onSeen }: { signal: AbortSignal; onSeen(seen: FilmSeen): Promise<void> },
    ): Promise<FilmSeen> {
      const at = serverOf(servers, modelId, server)
      let failures = 0
      for (;;) {
        try {
          const seen = await at.films.look(serverId, signal)
          failures = 0
          await onSeen(seen)
          if (seen.status === 'completed') return seen
          if (seen.status === 'failed') {
            throw seen.reason === null
              ? new NotMade('model_call_failed')
              : new NotMade('model_refused', { reason: cleaned(seen.reason) })
          }
        } catch (error) {
          signal.throwIfAborted()
          if (error instanceof NotMade) throw error
          const failure = failureOf(error)
          failures += 1
          const isOver =
            error instanceof FilmRefused && error.status < SERVER_TROUBLE && failure.code !== 'model_busy'
          if (isOver || failure.code === 'model_answer_wrong' || failures > limits.failuresMax) throw failure
        }
        if (clock.now().getTime() - askedAt.getTime() > limits.filmMs) throw new NotMade('model_too_slow')
        await sleep(limits.lookMs, undefined, { signal })
      }
    },

    /** Fetches a film that is ready, and keeps its bytes; they belong to nothing yet. @throws NotMade */
    async fetch(modelId: string, { server, serverId }: FilmAt, signal: AbortSignal): Promise<ComeFile> {
      const at = serverOf(servers, modelId, server)
      const late = AbortSignal.timeout(limits.fetchMs)
      const within = AbortSignal.any([signal, late])
      try {
        const { contentType, bytes, body } = await at.films.fetch(serverId, within)
        if (!FILM_TYPES.test(contentType)) throw new NotMade('model_answer_wrong')
        if ((bytes ?? 0) > CREATION_VIDEO_BYTES_MAX) throw new FileTooLarge()
        return await files.take(body, {
          bytesMax: CREATION_VIDEO_BYTES_MAX,
          typeOf(head) {
            const type = filmTypeOf(head)
            if (type === null) throw new NotMade('model_answer_wrong')
            return type
          },
        })
      } catch (error) {
        signal.throwIfAborted()
        if (late.aborted) throw new NotMade('model_too_slow')
        throw failureOf(error)
      }
    },
  }
}

function serverOf(servers: FilmDeps['servers'], modelId: string, name: string): ModelServer {
  const found = servers.get(modelId)?.find(one => one.name === name)
  // The catalogue names it no more.
  if (!found) throw new NotMade('model_call_failed')
  return found
}

/** Why something was not made, by what was thrown. */
function failureOf(error: unknown): NotMade {
  if (error instanceof NotMade) return error
  if (error instanceof FileTooLarge) return new NotMade('model_answer_too_large')
  if (error instanceof FilmAnswerWrong) return new NotMade('model_answer_wrong', { cause: error })
  if (error instanceof ModelServerFailed) return new NotMade('model_call_failed', { cause: error })
  if (!(error instanceof FilmRefused)) return new NotMade('model_call_failed', { cause: error })
  if (error.status === TOO_MANY) return new NotMade('model_busy', { cause: error })
  const isOurs =
    error.status >= SERVER_TROUBLE || OPERATORS_FAULT.includes(error.status) || error.reason === ''
  return isOurs
    ? new NotMade('model_call_failed', { cause: error })
    : new NotMade('model_refused', { reason: cleaned(error.reason) })
}
