import { z } from 'zod'
import { ComputeError, type ComputeErrorCode } from '../port/compute-error.ts'

const MESSAGE_LENGTH_MAX = 500

const statusSchema = z.object({ message: z.string().default(''), reason: z.string().default('') })

/** The API server said no. */
export class KubeRefusal extends Error {
  readonly status: number
  /** The API's own word, such as `AlreadyExists`. */
  readonly reason: string
  constructor(status: number, reason: string, message: string) {
    super(message)
    this.name = 'KubeRefusal'
    this.status = status
    this.reason = reason
  }
}

/** Reads a refusal out of an answer. */
export function asRefusal(status: number, body: string): KubeRefusal {
  const { data } = statusSchema.safeParse(parsed(body))
  const message = (data?.message || body || `status ${status}`).slice(0, MESSAGE_LENGTH_MAX)
  return new KubeRefusal(status, data?.reason ?? '', message)
}

/** That nobody answers. */
export function unreachable(cause: unknown): ComputeError {
  const said = cause instanceof Error ? cause.message : String(cause)
  return new ComputeError(
    'engine_unavailable',
    `the cluster’s API server does not answer: ${said.slice(0, MESSAGE_LENGTH_MAX)}`,
    { cause },
  )
}

/** What an operator would have to guess from the API server's own words. */
export function toComputeError(error: unknown, doing: string): ComputeError {
  if (error instanceof ComputeError) return error
  if (!(error instanceof KubeRefusal)) {
    const said = error instanceof Error ? error.message : String(error)
    return new ComputeError('failed', `${doing}: ${said.slice(0, MESSAGE_LENGTH_MAX)}`, { cause: error })
  }
  return new ComputeError(codeOf(error), `${doing}: ${error.message}`, { cause: error })
}

function codeOf({ status, message }: KubeRefusal): ComputeErrorCode {
  if (status === 403 && /exceeded quota/i.test(message)) return 'quota_reached'
  if (status === 404) return 'not_found'
  if (status === 429 || status >= 500) return 'engine_unavailable'
  return 'failed'
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return null
  }
}
