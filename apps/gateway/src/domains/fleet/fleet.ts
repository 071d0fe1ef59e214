import type { Logger } from 'pino'
import { EngineReplaced } from '../../drivers/compute/port/compute-error.ts'
import type { Engine, EngineSize, MachineKind } from '../../drivers/compute/port/engine.ts'
import type { EngineSource } from '../../drivers/compute/port/engine-source.ts'
import { lackOf, offered } from '../../drivers/compute/port/part.ts'
import { systemClock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database/database.ts'
import type { OpenDatabase } from '../../platform/database/open-database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import { createLoop } from '../../platform/loop.ts'
import { createEngineLeases, type EngineLeases, type Serve } from './engine-leases.ts'
import { createEngineStore, FLEET_CHANNEL, type KnownEngine } from './engine-store.ts'
import type { EngineFacts } from './tables.ts'

export type { Serve } from './engine-leases.ts'
export type { KnownEngine } from './engine-store.ts'
export type { EngineFacts } from './tables.ts'
export type Fleet = ReturnType<typeof createFleet>

/** How often an engine is asked whether it is there, and how stale what is known of engines elsewhere may be. */
const LOOK_MS = 3_000
/** The longest pause before an engine that could not be opened is opened again. */
const OPEN_AGAIN_MS = 30_000
/** An engine that is asked for its size, or opened, has this long; then it counts as one that does not answer. */
const ANSWER_MS = 10_000

/** A way to an engine, and what is made there. */
export interface FleetSource extends EngineSource {
  /** Regions whose machines are made there. */
  regionCodes: string[]
  /** What the version before called an engine of that driver which is opened here; null where it knew none. */
  formerId(driver: string): string | null
}

/** An engine that this gateway has opened. */
interface OpenEngine {
  engine: Engine
  regionCodes: Set<string>
  formerId: string | null
  size: EngineSize
  /** Whether it answered when it was last asked. */
  answers: boolean
}

/** What is wanted besides a way to a machine. */
export interface WhereAsked {
  /** Gateways that did not answer a moment ago: another that reaches the machine is wanted. */
  avoid?: ReadonlySet<string>
  /**
   * A way to its shells is wanted. Where the engine keeps them beside its gateways, that is the gateway which looks after
   * the machine, even where it is reached from here: all tabs are to look at the shells of one.
   */
  shells?: boolean
}

/** Where the machine of a row is. */
export type Whereabouts =
  /** On an engine that this gateway reaches. */
  | { at: 'here'; engine: Engine }
  /** On one that another gateway reaches. */
  | { at: 'elsewhere'; gatewayId: string }
  /** Nobody reaches it; a sentence that says so. */
  | { at: 'nowhere'; why: string }

/** What a new machine asks of an engine. */
export interface Wish {
  regionCode: string
  kind: MachineKind
  /** Whether a driver of that name can make its image, or an engine of which that is known. */
  canMake(driver: string, facts: EngineFacts): boolean
}

interface FleetDeps {
  db: Database
  log: Logger
  /** This gateway, as the others know it. */
  selfId: string
  /** Ways to the engines that this gateway may reach. */
  sources: FleetSource[]
  /** Tells of engines that came or went at other gateways; null where there are none. */
  listen: OpenDatabase['listen'] | null
}

/**
 * The engines that own machines: which there are, who reaches them, who looks after their machines, and on which a
 * new one is made. Nothing is asked of an engine until `start`.
 */
export function createFleet(deps: FleetDeps) {
  const { db, log, selfId, sources } = deps
  const store = createEngineStore({ db, selfId })
  const here = new Map<string, OpenEngine>()
  const missing = new Map<FleetSource, string>()
  const listeners: (() => Promise<void>)[] = []
  const loops: { stop(): Promise<void> }[] = []
  let all: KnownEngine[] = []
  let leases: EngineLeases | null = null
  let unlisten = () => {}

  /** Opens the engine of a source if it can be opened now. Two ways to one engine are one. */
  async function openFrom(source: FleetSource): Promise<OpenEngine | null> {
    let engine: Engine
    let size: EngineSize
    try {
      engine = await inTime(source.open())
      size = await inTime(engine.size())
    } catch (error) {
      if (!missing.has(source)) log.warn({ err: error, from: source.description }, 'an engine is not there')
      missing.set(source, error instanceof Error ? error.message : String(error))
      return null
    }
    const open = here.get(engine.id)
    if (open && open.engine.capabilities.isolation !== engine.capabilities.isolation) {
      const why = `${engine.id} is reached by another description already, which gives machines other walls`
      if (!missing.has(source)) log.error({ from: source.description, engine: engine.id }, why)
      missing.set(source, why)
      await engine.shutdown({ machines_stay: true })
      return null
    }
    missing.delete(source)
    if (open) {
      for (const code of source.regionCodes) open.regionCodes.add(code)
      return open
    }
    const found: OpenEngine = {
      engine,
      regionCodes: new Set(source.regionCodes),
      formerId: source.formerId(engine.driver),
      size,
      answers: true,
    }
    here.set(engine.id, found)
    log.info({ from: source.description, engine: engine.id }, 'an engine is reached')
    return found
  }

  /**
   * Asks whether an engine is there, and tells the others.
   * @throws EngineReplaced
   */
  async function look(found: OpenEngine): Promise<void> {
    const { engine } = found
    try {
      found.size = await inTime(engine.size())
    } catch (error) {
      if (error instanceof EngineReplaced) throw error
      if (found.answers) log.warn({ err: error, engine: engine.id }, 'an engine does not answer any more')
      found.answers = false
      return store.withdraw(engine.id)
    }
    if (!found.answers) log.info({ engine: engine.id }, 'an engine answers again')
    found.answers = true
    const facts = {
      kinds: [...engine.kinds],
      size: found.size,
      capabilities: engine.capabilities,
      region_codes: [...found.regionCodes].sort(),
      volumes: volumesOf(engine),
      builds_dockerfiles: lackOf(engine.images.dockerfile) === null,
    }
    await store.reached({ id: engine.id, driver: engine.driver, facts, formerId: found.formerId })
  }

  /** A source's own loop: opens its engine, and looks at it from then on. */
  function follow(source: FleetSource) {
    let found: OpenEngine | null = null
    let pauseMs = LOOK_MS
    let nextOpenAt = 0
    return async function round(): Promise<void> {
      if (!found && performance.now() >= nextOpenAt) {
        found = await openFrom(source)
        pauseMs = Math.min(pauseMs * 2, OPEN_AGAIN_MS)
        nextOpenAt = performance.now() + pauseMs
      }
      if (!found) return
      try {
        await look(found)
      } catch (error) {
        if (!(error instanceof EngineReplaced)) throw error
        log.warn({ err: error, from: source.description }, 'an engine was replaced by another one')
        await leave(found)
        found = null
        pauseMs = LOOK_MS
        nextOpenAt = 0
        return round()
      }
      await leases?.contend(found)
    }
  }

  /** Gives up an engine that never comes back on the way that it was opened by; another way may have it already. */
  async function leave(found: OpenEngine): Promise<void> {
    const { engine } = found
    found.answers = false
    if (here.get(engine.id) !== found) return
    here.delete(engine.id)
    await leases?.leave(engine.id)
    await store.withdraw(engine.id)
    await engine.shutdown({ machines_stay: true })
  }

  async function refresh(): Promise<void> {
    const before = JSON.stringify(all)
    all = await store.all()
    if (JSON.stringify(all) === before) return
    for (const listener of listeners) await listener()
  }

  const refreshQuietly = () => {
    refresh().catch(error => log.warn({ err: error }, 'what engines there are could not be read'))
  }

  const answersHere = (id: string) => here.get(id)?.answers === true
  const othersThatReach = (id: string) =>
    all.find(engine => engine.id === id)?.reachedBy.filter(gatewayId => gatewayId !== selfId) ?? []

  /**
   * Opens the engines, as far as they are there, and goes on opening the others. Returns when each has been tried
   * once.
   */
  async function start(): Promise<void> {
    if (deps.listen) unlisten = await deps.listen(FLEET_CHANNEL, refreshQuietly, refreshQuietly)
    const rounds = sources.map(source => ({ name: `engine: ${source.description}`, run: follow(source) }))
    const tried = await Promise.allSettled(rounds.map(({ run }) => run()))
    for (const round of tried) {
      if (round.status === 'rejected') log.warn({ err: round.reason }, 'an engine could not be told of')
    }
    await refresh()
    for (const round of [...rounds, { name: 'fleet', run: refresh }]) {
      const loop = createLoop({ ...round, pauseMs: LOOK_MS, log })
      loop.start()
      loops.push(loop)
    }
  }

  async function stopLooking(): Promise<void> {
    await Promise.all(loops.splice(0).map(loop => loop.stop()))
  }

  /** Tells the others that this gateway reaches nothing any more. Call the end of `serve` before. */
  async function stop(): Promise<void> {
    await stopLooking()
    unlisten()
    await store
      .withdrawAll(selfId)
      .catch(error => log.warn({ err: error }, 'engines stay listed for a while'))
  }

  /**
   * Looks after engines that this gateway reaches, from when their leases are had. Returns when each has been tried
   * for once; give what is returned a call to end it.
   */
  async function serve(begin: Serve): Promise<() => Promise<void>> {
    const own = createEngineLeases({
      ...deps,
      // Leases are renewed in real time, also where a test has a clock of its own.
      clock: systemClock,
      serve: begin,
      mayServe: id => answersHere(id) || othersThatReach(id).length === 0,
    })
    leases = own
    await Promise.all([...here.values()].map(own.contend))
    await refresh()
    return async () => {
      if (leases === own) leases = null
      await own.stop()
    }
  }

  /** Whether this gateway looks after an engine's machines now. */
  function serves(engineId: string): boolean {
    return leases?.serves(engineId) === true
  }

  /** Engines whose machines other gateways look after, or will in a moment. */
  function servedElsewhere(): string[] {
    return all
      .filter(({ id, servedBy }) => {
        if (serves(id)) return false
        return (servedBy !== null && servedBy !== selfId) || othersThatReach(id).length > 0 || answersHere(id)
      })
      .map(({ id }) => id)
  }

  /** Every engine that the database knows, here or elsewhere, at most a few seconds old. */
  function engines(): KnownEngine[] {
    return all
  }

  /** Whether any gateway reaches an engine now. */
  function isReached(engineId: string): boolean {
    return answersHere(engineId) || othersThatReach(engineId).length > 0
  }

  /** What the database knows of an engine; null where it never heard of it. */
  function known(engineId: string): KnownEngine | null {
    return all.find(({ id }) => id === engineId) ?? null
  }

  /** The engine of that id, if this gateway has opened it; it may not answer. */
  function engine(engineId: string): Engine | null {
    return here.get(engineId)?.engine ?? null
  }

  /** Where the machine of a row is. */
  function of(row: { engineId: string | null }, asked: WhereAsked = {}): Whereabouts {
    if (row.engineId === null) return { at: 'nowhere', why: 'it was given to no engine yet' }
    const found = here.get(row.engineId)
    const others = othersThatReach(row.engineId).filter(id => !asked.avoid?.has(id))
    const servedBy = all.find(({ id }) => id === row.engineId)?.servedBy
    const server = others.find(id => id === servedBy)
    const isTheirs =
      asked.shells === true && found?.engine.console.shells_live === 'beside_gateway' && server !== undefined
    if (found && !isTheirs && (found.answers || others.length === 0))
      return { at: 'here', engine: found.engine }
    const gatewayId = server ?? others[0]
    if (gatewayId) return { at: 'elsewhere', gatewayId }
    return { at: 'nowhere', why: 'no gateway reaches the engine that it is on' }
  }

  /**
   * Refuses a kind of machine that no engine of a region makes, whether it answers now or not.
   * @throws ApiError `kind_not_supported`.
   */
  function requireKind(regionCode: string, kind: MachineKind): void {
    const inRegion = all.filter(({ facts }) => facts?.region_codes.includes(regionCode))
    if (inRegion.length === 0 || inRegion.some(({ facts }) => facts?.kinds.includes(kind))) return
    throw new ApiError('kind_not_supported', { fields: [{ path: 'kind', rule: 'not_allowed' }] })
  }

  /**
   * Engines that can take a new machine.
   * @returns Their ids; at least one.
   * @throws ApiError `compute_unavailable`; why there is none is its cause, for the operator.
   */
  function place({ regionCode, kind, canMake }: Wish): string[] {
    const inRegion = all.filter(({ facts }) => facts?.region_codes.includes(regionCode))
    const reached = inRegion.filter(({ id }) => isReached(id))
    const able = reached.filter(({ driver, facts }) => facts?.kinds.includes(kind) && canMake(driver, facts))
    if (able.length > 0) return able.map(({ id }) => id)
    const why =
      inRegion.length === 0
        ? (whyNone(regionCode) ?? 'this region has no engine')
        : reached.length === 0
          ? 'no gateway reaches an engine of this region'
          : 'no engine of this region can make such a machine'
    throw new ApiError('compute_unavailable', { cause: new Error(why) })
  }

  /** Why a source of a region has no engine; null where none is missing. */
  function whyNone(regionCode: string): string | null {
    for (const [{ regionCodes }, why] of missing) {
      if (regionCodes.includes(regionCode)) return why
    }
    return null
  }

  /** Whether machines can be made at all, for pages: by which driver; null where by none. */
  function outlook(): { driver: string | null } {
    return { driver: all.find(({ id }) => isReached(id))?.driver ?? null }
  }

  /** What this gateway reaches and what it misses, for the operator. */
  function summary() {
    return {
      open: [...here.values()].map(({ engine }) => engine),
      missing: [...missing].map(([{ description }, why]) => ({ description, why })),
    }
  }

  /** Calls back when an engine came, changed or went, here or elsewhere; before `start`. */
  function onChange(listener: () => Promise<void>): void {
    listeners.push(listener)
  }

  /**
   * Leaves the engines. What cannot outlive a gateway is stopped, unless another one reaches it: machines run on, and
   * the other one looks after them. Call the end of `serve` before.
   * @returns The ids of the machines that were stopped.
   */
  async function shutdown(): Promise<string[]> {
    await stopLooking()
    const stopped = await Promise.all(
      [...here.values()].map(async ({ engine }) =>
        engine.shutdown({ machines_stay: await leaveToOthers(engine.id) }),
      ),
    )
    return stopped.flat()
  }

  /** Gives an engine up, then asks who else has it: of two that go at the same moment, the last one finds nobody. */
  async function leaveToOthers(engineId: string): Promise<boolean> {
    try {
      await store.withdraw(engineId)
      return await store.isReachedByOthers(engineId)
    } catch (error) {
      log.warn({ err: error, engine: engineId }, 'who else reaches an engine could not be asked')
      return othersThatReach(engineId).length > 0
    }
  }

  return {
    start,
    stop,
    serve,
    serves,
    servedElsewhere,
    engines,
    isReached,
    known,
    engine,
    of,
    requireKind,
    place,
    outlook,
    summary,
    onChange,
    shutdown,
    selfId,
    /** Takes back what a gateway said that is known to be dead, so that nobody waits until it has run out. */
    forget: store.withdrawAll,
    isPaired: store.isPaired,
    pair: store.pair,
  }
}

/** What an engine offers of volumes; null where it has none. */
function volumesOf({ volumes }: Engine): NonNullable<EngineFacts['volumes']> | null {
  if (lackOf(volumes) !== null) return null
  const { sharing, size_limit, fixed_size_limit: fixed_size, objects } = offered(volumes)
  return {
    shared: sharing.offered,
    size_enforced: size_limit.enforced,
    fixed_size,
    ...(objects && { objects: true as const }),
  }
}

/**
 * Waits for an engine, but not for ever.
 * @throws What it throws, or an error that says how long was waited.
 */
async function inTime<T>(asking: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ANSWER_MS} ms`)), ANSWER_MS)
  })
  try {
    return await Promise.race([asking, late])
  } finally {
    clearTimeout(timer)
  }
}
