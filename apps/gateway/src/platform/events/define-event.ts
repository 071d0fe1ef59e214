import type * as z from 'zod'

/** Something that happens in a domain, for others to hear of. */
export interface DomainEvent<Payload> {
  /** `<thing>.<what happened to it>`, such as `account.deleted`; lasting, since events wait under it. */
  readonly name: string
  /** What is told: JSON, so that moments are ISO 8601 and micro-units text. */
  readonly payload: z.ZodType<Payload>
}

/**
 * Names an event; it belongs in `events.ts` of the domain in which it happens.
 * @param payload Facts of the moment. A field that comes later needs a default: events of an older start wait without it.
 */
export function defineEvent<Payload>(name: string, payload: z.ZodType<Payload>): DomainEvent<Payload> {
  return { name, payload }
}
