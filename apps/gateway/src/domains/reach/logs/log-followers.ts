import type { Readable } from 'node:stream'
import type { Logger } from 'pino'
import { ComputeError } from '../../../drivers/compute/port/compute-error.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Instances } from '../../instances/instances.ts'
import type { MachineWays } from '../machine-ways.ts'
import { LOG_LIMITS, type LogLimits } from './log-limits.ts'
import { createLogStream, type LogStream } from './log-stream.ts'

/** Who follows which log. */
export interface LogSubject {
  userId: string
  sessionId: string
  instanceId: string
}

/** The logs that are followed through one gateway. */
export interface LogFollowers {
  /**
   * Follows the log of a customer's own instance, through whichever gateway reaches its machine.
   * @returns Server-sent events, which end with the machine, the session or the gateway.
   * @throws ApiError `not_found`; `too_many_requests` with as many followers as there may be; `unavailable`.
   */
  follow(subject: LogSubject): Promise<Readable>
  /** Begins to end what belongs to sessions that are no longer open. @returns The way to stop. */
  watch(): Promise<() => void>
  /** Tells every follower to ask another gateway. */
  shutdown(): void
}

export interface LogFollowersDeps {
  ways: Pick<MachineWays, 'followLogs'>
  instances: Pick<Instances, 'findOwn'>
  identity: {
    isSessionOpen(sessionId: string): Promise<boolean>
    watchSessions(onChange: () => void): Promise<() => void>
  }
  log: Logger
  limits?: Partial<LogLimits> | undefined
}

interface Follower extends LogSubject {
  /** Null while the way to its machine is being opened. */
  stream: LogStream | null
}

/** Makes the followers. */
export function createLogFollowers(deps: LogFollowersDeps): LogFollowers {
  const { ways, instances, identity, log } = deps
  const limits = { ...LOG_LIMITS, ...deps.limits }
  const followers = new Set<Follower>()

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

  return {
    async follow(subject) {
      const { userId, sessionId, instanceId } = subject
      await instances.findOwn({ userId, instanceId })
      refuseTooMany(subject)
      const follower: Follower = { ...subject, stream: null }
      followers.add(follower)
      try {
        const source = await ways.followLogs(instanceId).catch(nothingYet)
        follower.stream = createLogStream(source, limits)
      } catch (error) {
        followers.delete(follower)
        throw error
      }
      const { answer } = follower.stream
      answer.once('close', () => followers.delete(follower))
      // A session that ended just before it was known here was looked for in vain.
      checkSession(sessionId).catch(warn)
      return answer
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
      for (const { stream } of followers) stream?.end('gateway')
    },
  }
}

/** A machine that was not made yet, or does not run, writes nothing; what else goes wrong may be right in a moment. */
function nothingYet(error: unknown): null {
  if (!(error instanceof ComputeError)) throw error
  if (error.code === 'not_found' || error.code === 'not_running') return null
  throw new ApiError('unavailable', { cause: error })
}
