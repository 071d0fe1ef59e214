import { readFileSync } from 'node:fs'
import { createAtOnce } from '../../../platform/at-once.ts'
import { createNvidiaSampler } from '../nvidia.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { MachineSample } from '../port/observation.ts'
import type { CountingGroups } from './control-groups.ts'
import { createCpuMeter } from './cpu-meter.ts'
import { DESCRIPTORS_OF_READER, type GroupCounts, type GroupReader, openGroups } from './group-reader.ts'
import type { NetworkTotals, ProcessFolder } from './process-folder.ts'

const BYTES_PER_MB = 1024 * 1024

/** A network has to be opened each time, and what it has carried is a total that may be so old. Less than the ten seconds
 * after which machines are looked at that nobody looks at, so that it is another one each time. */
const NETWORK_FRESH_MS = 9_000
/** An engine or agent walks the machine's files to add up what they take. */
const DISK_FRESH_MS = 60_000
/** Machines that are looked for at their engine, or asked what they use, at the same time: it may be a slow one. */
const ASKED_AT_ONCE_MAX = 16
/** What machines store is added up by walking through it. */
const DISKS_AT_ONCE_MAX = 4
/** A machine that nobody has looked at for so long is kept open no longer. */
const IDLE_MS = 60_000
/** After so long nothing of it is known any more: a slow round over all machines is well within it. */
const FORGOTTEN_MS = 60 * 60_000
const SWEEP_MS = 30_000
/** Machines that are kept open. More than these are found and opened each time that they are looked at. */
const KEPT_OPEN_MAX = 2_000
/** What is kept open may be one in so many of all that this process may have open. */
const DESCRIPTORS_PART = 3

/** What is to be known of a machine before it can be measured. */
export interface SampledMachine {
  /** Where the kernel counts it; null where that cannot be read from here: it is asked for each time. */
  groups: CountingGroups | null
  /** Of its first process, whose network is the machine's, to be closed by the sampler; null where nothing tells. */
  process: ProcessFolder | null
  memory_limit_mb: number | null
  gpu_uuids: readonly string[]
}

/** What an engine or an agent tells of a machine whose groups cannot be read. */
export interface AskedCounts extends GroupCounts {
  /** Null where it does not tell: its first process does, where that is known. */
  network: NetworkTotals | null
}

export interface MachineSamplerDeps {
  /** Finds a machine that runs. Throws ComputeError `not_found` and `not_running`. */
  find(id: string): Promise<SampledMachine>
  ask(id: string): Promise<AskedCounts>
  /** What a machine stores; null where nobody tells. */
  diskBytes(id: string): Promise<number | null>
  /** How many programs of a machine were ended for want of memory, where its groups do not tell; null where nobody does. */
  askOomKills(id: string): Promise<number | null>
  /** Whether GPUs of machines are this computer's. */
  hasGpusHere: boolean
  /** Machines that are kept open; left out: by what this process may open. */
  keptOpenMax?: number
  /** Milliseconds, counted from anywhere. */
  nowMs?: () => number
}

export type MachineSampler = ReturnType<typeof createMachineSampler>

/** A machine whose groups are open. */
interface Opened {
  found: SampledMachine
  reader: GroupReader
}

/** What was counted, and when its network was. */
interface Counts extends AskedCounts {
  networkAt: Date
}

/** What is known of a machine from one sample to the next. */
interface Known {
  opened: Opened | null
  lookedAtMs: number
  network: { totals: NetworkTotals | null; atMs: number; at: Date } | null
  disk: { mb: number | null; atMs: number } | null
  /** A measuring of its disk that is under way. */
  measuring: Promise<void> | null
}

/**
 * Measures machines, so that a thousand of them may be measured each second: where the kernel's own counts can be read
 * here they are, from descriptors that stay open, and what takes longer to learn is learnt less often. Elsewhere the
 * engine is asked, for a few machines at a time.
 */
