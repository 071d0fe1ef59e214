import type { Readable } from 'node:stream'
import type { Instance } from '@berth/contract/instances'
import type { Language } from '@berth/contract/limits'
import type { Logger } from 'pino'
import type { OpenDatabase } from '../../../platform/database/open-database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { SEEN_CHANNEL } from '../change-status.ts'
import type { SeenInstance } from '../reads.ts'
import { createChangeGatherer } from './changes.ts'
import { FOLLOW_LIMITS, type FollowLimits } from './follow-limits.ts'
import { type Changes, createFollowStream, eventOf, type FollowStream } from './follow-stream.ts'

/** Who follows. */
interface Subject {
  userId: string
  sessionId: string
  /** Network address. */
  address: string
  /** In which the catalogue's words are said. */
  language: Language
}

interface Follower extends Subject {
  stream: FollowStream
}

/** Customers who follow their instances through one gateway. */
export interface Followers {
  /**
   * Follows a customer's own instances, whichever gateway changes them.
   * @returns Server-sent events, which end with the session or the gateway. Who reads the instances after the first one
   *   and follows what comes misses nothing.
   * @throws ApiError `too_many_requests` with as many of a customer or an address as there may be; `unavailable` where
   *   this gateway has no room, or ends.
   */
  follow(subject: Subject): Promise<Readable>
  /** Begins to hear of changes, and to end what belongs to sessions that are no longer open. @returns The way to stop. */
  watch(): Promise<() => void>
  /** Tells every follower to ask another gateway. */
  shutdown(): void
  count(): number
}

export interface FollowersDeps {
  /** Instances as their customers see them now, whosever they are. */
  seen(instanceIds: string[]): Promise<SeenInstance[]>
  said(one: Instance, language: Language): Instance
  listen: OpenDatabase['listen']
  identity: {
    openAmong(sessionIds: string[]): Promise<ReadonlySet<string>>
    watchSessions(onChange: (id: string | null) => void): Promise<() => void>
  }
  log: Logger
  limits?: Partial<FollowLimits> | undefined
}

/** Makes the followers. Nothing is heard before `watch`. */
export function createFollowers(deps: FollowersDeps): Followers {
  const { identity, log } = deps
  const limits = { ...FOLLOW_LIMITS, ...deps.limits }
  const byCustomer = new Map<string, Set<Follower>>()
  const byAddress = new Map<string, number>()
  let count = 0
  let isClosing = false
  const changes = createChangeGatherer({ tell: readAndTell, limits, log })

  function* everybody(): Generator<Follower> {
    for (const followers of byCustomer.values()) yield* followers
  }

  function refuseTooMany({ userId, address }: Subject): void {
    if (isClosing || count >= limits.followersMax) throw new ApiError('unavailable')
    const ofCustomer = byCustomer.get(userId)?.size ?? 0
    const ofAddress = byAddress.get(address) ?? 0
    if (ofCustomer >= limits.perCustomerMax || ofAddress >= limits.perAddressMax) {
      throw new ApiError('too_many_requests')
    }
  }

  function add(follower: Follower): void {
    const { userId, address, stream } = follower
    const ofCustomer = byCustomer.get(userId) ?? new Set()
    byCustomer.set(userId, ofCustomer.add(follower))
    byAddress.set(address, (byAddress.get(address) ?? 0) + 1)
    count += 1
    stream.answer.once('close', () => {
      ofCustomer.delete(follower)
      if (ofCustomer.size === 0) {
        byCustomer.delete(userId)
        changes.forget(userId)
      }
      const left = (byAddress.get(address) ?? 1) - 1
      if (left === 0) byAddress.delete(address)
      else byAddress.set(address, left)
      count -= 1
    })
  }

  /** Whose they are is what the rows say, not what was notified. */
  async function readAndTell(instanceIds: string[]): Promise<void> {
    const byOwner = Map.groupBy(await deps.seen(instanceIds), ({ userId }) => userId)
    for (const [userId, seen] of byOwner) {
      const inLanguages = new Map<Language, Changes>()
      for (const { language, stream } of byCustomer.get(userId) ?? []) {
        const told = inLanguages.get(language) ?? changesOf(seen, language)
        inLanguages.set(language, told)
        stream.tell(told)
      }
    }
  }

  function changesOf(seen: readonly SeenInstance[], language: Language): Changes {
    const byId = new Map(
      seen.map(({ id, instance }) => [id, instance && JSON.stringify(deps.said(instance, language))]),
    )
    return { byId, event: eventOf(byId) }
  }

  function hear(payload: string): void {
    const [userId = '', instanceId = ''] = payload.split(' ')
    if (byCustomer.has(userId)) changes.note(userId, instanceId)
  }

  function missAll(): void {
    for (const { stream } of everybody()) stream.missed()
  }

  async function checkSessions(followers: Follower[]): Promise<void> {
    if (followers.length === 0) return
    const open = await identity.openAmong([...new Set(followers.map(({ sessionId }) => sessionId))])
    for (const { sessionId, stream } of followers) if (!open.has(sessionId)) stream.end('session')
  }
  const warn = (error: unknown) => log.warn({ err: error }, 'sessions of followers could not be checked')
  const check = (followers: Follower[]) => void checkSessions(followers).catch(warn)

  /** @param id Of a session or a customer; null where any may have ended. */
  function checkOf(id: string | null): void {
    const ofCustomer = id === null ? null : byCustomer.get(id)
    const others = () => [...everybody()].filter(({ sessionId }) => id === null || sessionId === id)
    check(ofCustomer ? [...ofCustomer] : others())
  }

  return {
    async follow(subject) {
      refuseTooMany(subject)
      const follower = { ...subject, stream: createFollowStream(limits) }
      add(follower)
      // A session that ended just before it was known here was looked for in vain.
      check([follower])
      return follower.stream.answer
    },
    async watch() {
      const stopHearing = await deps.listen(SEEN_CHANNEL, hear, missAll)
      // What changed before it was heard of.
      missAll()
      const stopSessions = await identity.watchSessions(checkOf)
      // A session that runs out is told by nobody.
      const sessions = setInterval(() => checkOf(null), limits.sessionsMs).unref()
      const alive = setInterval(() => {
        for (const { stream } of everybody()) stream.alive()
      }, limits.aliveMs).unref()
      return () => {
        clearInterval(sessions)
        clearInterval(alive)
        stopHearing()
        stopSessions()
      }
    },
    shutdown() {
      isClosing = true
      for (const { stream } of everybody()) stream.end('gateway')
    },
    count: () => count,
  }
}
