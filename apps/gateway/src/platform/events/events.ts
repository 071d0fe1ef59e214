import { sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import * as z from 'zod'
import type { Database, Transaction } from '../database/database.ts'
import type { Job, Jobs } from '../jobs/jobs.ts'
import { spanned } from '../tracing/spans.ts'
import type { DomainEvent } from './define-event.ts'

/** The queue of jobs that events wait in, one for each listener. */
export const EVENT_QUEUE = 'event'
const DEAD_QUEUE = 'event-dead'

/** Events that one gateway hands out at once; each takes a connection while it is handled. */
const WORKERS = 4
/** Of those to one listener: one that hangs takes no other's place. */
const PER_LISTENER = 1
/** Listeners only write to the database, which gives up after ten seconds itself. */
const HANDLING_SECONDS_MAX = 20
const RETRY_FIRST_SECONDS = 2
const RETRY_PAUSE_SECONDS_MAX = 15 * 60
/** With the pauses above, two days. */
const RETRIES_MAX = 200
const KEPT_SECONDS = 7 * 24 * 3_600
const DONE_KEPT_SECONDS = 3_600
/** Long enough to mend a listener. */
const DEAD_KEPT_SECONDS = 30 * 24 * 3_600

/**
 * An event for a listener that is not known here is passed on after so long, so often: of two gateways the one that knows
 * it has taken it long before. Then it fails, as for any other mistake.
 */
const PASS_SECONDS = 1
const PASSES_MAX = 60

/** One event on its way to one listener, as the queue keeps it. `passed` counts gateways that did not know the listener. */
const delivery = z.object({
  event: z.string(),
  listener: z.string(),
  payload: z.unknown(),
  passed: z.number().int().default(0),
})
type Delivery = z.input<typeof delivery>

/** What a listener does, in a transaction that also takes note of it: it has happened once, or not yet. */
export type EventHandler<Payload> = (tx: Transaction, payload: Payload) => Promise<void>

/** What happens in one domain and concerns others; `README.md` says what is guaranteed. */
export interface Events {
  /**
   * Tells every listener of an event, once the transaction has committed; the change itself is made in the same one.
   * @throws Error for a transaction that has changed or locked nothing yet: what is told of would be done elsewhere.
   */
  emit<Payload>(tx: Transaction, event: DomainEvent<Payload>, payload: Payload): Promise<void>
  /**
   * Listens to an event, before the gateway opens.
   * @param listener Who listens, such as `notifications`: once for an event, and lasting.
   */
  on<Payload>(event: DomainEvent<Payload>, listener: string, handle: EventHandler<Payload>): void
}

interface EventsDeps {
  db: Database
  jobs: Pick<Jobs, 'define'>
  log: Pick<Logger, 'warn' | 'error'>
  /** For tests: pauses and tries other than a day's. */
  retry?: { firstSeconds: number; max: number }
}

/** Makes the gateway's outbox of events. */
export function createEvents({ db, jobs, log, retry }: EventsDeps): Events {
  const listeners = new Map<string, Map<string, (tx: Transaction, payload: unknown) => Promise<void>>>()
  const shared = { keptSeconds: KEPT_SECONDS, retryPauseSecondsMax: RETRY_PAUSE_SECONDS_MAX }
  const tried = {
    ...shared,
    runSecondsMax: HANDLING_SECONDS_MAX,
    retryFirstSeconds: retry?.firstSeconds ?? RETRY_FIRST_SECONDS,
    retriesMax: retry?.max ?? RETRIES_MAX,
  }

  jobs.define<Delivery>({
    ...tried,
    name: DEAD_QUEUE,
    workers: 1,
    doneKeptSeconds: DEAD_KEPT_SECONDS,
    async run({ id, data: { event, listener } }) {
      log.error({ event, listener, job: id }, 'AN EVENT WAS GIVEN UP: its listener failed at every try')
    },
  })
  const queue = jobs.define<Delivery>({
    ...tried,
    name: EVENT_QUEUE,
    workers: WORKERS,
    perGroup: PER_LISTENER,
    doneKeptSeconds: DONE_KEPT_SECONDS,
    deadLetter: DEAD_QUEUE,
    run: hand,
  })

  async function hand(job: Job<Delivery>): Promise<void> {
    const read = delivery.parse(job.data)
    const { event, listener, payload, passed } = read
    const handle = listeners.get(event)?.get(listener)
    try {
      // A newer version's, perhaps: another gateway may know it, and is not to wait behind our tries.
      if (!handle && passed < PASSES_MAX) return await passOn(job, { ...read, passed: passed + 1 })
      if (!handle) throw new Error(`nobody called ${listener} listens to ${event} here`)
      await spanned(`event ${event}`, { 'berth.listener': listener }, () =>
        db.transaction(async tx => {
          await handle(tx, payload)
          // Who took too long has been followed by another: of the two, one commits.
          if (!(await queue.complete(tx, job))) throw new Error('the event was handed to another gateway')
        }),
      )
    } catch (error) {
      log.warn({ err: error, event, listener, job: job.id }, 'a listener failed and will be tried again')
      throw error
    }
  }

  async function passOn(job: Job<Delivery>, data: Delivery): Promise<void> {
    await db.transaction(async tx => {
      if (!(await queue.complete(tx, job))) throw new Error('the event was handed to another gateway')
      await queue.send(tx, [{ data, group: data.listener, afterSeconds: PASS_SECONDS }])
    })
  }

  return {
    async emit(tx, event, payload) {
      const checked = event.payload.parse(payload)
      await requireChange(tx, event)
      const names = [...(listeners.get(event.name)?.keys() ?? [])]
      await queue.send(
        tx,
        names.map(listener => ({ data: { event: event.name, listener, payload: checked }, group: listener })),
      )
    },
    on(event, listener, handle) {
      const those = listeners.get(event.name) ?? new Map()
      if (those.has(listener)) throw new Error(`${listener} listens to ${event.name} twice`)
      those.set(listener, (tx: Transaction, payload: unknown) => handle(tx, event.payload.parse(payload)))
      listeners.set(event.name, those)
    },
  }
}

/** That an event is told in the transaction of what it tells of: PostgreSQL numbers one at its first change or lock. */
export async function requireChange(tx: Transaction, { name }: { name: string }): Promise<void> {
  const { rows } = await tx.execute<{ id: string | null }>(
    sql`select pg_current_xact_id_if_assigned()::text as id`,
  )
  if (!rows[0]?.id) throw new Error(`${name} is told in a transaction that has changed nothing`)
}
