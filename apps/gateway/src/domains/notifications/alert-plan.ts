/** What is known of one customer's balance when alerts are thought about. */
export interface AlertState {
  /** How long the balance lasts; null while nothing burns it. */
  lastsSeconds: number | null
  /** Hours left at which the customer wants an alert; none where these mails are switched off. */
  chosen: readonly number[]
  /** Hours that were announced since the balance last lasted longer than them. */
  sent: readonly number[]
}

export interface AlertPlan {
  /** The hour to announce now, or null. */
  announce: number | null
  /** Hours that count as announced from now on. */
  mark: number[]
  /** Hours that may be announced again, because the balance lasts longer than them. */
  rearm: number[]
}

const SECONDS_PER_HOUR = 3_600

/**
 * Decides what to do about one customer's alerts (B4): each chosen hour is announced once on the way down. When
 * several are reached at once, as after an outage, only the smallest is worth a mail. While nothing burns the balance
 * nothing changes: an instance that restarts is no reason to announce an hour a second time.
 */
export function planAlert({ lastsSeconds, chosen, sent }: AlertState): AlertPlan {
  if (lastsSeconds === null) return { announce: null, mark: [], rearm: [] }
  const isReached = (hours: number) => lastsSeconds <= hours * SECONDS_PER_HOUR
  const reached = chosen.filter(isReached)
  const mark = reached.filter(hours => !sent.includes(hours))
  const smallest = Math.min(...reached, ...sent.filter(isReached))
  return {
    // A longer hour that is chosen after a shorter one was announced says nothing new.
    announce: mark.includes(smallest) ? smallest : null,
    mark,
    rearm: sent.filter(hours => !isReached(hours)),
  }
}
