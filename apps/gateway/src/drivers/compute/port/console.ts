import type { Duplex } from 'node:stream'
import type { Part } from './part.ts'

/** Ways to type into a machine. */
export interface MachineConsole {
  /**
   * Where shells live: with the engine, so that every gateway that reaches it finds the same ones, or beside the
   * gateway that opened them, so that all lines to a machine go through one gateway while it is there.
   */
  readonly shells_live: 'with_engine' | 'beside_gateway'

  /**
   * Attaches to a shell of the machine, which is opened with this size and environment if there is none of that name.
   * The shell and its last output belong to the machine's side: they outlive the line, the gateway, and the engine's
   * connection to it, until the shell exits, is closed, has had nobody at it for eight hours, or the machine stops. Any
   * number of lines, from any number of gateways, look at the same shell. In a machine that boots a system of its own it is
   * a shell of root's, by that system's SSH server; the name `SERIAL_SESSION` there is its serial line, which has one end that
   * all share: it has no size, and to close it ends only the looking at it.
   * @param session Name of the shell in this machine: `[a-z0-9-]`, at most 40 characters.
   * @returns A line, to be taken up with `openLine` here or passed on as it is.
   * @throws ComputeError `not_found` or `not_running`; `guest_closed` and `guest_refused`; `failed` when no shell can be
   *   opened in the machine.
   */
  attach(id: string, session: string, options: AttachOptions): Promise<Duplex>

  /** Names of the shells that the machine has. What a machine says of itself is its customer's word. */
  sessions(id: string): Promise<string[]>

  /** Ends a shell: it gets SIGHUP, and every line to it is told `closed`. None of that name: returns. */
  closeSession(id: string, session: string): Promise<void>

  /** Runs a command to its end without a pty and returns what it wrote. For probes and tests. */
  exec(id: string, argv: string[], options?: ExecOptions): Promise<ExecResult>

  /** Programs that are run with streams of their own, for as long as somebody holds their line. */
  readonly programs: Part<MachinePrograms>

  /** The machine's serial line, for what comes before a shell, and for a machine that lets nobody in. */
  readonly serial: Part<SerialConsole>
}

/** Programs in a machine, each with its input, its outputs and its end. */
export interface MachinePrograms {
  /**
   * Runs a line in the machine's shell, or the shell itself. It begins where the machine's own programs do, with the
   * machine's environment.
   * @returns A line, to be taken up with `openProgram` here or passed on as it is. Whoever destroys it takes away what the
   *   program reads and writes, and hangs up its terminal; without one a program that neither reads nor writes goes on.
   * @throws ComputeError `not_found` or `not_running`; `no_shell`; `guest_closed` and `guest_refused`; `outdated`;
   *   `exhausted`, or `failed` when no shell can be started in the machine.
   */
  run(id: string, options: RunOptions): Promise<Duplex>
}

export interface RunOptions {
  /** A line for the shell; null for a shell that reads its lines from its input, or talks where it has a terminal. */
  command: string | null
  /** Added to the machine's own. */
  env?: Record<string, string>
  /** The size of its terminal; left out for none: then its two outputs are apart. */
  pty?: { cols: number; rows: number } | null
}

export interface SerialConsole {
  /**
   * Opens the line: bytes as the machine writes them from now on, and what is typed to it. There is one line a machine:
   * all who are on it see the same. The stream ends with the machine.
   * @throws ComputeError `not_found` or `not_running`.
   */
  open(id: string): Promise<Duplex>
}

export interface AttachOptions {
  /** The size of whoever attaches, which the shell takes on. */
  cols: number
  rows: number
  /** Added to the shell's environment when it is opened. */
  env?: Record<string, string>
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
