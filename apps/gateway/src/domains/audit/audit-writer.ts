import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Clock } from '../../platform/clock.ts'
import type { Database, Queryable } from '../../platform/database/database.ts'
import { isDatabaseUnavailable } from '../../platform/database/unavailable.ts'
import type { Ids } from '../../platform/ids.ts'
import { auditEntry } from './tables.ts'

/** What is to be written down. */
export interface AuditNote {
  userId: string
  actor: 'customer' | 'operator' | 'system'
  /** Name of a call, or one of the few that no call has, such as `account.login-failed`. */
  action: string
  /** Id of what it was done to; left out where it is the account itself. */
  target?: string
  /** Code of the error that refused it; left out when it was done. */
  refused?: string
  sessionId?: string
  /** From where; left out for the system. */
  address?: string
  userAgent?: string
}

type Entry = typeof auditEntry.$inferInsert

/** Entries of one insert. */
const BATCH_MAX = 200
/** Entries that wait while the database is away: some 10 MB. */
const WAITING_MAX = 20_000
const RETRY_FIRST_MS = 100
const RETRY_MS_MAX = 5_000
/** At the end of the gateway, which has a deadline of its own. */
const STOP_PATIENCE_MS = 3_000
const TEXT_CHARS_MAX = 300

interface WriterDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Pick<Logger, 'error' | 'warn'>
}

/**
 * Writes entries behind the answers: a note is put in line and inserted at once, together with those that came while
 * the insert before was on its way. A failing insert touches no call; while the database is away, notes wait.
 */
export function createAuditWriter({ db, clock, ids, log }: WriterDeps) {
  let waiting: Entry[] = []
  let writing: Promise<void> | null = null
  const stopping = new AbortController()

  async function writeAll(): Promise<void> {
    for (let pauseMs = RETRY_FIRST_MS; waiting.length > 0; ) {
      const batch = waiting.slice(0, BATCH_MAX)
      try {
        await insert(batch)
        waiting = waiting.slice(batch.length)
        pauseMs = RETRY_FIRST_MS
      } catch (error) {
        if (stopping.signal.aborted) return
        log.warn({ err: error, waiting: waiting.length }, 'the audit log cannot be written and waits')
        await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => {})
        pauseMs = Math.min(2 * pauseMs, RETRY_MS_MAX)
      }
    }
  }

  /** @throws Errors that pass: then some of the entries may be there already, and the next try finds them. */
  async function insert(entries: Entry[]): Promise<void> {
    try {
      await db.insert(auditEntry).values(entries).onConflictDoNothing()
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw error
      const [only] = entries
      if (entries.length === 1 && only) {
        lost(only, error)
        return
      }
      // One that the database refuses must not take the others with it.
      for (const entry of entries) await insert([entry])
    }
  }

  /** The log of the gateway is the last place where it can stand. */
  function lost(entry: Entry, error: unknown): void {
    log.error({ err: error, audit: entry }, 'AN AUDIT ENTRY WAS LOST: it stands here alone')
  }

  function begin(): void {
    writing ??= writeAll().finally(() => {
      writing = null
      if (waiting.length > 0 && !stopping.signal.aborted) begin()
    })
  }

  return {
    /** Puts an entry in line. Returns at once and never throws. */
    note(note: AuditNote): void {
      const entry = entryOf(note, ids.uuid(), clock.now())
      if (waiting.length >= WAITING_MAX) {
        lost(entry, new Error('too many entries wait'))
        return
      }
      waiting.push(entry)
      begin()
    },

    /** Writes an entry in the transaction that `q` belongs to. */
    async write(q: Queryable, note: AuditNote): Promise<void> {
      await q.insert(auditEntry).values(entryOf(note, ids.uuid(), clock.now()))
    },

    /** Returns when what was noted so far is written; at once while the database is away. */
    async settled(): Promise<void> {
      if (writing) await Promise.race([writing, sleep(RETRY_FIRST_MS)])
    },

    /** Writes what still waits, with some patience; what cannot be written goes to the log. */
    async stop(): Promise<void> {
      const patience = setTimeout(() => stopping.abort(), STOP_PATIENCE_MS)
      while (writing) await writing
      clearTimeout(patience)
      for (const entry of waiting) lost(entry, new Error('the gateway ended'))
      waiting = []
    },
  }
}

function entryOf(note: AuditNote, id: string, at: Date): Entry {
  const { target = '', refused = '', address = '', userAgent = '', sessionId = null } = note
  return {
    ...note,
    id,
    at,
    sessionId,
    refused,
    target: plain(target),
    address: plain(address),
    userAgent: plain(userAgent),
  }
}

/** On one line, of bounded length, and without the zero byte that PostgreSQL refuses. */
function plain(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ').slice(0, TEXT_CHARS_MAX)
}
