import { IDLE_BUSY_PERCENT_MAX } from '@berth/contract/limits'
import type { MachineSample } from '../../drivers/compute/port/observation.ts'

/** What a machine used, as it is kept and drawn; null is what nobody can tell. */
export interface Figures {
  /** Percent of the processors that it has. */
  cpu: number | null
  memoryMb: number | null
  diskMb: number | null
  /** Bytes in a second. */
  networkIn: number | null
  networkOut: number | null
  /** GPU by GPU; null where it has none, or nobody can tell of any. */
  gpuLoad: (number | null)[] | null
  gpuMemoryMb: (number | null)[] | null
}

/** What a counter that only grows stood at, and when, in ms. */
export interface Total {
  bytes: number
  atMs: number
}

const PERCENT_MAX = 100
/** A processor that is not limited may be used a thousand times over; beyond that somebody lies. */
const CPU_PERCENT_MAX = 100_000
const MB_MAX = 2 ** 40
/** A terabit in a second: no machine has such a network, or such a disk. */
const BYTES_PER_SECOND_MAX = 125e9
const GPUS_MAX = 64
/** Of one processor. */
const ONE_BUSY_PERCENT_MAX = 50
const HUNDRED = 100

/**
 * How fast a counter grew between two looks, in bytes a second.
 * @returns Null where that cannot be told: there is no look before, no time lay between, the counter went back because its
 *   machine began anew, or no machine could be so fast.
 */
export function rateOf(before: Total | null, now: Total | null): number | null {
  if (!before || !now || now.atMs <= before.atMs) return null
  const grown = now.bytes - before.bytes
  return bounded((grown / (now.atMs - before.atMs)) * 1000, BYTES_PER_SECOND_MAX)
}

/** A number within 0 and the most that it may be; null where a machine or an engine says anything else. */
function bounded(value: number | null | undefined, max: number): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 && value <= max ? value : null
}

/** One counter from look to look. What was read at the same moment as before is the same look, and its rate stands. */
function createRate() {
  let last: Total | null = null
  let rate: number | null = null
  return (bytes: number | null, at: Date | null): number | null => {
    const now = bytes === null || at === null ? null : { bytes, atMs: at.getTime() }
    if (now && last && now.atMs === last.atMs) return rate
    rate = rateOf(last, now)
    last = now
    return rate
  }
}

/** Makes what turns the samples of one machine, in their order, into figures: rates need the sample before. */
export function createFigures(vcpu: number): (sample: MachineSample) => Figures {
  const networkIn = createRate()
  const networkOut = createRate()
  return sample => {
    const { network_at, gpus } = sample
    const ofGpus = gpus?.length ? gpus.slice(0, GPUS_MAX) : null
    const cpu = sample.cpu_percent === null ? null : sample.cpu_percent / Math.max(1, vcpu)
    return {
      cpu: bounded(cpu, CPU_PERCENT_MAX),
      memoryMb: bounded(sample.memory_used_mb, MB_MAX),
      diskMb: bounded(sample.disk_used_mb, MB_MAX),
      networkIn: networkIn(sample.network_received_bytes, network_at),
      networkOut: networkOut(sample.network_sent_bytes, network_at),
      gpuLoad: ofGpus?.map(gpu => bounded(gpu.busy_percent, PERCENT_MAX)) ?? null,
      gpuMemoryMb: ofGpus?.map(gpu => bounded(gpu.memory_used_mb, MB_MAX)) ?? null,
    }
  }
}

/**
 * Whether a machine does nothing that counts (B5): all its processors and each of its GPUs are busy for less than so much.
 * Of many processors that would be several: half of one is enough for a program that somebody waits for.
 * @returns Null where that is not known of one of them.
 */
export function isQuietOf(
  { cpu, gpuLoad }: Pick<Figures, 'cpu' | 'gpuLoad'>,
  { vcpu, gpuCount }: { vcpu: number; gpuCount: number },
): boolean | null {
  const cpuMax = Math.min(IDLE_BUSY_PERCENT_MAX, ONE_BUSY_PERCENT_MAX / Math.max(1, vcpu))
  const loads = Array.from({ length: gpuCount }, (_, at) => gpuLoad?.[at] ?? null)
  if ((cpu !== null && cpu >= cpuMax) || loads.some(load => load !== null && load >= IDLE_BUSY_PERCENT_MAX))
    return false
  return cpu === null || loads.includes(null) ? null : true
}

/** Figures, and how many seconds they stand for. */
export type Weighed = Figures & { step: number }

/**
 * The mean of what was sampled, by the time that each stands for. What nobody told counts for nothing.
 * @param all At least one.
 */
export function meanOf(all: readonly Weighed[]): Figures {
  const mean = (read: (one: Figures) => number | null | undefined): number | null => {
    let sum = 0
    let seconds = 0
    for (const one of all) {
      const value = read(one)
      if (value === null || value === undefined) continue
      sum += value * one.step
      seconds += one.step
    }
    return seconds === 0 ? null : rounded(sum / seconds)
  }
  const gpus = (read: (one: Figures) => (number | null)[] | null) => {
    const count = Math.max(...all.map(one => read(one)?.length ?? 0))
    return count === 0 ? null : Array.from({ length: count }, (_, at) => mean(one => read(one)?.[at]))
  }
  return {
    cpu: mean(one => one.cpu),
    memoryMb: mean(one => one.memoryMb),
    diskMb: mean(one => one.diskMb),
    networkIn: mean(one => one.networkIn),
    networkOut: mean(one => one.networkOut),
    gpuLoad: gpus(one => one.gpuLoad),
    gpuMemoryMb: gpus(one => one.gpuMemoryMb),
  }
}

function rounded(value: number): number {
  return Math.round(value * HUNDRED) / HUNDRED
}
