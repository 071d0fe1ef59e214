import { sql } from 'drizzle-orm'
import type { Rule } from '../ledger/book-rule.ts'

/** An event that is set aside for so long is for a person: no platform is away for that long. */
const ASIDE_HOURS_MAX = 6

/** The rule of events that are set aside (decision 0131). */
export const ASIDE_RULE: Rule = {
  name: 'what a payment platform tells is booked',
  broken: now => sql`
    select platform_name || ' ' || event_id || coalesce(' of payment ' || reference, '') || ': set aside since '
      || to_char(set_aside_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') || ', tried ' || tries
      || ' times, ' || reason as problem
    from payment_event_aside
    where set_aside_at <= ${new Date(now.getTime() - ASIDE_HOURS_MAX * 3_600_000)}
    order by set_aside_at`,
}
