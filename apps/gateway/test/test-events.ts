import { sql } from 'drizzle-orm'
import type { Database, Transaction } from '../src/platform/database/database.ts'
import type { DomainEvent } from '../src/platform/events/define-event.ts'
import { type Events, requireChange } from '../src/platform/events/events.ts'

export interface TestEvents extends Events {
  /** What was told, oldest first; not undone by a rollback. */
  told: { event: string; payload: unknown }[]
  /** Has whoever listens here hear an event, each in a transaction of its own. */
  hear<Payload>(event: DomainEvent<Payload>, payload: Payload): Promise<void>
}

/** Events for a test of one domain alone: what it tells is kept, and it hears what the test tells it. */
export function createTestEvents(db: Database): TestEvents {
  const listeners: { event: string; handle: (tx: Transaction, payload: never) => Promise<void> }[] = []
  const told: TestEvents['told'] = []
  return {
    told,
    async emit(tx, event, payload) {
      await requireChange(tx, event)
      told.push({ event: event.name, payload: event.payload.parse(payload) })
    },
    on(event, _, handle) {
      listeners.push({ event: event.name, handle })
    },
    async hear(event, payload) {
      for (const { handle } of listeners.filter(one => one.event === event.name)) {
        await db.transaction(tx => handle(tx, payload as never))
      }
    },
  }
}

/** Has PostgreSQL take a transaction for one that changes something, where a test tells of what nobody does. */
export async function pretendChange(tx: Transaction): Promise<void> {
  await tx.execute(sql`select pg_current_xact_id()`)
}
