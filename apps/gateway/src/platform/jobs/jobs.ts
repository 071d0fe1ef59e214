import { sql } from 'drizzle-orm'
import { fromDrizzle, type JobWithMetadata, PgBoss } from 'pg-boss'
import type { Logger } from 'pino'
import type { Queryable } from '../database/database.ts'
import { notify, type OpenDatabase } from '../database/open-database.ts'
import { createLoop } from '../loop.ts'
import { spanned, traceparentHere } from '../tracing/spans.ts'

/** pg-boss keeps its tables in a schema of their own. */
export const JOBS_SCHEMA = 'pgboss'
/** Tells that something will be due soon: pg-boss tells of what is due at once. */
export const DUE_CHANNEL = 'jobs_due'
/** Without notices of commits, workers look this often for themselves. */
const POLL_SECONDS = 2
/** With them they are woken by a commit, and when something is due. */
const NOTIFIED_POLL_SECONDS = 60
/** What is to be tried again, or waits unnoticed, is looked for so often, and when the first of it is due. */
const DUE_MS_MAX = 5_000
const DUE_MS_MIN = 100
/** Until a job that failed is written down as such, and it is known when it is to be tried again. */
const FAILED_MS = 500
/** Jobs whose gateway died are looked for this often, by one gateway. */
const MONITOR_SECONDS = 10
/** No job of ours waits for others: pg-boss looks for such hardly ever. */
const FLOW_SECONDS = 3_600
/** Beside a job's own data: what it was asked for by, where traces are wanted. */
const TRACE_KEY = 'traceparent_of_sender'
/** Above every queue's `runSecondsMax`. */
const STOP_MS_MAX = 90_000

/** A job that is to be done now. */
export interface Job<Data> {
  /** A UUID, the same over tries. */
  id: string
  data: Data
  /** How often it was tried before. */
  retryCount: number
  /** After so many it is given up. */
  retryLimit: number
}

export interface QueueRules<Data extends object> {
  /** Lasting: jobs of an older start wait under it. */
  name: string
  /** Jobs that one gateway does at once. */
  workers: number
  /** Of those with one group, so many at once; left out: all that there are workers for. */
  perGroup?: number
  /** A job that was not done after so long is dropped, or given to `deadLetter`. */
  keptSeconds: number
  /** Pause before the second try; it doubles from there up to `retryPauseSecondsMax`. */
  retryFirstSeconds: number
  retryPauseSecondsMax: number
  retriesMax: number
  /** After this long another gateway takes the job over: its own may have died. */
  runSecondsMax: number
  /** How long a job that is done stays in its table. */
  doneKeptSeconds: number
  /** The queue, defined before, that gets what was tried too often. */
  deadLetter?: string
  /** Does a job. What it throws has the job tried again later. */
  run(job: Job<Data>): Promise<void>
}

/** What is sent to a queue. */
export interface NewJob<Data extends object> {
  data: Data
  /** A UUID; a second job by it, while the first is kept, is none. Left out: a fresh one. */
  id?: string
  /** Jobs of one group share the limit `perGroup`. */
  group?: string
  /** Done no sooner; left out: at once. All gateways hear when, and may be the one. */
  afterSeconds?: number
}

export interface Queue<Data extends object> {
  /** Puts jobs into the queue, in the transaction that `q` belongs to: they are done if that commits. */
  send(q: Queryable, jobs: NewJob<Data>[]): Promise<void>
  /**
   * Takes note, in the transaction that did the job, that it is done.
   * @returns False where the job was given to somebody else meanwhile: then roll back.
   */
  complete(q: Queryable, job: Job<Data>): Promise<boolean>
}

/** Work that outlives a crash: jobs in PostgreSQL, done at least once by whichever gateway is there. */
export interface Jobs {
  /** Names a queue, before `open`. */
  define<Data extends object>(rules: QueueRules<Data>): Queue<Data>
  /** Makes the tables where they are missing: from then on jobs can be sent. */
  open(): Promise<void>
  /** Opens where that was not done yet, and begins to work. */
  start(): Promise<void>
  /** How many jobs of a queue were to be done so long ago, or were tried in vain for so long, and still wait. */
  countLate(queue: string, seconds: number): Promise<number>
  /** How many jobs of a queue were done since so long ago, as far back as its `doneKeptSeconds`. */
  countDone(queue: string, seconds: number): Promise<number>
  /** Lets jobs that are being done finish; what waits stays in the database. */
  stop(): Promise<void>
}

