import { ComputeError } from './compute-error.ts'

/** What stands in place of a facet, or of a part of one, that an engine lacks. */
export interface Lack {
  /** Why, in a sentence for operators and customers. */
  lacks: string
}

/** A facet, or a part of one, that an engine has or says why it lacks. */
export type Part<T> = T | Lack

/** Why an engine lacks a part; null when it has it. */
export function lackOf(part: Part<object>): string | null {
  return 'lacks' in part && typeof part.lacks === 'string' ? part.lacks : null
}

/**
 * A part, to be used.
 * @throws ComputeError `unsupported` with the engine's own sentence, where it lacks the part.
 */
export function offered<T extends object>(part: Part<T>): T {
  const why = lackOf(part)
  if (why !== null) throw new ComputeError('unsupported', why)
  return part as T
}
