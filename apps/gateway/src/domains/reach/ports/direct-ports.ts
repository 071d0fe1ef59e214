import { randomInt } from 'node:crypto'
import { and, between, eq, notInArray, sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import { createAtOnce } from '../../../platform/at-once.ts'
import type { Database, Queryable } from '../../../platform/database/database.ts'
import type { Instances, Target } from '../../instances/instances.ts'
import { runningOf } from '../running.ts'
import { directPort } from '../tables.ts'
import type { TcpForwards } from './tcp-forwards.ts'
import type { UdpForwards } from './udp-forwards.ts'

export type Protocol = 'tcp' | 'udp'

/** A port of an instance. */
interface InstancePort {
  target: Target
  protocol: Protocol
  port: number
}

/** The direct ports that an instance is to have. */
type Declared = Record<`${Protocol}Ports`, number[]>

/** Ports of a pool, both ends included. */
export interface PortRange {
  first: number
  last: number
}

export interface DirectPortsDeps {
  db: Database
  log: Pick<Logger, 'warn'>
  instances: Pick<Instances, 'findRunning' | 'accessOf' | 'noteNoPort'>
  forwards: { tcp: UdpForwards & Pick<TcpForwards, 'leave'>; udp: UdpForwards }
  /** Whether an instance has an address of its own: then it has no ports here. */
  hasOwnAddress(instanceId: string): Promise<boolean>
  /** Ports that are given out; null for any that is free. */
  pool: PortRange | null
}

/** Other programs of this computer may have ports of the pool: so many are tried for one. */
const TAKE_TRIES_MAX = 8

/**
 * Ports of this computer that lead to ports of instances (R2.23). Which leads where is written down: an instance keeps
 * its ports for as long as it is there, and they are open whenever it runs, whoever was restarted meanwhile.
 */
export function createDirectPorts(deps: DirectPortsDeps) {
  const { db, log, instances, forwards, pool } = deps
  const oneAtATime = createAtOnce(1)
  /** Instances that are looked at in a moment, each once. */
  const waiting = new Set<string>()
  let isShut = false

  async function keptPorts(instanceId: string) {
    return db.select().from(directPort).where(eq(directPort.instanceId, instanceId))
  }

  /** The port that was written down for one of an instance; null for none. */
  async function keptFor({ target, protocol, port }: InstancePort): Promise<number | null> {
    const rows = await keptPorts(target.instanceId)
    return rows.find(row => row.protocol === protocol && row.port === port)?.publicPort ?? null
  }

  /** Writes down where a port leads, unless either of the two is taken. Gives where it leads now. */
  async function keep(which: InstancePort, publicPort: number): Promise<number | null> {
    const { target, protocol, port } = which
    const row = { instanceId: target.instanceId, protocol, port, publicPort }
    await db.insert(directPort).values(row).onConflictDoNothing()
    return keptFor(which)
  }

  /** Gives an instance's port one of the pool that nobody has, none of those tried; null where there is no other. */
  async function takeOfPool({ first, last }: PortRange, which: InstancePort, tried: Set<number>) {
    const rows = await db
      .select({ publicPort: directPort.publicPort })
      .from(directPort)
      .where(eq(directPort.protocol, which.protocol))
    const taken = new Set(rows.map(({ publicPort }) => publicPort))
    const free: number[] = []
    for (let candidate = first; candidate <= last; candidate++) {
      if (!taken.has(candidate) && !tried.has(candidate)) free.push(candidate)
    }
    if (free.length === 0) return null
    // Any of them: whoever still knows a port that was another customer’s does not find the next one there at once.
    return keep(which, free[randomInt(free.length)] ?? first)
  }

  async function listen({ target, protocol, port }: InstancePort, publicPort: number | null) {
    const found = await forwards[protocol].open(target, new Map([[port, publicPort]]))
    return found.get(port) ?? null
  }

  /** Opens a port of the pool, the one that was kept if there is one. */
  async function openOfPool(range: PortRange, which: InstancePort, known: number | null) {
    if (known !== null) return listen(which, known)
    const { target, protocol, port } = which
    const tried = new Set<number>()
    while (tried.size < TAKE_TRIES_MAX && !isShut) {
      const publicPort = await takeOfPool(range, which, tried)
      if (publicPort === null) break
      tried.add(publicPort)
      const opened = await listen(which, publicPort)
      if (opened !== null) return opened
      const { instanceId } = target
      const isIt = [eq(directPort.instanceId, instanceId), eq(directPort.protocol, protocol)]
      await db.delete(directPort).where(and(...isIt, eq(directPort.port, port)))
    }
    log.warn(
      { instance: target.instanceId, port },
      'no direct port is left: BERTH_DIRECT_PORTS names too few',
    )
    await instances.noteNoPort({ instanceId: target.instanceId, protocol, port })
    return null
  }

  /** Opens any port, the one that was kept unless somebody else has it now. */
  async function openAny(which: InstancePort, known: number | null) {
    const opened = (known === null ? null : await listen(which, known)) ?? (await listen(which, null))
    if (opened !== null && known === null) await keep(which, opened)
    return opened
  }

  async function open(target: Target, protocol: Protocol, ports: readonly number[]) {
    const found = new Map<number, number>()
    for (const port of ports) {
      const which = { target, protocol, port }
      const known = await keptFor(which)
      const opened = pool ? await openOfPool(pool, which, known) : await openAny(which, known)
      if (opened !== null) found.set(port, opened)
    }
    return found
  }

  function closeInstance(instanceId: string): void {
    for (const one of Object.values(forwards)) one.closeInstance(instanceId)
  }

  async function forget(instanceId: string): Promise<void> {
    await db.delete(directPort).where(eq(directPort.instanceId, instanceId))
  }

  /** Closes and forgets the ports that an instance has no more. @returns What is left. */
  async function withoutGone(instanceId: string, access: Declared) {
    for (const protocol of ['tcp', 'udp'] as const) {
      const declared = access[`${protocol}Ports`]
      forwards[protocol].keepOnly(instanceId, declared)
      const isGone = [eq(directPort.instanceId, instanceId), eq(directPort.protocol, protocol)]
      await db.delete(directPort).where(and(...isGone, notInArray(directPort.port, declared)))
    }
    return keptPorts(instanceId)
  }

  /** Opens again what an instance had, where it runs; forgets what one had that is gone, or has its own address now. */
  async function reopen(instanceId: string): Promise<void> {
    if ((await keptPorts(instanceId)).length === 0 || isShut) return
    const access = await instances.accessOf(instanceId)
    if (!access) {
      await forget(instanceId)
      return
    }
    const { userId } = access
    if (await deps.hasOwnAddress(instanceId)) {
      closeInstance(instanceId)
      await forget(instanceId)
      return
    }
    const known = await withoutGone(instanceId, access)
    const target = { userId, instanceId }
    if (!(await runningOf(instances, target))) return
    for (const { protocol, port } of known) await open(target, protocol, [port])
    if (!(await runningOf(instances, target))) closeInstance(instanceId)
  }

  /** Looks at an instance soon, after those before it. */
  function look(instanceId: string): void {
    if (waiting.has(instanceId) || isShut) return
    waiting.add(instanceId)
    oneAtATime(() => {
      waiting.delete(instanceId)
      return reopen(instanceId)
    }).catch(error => log.warn({ err: error, instance: instanceId }, 'direct ports may be closed'))
  }

  /** How many ports of the pool nobody has, by protocol; null where any that is free will do. */
  async function left(q: Queryable): Promise<Record<Protocol, number> | null> {
    if (!pool) return null
    const [row] = await q
      .select({
        tcp: sql<number>`count(*) filter (where ${directPort.protocol} = 'tcp')::int`,
        udp: sql<number>`count(*) filter (where ${directPort.protocol} = 'udp')::int`,
      })
      .from(directPort)
      .where(between(directPort.publicPort, pool.first, pool.last))
    const size = pool.last - pool.first + 1
    return { tcp: size - (row?.tcp ?? 0), udp: size - (row?.udp ?? 0) }
  }

  return {
    left,
    /**
     * Opens what is not open yet and gives the port of this computer for each port of the instance that has one; none
     * when they were closed meanwhile.
     */
    open,
    look,
    /** Looks at every instance that has ports. */
    async lookAtAll(): Promise<void> {
      const rows = await db.selectDistinctOn([directPort.instanceId]).from(directPort)
      for (const { instanceId } of rows) look(instanceId)
    },
    /** Closes them, and every way through them. */
    closeInstance,
    /** Instances that have any open, with their owners. */
    targets: (): Target[] => Object.values(forwards).flatMap(one => one.targets()),
    /**
     * Takes nobody new: datagrams go by another gateway from here on, since nothing says when their senders are done.
     * @returns Once no connection is open any more.
     */
    async leave(): Promise<void> {
      isShut = true
      forwards.udp.shutdown()
      await forwards.tcp.leave()
    },
    shutdown(): void {
      isShut = true
      for (const one of Object.values(forwards)) one.shutdown()
    },
  }
}

export type DirectPorts = ReturnType<typeof createDirectPorts>