export function createMachineSampler(deps: MachineSamplerDeps) {
  const { nowMs = () => performance.now(), keptOpenMax = keptOpenHere() } = deps
  const cpu = createCpuMeter(nowMs)
  const sampleGpus = createNvidiaSampler(nowMs)
  const machines = new Map<string, Known>()
  const inTurn = createAtOnce(ASKED_AT_ONCE_MAX)
  // A line of its own: whoever makes its disk slow to count makes nobody wait for the rest.
  const disksInTurn = createAtOnce(DISKS_AT_ONCE_MAX)
  const asked = new Map<string, Promise<AskedCounts>>()
  let keptOpen = 0
  let sweeper: NodeJS.Timeout | undefined
  let isClosed = false

  function know(id: string): Known {
    let known = machines.get(id)
    if (!known) {
      known = { opened: null, lookedAtMs: 0, network: null, disk: null, measuring: null }
      machines.set(id, known)
      sweeper ??= setInterval(sweep, SWEEP_MS).unref()
    }
    known.lookedAtMs = nowMs()
    return known
  }

  function letGo(id: string): void {
    const known = machines.get(id)
    if (!known?.opened) return
    closeAll(known.opened)
    known.opened = null
    keptOpen -= 1
  }

  function forget(id: string): void {
    letGo(id)
    machines.delete(id)
    cpu.forget(id)
    if (machines.size > 0) return
    clearInterval(sweeper)
    sweeper = undefined
  }

  function sweep(): void {
    const now = nowMs()
    for (const [id, { lookedAtMs }] of machines) {
      if (now - lookedAtMs > FORGOTTEN_MS) forget(id)
      else if (now - lookedAtMs > IDLE_MS) letGo(id)
    }
  }

  function networkOf(known: Known, { process }: SampledMachine): Pick<Counts, 'network' | 'networkAt'> {
    const now = nowMs()
    if (!known.network || now - known.network.atMs > NETWORK_FRESH_MS)
      known.network = { totals: process?.network() ?? null, atMs: now, at: new Date() }
    return { network: known.network.totals, networkAt: known.network.at }
  }

  /** What the kernel has counted; null when the groups are gone. */
  function read(known: Known, { found, reader }: Opened): Counts | null {
    // Before the groups, which then prove that this was still the same machine.
    const network = networkOf(known, found)
    const counts = reader.read()
    return counts && { ...counts, ...network }
  }

  /** One question for a machine at a time, so that those which wait for a slow engine are no more than its machines. */
  async function askOnce(id: string, known: Known, found: SampledMachine): Promise<Counts> {
    const network = networkOf(known, found)
    const under = asked.get(id) ?? inTurn(() => deps.ask(id)).finally(() => asked.delete(id))
    asked.set(id, under)
    const counts = await under
    return counts.network ? { ...counts, networkAt: new Date() } : { ...counts, ...network }
  }

  /** Finds a machine, measures it, and keeps it open where there is room. */
  async function find(id: string): Promise<{ known: Known; found: SampledMachine; counts: Counts }> {
    const found = await inTurn(() => deps.find(id))
    const known = know(id)
    const reader = found.groups && openGroups(found.groups)
    const counts = reader ? read(known, { found, reader }) : await askOnce(id, known, found)
    // Another sample of the same machine may have been quicker.
    if (reader && counts && !known.opened && machines.has(id) && keptOpen < keptOpenMax && !isClosed) {
      known.opened = { found, reader }
      keptOpen += 1
    } else closeAll({ found, reader })
    if (!counts) throw new ComputeError('not_running', 'the machine stopped while it was measured')
    return { known, found, counts }
  }

  async function countsOf(id: string) {
    const known = machines.get(id)
    if (known?.opened) {
      const { found } = known.opened
      const counts = read(know(id), known.opened)
      if (counts) return { known, found, counts }
      // Whatever has its name now began to count anew.
      letGo(id)
      known.network = null
      cpu.forget(id)
    }
    return find(id)
  }

  /** The first figure is waited for; from then on the last one stands until there is another. */
  async function diskMb(id: string, known: Known): Promise<number | null> {
    if (!known.disk || nowMs() - known.disk.atMs > DISK_FRESH_MS)
      known.measuring ??= disksInTurn(() => deps.diskBytes(id))
        .then(
          bytes => (bytes === null ? null : toMb(bytes)),
          () => known.disk?.mb ?? null,
        )
        .then(mb => {
          known.disk = { mb, atMs: nowMs() }
          known.measuring = null
        })
    if (!known.disk) await known.measuring
    return known.disk?.mb ?? null
  }

  return {
    /** What a machine uses. Throws ComputeError `not_found` and `not_running`. */
    async sample(id: string): Promise<MachineSample> {
      const { known, found, counts } = await countsOf(id)
      const { gpu_uuids, memory_limit_mb } = found
      const hidesGpus = gpu_uuids.length > 0 && !deps.hasGpusHere
      const sampled = {
        cpu_percent: cpu.percent(id, counts.cpuMs),
        memory_used_mb: toMb(counts.memoryBytes),
        memory_limit_mb,
        network_received_bytes: counts.network?.received ?? null,
        network_sent_bytes: counts.network?.sent ?? null,
        network_at: counts.network && counts.networkAt,
        sampled_at: new Date(),
      }
      return {
        ...sampled,
        disk_used_mb: await diskMb(id, known),
        gpus: hidesGpus ? null : await sampleGpus(gpu_uuids),
      }
    },
    /** How many of a machine's programs were ended for want of memory; null where nobody tells. Throws as `sample`. */
    async oomKills(id: string): Promise<number | null> {
      const known = machines.get(id)?.opened?.reader.oomKills()
      if (known != null) return known
      const found = await inTurn(() => deps.find(id))
      const reader = found.groups && openGroups(found.groups)
      try {
        return reader?.oomKills() ?? (await deps.askOomKills(id))
      } finally {
        closeAll({ found, reader })
      }
    },
    /** Closes what is open of a machine that has ended. */
    letGo,
    /** Forgets a machine that was removed, or that is another one under its name from now on. */
    forget,
    /** Closes all, for good. */
    close(): void {
      isClosed = true
      for (const id of [...machines.keys()]) forget(id)
    },
  }
}

function closeAll({ found, reader }: { found: SampledMachine; reader: GroupReader | null }): void {
  reader?.close()
  found.process?.close()
}

/** How many machines may be kept open by what the kernel lets this process have open at the same time. */
function keptOpenHere(): number {
  try {
    const [, filesMax = '0'] =
      /^Max open files +(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? []
    const descriptorsMax = filesMax === 'unlimited' ? Number.POSITIVE_INFINITY : Number(filesMax)
    // Beside those of the reader, one for the machine's first process.
    return Math.min(KEPT_OPEN_MAX, descriptorsMax / DESCRIPTORS_PART / (DESCRIPTORS_OF_READER + 1))
  } catch {
    return 0
  }
}

function toMb(bytes: number): number {
  return Math.round((bytes / BYTES_PER_MB) * 10) / 10
}
