import type { Outlook } from '@berth/contract/outlook'

/** One thing that happens by itself as a balance is used up, and when. */
export type Happening =
  | { kind: 'now' | 'zero'; at: Date }
  | { kind: 'mail'; at: Date; hours: number }
  | { kind: 'deletion'; at: Date; what: readonly Outlook['deletions'][number]['what'][] }

const HOUR_MS = 3_600_000

/**
 * What happens when nothing is added (B4), in the order in which it comes; nothing while the balance is not used up.
 * @param alertHours Hours left at which the customer is written to; none where these mails are switched off.
 */
export function whatHappens(
  { empty_at, deletions }: Pick<Outlook, 'empty_at' | 'deletions'>,
  alertHours: readonly number[],
  now: Date,
): Happening[] {
  if (empty_at === null) return []
  const zero = new Date(empty_at)
  const mails = alertHours
    .map(hours => ({ kind: 'mail' as const, hours, at: new Date(zero.getTime() - hours * HOUR_MS) }))
    .filter(({ at }) => at > now)
    .sort((one, other) => one.at.getTime() - other.at.getTime())
  const moments = [...new Set(deletions.map(({ at }) => at))].sort()
  return [
    { kind: 'now', at: now },
    // The next one says what the others will.
    ...mails.slice(0, 1),
    { kind: 'zero', at: zero },
    ...moments.map(at => ({
      kind: 'deletion' as const,
      at: new Date(at),
      what: deletions.filter(one => one.at === at).map(({ what }) => what),
    })),
  ]
}
