/** Bounds of the instances that are followed through one gateway. Tests hand in smaller ones. */
export interface FollowLimits {
  /** Followers of one customer, from one network address, and of all: an office has one address, a customer some tabs. */
  perCustomerMax: number
  perAddressMax: number
  followersMax: number
  /** What changes within this is one event: a pull notes its bytes twice a second. */
  gatherMs: number
  /** Instances that are read at once, and those of one customer in one event. */
  readMax: number
  eventMax: number
  /** Changes that are kept for a follower who is not ready for them; beyond that all is to be read again. */
  waitingMax: number
  /** After a sign of life, silence until the next one; who has not taken one by then is gone. */
  aliveMs: number
  /** How often it is looked whether sessions are open still. */
  sessionsMs: number
  /** The pause after changes could not be read. */
  retryMs: number
}

export const FOLLOW_LIMITS: FollowLimits = {
  perCustomerMax: 24,
  perAddressMax: 400,
  followersMax: 4_000,
  gatherMs: 100,
  readMax: 500,
  eventMax: 100,
  waitingMax: 100,
  aliveMs: 15_000,
  sessionsMs: 30_000,
  retryMs: 1_000,
}
