import type { Logger } from 'pino'
import type { Jobs } from '../../platform/jobs/jobs.ts'
import { type MailContent, type MailDriver, type MailOutbox, MailRefused } from './port.ts'

/** The queue of jobs that mails wait in. */
export const MAIL_QUEUE = 'mail'

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

/** What the queue keeps of a mail. */
interface Waiting {
  kind: string
  data: object
}

interface MailQueueOptions {
  jobs: Pick<Jobs, 'define'>
  driver: MailDriver
  log: Pick<Logger, 'warn' | 'error'>
  /** Pause before the second try; it doubles from there. */
  retryFirstSeconds?: number
}

/**
 * The mail queue: jobs in PostgreSQL, written in the transaction that they belong to, sent at least once by
 * whichever gateway is there, and tried again with growing pauses for a day.
 */
export function createMailQueue(options: MailQueueOptions): MailOutbox {
  const { jobs, driver, log, retryFirstSeconds = RETRY_FIRST_SECONDS } = options
  const composers = new Map<string, (data: never) => Promise<MailContent | null>>()

  async function send(id: string, { kind, data }: Waiting): Promise<void> {
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

  const queue = jobs.define<Waiting>({
    name: MAIL_QUEUE,
    workers: SENDERS,
    keptSeconds: MAIL_KEPT_SECONDS,
    retriesMax: RETRIES_MAX,
    retryFirstSeconds,
    retryPauseSecondsMax: RETRY_PAUSE_SECONDS_MAX,
    runSecondsMax: SENDING_SECONDS_MAX,
    doneKeptSeconds: SENT_KEPT_SECONDS,
    run: job => send(job.id, job.data),
  })

  return {
    define(kind, compose) {
      if (composers.has(kind)) throw new Error(`two mails are called ${kind}`)
      composers.set(kind, compose)
      return async (q, data) => {
        await queue.send(q, [{ data: { kind, data } }])
      }
    },
  }
}
