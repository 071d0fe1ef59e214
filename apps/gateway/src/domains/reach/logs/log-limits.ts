/** Bounds of the logs that are followed through one gateway. Tests hand in smaller ones. */
export interface LogLimits {
  /** Who follows, searches or downloads: of one instance, of one customer, and of all. */
  perInstanceMax: number
  perCustomerMax: number
  followersMax: number
  /** What comes within this is one event. */
  gatherMs: number
  /** Silence after which a sign of life is sent, so that no proxy takes the answer for dead. */
  aliveMs: number
  /** After so long a search ends with what was found: a log of the longest kind takes a tenth of it. */
  searchMs: number
  /** A download is ended that nobody read from for so long. */
  idleMs: number
  /** How often it is looked whether sessions are open still. */
  sessionsMs: number
}

export const LOG_LIMITS: LogLimits = {
  perInstanceMax: 8,
  perCustomerMax: 24,
  followersMax: 1_000,
  gatherMs: 200,
  aliveMs: 15_000,
  searchMs: 60_000,
  idleMs: 120_000,
  sessionsMs: 30_000,
}
