/**
 * The one table of what becomes of a picture or a film that a customer asked for: the gateway enforces it, the console says
 * what goes on and disables buttons from it, the tests enumerate it.
 */
export const CREATION_STATUSES = ['queued', 'rendering', 'encoding', 'saved', 'failed', 'stopped'] as const
export type CreationStatus = (typeof CREATION_STATUSES)[number]

/**
 * Which may follow which. A gateway that ends in the midst of one leaves it to another, which may begin it anew; whoever asked
 * for what was not made may have it begun again.
 */
export const CREATION_FOLLOWS: Record<CreationStatus, readonly CreationStatus[]> = {
  queued: ['rendering', 'encoding', 'failed', 'stopped'],
  rendering: ['queued', 'encoding', 'failed', 'stopped'],
  /** Being finished: encoded, and fetched from whoever has made it. */
  encoding: ['queued', 'saved', 'failed', 'stopped'],
  saved: [],
  failed: ['queued'],
  stopped: ['queued'],
}

/** Where it is still under way: only then it can be stopped, and its money is set aside. */
export const OPEN_CREATION_STATUSES: readonly CreationStatus[] = ['queued', 'rendering', 'encoding']

export const CREATION_ACTIONS = ['stop', 'star', 'retry'] as const
export type CreationAction = (typeof CREATION_ACTIONS)[number]

const ALLOWED: Record<CreationAction, readonly CreationStatus[]> = {
  stop: OPEN_CREATION_STATUSES,
  star: ['saved'],
  retry: ['failed', 'stopped'],
}

/** Whether a picture or a film allows an action by what has become of it. */
export function creationCan(action: CreationAction, status: CreationStatus): boolean {
  return ALLOWED[action].includes(status)
}
