import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { MachineSample } from '../../drivers/compute/port/observation.ts'
import { lackOf, offered } from '../../drivers/compute/port/part.ts'
import type { Clock } from '../../platform/clock.ts'
import { createLoop, type Loop } from '../../platform/loop.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Instances, Load, RunningMachine, TrafficLook } from '../instances/instances.ts'
import { createFigures, type Figures, isQuietOf, meanOf, type Weighed } from './figures.ts'
import type { SampleRow, SampleStore } from './sample-store.ts'
import { TIERS } from './steps.ts'

/** Machines at which somebody looks are sampled each second, all others as often as a row is written. */
const SECOND = TIERS[0].step
const ROW_SECONDS = TIERS[1].step
/** Somebody who looked goes on looking for so long without saying so again. */
const WATCHED_MS = 45_000
/** Which machines run is read again this often, whether or not anything was heard of a change. */
const REFRESH_MS = 60_000
/** An engine is waited for so long: the others' rows are to be written. Less where somebody looks each second. */
const ANSWER_MS = 5_000
const ANSWER_WATCHED_MS = 900
/** Pause after a pass that failed, such as by a database that is away. */
const ERROR_PAUSE_MS = 5_000
/** What a machine has sent is noted again after so long. */
const TRAFFIC_MS = 60_000
/** That a machine is as quiet, or as busy, as before is noted again after so long. */
const NOTED_SECONDS = 30
/** After so many seconds without a sample there is a gap, and the next one stands for itself. */
const CONTINUED_SECONDS_MAX = 15
/** A sample after so many missed seconds stands for those as well: figures are means since the one before. */
const MISSED_SECONDS_MAX = 3

export interface SamplerDeps {
  clock: Clock
  log: Pick<Logger, 'error' | 'debug'>
  fleet: Pick<Fleet, 'engine' | 'engines' | 'serves'>
  instances: Pick<Instances, 'runningOn' | 'noteLoad' | 'noteOomKills' | 'noteTraffic'>
  store: Pick<SampleStore, 'write'>
}

/** What a machine used since it was sampled before. */
interface Sampled {
  known: Known
  figures: Figures
  /** When it was asked, in seconds. */
  at: number
  /** What its counter of sent bytes stood at, where that is to be noted now. */
  traffic: TrafficLook | null
}

/** A machine that this gateway samples. */
interface Known {
  machine: RunningMachine
  figuresOf(sample: MachineSample): Figures
  /** When it was sampled last, in seconds; null: not yet. */
  sampledAt: number | null
  /** What belongs to the row of ten seconds that is not written yet, and where that begins. */
  open: { from: number; parts: Weighed[] } | null
  isAsked: boolean
  /** What was noted of it last where it is to be stopped when it is idle, and when, in seconds. */
  noted: { isQuiet: boolean; at: number } | null
  /** When what it has sent was noted last, in ms. */
  trafficAtMs: number
  /** How many of its programs were ended for want of memory, as was noted of it last. */
  oomKills: number
}

export interface Sampler extends Pick<Loop, 'start' | 'stop'> {
  /** Somebody looks at an instance: it is sampled each second for a while, if this gateway looks after it. */
  watch(instanceId: string): void
  /** What runs may be other than it was. */
  changed(): void
  /** One pass over all machines: samples those whose time has come, and writes their rows. The loop is made of these. */
  pass(signal: AbortSignal): Promise<void>
}

/**
 * The loop that samples the machines of the engines which this gateway looks after. It turns while one of them runs; each
 * pass writes its rows in one statement for all machines.
 */
