import { randomInt } from 'node:crypto'
import { and, eq } from 'drizzle-orm'
import type { Logger } from 'pino'
import { createAtOnce } from '../../../platform/at-once.ts'
import type { Database } from '../../../platform/database/database.ts'
import type { Instances, Target } from '../../instances/instances.ts'
import { runningOf } from '../running.ts'
import { directPort } from '../tables.ts'
import type { TcpForwards } from './tcp-forwards.ts'

/** Ports of a pool, both ends included. */
export interface PortRange {
  first: number
  last: number
}

export interface DirectPortsDeps {
  db: Database
  log: Pick<Logger, 'warn'>
  instances: Pick<Instances, 'findRunning' | 'ownerOf'>
  forwards: Pick<TcpForwards, 'open' | 'closeInstance'>
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

  async function keptPorts(instanceId: string): Promise<Map<number, number>> {
    const rows = await db.select().from(directPort).where(eq(directPort.instanceId, instanceId))
    return new Map(rows.map(({ port, publicPort }) => [port, publicPort]))
  }

  /** Writes down where a port leads, unless either of the two is taken. Gives where it leads now. */
  async function keep(instanceId: string, port: number, publicPort: number): Promise<number | null> {
    await db.insert(directPort).values({ instanceId, port, publicPort }).onConflictDoNothing()
    return (await keptPorts(instanceId)).get(port) ?? null
  }

  /** Gives an instance's port one of the pool that nobody has, none of those tried; null where there is no other. */
  async function takeOfPool(
    { first, last }: PortRange,
    instanceId: string,
    port: number,
    tried: Set<number>,
  ) {
    const rows = await db.select({ publicPort: directPort.publicPort }).from(directPort)
    const taken = new Set(rows.map(({ publicPort }) => publicPort))
    const free: number[] = []
    for (let candidate = first; candidate <= last; candidate++) {
      if (!taken.has(candidate) && !tried.has(candidate)) free.push(candidate)
    }
    if (free.length === 0) return null
    // Any of them: whoever still knows a port that was another customer’s does not find the next one there at once.
    return keep(instanceId, port, free[randomInt(free.length)] ?? first)
  }

  async function listen(target: Target, port: number, publicPort: number | null): Promise<number | null> {
    return (await forwards.open(target, new Map([[port, publicPort]]))).get(port) ?? null
  }

  /** Opens a port of the pool, the one that was kept if there is one. */
  async function openOfPool(range: PortRange, target: Target, port: number, known: number | null) {
    const { instanceId } = target
    if (known !== null) return listen(target, port, known)
    const tried = new Set<number>()
    while (tried.size < TAKE_TRIES_MAX && !isShut) {
      const publicPort = await takeOfPool(range, instanceId, port, tried)
      if (publicPort === null) break
      tried.add(publicPort)
      const opened = await listen(target, port, publicPort)
      if (opened !== null) return opened
      await db.delete(directPort).where(and(eq(directPort.instanceId, instanceId), eq(directPort.port, port)))
    }
    return null
  }

  /** Opens any port, the one that was kept unless somebody else has it now. */
  async function openAny(target: Target, port: number, known: number | null) {
    const opened =
      (known === null ? null : await listen(target, port, known)) ?? (await listen(target, port, null))
    if (opened !== null && known === null) await keep(target.instanceId, port, opened)
    return opened
  }

  async function open(target: Target, ports: readonly number[]): Promise<Map<number, number>> {
    const known = ports.length === 0 ? new Map<number, number>() : await keptPorts(target.instanceId)
    const found = new Map<number, number>()
    for (const port of ports) {
      const before = known.get(port) ?? null
      const opened = pool ? await openOfPool(pool, target, port, before) : await openAny(target, port, before)
      if (opened !== null) found.set(port, opened)
    }
    return found
  }

  /** Opens again what an instance had, where it runs; forgets what one had that is gone. */
  async function reopen(instanceId: string): Promise<void> {
    const known = await keptPorts(instanceId)
    if (known.size === 0 || isShut) return
    const userId = await instances.ownerOf(instanceId)
    if (userId === null) {
      await db.delete(directPort).where(eq(directPort.instanceId, instanceId))
      return
    }
    const target = { userId, instanceId }
    const row = await runningOf(instances, target)
    if (!row) return
    await open(
      target,
      row.tcpPorts.filter(port => known.has(port)),
    )
    if (!(await runningOf(instances, target))) forwards.closeInstance(instanceId)
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

  return {
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
    /** Opens nothing any more. */
    shutdown(): void {
      isShut = true
    },
  }
}

export type DirectPorts = ReturnType<typeof createDirectPorts>
