import type { Readable } from 'node:stream'
import type { MachineStatus } from './machines.ts'
import type { Part } from './part.ts'

/** What machines are and do, as the engine sees them. */
export interface Observation {
  /** What the machine is now. Never throws for a machine that is not there: that is `absent`. */
  status(id: string): Promise<MachineStatus>

  /**
   * Calls back when a machine may have changed by itself (it exited, say). That its command ended is told where the
   * engine hears of it; elsewhere the next look finds it. Returns the way to stop watching.
   */
  watch(onChange: (id: string) => void): () => void

  /** What the machine uses, as last measured; null in a field means that this engine cannot tell. */
  sample(id: string): Promise<MachineSample>

  /** The last lines that the machine's start command wrote to its output. */
  logs(id: string, options: { lines_max: number }): Promise<string>

  /**
   * The last lines, and then what comes, for as long as the machine runs: it ends with the machine. Bytes as they
   * were written. Who does not read makes it wait: little is kept in memory. Destroy it to stop.
   */
  followLogs(id: string, options: { lines_max: number }): Promise<Readable>

  /**
   * All that is kept of what the machine's start command wrote, the oldest first, running or not: an engine keeps some
   * hundred megabytes at the most. Bytes as they were written; it ends with what is there now. Who does not read makes it
   * wait: little is kept in memory. Destroy it to stop.
   */
  keptLog(id: string): Promise<Readable>

  readonly oom_kills: Part<OomKills>

  /** What a machine with a system of its own says of that. */
  readonly guest: Part<GuestWord>
}

/** Programs that the kernel ended because a machine had used up its memory. */
export interface OomKills {
  /**
   * How many since the machine started, of those that the engine knows of; null where it cannot tell. What is ended by
   * anybody else is not counted, whatever code it ends with.
   * @throws ComputeError `not_found` or `not_running`.
   */
  count(id: string): Promise<number | null>
}

export interface GuestWord {
  /**
   * What the agent in a machine says, which is its customer's word; null where none answers within a few seconds.
   * @throws ComputeError `not_found` or `not_running`.
   */
  facts(id: string): Promise<GuestFacts | null>
}

export interface GuestFacts {
  /** The system's name, in one line without controls. */
  os: string | null
  /** Its addresses but those that lead to itself, some dozens at most. */
  addresses: { interface: string; address: string }[]
}

export interface MachineSample {
  /** Of one processor: two that are busy are 200. */
  cpu_percent: number | null
  memory_used_mb: number | null
  memory_limit_mb: number | null
  disk_used_mb: number | null
  /** Totals since the machine started. */
  network_received_bytes: number | null
  network_sent_bytes: number | null
  /** When those two were read, which is less often than the rest; null where they are. */
  network_at: Date | null
  /** The machine's real GPUs; empty where it has none. */
  gpus: GpuSample[] | null
  sampled_at: Date
}

export interface GpuSample {
  uuid: string
  busy_percent: number | null
  memory_used_mb: number | null
}
