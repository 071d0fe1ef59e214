import type { Duplex, Readable } from 'node:stream'
import { LOG_TICKET_MS } from '@berth/contract/limits'
import type { Logger } from 'pino'
import { ComputeError } from '../../../drivers/compute/port/compute-error.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Instances } from '../../instances/instances.ts'
import type { MachineWays } from '../machine-ways.ts'
import type { Tickets } from '../tickets.ts'
import { LOG_LIMITS, type LogLimits } from './log-limits.ts'
import { createLogStream, createSearchStream, type LogStream } from './log-stream.ts'
import { createPlainLogStream } from './plain-log-stream.ts'

/** Who reads which log. */
export interface LogSubject {
  userId: string
  sessionId: string
  instanceId: string
}

/** A ticket for a log opens nothing else: paths begin with a slash. */
const OPENS = 'log'

/** The logs that are read through one gateway: followed, searched, or saved. */
export interface LogFollowers {
  /**
   * Follows the log of a customer's own instance, through whichever gateway reaches its machine.
   * @returns Server-sent events, which end with the machine, the session or the gateway.
   * @throws ApiError `not_found`; `too_many_requests` with as many followers as there may be; `unavailable`.
   */
  follow(subject: LogSubject): Promise<Readable>
  /**
   * Looks for a text in all that is kept of the log of a customer's own instance.
   * @returns Server-sent events, which end when all of it was looked at, or after a time.
   * @throws ApiError as `follow`.
   */
  search(subject: LogSubject, text: string): Promise<Readable>
  /** A ticket for one download of all that is kept of a log. @throws ApiError `not_found`. */
  startDownload(subject: LogSubject): Promise<{ ticket: string; name: string; expiresAt: Date }>
  /** Uses a ticket up: the log as plain text. @throws ApiError `download_ticket_invalid`, or as `follow`. */
  takeDownload(ticket: string): Promise<{ name: string; body: Readable }>
  /** Begins to end what belongs to sessions that are no longer open. @returns The way to stop. */
  watch(): Promise<() => void>
  /** Tells everybody who follows a log to ask another gateway; who saves or searches one comes to its end. */
  shutdown(): void
}

export interface LogFollowersDeps {
  ways: Pick<MachineWays, 'followLogs' | 'keptLog'>
  instances: Pick<Instances, 'findOwn'>
  identity: {
    isSessionOpen(sessionId: string): Promise<boolean>
    watchSessions(onChange: () => void): Promise<() => void>
  }
  tickets: Tickets
  log: Logger
  limits?: Partial<LogLimits> | undefined
}

interface Follower extends LogSubject {
  /** It goes on for as long as its machine does, and is told to ask another gateway where this one leaves. */
  isEndless: boolean
  /** Null while the way to its machine is being opened. */
  stream: LogStream | null
}

/** Makes the followers. */
export function createLogFollowers(deps: LogFollowersDeps): LogFollowers {
  const { ways, instances, identity, tickets, log } = deps
  const limits = { ...LOG_LIMITS, ...deps.limits }
  const followers = new Set<Follower>()
  let isLeaving = false

  function refuseTooMany({ userId, instanceId }: LogSubject): void {
    const all = [...followers]
    const isFull =
      all.length >= limits.followersMax ||
      all.filter(one => one.instanceId === instanceId).length >= limits.perInstanceMax ||
      all.filter(one => one.userId === userId).length >= limits.perCustomerMax
    if (isFull) throw new ApiError('too_many_requests')
  }

  async function checkSession(sessionId: string): Promise<void> {
    if (await identity.isSessionOpen(sessionId)) return
    for (const one of followers) if (one.sessionId === sessionId) one.stream?.end('session')
  }

  async function checkSessions(): Promise<void> {
    for (const sessionId of new Set([...followers].map(one => one.sessionId))) await checkSession(sessionId)
  }
  const warn = (error: unknown) => log.warn({ err: error }, 'sessions of followers could not be checked')

  /**
   * Opens a log for somebody, where there is room for one more.
   * @param way Where it comes from; null for a machine that wrote nothing.
   */
  async function open(
    subject: LogSubject,
    way: (instanceId: string) => Promise<Duplex>,
    make: (source: Duplex | null) => LogStream,
    isEndless = false,
  ): Promise<Readable> {
    refuseTooMany(subject)
    if (isEndless && isLeaving) throw new ApiError('unavailable')
    const follower: Follower = { ...subject, isEndless, stream: null }
    followers.add(follower)
    try {
      follower.stream = make(await way(subject.instanceId).catch(nothingYet))
    } catch (error) {
      followers.delete(follower)
      throw error
    }
    const { answer } = follower.stream
    answer.once('close', () => followers.delete(follower))
    if (isEndless && isLeaving) follower.stream.end('gateway')
    // A session that ended just before it was known here was looked for in vain.
    checkSession(subject.sessionId).catch(warn)
    return answer
  }

  return {
    async follow(subject) {
      await instances.findOwn(subject)
      return open(subject, ways.followLogs, source => createLogStream(source, limits), true)
    },
    async search(subject, text) {
      await instances.findOwn(subject)
      return open(subject, ways.keptLog, source => createSearchStream(source, text, limits))
    },
    async startDownload(subject) {
      const { name } = await instances.findOwn(subject)
      return { ...(await tickets.issue(subject, OPENS, LOG_TICKET_MS)), name: fileNameOf(name) }
    },
    async takeDownload(ticket) {
      const subject = await tickets.redeem(ticket, OPENS)
      // A ticket is worth no more than the session that asked for it, which may have ended since.
      if (!subject || !(await identity.isSessionOpen(subject.sessionId))) {
        throw new ApiError('download_ticket_invalid')
      }
      const { name } = await instances.findOwn(subject)
      const body = await open(subject, ways.keptLog, source => {
        const answer = createPlainLogStream(source, limits)
        return { answer, end: () => answer.destroy(new ApiError('unavailable')) }
      })
      return { name: fileNameOf(name), body }
    },
    async watch() {
      const look = () => void checkSessions().catch(warn)
      // A session that runs out is told by nobody.
      const care = setInterval(look, limits.sessionsMs).unref()
      const stop = await identity.watchSessions(look)
      return () => {
        clearInterval(care)
        stop()
      }
    },
    shutdown() {
      isLeaving = true
      for (const { stream, isEndless } of followers) if (isEndless) stream?.end('gateway')
    },
  }
}

const fileNameOf = (instanceName: string) => `${instanceName}-output.log`

/** A machine that was not made yet, or does not run, writes nothing; what else goes wrong may be right in a moment. */
function nothingYet(error: unknown): null {
  if (!(error instanceof ComputeError)) throw error
  if (error.code === 'not_found' || error.code === 'not_running') return null
  throw new ApiError('unavailable', { cause: error })
}
