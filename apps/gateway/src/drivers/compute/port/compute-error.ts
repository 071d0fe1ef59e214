export type ComputeErrorCode =
  /** The engine cannot do this at all here. Final. */
  | 'unsupported'
  /** The image is not to be had, and nothing of what follows says why. Final. */
  | 'image_unavailable'
  /** Its registry has no such image. Final. */
  | 'image_not_found'
  /** Its registry gives it to nobody without a login, or hides that it is not there. Final. */
  | 'image_needs_login'
  /** Its registry does not take the login, or does not give the image to it. Final. */
  | 'image_login_refused'
  /** The login that it needs is not there any more. Final. */
  | 'image_login_gone'
  /** The operator takes no images here that customers name. Final. */
  | 'image_not_allowed'
  /** What there is of it cannot be run here: another kind of processor or of thing, or too large. Final. */
  | 'image_unfit'
  /** Its bytes are not those that it names, and were not spoilt on the way. Final. */
  | 'image_damaged'
  /** The place that images come from is asked too often from here. Retry later. */
  | 'registry_busy'
  /** The place that images come from sends so slowly that it was given up. Retry later: what came is gone on with. */
  | 'registry_slow'
  /** The place that images come from cannot be reached, or is out of order. Retry. */
  | 'registry_unreachable'
  /** The machine does not run, so it cannot be talked to. */
  | 'not_running'
  /** The machine has no programs by which its files can be read there. */
  | 'no_tar'
  /** Nothing listens on that port. */
  | 'port_closed'
  /** The machine’s image has no shell, so no program can be asked for in it. */
  | 'no_shell'
  /** Nothing answers where the machine’s own SSH server would: it still starts, or its image has none. */
  | 'guest_closed'
  /** The machine’s own SSH server does not let the gateway in, or is not the one that it was given. */
  | 'guest_refused'
  /** The machine was started by an earlier version, and learns this when it restarts. */
  | 'outdated'
  /** No machine, image or volume of that id. */
  | 'not_found'
  /** The machine's name on its engine is somebody else's. Final. */
  | 'name_taken'
  /** A port that the machine needs on its host is somebody else's. Retry later. */
  | 'port_taken'
  /** The machine's host is out of memory, processes or users for machines. Retry later. */
  | 'exhausted'
  /** The machine's host has no room on its disk. Retry later. */
  | 'no_room'
  /** No computer of the engine's has room for the machine now. Retry later. */
  | 'unschedulable'
  /** What its customer may have on the engine is used up. Retry later. */
  | 'quota_reached'
  /** The engine does not answer. Retry. */
  | 'engine_unavailable'
  /** Anything else; the message says what. Retry. */
  | 'failed'

/** The one error that an engine throws. `message` is for operators and events; it never holds a secret. */
export class ComputeError extends Error {
  readonly code: ComputeErrorCode
  constructor(code: ComputeErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'ComputeError'
    this.code = code
  }
}

/**
 * Another engine is where this one was, such as a daemon that was made anew. This one never answers again: whoever wants
 * an engine there opens the source of it again.
 */
export class EngineReplaced extends ComputeError {
  constructor(engineId: string, foundId: string) {
    super('engine_unavailable', `where ${engineId} was, ${foundId} is now`)
  }
}