/** Makes the gateway's one worker of jobs. */
export function createJobs(deps: {
  database: Pick<OpenDatabase, 'pool' | 'listen'>
  log: Pick<Logger, 'warn' | 'error'>
}): Jobs {
  const { database, log } = deps
  const queues = new Map<string, QueueRules<object>>()
  /** pg-boss's names of the workers of each queue. */
  const workers = new Map<string, string[]>()
  /** As it was found last. */
  let nextInMs: number | null = null
  const due = createLoop({
    name: 'jobs.due',
    pauseMs: DUE_MS_MAX,
    log,
    async run() {
      nextInMs = await wakeForDue()
    },
    dueInMs: () => nextInMs,
  })
  let opening: Promise<void> | null = null
  let unlisten = () => {}
  const boss = new PgBoss({
    schema: JOBS_SCHEMA,
    schedule: false,
    useListenNotify: true,
    superviseIntervalSeconds: MONITOR_SECONDS,
    monitorIntervalSeconds: MONITOR_SECONDS,
    flowIntervalSeconds: FLOW_SECONDS,
    db: {
      executeSql: (text, values) => database.pool.query(text, values),
      async listen(channel, onNotification, onReconnect) {
        const close = await database.listen(channel, onNotification, onReconnect)
        return { close: async () => close() }
      },
    },
  })
  boss.on('error', error => log.warn({ err: error }, 'a job queue had an error and goes on'))
  boss.on('warning', warning => log.warn({ warning }, 'a job queue warns'))

  async function prepare(): Promise<void> {
    await boss.start()
    for (const rules of queues.values()) {
      const options = optionsOf(rules)
      await boss.createQueue(rules.name, options)
      // The queue may be there from an older version with other rules.
      await boss.updateQueue(rules.name, options)
    }
  }

  async function work({ name, perGroup, run }: QueueRules<object>): Promise<void> {
    const worker = await boss.work(
      name,
      {
        batchSize: 1,
        includeMetadata: true as const,
        pollingIntervalSeconds: POLL_SECONDS,
        notifyPollingIntervalSeconds: NOTIFIED_POLL_SECONDS,
        ...(perGroup !== undefined && { localGroupConcurrency: perGroup }),
      },
      async ([job]: JobWithMetadata<object>[]) => {
        // Whoever finds a job looks for another one as soon as it is done, so that many are not one for each look.
        boss.notifyWorker(worker)
        if (!job) return
        const { [TRACE_KEY]: trace, ...data } = job.data as { [TRACE_KEY]?: string }
        const facts = { 'berth.job.tries': job.retryCount }
        try {
          await spanned(`job ${name}`, facts, () => run({ ...job, data }), trace)
        } catch (error) {
          due.wake(FAILED_MS)
          throw error
        }
      },
    )
    workers.set(name, [...(workers.get(name) ?? []), worker])
  }

  /** Has workers look whose queues have what is due. @returns In how many ms more will be; null where nothing waits. */
  async function wakeForDue(): Promise<number | null> {
    const { rows } = await database.pool.query<{ name: string; isDue: boolean; nextInMs: number | null }>(
      `select name, bool_or(start_after <= now()) as "isDue",
        (extract(epoch from min(start_after) filter (where start_after > now()) - now()) * 1000)::float8 as "nextInMs"
      from ${JOBS_SCHEMA}.job where name = any($1) and state < 'active' and not blocked group by name`,
      [[...queues.keys()]],
    )
    for (const { name, isDue } of rows) {
      if (isDue) for (const worker of workers.get(name) ?? []) boss.notifyWorker(worker)
    }
    const nexts = rows.flatMap(row => row.nextInMs ?? [])
    return nexts.length === 0 ? null : Math.max(DUE_MS_MIN, Math.min(...nexts))
  }

  const jobs: Jobs = {
    define<Data extends object>(rules: QueueRules<Data>): Queue<Data> {
      const { name } = rules
      if (queues.has(name)) throw new Error(`two queues are called ${name}`)
      if (opening) throw new Error(`the queue ${name} is defined too late`)
      queues.set(name, rules as QueueRules<never> as QueueRules<object>)
      return {
        async send(q, sent) {
          if (sent.length === 0) return
          const trace = traceparentHere()
          const inserts = sent.map(({ data, id, group, afterSeconds }) => ({
            data: trace === undefined ? data : { ...data, [TRACE_KEY]: trace },
            ...(id !== undefined && { id }),
            ...(group !== undefined && { group: { id: group } }),
            ...(afterSeconds !== undefined && { startAfter: afterSeconds }),
          }))
          await boss.insert(name, inserts, { db: fromDrizzle(q, sql) })
          if (sent.some(({ afterSeconds }) => afterSeconds !== undefined)) await notify(q, DUE_CHANNEL, name)
        },
        async complete(q, { id, retryCount }) {
          const answer = await boss.complete(name, { id, retryCount }, undefined, { db: fromDrizzle(q, sql) })
          return 'affected' in answer && answer.affected === 1
        },
      }
    },
    open() {
      opening ??= prepare()
      return opening
    },
    async start() {
      await jobs.open()
      for (const rules of queues.values()) {
        for (let n = 0; n < rules.workers; n++) await work(rules)
      }
      const wake = () => due.wake()
      unlisten = await database.listen(DUE_CHANNEL, wake, wake)
      due.start()
      due.wake()
    },
    async countLate(queue, seconds) {
      const { rows } = await database.pool.query<{ count: number }>(
        `select count(*)::int as count from ${JOBS_SCHEMA}.job
        where name = $1 and state < 'active' and created_on < now() - make_interval(secs => $2)
          and (retry_count > 0 or start_after < now() - make_interval(secs => $2))`,
        [queue, seconds],
      )
      return rows[0]?.count ?? 0
    },
    async countDone(queue, seconds) {
      const { rows } = await database.pool.query<{ count: number }>(
        `select count(*)::int as count from ${JOBS_SCHEMA}.job
        where name = $1 and state = 'completed' and completed_on > now() - make_interval(secs => $2)`,
        [queue, seconds],
      )
      return rows[0]?.count ?? 0
    },
    async stop() {
      unlisten()
      await due.stop()
      await boss.stop({ graceful: true, close: false, timeout: STOP_MS_MAX })
    },
  }
  return jobs
}

function optionsOf(rules: QueueRules<object>) {
  return {
    retentionSeconds: rules.keptSeconds,
    retryLimit: rules.retriesMax,
    retryDelay: rules.retryFirstSeconds,
    retryBackoff: true,
    retryDelayMax: rules.retryPauseSecondsMax,
    expireInSeconds: rules.runSecondsMax,
    deleteAfterSeconds: rules.doneKeptSeconds,
    notify: true,
    ...(rules.deadLetter !== undefined && { deadLetter: rules.deadLetter }),
  }
}
