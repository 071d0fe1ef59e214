import { sql } from 'drizzle-orm'
import { fromDrizzle, PgBoss } from 'pg-boss'
import type { Logger } from 'pino'
import type { OpenDatabase } from '../../platform/database/open-database.ts'
import { type MailContent, type MailDriver, type MailOutbox, MailRefused } from './port.ts'

const QUEUE = 'mail'
/** pg-boss keeps its tables in a schema of their own. */
const SCHEMA = 'pgboss'

/** A mail that was not sent after a day is of no use to anybody. */
const MAIL_KEPT_SECONDS = 24 * 3_600
/** With the pauses below this outlasts the day. */
const RETRIES_MAX = 120
const RETRY_FIRST_SECONDS = 5
const RETRY_PAUSE_SECONDS_MAX = 15 * 60
/** Above the driver's own time limits: after this, a mail whose gateway died is sent by another. */
const SENDING_SECONDS_MAX = 90
const SENT_KEPT_SECONDS = 3_600
/** Mails that one gateway sends at once. */
const SENDERS = 2
/** A commit wakes the senders; what is to be tried again is found by looking. */
const POLL_SECONDS = 2

interface Job {
  kind: string
  data: object
}

export interface MailQueue extends MailOutbox {
  /** Makes the queue's tables where they are missing: from then on mails can be queued. */
  open(): Promise<void>
  /** Opens the queue where that was not done yet, and begins to send. */
  start(): Promise<void>
  /** Lets mails that are being sent finish; what waits stays in the database. */
  stop(): Promise<void>
}

interface MailQueueOptions {
  database: Pick<OpenDatabase, 'pool' | 'listen'>
  driver: MailDriver
  log: Pick<Logger, 'info' | 'warn' | 'error'>
  /** Pause before the second try; it doubles from there. */
  retryFirstSeconds?: number
}

/**
 * The mail queue: jobs in PostgreSQL, written in the transaction that they belong to, sent at least once by
 * whichever gateway is there, and tried again with growing pauses for a day.
 */
export function createMailQueue(options: MailQueueOptions): MailQueue {
  const { database, driver, log, retryFirstSeconds = RETRY_FIRST_SECONDS } = options
  const composers = new Map<string, (data: never) => Promise<MailContent | null>>()
  const boss = new PgBoss({
    schema: SCHEMA,
    schedule: false,
    useListenNotify: true,
    db: {
      executeSql: (text, values) => database.pool.query(text, values),
      async listen(channel, onNotification, onReconnect) {
        const close = await database.listen(channel, onNotification, onReconnect)
        return { close: async () => close() }
      },
    },
  })
  boss.on('error', error => log.warn({ err: error }, 'the mail queue had an error and goes on'))
  boss.on('warning', warning => log.warn({ warning }, 'the mail queue warns'))

  async function send(id: string, { kind, data }: Job): Promise<void> {
    const compose = composers.get(kind)
    // A newer version's job, perhaps: another gateway may know it.
    if (!compose) throw new Error(`no mail of the kind ${kind} is known here`)
    const content = await compose(data as never)
    if (!content) return
    try {
      await driver.send({ id, ...content })
    } catch (error) {
      if (!(error instanceof MailRefused)) {
        log.warn({ err: error, mail: id, kind }, 'a mail could not be sent and will be tried again')
        throw error
      }
      log.error({ err: error, mail: id, kind }, 'a mail was refused for good')
    }
  }

  let opening: Promise<void> | null = null
  function open(): Promise<void> {
    opening ??= prepare()
    return opening
  }

  async function prepare(): Promise<void> {
    await boss.start()
    const rules = {
      retentionSeconds: MAIL_KEPT_SECONDS,
      retryLimit: RETRIES_MAX,
      retryDelay: retryFirstSeconds,
      retryBackoff: true,
      retryDelayMax: RETRY_PAUSE_SECONDS_MAX,
      expireInSeconds: SENDING_SECONDS_MAX,
      deleteAfterSeconds: SENT_KEPT_SECONDS,
      notify: true,
    }
    await boss.createQueue(QUEUE, rules)
    // The queue may be there from an older version with other rules.
    await boss.updateQueue(QUEUE, rules)
  }

  return {
    define(kind, compose) {
      if (composers.has(kind)) throw new Error(`two mails are called ${kind}`)
      composers.set(kind, compose)
      return async (q, data) => {
        const job: Job = { kind, data }
        await boss.send(QUEUE, job, { db: fromDrizzle(q, sql) })
      }
    },
    open,
    async start() {
      await open()
      await boss.work<Job>(
        QUEUE,
        {
          batchSize: 1,
          localConcurrency: SENDERS,
          pollingIntervalSeconds: POLL_SECONDS,
          notifyPollingIntervalSeconds: POLL_SECONDS,
        },
        async jobs => {
          for (const job of jobs) await send(job.id, job.data)
        },
      )
    },
    async stop() {
      await boss.stop({ graceful: true, close: false, timeout: SENDING_SECONDS_MAX * 1_000 })
    },
  }
}
