import { and, eq } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { MailOutbox } from '../../drivers/mail/port.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { createLoop, type Loop } from '../../platform/loop.ts'
import type { Metrics } from '../../platform/metrics.ts'
import { ALARMS, type AlarmCode, alarmEntries } from './alarm-list.ts'
import { type AlarmNews, alarmMail } from './alarm-mail.ts'
import { planAlarm } from './alarm-plan.ts'
import { alarm } from './tables.ts'

/** What is wrong now. */
export interface AlarmReading {
  /** How many things; zero where nothing is. */
  value: number
  /** The first of them by name, for operators. */
  about: string[]
}

/** What alarms look at, by code; one that is told of by `note` is read from what was noted. */
export type AlarmReads = Record<Exclude<AlarmCode, 'books_differ'>, () => Promise<AlarmReading>>

export type Alarms = ReturnType<typeof createAlarms>

interface AlarmsDeps {
  db: Database
  clock: Clock
  log: Pick<Logger, 'error' | 'warn' | 'info'>
  metrics: Pick<Metrics, 'gauge'>
  mail: MailOutbox
  /** Who is told by mail; null: nobody, the log alone says it. */
  to: string | null
  reads: AlarmReads
  /** This computer, for what is about it alone. */
  place: string
  /** This gateway, among those of which one looks. */
  owner: string
  brandName(): string
  publicUrl(): string
}

const LOOK_MS = 60_000
/** Names of what is wrong that are kept and shown, and characters of each. */
const ABOUT_MAX = 10
const ABOUT_CHARS_MAX = 500

/**
 * What operators are warned of: figures of `/metrics`, lines of the log, and mails where `BERTH_OPERATOR_MAIL` names
 * somebody, so that an installation that nothing else watches is watched all the same.
 */
export function createAlarms(deps: AlarmsDeps) {
  const { db, clock, log, metrics, reads, place, to } = deps
  const queueMail = deps.mail.define<{ code: AlarmCode; place: string; news: AlarmNews } & AlarmReading>(
    'operator-alarm',
    // Whoever was to be told may have been taken out of the settings meanwhile.
    async told =>
      to === null ? null : { to, ...alarmMail({ ...told, brand: deps.brandName(), url: deps.publicUrl() }) },
  )

  const placeOf = (code: AlarmCode) => ('isLocal' in ALARMS[code] ? place : '')
  const isThis = (code: AlarmCode) => and(eq(alarm.code, code), eq(alarm.place, placeOf(code)))

  async function noted(code: AlarmCode): Promise<AlarmReading> {
    const [row] = await db.select().from(alarm).where(isThis(code))
    return row ?? { value: 0, about: [] }
  }

  const readers = { ...reads, books_differ: () => noted('books_differ') }
  for (const [code, { metric, help }] of alarmEntries()) {
    metrics.gauge(metric, help, async () => (await readers[code]()).value)
  }

  /** Keeps a reading, and tells operators where it is news; in one transaction, so that it is told once. */
  async function take(tx: Transaction, code: AlarmCode, { value, about }: AlarmReading): Promise<void> {
    const now = clock.now()
    const row = {
      value,
      about: about.slice(0, ABOUT_MAX).map(line => line.slice(0, ABOUT_CHARS_MAX)),
      readAt: now,
    }
    const key = { code, place: placeOf(code) }
    await tx
      .insert(alarm)
      .values({ ...key, ...row })
      .onConflictDoNothing()
    const [before] = await tx.select().from(alarm).where(isThis(code)).for('update')
    const lastsMs = ALARMS[code].lastsSeconds * 1_000
    const { news, ...state } = planAlarm(before ?? null, value, { now, lastsMs })
    await tx
      .update(alarm)
      .set({ ...row, ...state })
      .where(isThis(code))
    if (news === null) return
    const level = news === 'over' ? 'info' : ALARMS[code].severity === 'page' ? 'error' : 'warn'
    log[level]({ alarm: code, news, ...key, value, about: row.about }, `alarm: ${ALARMS[code].title}`)
    if (to !== null) await queueMail(tx, { ...key, news, value, about: row.about })
  }

  async function look(codes: readonly AlarmCode[], signal: AbortSignal): Promise<void> {
    for (const code of codes) {
      if (signal.aborted) return
      try {
        const reading = await readers[code]()
        await db.transaction(tx => take(tx, code, reading))
      } catch (error) {
        // The others are still worth a look; what cannot be read is no reading.
        log.warn({ err: error, alarm: code }, 'what an alarm watches could not be read')
      }
    }
  }

  const codesOf = (isLocal: boolean) =>
    alarmEntries().flatMap(([code, kind]) => ((kind.isLocal === true) === isLocal ? [code] : []))
  const loops: Loop[] = [
    createLoop({
      name: 'alarms',
      pauseMs: LOOK_MS,
      lease: deps,
      log,
      run: signal => look(codesOf(false), signal),
    }),
    createLoop({ name: 'alarms.here', pauseMs: LOOK_MS, log, run: signal => look(codesOf(true), signal) }),
  ]

  return {
    /** Looks at once at all that is watched, here and in the whole installation. */
    lookNow: () =>
      look(
        alarmEntries().map(([code]) => code),
        new AbortController().signal,
      ),

    /** Takes what was found by somebody who looks for himself: the check of the books, once a day. */
    note: (code: 'books_differ', reading: AlarmReading) => db.transaction(tx => take(tx, code, reading)),

    start(): void {
      for (const loop of loops) loop.start()
    },
    async stop(): Promise<void> {
      await Promise.all(loops.map(loop => loop.stop()))
    },
  }
}
