import type { Duplex } from 'node:stream'

/**
 * The compute port: what Berth needs from whatever makes machines. One conformance suite
 * (`conformance.ts`) runs against every driver. All calls are idempotent by instance id: a retry after a
 * crash finds what the first try made. A driver knows nothing of customers, money or desired state.
 */
export interface ComputeDriver {
  /** Stable name that rows store, such as `sandbox` or `docker`. */
  readonly name: string

  /** What this driver can and cannot do on this machine, found out at start and shown to operators. */
  readonly capabilities: ComputeCapabilities

  /** GPUs that are really here, or none. Empty means that the catalogue's specs are simulated. */
  gpus(): Promise<RealGpu[]>

  /**
   * Whether the image is here already, so that `pull` would have nothing to fetch. False also for one that this
   * driver cannot make. Fails with `engine_unavailable`; may take as long as the engine takes to answer.
   */
  hasImage(image: ImageRecipe): Promise<boolean>

  /**
   * Makes the image available where the machine will run. Reports progress; `bytes_total` is null where it
   * cannot be known. Returns at once when the image is there already.
   */
  pull(image: ImageRecipe, onProgress: (progress: PullProgress) => void, signal: AbortSignal): Promise<void>

  /**
   * Makes the machine without starting it. One of that id that exists and does not run keeps what it stored and
   * the image that it was made from, and takes on everything else of the spec: processors, memory, GPUs, ports,
   * environment, command and hostname. One that runs is left as it is. Cut short, it leaves a machine that has all
   * that it stored, and the next call goes on.
   */
  create(spec: MachineSpec, signal: AbortSignal): Promise<void>

  /** Starts a created or stopped machine and returns when its first process runs. Started already: returns. */
  start(id: string, signal: AbortSignal): Promise<void>

  /** Stops every process of the machine; its home stays. Stopped already, or absent: returns. */
  stop(id: string, signal: AbortSignal): Promise<void>

  /** Removes the machine and all that it stored. Absent: returns. */
  remove(id: string, signal: AbortSignal): Promise<void>

  /** What the machine is now. Never throws for a machine that is not there: that is `absent`. */
  status(id: string): Promise<MachineStatus>

  /** Every machine that this driver holds under this installation, for the orphan sweep. */
  list(): Promise<MachineListing[]>

  /** Calls back when a machine may have changed by itself (it exited, say). Returns the way to stop watching. */
  watch(onChange: (id: string) => void): () => void

  /** Opens an interactive shell on a pty in the machine. Fails with `not_running` unless it runs. */
  openPty(id: string, options: PtyOptions): Promise<Pty>

  /** Runs a command to its end without a pty and returns what it wrote. For probes and tests. */
  exec(id: string, argv: string[], options?: ExecOptions): Promise<ExecResult>

  /** Opens a TCP stream to a port inside the machine. Fails with `port_closed` when nothing listens. */
  connect(id: string, port: number): Promise<Duplex>

  /** CPU, memory and disk as last measured; null in a field means that this machine cannot tell. */
  stats(id: string): Promise<MachineStats>

  /** The last lines that the machine's start command wrote to its output. */
  logs(id: string, options: { lines_max: number }): Promise<string>

  /**
   * Called once when the gateway stops in good order. A driver whose machines are children of this computer's
   * session (the sandbox) stops them; one whose machines live elsewhere (docker) leaves them running.
   * Returns the ids of the machines that it stopped.
   */
  shutdown(): Promise<string[]>
}

export interface ComputeCapabilities {
  /** How strong the walls are, in a sentence for the operator and the instance page. */
  isolation: string
  /** `enforced`, or why not. */
  cpu_limit: Capability
  memory_limit: Capability
  disk_limit: Capability
  /** Whether machines reach the internet. */
  outbound_network: boolean
}

export type Capability = { enforced: true; how: string } | { enforced: false; why: string }

export interface RealGpu {
  /** As the vendor names it, such as `NVIDIA GeForce RTX 4090`. */
  name: string
  memory_mb: number
  uuid: string
}

/** How each driver makes an image; a driver takes the part that it knows. */
export interface ImageRecipe {
  /** Catalogue id, for messages. */
  id: string
  /** A Docker reference such as `pytorch/pytorch:2.9`; null when the image cannot run on Docker. */
  docker: string | null
  /** How the sandbox makes it; null when it cannot. `host` is the host's own userland, read-only. */
  sandbox: { userland: 'host' } | null
}

export interface PullProgress {
  bytes_done: number
  bytes_total: number | null
}

export interface MachineSpec {
  /** The instance id: `[a-z0-9-]`, at most 40 characters. */
  id: string
  hostname: string
  image: ImageRecipe
  cpu_count: number
  memory_mb: number
  disk_gb: number
  /** Real GPUs to pass in, by uuid; empty for none or simulated. */
  gpu_uuids: string[]
  env: Record<string, string>
  /** Replaces the image's own command; null keeps it (the machine then idles until it is used). */
  command: string[] | null
  /** Ports that the customer asked to reach; a driver that must publish ports beforehand publishes these. */
  ports: number[]
}

export type MachineStatus =
  | { state: 'absent' }
  | { state: 'created' }
  | { state: 'running'; started_at: Date }
  | { state: 'stopped'; exit_code: number | null }

export interface MachineListing {
  id: string
  state: Exclude<MachineStatus['state'], 'absent'>
}

export interface PtyOptions {
  cols: number
  rows: number
  /** Added to the shell's environment. */
  env?: Record<string, string>
}

/** A live pty. Output is bytes, never decoded on the way. */
export interface Pty {
  onData(listener: (chunk: Buffer) => void): void
  onExit(listener: (exit: { code: number | null }) => void): void
  /** Types into the shell. `onTaken` is called when the bytes have left this process for the machine. */
  write(data: Buffer | string, onTaken?: () => void): void
  resize(cols: number, rows: number): void
  /** Stops reading from the machine, so that a slow reader slows the program down instead of filling memory. */
  pause(): void
  resume(): void
  /** Hangs up: the shell gets SIGHUP. */
  kill(): void
}

export interface ExecOptions {
  timeout_ms?: number
  /** Output past this many bytes is cut. */
  output_bytes_max?: number
}

export interface ExecResult {
  exit_code: number
  stdout: string
  stderr: string
}

export interface MachineStats {
  cpu_percent: number | null
  memory_used_mb: number | null
  memory_limit_mb: number | null
  disk_used_mb: number | null
  sampled_at: Date
}

export type ComputeErrorCode =
  /** The driver cannot do this at all here. Final. */
  | 'unsupported'
  /** The image does not exist or may not be read. Final. */
  | 'image_unavailable'
  /** The place that images come from cannot be reached, or is out of order. Retry. */
  | 'registry_unreachable'
  /** The machine does not run, so it cannot be talked to. */
  | 'not_running'
  /** Nothing listens on that port. */
  | 'port_closed'
  /** No machine of that id. */
  | 'not_found'
  /** The machine's host is out of memory, disk or processes. Retry later. */
  | 'exhausted'
  /** The engine behind the driver does not answer. Retry. */
  | 'engine_unavailable'
  /** Anything else; the message says what. Retry. */
  | 'failed'

/** The one error that a driver throws. `message` is for operators and events; it never holds a secret. */
export class ComputeError extends Error {
  readonly code: ComputeErrorCode
  constructor(code: ComputeErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'ComputeError'
    this.code = code
  }
}