export function createSampler(deps: SamplerDeps): Sampler {
  const { clock, log, fleet, instances, store } = deps
  const machines = new Map<string, Known>()
  /** Until when somebody looks at a machine, in ms. */
  const watched = new Map<string, number>()
  const arrived: Sampled[] = []
  let isStale = true
  let refreshedAtMs = 0

  const nowSeconds = () => Math.floor(clock.now().getTime() / 1000)

  async function refresh(): Promise<void> {
    const nowMs = clock.now().getTime()
    if (!isStale && nowMs - refreshedAtMs < REFRESH_MS) return
    isStale = false
    const served = fleet.engines().filter(({ id }) => fleet.serves(id))
    const running = await instances.runningOn(served.map(({ id }) => id)).catch(error => {
      isStale = true
      throw error
    })
    refreshedAtMs = nowMs
    const ids = new Set(running.map(({ id }) => id))
    for (const id of [...machines.keys()]) if (!ids.has(id)) machines.delete(id)
    for (const machine of running) {
      const known = machines.get(machine.id)
      // It may be told to stop when it is idle while it runs.
      if (known) known.machine = machine
      else machines.set(machine.id, unsampled(machine))
    }
  }

  /** Asks what a machine used; the answer is among those that have arrived. */
  async function ask(known: Known, at: number): Promise<void> {
    const { id, engineId } = known.machine
    known.isAsked = true
    try {
      const observation = fleet.engine(engineId)?.observation
      if (!observation) return
      const sample = await observation.sample(id)
      arrived.push({ known, figures: known.figuresOf(sample), at, traffic: trafficOf(known, sample) })
      if (lackOf(observation.oom_kills) === null)
        await noteOom(known, await offered(observation.oom_kills).count(id))
    } catch (error) {
      log.debug({ err: error, instance: id }, 'a machine was not sampled')
    } finally {
      known.isAsked = false
    }
  }

  /** Each growth is noted once; of a machine that began anew the count does, too. */
  async function noteOom(known: Known, kills: number | null): Promise<void> {
    if (kills === null || kills === known.oomKills) return
    if (kills > 0) await instances.noteOomKills(known.machine.id, kills)
    known.oomKills = kills
  }

  /** Asks all whose time has come, and waits for their answers a little. One that comes later belongs to the next pass. */
  async function askAll(at: number, signal: AbortSignal): Promise<void> {
    const isRowsTime = ({ sampledAt }: Known) =>
      sampledAt === null || Math.floor(at / ROW_SECONDS) > Math.floor(sampledAt / ROW_SECONDS)
    const due = [...machines.values()].filter(
      known => !known.isAsked && (isRowsTime(known) || watched.has(known.machine.id)),
    )
    const waitMs = watched.size > 0 ? ANSWER_WATCHED_MS : ANSWER_MS
    const waited = new AbortController()
    const asked = Promise.all(due.map(known => ask(known, at)))
    await Promise.race([
      asked,
      sleep(waitMs, undefined, { signal: AbortSignal.any([signal, waited.signal]) }).catch(() => {}),
    ])
    waited.abort()
  }

  async function pass(signal: AbortSignal): Promise<void> {
    await refresh()
    const at = nowSeconds()
    for (const [id, untilMs] of watched)
      if (untilMs < clock.now().getTime() || !machines.has(id)) watched.delete(id)
    if (machines.size === 0) return
    await askAll(at, signal)
    const sampledNow = arrived.splice(0)
    const loads = sampledNow.flatMap(loadOf)
    const rows = sampledNow.flatMap(sampled => {
      const made = place(sampled, watched.has(sampled.known.machine.id))
      sampled.known.sampledAt = sampled.at
      return made
    })
    await store.write(TIERS[0].table, [...rows, ...close(at)])
    await instances.noteTraffic(sampledNow.flatMap(({ traffic }) => traffic ?? []))
    await instances.noteLoad(loads)
  }

  /** Rows of ten seconds whose time is over. */
  function close(at: number): SampleRow[] {
    return [...machines.values()].flatMap(known => {
      const { open, machine } = known
      if (!open || open.from + ROW_SECONDS > at) return []
      known.open = null
      return [rowOf(machine.id, ROW_SECONDS, open.from, meanOf(open.parts))]
    })
  }

  const loop = createLoop({
    name: 'samples',
    pauseMs: REFRESH_MS,
    errorPauseMs: ERROR_PAUSE_MS,
    log,
    run: pass,
    dueInMs() {
      if (isStale) return SECOND * 1000
      if (machines.size === 0) return null
      const everyMs = (watched.size > 0 ? SECOND : ROW_SECONDS) * 1000
      return everyMs - (clock.now().getTime() % everyMs)
    },
  })

  return {
    start() {
      loop.start()
      loop.wake()
    },
    stop: () => loop.stop(),
    watch(instanceId) {
      if (!machines.has(instanceId)) return
      watched.set(instanceId, clock.now().getTime() + WATCHED_MS)
      loop.wake(SECOND * 1000 - (clock.now().getTime() % 1000))
    },
    changed() {
      isStale = true
      loop.wake(SECOND * 1000)
    },
    pass,
  }
}

function unsampled(machine: RunningMachine): Known {
  const figuresOf = createFigures(machine.vcpu)
  return {
    machine,
    figuresOf,
    sampledAt: null,
    open: null,
    isAsked: false,
    noted: null,
    trafficAtMs: 0,
    oomKills: 0,
  }
}

/** What a machine has sent, where that costs something and was not noted within the last minute. */
function trafficOf(known: Known, { network_sent_bytes, network_at }: MachineSample): TrafficLook | null {
  const { machine, trafficAtMs } = known
  if (!machine.paysForTraffic || network_sent_bytes === null || network_at === null) return null
  if (network_at.getTime() - trafficAtMs < TRAFFIC_MS) return null
  known.trafficAtMs = network_at.getTime()
  return { instanceId: machine.id, bytes: network_sent_bytes, at: network_at }
}

/** Whether a machine that is to be stopped when it is idle is quiet, where that is to be noted now. */
function loadOf({ known, figures, at }: Sampled): Load[] {
  const { machine, noted } = known
  const isQuiet = machine.stopsWhenIdle ? isQuietOf(figures, machine) : null
  if (isQuiet === null || (noted?.isQuiet === isQuiet && at - noted.at < NOTED_SECONDS)) return []
  known.noted = { isQuiet, at }
  return [{ instanceId: machine.id, isQuiet }]
}

/**
 * Puts a sample where it belongs: into the row of ten seconds in the midst of which it lies, and where somebody looks, into
 * rows of the seconds that it stands for.
 */
function place({ known, figures, at }: Sampled, isWatched: boolean): SampleRow[] {
  const { machine, sampledAt } = known
  const isNext = sampledAt !== null && sampledAt < at && at - sampledAt <= CONTINUED_SECONDS_MAX
  const since = isNext ? sampledAt : at - SECOND
  const from = Math.floor((since + at) / 2 / ROW_SECONDS) * ROW_SECONDS
  const rows: SampleRow[] = []
  if (known.open && known.open.from !== from) {
    rows.push(rowOf(machine.id, ROW_SECONDS, known.open.from, meanOf(known.open.parts)))
    known.open = null
  }
  known.open ??= { from, parts: [] }
  known.open.parts.push({ ...figures, step: at - since })
  if (!isWatched) return rows
  const first = Math.max(since, at - MISSED_SECONDS_MAX)
  for (let second = first; second < at; second += SECOND)
    rows.push(rowOf(machine.id, SECOND, second, figures))
  return rows
}

function rowOf(instanceId: string, step: number, from: number, figures: Figures): SampleRow {
  return { ...figures, instanceId, step, at: new Date(from * 1000) }
}
