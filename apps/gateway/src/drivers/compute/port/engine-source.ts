import type { Engine } from './engine.ts'

/**
 * A place where an engine should be. Whether it answers is another matter: what does not now may later, so whoever
 * needs it opens it again and again.
 */
export interface EngineSource {
  /** Which engine it is, for operators and logs, such as `docker at tcp://10.0.0.2:2376`; it holds no secret. */
  readonly description: string
  /**
   * Opens the engine: a new one each time.
   * @throws ComputeError `engine_unavailable` while it does not answer, `unsupported` where it cannot work at all
   * as things are, with what to do about it in the message.
   */
  open(): Promise<Engine>
}
